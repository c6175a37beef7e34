/* The inline forms of what is called most: one look at the library's record, else the function.
 *
 * The record says where this PE's heap lies and how far away the same address of each PE is mapped. Its
 * limit is 0 while the library is not initialised, where peers are not mapped, with checks or traces on,
 * and where a tool has put itself in front of the library's functions. -DDUSHMEM_NO_INLINE leaves this
 * file out. What is appended to the record keeps older programs working; anything else would need a
 * record of another name. */
#ifndef DUSHMEM_INCLUDED_IMPL_HOST_INLINE_H
#define DUSHMEM_INCLUDED_IMPL_HOST_INLINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dushmem_fast_path {
    uint32_t version;
    uint32_t size;         /* bytes that the library knows of */
    uintptr_t limit;       /* offsets below it have 16 bytes of heap behind them; 0: call the function */
    uintptr_t base;        /* this PE's heap */
    uint32_t n_pes;
    uint32_t me;
    const intptr_t *delta; /* by PE: from an own address to the same place there */
    uintptr_t doorbell;    /* this PE's word that is nonzero while somebody sleeps for a write */
} dushmem_fast_path;

extern const dushmem_fast_path *const dushmem_fast_path_v1;

/* Wakes those of PE pe that sleep until something is written. */
void dushmem_impl_ring_bell(int pe);

#ifdef __cplusplus
}
#endif

/* Present inline in every file, never emitted: calls through pointers go to the library. */
#define DUSHMEM_IMPL_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* The function of that name in the library. Called through a pointer, because clang does not inline what it
 * takes for a function that only calls itself. */
#define DUSHMEM_IMPL_CALL(function) \
    (__extension__({ \
        __typeof__(&(function)) in_library = (function); \
        in_library; \
    }))

#define DUSHMEM_IMPL_LIKELY(x) __builtin_expect(!!(x), 1)

/* The address no longer belongs to the object that it came from, as far as the compiler can see. */
#define DUSHMEM_IMPL_MOVE(address, distance) \
    do { \
        (address) += (uintptr_t)(distance); \
        __asm__("" : "+r"(address)); \
    } while (0)

/* Moves the address to PE pe and notes where its doorbell is: what follows reads the record no more. */
#define DUSHMEM_IMPL_GO(record, address, pe) \
    const uintptr_t bell = (record)->doorbell + (uintptr_t)(record)->delta[pe]; \
    DUSHMEM_IMPL_MOVE(address, (record)->delta[pe])

/* After a store: whoever sleeps there is woken. The sleeper orders its side, so a look is enough. */
#define DUSHMEM_IMPL_RING(bell, pe) \
    do { \
        __asm__ volatile("" ::: "memory"); \
        if (__builtin_expect(*(const volatile uint32_t *)(bell) != 0, 0)) dushmem_impl_ring_bell(pe); \
    } while (0)

#define DUSHMEM_IMPL_HERE(record, address, pe) \
    DUSHMEM_IMPL_LIKELY((address) - (record)->base < (record)->limit && (uint32_t)(pe) < (record)->n_pes)

#define DUSHMEM_IMPL_P(F, NAME, T) \
    extern void dushmem_impl_##F##_##NAME##_p(T *dest, T value, int pe) __asm__(#F "_" #NAME "_p"); \
    DUSHMEM_IMPL_INLINE void F##_##NAME##_p(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_HERE(record, address, pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            *(volatile T *)address = value; \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_p)(dest, value, pe); \
        } \
    }

#define DUSHMEM_IMPL_G(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_g(const T *source, int pe) __asm__(#F "_" #NAME "_g"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_g(const T *source, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)source; \
        if (DUSHMEM_IMPL_HERE(record, address, pe)) { \
            DUSHMEM_IMPL_MOVE(address, record->delta[pe]); \
            return *(const volatile T *)address; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_g)(source, pe); \
    }

