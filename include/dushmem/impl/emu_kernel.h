/* Functions that kernels call: synchronisation in a block, memory fences, atomics, clocks. */
#ifndef DUSHMEM_IMPL_EMU_KERNEL_H
#define DUSHMEM_IMPL_EMU_KERNEL_H

#include "emu_abi.h"
#include <chrono>
#include <cmath>
#include <cstring>
#include <type_traits>

inline void __syncthreads() { dushmem_emu_sync_threads(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
/* In a loop that waits: lets the other threads of the block run. */
inline void __nanosleep(unsigned) { dushmem_emu_yield(); }
template <class T> T __ldg(const T *address) { return *address; }

inline long long clock64() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline long long wall_clock64() { return clock64(); }

namespace dushmem {
namespace emu {

template <class T> struct bits {
  using type = std::conditional_t<sizeof(T) == 8, unsigned long long,
                                  std::conditional_t<sizeof(T) == 4, unsigned, unsigned short>>;
};

template <class T> using bits_t = typename bits<T>::type;

template <class To, class From> To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/* Other blocks, other PEs and the host see the same memory, so real atomic operations are needed. */
template <class T, class Next> T atomic_update(T *address, Next next) {
  auto *word = reinterpret_cast<bits_t<T> *>(address);
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

template <class T> T atomic_exchange(T *address, T value) {
  auto *word = reinterpret_cast<bits_t<T> *>(address);
  return as<T>(__atomic_exchange_n(word, as<bits_t<T>>(value), __ATOMIC_SEQ_CST));
}

template <class T> T atomic_compare(T *address, T compare, T value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}

} // namespace emu
} // namespace dushmem

#define DUSHMEM_EMU_ATOMIC(T, name, value, expression)                                                        \
  inline T name(T *address, value) { return expression; }                                                     \
  inline T name##_system(T *address, value) { return expression; }                                            \
  inline T name##_block(T *address, value) { return expression; }

#define DUSHMEM_EMU_ADD(T) DUSHMEM_EMU_ATOMIC(T, atomicAdd, T v, ::dushmem::emu::atomic_add(address, v))
DUSHMEM_EMU_ADD(int)
DUSHMEM_EMU_ADD(unsigned)
DUSHMEM_EMU_ADD(unsigned long)
DUSHMEM_EMU_ADD(unsigned long long)
DUSHMEM_EMU_ADD(float)
DUSHMEM_EMU_ADD(double)
#undef DUSHMEM_EMU_ADD

#define DUSHMEM_EMU_EXCH(T) DUSHMEM_EMU_ATOMIC(T, atomicExch, T v, ::dushmem::emu::atomic_exchange(address, v))
DUSHMEM_EMU_EXCH(int)
DUSHMEM_EMU_EXCH(unsigned)
DUSHMEM_EMU_EXCH(unsigned long long)
DUSHMEM_EMU_EXCH(float)
#undef DUSHMEM_EMU_EXCH

#define DUSHMEM_EMU_INTEGER(T)                                                                                \
  DUSHMEM_EMU_ATOMIC(T, atomicMin, T v,                                                                       \
                     ::dushmem::emu::atomic_update(address, [v](T old) { return v < old ? v : old; }))        \
  DUSHMEM_EMU_ATOMIC(T, atomicMax, T v,                                                                       \
                     ::dushmem::emu::atomic_update(address, [v](T old) { return v > old ? v : old; }))        \
  DUSHMEM_EMU_ATOMIC(T, atomicAnd, T v, __atomic_fetch_and(address, v, __ATOMIC_SEQ_CST))                     \
  DUSHMEM_EMU_ATOMIC(T, atomicOr, T v, __atomic_fetch_or(address, v, __ATOMIC_SEQ_CST))                       \
  DUSHMEM_EMU_ATOMIC(T, atomicXor, T v, __atomic_fetch_xor(address, v, __ATOMIC_SEQ_CST))
DUSHMEM_EMU_INTEGER(int)
DUSHMEM_EMU_INTEGER(unsigned)
DUSHMEM_EMU_INTEGER(long long)
DUSHMEM_EMU_INTEGER(unsigned long long)
#undef DUSHMEM_EMU_INTEGER

DUSHMEM_EMU_ATOMIC(int, atomicSub, int v, __atomic_fetch_sub(address, v, __ATOMIC_SEQ_CST))
DUSHMEM_EMU_ATOMIC(unsigned, atomicSub, unsigned v, __atomic_fetch_sub(address, v, __ATOMIC_SEQ_CST))
DUSHMEM_EMU_ATOMIC(unsigned, atomicInc, unsigned v,
                   ::dushmem::emu::atomic_update(address, [v](unsigned old) { return old >= v ? 0u : old + 1; }))
DUSHMEM_EMU_ATOMIC(unsigned, atomicDec, unsigned v,
                   ::dushmem::emu::atomic_update(address,
                                                 [v](unsigned old) { return old == 0 || old > v ? v : old - 1; }))
#undef DUSHMEM_EMU_ATOMIC

#define DUSHMEM_EMU_CAS(T)                                                                                    \
  inline T atomicCAS(T *address, T compare, T v) { return ::dushmem::emu::atomic_compare(address, compare, v); } \
  inline T atomicCAS_system(T *address, T compare, T v) { return atomicCAS(address, compare, v); }            \
  inline T atomicCAS_block(T *address, T compare, T v) { return atomicCAS(address, compare, v); }
DUSHMEM_EMU_CAS(int)
DUSHMEM_EMU_CAS(unsigned)
DUSHMEM_EMU_CAS(unsigned short)
DUSHMEM_EMU_CAS(unsigned long long)
#undef DUSHMEM_EMU_CAS

/* Unqualified min and max of kernels. */
#define DUSHMEM_EMU_MINMAX(T)                                                                                 \
  constexpr inline T min(T a, T b) { return b < a ? b : a; }                                                  \
  constexpr inline T max(T a, T b) { return a < b ? b : a; }
DUSHMEM_EMU_MINMAX(int)
DUSHMEM_EMU_MINMAX(unsigned)
DUSHMEM_EMU_MINMAX(long)
DUSHMEM_EMU_MINMAX(unsigned long)
DUSHMEM_EMU_MINMAX(long long)
DUSHMEM_EMU_MINMAX(unsigned long long)
DUSHMEM_EMU_MINMAX(float)
DUSHMEM_EMU_MINMAX(double)
#undef DUSHMEM_EMU_MINMAX

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
#endif
