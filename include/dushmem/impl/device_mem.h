/* Loads, stores and atomic operations that other PEs, other devices and the host take part in: system
 * scope. U is an unsigned word of 2 (loads only), 4 or 8 bytes. */
#ifndef DUSHMEM_IMPL_DEVICE_MEM_H
#define DUSHMEM_IMPL_DEVICE_MEM_H

#include "device_state.h"


namespace dushmem {
namespace device {
namespace impl {

template <size_t Bytes> struct word_of;
template <> struct word_of<2> {
  typedef unsigned short type;
};
template <> struct word_of<4> {
  typedef unsigned int type;
};
template <> struct word_of<8> {
  typedef unsigned long long type;
};
template <class T> using word = typename word_of<sizeof(T)>::type;

template <class To, class From> DUSHMEM_IMPL_FN To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  union {
    From from;
    To to;
  } both;
  both.from = from;
  return both.to;
}

#ifndef DUSHMEM_EMU
#if defined(__HIPCC__)

template <class U> DUSHMEM_IMPL_FN U load_relaxed(const U *at) {
  return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U load_acquire(const U *at) {
  return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN void store_relaxed(U *at, U value) {
  __hip_atomic_store(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U add(U *at, U value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_and(U *at, U value) {
  return __hip_atomic_fetch_and(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_or(U *at, U value) {
  return __hip_atomic_fetch_or(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_xor(U *at, U value) {
  return __hip_atomic_fetch_xor(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U exchange(U *at, U value) {
  return __hip_atomic_exchange(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {
  __hip_atomic_compare_exchange_strong(at, &cond, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_SYSTEM);
  return cond;
}

#else

DUSHMEM_IMPL_FN unsigned short load_relaxed(const unsigned short *at) {
  unsigned short value;
  asm volatile("ld.relaxed.sys.u16 %0, [%1];" : "=h"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN unsigned load_relaxed(const unsigned *at) {
  unsigned value;
  asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN unsigned long long load_relaxed(const unsigned long long *at) {
  unsigned long long value;
  asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN unsigned short load_acquire(const unsigned short *at) {
  unsigned short value;
  asm volatile("ld.acquire.sys.u16 %0, [%1];" : "=h"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN unsigned load_acquire(const unsigned *at) {
  unsigned value;
  asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN unsigned long long load_acquire(const unsigned long long *at) {
  unsigned long long value;
  asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN void store_relaxed(unsigned *at, unsigned value) {
  asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
DUSHMEM_IMPL_FN void store_relaxed(unsigned long long *at, unsigned long long value) {
  asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
template <class U> DUSHMEM_IMPL_FN U add(U *at, U value) { return atomicAdd_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_and(U *at, U value) { return atomicAnd_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_or(U *at, U value) { return atomicOr_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_xor(U *at, U value) { return atomicXor_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U exchange(U *at, U value) { return atomicExch_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {
  return atomicCAS_system(at, cond, value);
}
#endif

/* All that this thread wrote before is seen before what it writes after, by everybody. */
DUSHMEM_IMPL_FN void fence_system() { __threadfence_system(); }
#endif

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