/* The same for types that are structures of two bytes, which C++ does not assign to volatile objects. */
#define DUSHMEM_IMPL_P_OPAQUE(F, NAME, T) \
    extern void dushmem_impl_##F##_##NAME##_p(T *dest, T value, int pe) __asm__(#F "_" #NAME "_p"); \
    DUSHMEM_IMPL_INLINE void F##_##NAME##_p(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_HERE(record, address, pe)) { \
            uint16_t bits; \
            DUSHMEM_IMPL_GO(record, address, pe); \
            __builtin_memcpy(&bits, &value, 2); \
            *(volatile uint16_t *)address = bits; \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_p)(dest, value, pe); \
        } \
    }

#define DUSHMEM_IMPL_G_OPAQUE(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_g(const T *source, int pe) __asm__(#F "_" #NAME "_g"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_g(const T *source, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)source; \
        if (DUSHMEM_IMPL_HERE(record, address, pe)) { \
            uint16_t bits; \
            T value; \
            DUSHMEM_IMPL_MOVE(address, record->delta[pe]); \
            bits = *(const volatile uint16_t *)address; \
            __builtin_memcpy((void *)&value, &bits, 2); \
            return value; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_g)(source, pe); \
    }

#define DUSHMEM_IMPL_FITS(record, address, local, bytes, pe) \
    DUSHMEM_IMPL_LIKELY((local) != NULL && (address) - (record)->base < (record)->limit && \
                        (bytes) <= (record)->limit - ((address) - (record)->base) && \
                        (uint32_t)(pe) < (record)->n_pes)

/* gcc warns of a constant length beyond the user's object: in the user's line, because the attributes say how many
 * elements are taken, and not in that of the copy, which would come first and name this file. Where the pointer is void
 * and the elements are larger than a byte, no attribute can say that, and the copy's line is named. */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__) && !defined(__CUDACC__)
#define DUSHMEM_IMPL_READS __attribute__((__access__(__read_only__, 2, 3)))
#define DUSHMEM_IMPL_WRITES __attribute__((__access__(__write_only__, 1, 3)))
#define DUSHMEM_IMPL_QUIETLY(copy) \
    _Pragma("GCC diagnostic push") \
    _Pragma("GCC diagnostic ignored \"-Wstringop-overread\"") \
    _Pragma("GCC diagnostic ignored \"-Wstringop-overflow\"") \
    _Pragma("GCC diagnostic ignored \"-Warray-bounds\"") \
    copy; \
    _Pragma("GCC diagnostic pop")
#else
#define DUSHMEM_IMPL_READS DUSHMEM_IMPL_UNTOLD
#define DUSHMEM_IMPL_WRITES DUSHMEM_IMPL_UNTOLD
#define DUSHMEM_IMPL_QUIETLY(copy) copy;
#endif
#define DUSHMEM_IMPL_LOUDLY(copy) copy;
/* An empty argument of a macro is none before C99 and C++11. */
#define DUSHMEM_IMPL_UNTOLD __extension__

/* NAME is the function's without the family: int_put, put32, putmem. */
#define DUSHMEM_IMPL_PUT_AS(F, NAME, T, SIZE, SAYS, COPY) \
    extern void dushmem_impl_##F##_##NAME(T *dest, const T *source, size_t nelems, int pe) \
        __asm__(#F "_" #NAME); \
    SAYS DUSHMEM_IMPL_INLINE void F##_##NAME(T *dest, const T *source, size_t nelems, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (nelems <= SIZE_MAX / (SIZE) && DUSHMEM_IMPL_FITS(record, address, source, nelems * (SIZE), pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            if (nelems == 1) \
                __builtin_memcpy((void *)address, source, (SIZE)); \
            else { \
                COPY(__builtin_memmove((void *)address, source, nelems * (SIZE))) \
            } \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME)(dest, source, nelems, pe); \
        } \
    }

