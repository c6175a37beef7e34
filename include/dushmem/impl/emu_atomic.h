/* Atomic operations of kernels. Other blocks, other PEs and the host see the same memory, so all of them are
 * atomic for everybody, whatever scope their name asks for, and sequentially consistent. */
#ifndef DUSHMEM_IMPL_EMU_ATOMIC_H
#define DUSHMEM_IMPL_EMU_ATOMIC_H

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dushmem {
namespace emu {

template <class T> struct bits {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "atomics have 2, 4 or 8 bytes");
  using type = std::conditional_t<sizeof(T) == 8, unsigned long long,
                                  std::conditional_t<sizeof(T) == 4, unsigned, unsigned short>>;
};

template <class T> using bits_t = typename bits<T>::type;

template <class To, class From> To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(static_cast<void *>(&to), &from, sizeof to);
  return to;
}

template <class T> bits_t<T> *word_of(T *address) { return reinterpret_cast<bits_t<T> *>(address); }

/* The value of the word becomes `next` of what it was. Compares bits, so that it ends for NaNs as well. */
template <class T, class Next> T atomic_update(T *address, Next next) {
  auto *word = word_of(address);
  bits_t<T> old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, as<bits_t<T>>(static_cast<T>(next(as<T>(old)))), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return as<T>(old);
}

template <class T> T atomic_add(T *address, T value) {
  if constexpr (std::is_integral_v<T>)
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
  else
    return atomic_update(address, [value](T old) { return old + value; });
}

template <class T> T atomic_sub(T *address, T value) {
  if constexpr (std::is_integral_v<T>)
    return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);
  else
    return atomic_update(address, [value](T old) { return old - value; });
}

/* Of a number and a NaN the number, as fmin and fmax have it. */
template <class T> T atomic_min(T *address, T value) {
  return atomic_update(address, [value](T old) { return value < old || old != old ? value : old; });
}
template <class T> T atomic_max(T *address, T value) {
  return atomic_update(address, [value](T old) { return value > old || old != old ? value : old; });
}

template <class T> T atomic_exchange(T *address, T value) {
  return as<T>(__atomic_exchange_n(word_of(address), as<bits_t<T>>(value), __ATOMIC_SEQ_CST));
}

template <class T> T atomic_compare(T *address, T compare, T value) {
  auto expected = as<bits_t<T>>(compare);
  __atomic_compare_exchange_n(word_of(address), &expected, as<bits_t<T>>(value), false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return as<T>(expected);
}

inline unsigned atomic_inc(unsigned *address, unsigned most) {
  return atomic_update(address, [most](unsigned old) { return old >= most ? 0u : old + 1; });
}
inline unsigned atomic_dec(unsigned *address, unsigned most) {
  return atomic_update(address, [most](unsigned old) { return old == 0 || old > most ? most : old - 1; });
}

} // namespace emu
} // namespace dushmem

#define DUSHMEM_EMU_ATOMIC(T, name, expression)                                                               \
  inline T name(T *address, T v) { return expression; }                                                       \
  inline T name##_system(T *address, T v) { return expression; }                                              \
  inline T name##_block(T *address, T v) { return expression; }

#define DUSHMEM_EMU_NUMBER(T)                                                                                 \
  DUSHMEM_EMU_ATOMIC(T, atomicAdd, ::dushmem::emu::atomic_add(address, v))                                    \
  DUSHMEM_EMU_ATOMIC(T, atomicSub, ::dushmem::emu::atomic_sub(address, v))                                    \
  DUSHMEM_EMU_ATOMIC(T, atomicExch, ::dushmem::emu::atomic_exchange(address, v))                              \
  DUSHMEM_EMU_ATOMIC(T, atomicMin, ::dushmem::emu::atomic_min(address, v))                                    \
  DUSHMEM_EMU_ATOMIC(T, atomicMax, ::dushmem::emu::atomic_max(address, v))                                    \
  inline T atomicCAS(T *address, T compare, T v) { return ::dushmem::emu::atomic_compare(address, compare, v); } \
  inline T atomicCAS_system(T *address, T compare, T v) { return atomicCAS(address, compare, v); }            \
  inline T atomicCAS_block(T *address, T compare, T v) { return atomicCAS(address, compare, v); }

#define DUSHMEM_EMU_INTEGER(T)                                                                                \
  DUSHMEM_EMU_NUMBER(T)                                                                                       \
  DUSHMEM_EMU_ATOMIC(T, atomicAnd, __atomic_fetch_and(address, v, __ATOMIC_SEQ_CST))                          \
  DUSHMEM_EMU_ATOMIC(T, atomicOr, __atomic_fetch_or(address, v, __ATOMIC_SEQ_CST))                            \
  DUSHMEM_EMU_ATOMIC(T, atomicXor, __atomic_fetch_xor(address, v, __ATOMIC_SEQ_CST))