#define DUSHMEM_IMPL_GET_AS(F, NAME, T, SIZE, SAYS, COPY) \
    extern void dushmem_impl_##F##_##NAME(T *dest, const T *source, size_t nelems, int pe) \
        __asm__(#F "_" #NAME); \
    SAYS DUSHMEM_IMPL_INLINE void F##_##NAME(T *dest, const T *source, size_t nelems, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)source; \
        if (nelems <= SIZE_MAX / (SIZE) && DUSHMEM_IMPL_FITS(record, address, dest, nelems * (SIZE), pe)) { \
            DUSHMEM_IMPL_MOVE(address, record->delta[pe]); \
            __asm__ volatile("" ::: "memory"); \
            if (nelems == 1) \
                __builtin_memcpy(dest, (const void *)address, (SIZE)); \
            else { \
                COPY(__builtin_memmove(dest, (const void *)address, nelems * (SIZE))) \
            } \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME)(dest, source, nelems, pe); \
        } \
    }

/* Where peers are mapped, what need not be complete before quiet is complete at once. */
#define DUSHMEM_IMPL_PUT_BOTH(F, NAME, T, SIZE, SAYS, COPY) \
    DUSHMEM_IMPL_PUT_AS(F, NAME, T, SIZE, SAYS, COPY) \
    DUSHMEM_IMPL_PUT_AS(F, NAME##_nbi, T, SIZE, SAYS, COPY)
#define DUSHMEM_IMPL_GET_BOTH(F, NAME, T, SIZE, SAYS, COPY) \
    DUSHMEM_IMPL_GET_AS(F, NAME, T, SIZE, SAYS, COPY) \
    DUSHMEM_IMPL_GET_AS(F, NAME##_nbi, T, SIZE, SAYS, COPY)

#define DUSHMEM_IMPL_PUT_COUNTED(F, NAME, T, SIZE) \
    DUSHMEM_IMPL_PUT_BOTH(F, NAME, T, SIZE, DUSHMEM_IMPL_READS, DUSHMEM_IMPL_QUIETLY)
#define DUSHMEM_IMPL_GET_COUNTED(F, NAME, T, SIZE) \
    DUSHMEM_IMPL_GET_BOTH(F, NAME, T, SIZE, DUSHMEM_IMPL_WRITES, DUSHMEM_IMPL_QUIETLY)
#define DUSHMEM_IMPL_PUT_SIZED(F, NAME, SIZE) \
    DUSHMEM_IMPL_PUT_BOTH(F, NAME, void, SIZE, DUSHMEM_IMPL_UNTOLD, DUSHMEM_IMPL_LOUDLY)
#define DUSHMEM_IMPL_GET_SIZED(F, NAME, SIZE) \
    DUSHMEM_IMPL_GET_BOTH(F, NAME, void, SIZE, DUSHMEM_IMPL_UNTOLD, DUSHMEM_IMPL_LOUDLY)

#define DUSHMEM_IMPL_PUT(F, NAME, T) DUSHMEM_IMPL_PUT_COUNTED(F, NAME##_put, T, sizeof(T))
#define DUSHMEM_IMPL_GET(F, NAME, T) DUSHMEM_IMPL_GET_COUNTED(F, NAME##_get, T, sizeof(T))

/* Atomics. A misaligned word is left to the library, which says so. */
#define DUSHMEM_IMPL_WORD(record, address, T, pe) \
    (DUSHMEM_IMPL_HERE(record, address, pe) && ((address) & (sizeof(T) - 1)) == 0)

#define DUSHMEM_IMPL_AMO_FETCH(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_atomic_fetch(const T *source, int pe) \
        __asm__(#F "_" #NAME "_atomic_fetch"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_atomic_fetch(const T *source, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)source; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            T value; \
            DUSHMEM_IMPL_MOVE(address, record->delta[pe]); \
            __atomic_load((T *)address, &value, __ATOMIC_ACQUIRE); \
            return value; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_fetch)(source, pe); \
    }

#define DUSHMEM_IMPL_AMO_SET(F, NAME, T) \
    extern void dushmem_impl_##F##_##NAME##_atomic_set(T *dest, T value, int pe) \
        __asm__(#F "_" #NAME "_atomic_set"); \
    DUSHMEM_IMPL_INLINE void F##_##NAME##_atomic_set(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            __atomic_store((T *)address, &value, __ATOMIC_RELEASE); \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_set)(dest, value, pe); \
        } \
    }

#define DUSHMEM_IMPL_AMO_SWAP(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_atomic_swap(T *dest, T value, int pe) \
        __asm__(#F "_" #NAME "_atomic_swap"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_atomic_swap(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            T old; \
            DUSHMEM_IMPL_GO(record, address, pe); \
            __atomic_exchange((T *)address, &value, &old, __ATOMIC_ACQ_REL); \
            DUSHMEM_IMPL_RING(bell, pe); \
            return old; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_swap)(dest, value, pe); \
    }

#define DUSHMEM_IMPL_AMO_CSWAP(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe) \
        __asm__(#F "_" #NAME "_atomic_compare_swap"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            __atomic_compare_exchange((T *)address, &cond, &value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
            DUSHMEM_IMPL_RING(bell, pe); \
            return cond; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_compare_swap)(dest, cond, value, pe); \
    }

/* An operation that returns the old value, and the one that does not. */
#define DUSHMEM_IMPL_AMO_OP(F, NAME, T, OP, BUILTIN) \
    extern T dushmem_impl_##F##_##NAME##_atomic_fetch_##OP(T *dest, T value, int pe) \
        __asm__(#F "_" #NAME "_atomic_fetch_" #OP); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_atomic_fetch_##OP(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            T old; \
            DUSHMEM_IMPL_GO(record, address, pe); \
            old = BUILTIN((T *)address, value, __ATOMIC_ACQ_REL); \
            DUSHMEM_IMPL_RING(bell, pe); \
            return old; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_fetch_##OP)(dest, value, pe); \
    } \
    extern void dushmem_impl_##F##_##NAME##_atomic_##OP(T *dest, T value, int pe) \
        __asm__(#F "_" #NAME "_atomic_" #OP); \
    DUSHMEM_IMPL_INLINE void F##_##NAME##_atomic_##OP(T *dest, T value, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            (void)BUILTIN((T *)address, value, __ATOMIC_ACQ_REL); \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_##OP)(dest, value, pe); \
        } \
    }

#define DUSHMEM_IMPL_AMO_INC(F, NAME, T) \
    extern T dushmem_impl_##F##_##NAME##_atomic_fetch_inc(T *dest, int pe) \
        __asm__(#F "_" #NAME "_atomic_fetch_inc"); \
    DUSHMEM_IMPL_INLINE T F##_##NAME##_atomic_fetch_inc(T *dest, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            T old; \
            DUSHMEM_IMPL_GO(record, address, pe); \
            old = __atomic_fetch_add((T *)address, 1, __ATOMIC_ACQ_REL); \
            DUSHMEM_IMPL_RING(bell, pe); \
            return old; \
        } \
        return DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_fetch_inc)(dest, pe); \
    } \
    extern void dushmem_impl_##F##_##NAME##_atomic_inc(T *dest, int pe) __asm__(#F "_" #NAME "_atomic_inc"); \
    DUSHMEM_IMPL_INLINE void F##_##NAME##_atomic_inc(T *dest, int pe) { \
        const dushmem_fast_path *record = dushmem_fast_path_v1; \
        uintptr_t address = (uintptr_t)dest; \
        if (DUSHMEM_IMPL_WORD(record, address, T, pe)) { \
            DUSHMEM_IMPL_GO(record, address, pe); \
            (void)__atomic_fetch_add((T *)address, 1, __ATOMIC_ACQ_REL); \
            DUSHMEM_IMPL_RING(bell, pe); \
        } else { \
            DUSHMEM_IMPL_CALL(dushmem_impl_##F##_##NAME##_atomic_inc)(dest, pe); \
        } \
    }