/* CUDA's types, and those that HIP has beyond them. */
DUSHMEM_EMU_INTEGER(int)
DUSHMEM_EMU_INTEGER(unsigned)
DUSHMEM_EMU_INTEGER(unsigned long)
DUSHMEM_EMU_INTEGER(long long)
DUSHMEM_EMU_INTEGER(unsigned long long)
DUSHMEM_EMU_NUMBER(float)
DUSHMEM_EMU_NUMBER(double)
DUSHMEM_EMU_ATOMIC(unsigned, atomicInc, ::dushmem::emu::atomic_inc(address, v))
DUSHMEM_EMU_ATOMIC(unsigned, atomicDec, ::dushmem::emu::atomic_dec(address, v))
#undef DUSHMEM_EMU_INTEGER
#undef DUSHMEM_EMU_NUMBER

inline unsigned short atomicCAS(unsigned short *address, unsigned short compare, unsigned short v) {
  return ::dushmem::emu::atomic_compare(address, compare, v);
}

/* HIP's additions. */
inline float unsafeAtomicAdd(float *address, float v) { return atomicAdd(address, v); }
inline double unsafeAtomicAdd(double *address, double v) { return atomicAdd(address, v); }
inline float safeAtomicAdd(float *address, float v) { return atomicAdd(address, v); }
inline double safeAtomicAdd(double *address, double v) { return atomicAdd(address, v); }
inline void atomicAddNoRet(float *address, float v) { atomicAdd(address, v); }

/* HIP's atomics with order and scope; clang compiles them itself for a GPU. */
#ifndef __HIP_MEMORY_SCOPE_SYSTEM
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#endif

namespace dushmem {
namespace emu {

/* The type of a value argument, which must not take part in the deduction. */
template <class T> struct value_of {
  using type = std::remove_cv_t<T>;
};
template <class T> using value_t = typename value_of<T>::type;

template <class T> value_t<T> *plain(T *address) { return const_cast<value_t<T> *>(address); }

template <class T> value_t<T> hip_load(T *address) {
  return as<value_t<T>>(__atomic_load_n(word_of(plain(address)), __ATOMIC_SEQ_CST));
}
template <class T> void hip_store(T *address, value_t<T> v) {
  __atomic_store_n(word_of(plain(address)), as<bits_t<value_t<T>>>(v), __ATOMIC_SEQ_CST);
}
template <class T> bool hip_compare(T *address, value_t<T> *expected, value_t<T> v) {
  const auto want = as<bits_t<value_t<T>>>(*expected);
  const value_t<T> old = atomic_compare(plain(address), *expected, v);
  *expected = old;
  return as<bits_t<value_t<T>>>(old) == want;
}

#define DUSHMEM_EMU_HIP(name, call)                                                                           \
  template <class T> value_t<T> hip_##name(T *address, value_t<T> v) { return call; }
DUSHMEM_EMU_HIP(exchange, atomic_exchange(plain(address), v))
DUSHMEM_EMU_HIP(fetch_add, atomic_add(plain(address), v))
DUSHMEM_EMU_HIP(fetch_sub, atomic_sub(plain(address), v))
DUSHMEM_EMU_HIP(fetch_min, atomic_min(plain(address), v))
DUSHMEM_EMU_HIP(fetch_max, atomic_max(plain(address), v))
DUSHMEM_EMU_HIP(fetch_and, __atomic_fetch_and(address, v, __ATOMIC_SEQ_CST))
DUSHMEM_EMU_HIP(fetch_or, __atomic_fetch_or(address, v, __ATOMIC_SEQ_CST))
DUSHMEM_EMU_HIP(fetch_xor, __atomic_fetch_xor(address, v, __ATOMIC_SEQ_CST))
#undef DUSHMEM_EMU_HIP

} // namespace emu
} // namespace dushmem

#if !defined(__hip_atomic_load)
#define __hip_atomic_load(address, order, scope) ((void)(order), (void)(scope), ::dushmem::emu::hip_load(address))
#define __hip_atomic_store(address, v, order, scope)                                                          \
  ((void)(order), (void)(scope), ::dushmem::emu::hip_store(address, v))
#define DUSHMEM_EMU_HIP(name, address, v, order, scope)                                                       \
  ((void)(order), (void)(scope), ::dushmem::emu::hip_##name(address, v))
#define __hip_atomic_exchange(address, v, order, scope) DUSHMEM_EMU_HIP(exchange, address, v, order, scope)
#define __hip_atomic_fetch_add(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_add, address, v, order, scope)
#define __hip_atomic_fetch_sub(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_sub, address, v, order, scope)
#define __hip_atomic_fetch_min(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_min, address, v, order, scope)
#define __hip_atomic_fetch_max(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_max, address, v, order, scope)
#define __hip_atomic_fetch_and(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_and, address, v, order, scope)
#define __hip_atomic_fetch_or(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_or, address, v, order, scope)
#define __hip_atomic_fetch_xor(address, v, order, scope) DUSHMEM_EMU_HIP(fetch_xor, address, v, order, scope)
#define __hip_atomic_compare_exchange_strong(address, expected, v, success, failure, scope)                   \
  ((void)(success), (void)(failure), (void)(scope), ::dushmem::emu::hip_compare(address, expected, v))
#define __hip_atomic_compare_exchange_weak __hip_atomic_compare_exchange_strong
#endif
#endif