#define DUSHMEM_IMPL_AMO_ADD(F, NAME, T) DUSHMEM_IMPL_AMO_OP(F, NAME, T, add, __atomic_fetch_add)
#define DUSHMEM_IMPL_AMO_AND(F, NAME, T) DUSHMEM_IMPL_AMO_OP(F, NAME, T, and, __atomic_fetch_and)
#define DUSHMEM_IMPL_AMO_OR(F, NAME, T) DUSHMEM_IMPL_AMO_OP(F, NAME, T, or, __atomic_fetch_or)
#define DUSHMEM_IMPL_AMO_XOR(F, NAME, T) DUSHMEM_IMPL_AMO_OP(F, NAME, T, xor, __atomic_fetch_xor)

/* All inline functions of a family. */
#define DUSHMEM_IMPL_INLINE_FAMILY(F) \
    DUSHMEM_IMPL_EACH_rma_##F(DUSHMEM_IMPL_P, F) \
    DUSHMEM_IMPL_EACH_rma_##F(DUSHMEM_IMPL_G, F) \
    DUSHMEM_IMPL_EACH_rma_##F(DUSHMEM_IMPL_PUT, F) \
    DUSHMEM_IMPL_EACH_rma_##F(DUSHMEM_IMPL_GET, F) \
    DUSHMEM_IMPL_OPAQUE_rma_##F(DUSHMEM_IMPL_P_OPAQUE, F) \
    DUSHMEM_IMPL_OPAQUE_rma_##F(DUSHMEM_IMPL_G_OPAQUE, F) \
    DUSHMEM_IMPL_OPAQUE_rma_##F(DUSHMEM_IMPL_PUT, F) \
    DUSHMEM_IMPL_OPAQUE_rma_##F(DUSHMEM_IMPL_GET, F) \
    DUSHMEM_IMPL_PUT_COUNTED(F, putmem, void, 1u) \
    DUSHMEM_IMPL_PUT_COUNTED(F, put8, void, 1u) \
    DUSHMEM_IMPL_PUT_SIZED(F, put16, 2u) \
    DUSHMEM_IMPL_PUT_SIZED(F, put32, 4u) \
    DUSHMEM_IMPL_PUT_SIZED(F, put64, 8u) \
    DUSHMEM_IMPL_PUT_SIZED(F, put128, 16u) \
    DUSHMEM_IMPL_GET_COUNTED(F, getmem, void, 1u) \
    DUSHMEM_IMPL_GET_COUNTED(F, get8, void, 1u) \
    DUSHMEM_IMPL_GET_SIZED(F, get16, 2u) \
    DUSHMEM_IMPL_GET_SIZED(F, get32, 4u) \
    DUSHMEM_IMPL_GET_SIZED(F, get64, 8u) \
    DUSHMEM_IMPL_GET_SIZED(F, get128, 16u) \
    DUSHMEM_IMPL_EACH_amo_ext_##F(DUSHMEM_IMPL_AMO_FETCH, F) \
    DUSHMEM_IMPL_EACH_amo_ext_##F(DUSHMEM_IMPL_AMO_SET, F) \
    DUSHMEM_IMPL_EACH_amo_ext_##F(DUSHMEM_IMPL_AMO_SWAP, F) \
    DUSHMEM_IMPL_EACH_amo_##F(DUSHMEM_IMPL_AMO_CSWAP, F) \
    DUSHMEM_IMPL_EACH_amo_##F(DUSHMEM_IMPL_AMO_INC, F) \
    DUSHMEM_IMPL_EACH_amo_##F(DUSHMEM_IMPL_AMO_ADD, F) \
    DUSHMEM_IMPL_EACH_amo_bit_##F(DUSHMEM_IMPL_AMO_AND, F) \
    DUSHMEM_IMPL_EACH_amo_bit_##F(DUSHMEM_IMPL_AMO_OR, F) \
    DUSHMEM_IMPL_EACH_amo_bit_##F(DUSHMEM_IMPL_AMO_XOR, F)

#endif
