/* Arithmetic functions that kernels have beyond <cmath>: integer and conversion intrinsics, casts of bits,
 * fast and rounded forms, min and max, loads and stores with a cache hint. */
#ifndef DUSHMEM_IMPL_EMU_MATH_H
#define DUSHMEM_IMPL_EMU_MATH_H

#include "emu_atomic.h"
#include <cmath>
#include <cstdint>
#include <limits>

/* Unqualified min and max; of two types the result has the one that CUDA gives it. */
#define DUSHMEM_EMU_MINMAX(A, B, T)                                                                           \
  constexpr inline T min(A a, B b) { return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a); } \
  constexpr inline T max(A a, B b) { return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a); }
#define DUSHMEM_EMU_MINMAX3(S, U)                                                                             \
  DUSHMEM_EMU_MINMAX(S, S, S) DUSHMEM_EMU_MINMAX(U, U, U) DUSHMEM_EMU_MINMAX(S, U, U) DUSHMEM_EMU_MINMAX(U, S, U)
DUSHMEM_EMU_MINMAX3(int, unsigned)
DUSHMEM_EMU_MINMAX3(long, unsigned long)
DUSHMEM_EMU_MINMAX3(long long, unsigned long long)
#undef DUSHMEM_EMU_MINMAX3
#undef DUSHMEM_EMU_MINMAX
/* Of a number and a NaN the number. */
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline double min(float a, double b) { return std::fmin(double{a}, b); }
inline double max(float a, double b) { return std::fmax(double{a}, b); }
inline double min(double a, float b) { return std::fmin(a, double{b}); }
inline double max(double a, float b) { return std::fmax(a, double{b}); }
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }

/* Bits of numbers. */
inline int __float_as_int(float x) { return ::dushmem::emu::as<int>(x); }
inline unsigned __float_as_uint(float x) { return ::dushmem::emu::as<unsigned>(x); }
inline float __int_as_float(int x) { return ::dushmem::emu::as<float>(x); }
inline float __uint_as_float(unsigned x) { return ::dushmem::emu::as<float>(x); }
inline long long __double_as_longlong(double x) { return ::dushmem::emu::as<long long>(x); }
inline double __longlong_as_double(long long x) { return ::dushmem::emu::as<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double(static_cast<long long>(static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 |
                                                     static_cast<unsigned>(lo)));
}

/* Integers. */
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
/* Three bits of a selector count: unlike PTX's prmt, CUDA's function has no fourth for a byte's sign. */
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; i++)
    result |= (static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7))) & 0xff) << (8 * i);
  return result;
}
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>((static_cast<__int128>(a) * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
/* The lower 24 bits of each, with their sign. */
inline int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a) : static_cast<unsigned>(a) - static_cast<unsigned>(b)) + c;
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
/* Averages, rounded down and up, that don't overflow. */
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
inline int __dp4a(int a, int b, int c) {
  unsigned sum = static_cast<unsigned>(c);
  for (int i = 0; i < 32; i += 8)
    sum += static_cast<unsigned>(static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i));
  return static_cast<int>(sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xff) * (b >> i & 0xff);
  return c;
}

/* Conversions. To an integer: rounded as the name says (rn to the nearest, ties to even; rz to zero; ru up;
 * rd down), the nearest number of the type where it is beyond it; for a NaN 0 if both types have 32 bits or fewer, else the
 * highest bit alone. */
namespace dushmem {
namespace emu {
template <class To, class From> To to_integer(From rounded) {
  if (rounded != rounded)
    return sizeof(To) <= 4 && sizeof(From) <= 4 ? To{0} : static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1));
  // 2 to the number of value bits: exact, and the first number that is too large.
  const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (rounded >= beyond) return std::numeric_limits<To>::max();
  if (rounded < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(rounded);
}
} // namespace emu
} // namespace dushmem
#define DUSHMEM_EMU_TO(from, F, to, T)                                                                        \
  inline T __##from##2##to##_rn(F x) { return ::dushmem::emu::to_integer<T>(std::nearbyint(x)); }             \
  inline T __##from##2##to##_rz(F x) { return ::dushmem::emu::to_integer<T>(std::trunc(x)); }                 \
  inline T __##from##2##to##_ru(F x) { return ::dushmem::emu::to_integer<T>(std::ceil(x)); }                  \
  inline T __##from##2##to##_rd(F x) { return ::dushmem::emu::to_integer<T>(std::floor(x)); }
DUSHMEM_EMU_TO(float, float, int, int)
DUSHMEM_EMU_TO(float, float, uint, unsigned)
DUSHMEM_EMU_TO(float, float, ll, long long)
DUSHMEM_EMU_TO(float, float, ull, unsigned long long)
DUSHMEM_EMU_TO(double, double, int, int)
DUSHMEM_EMU_TO(double, double, uint, unsigned)
DUSHMEM_EMU_TO(double, double, ll, long long)
DUSHMEM_EMU_TO(double, double, ull, unsigned long long)
#undef DUSHMEM_EMU_TO
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

/* Rounded to nearest, and never contracted into a fused operation: a volatile keeps the compiler from it. */
#define DUSHMEM_EMU_ROUNDED(name, T, expression)                                                              \
  inline T name(T a, T b) {                                                                                   \
    volatile T result = expression;                                                                           \
    return result;                                                                                            \
  }
DUSHMEM_EMU_ROUNDED(__fadd_rn, float, a + b)
DUSHMEM_EMU_ROUNDED(__fsub_rn, float, a - b)
DUSHMEM_EMU_ROUNDED(__fmul_rn, float, a * b)
DUSHMEM_EMU_ROUNDED(__fdiv_rn, float, a / b)
DUSHMEM_EMU_ROUNDED(__dadd_rn, double, a + b)
DUSHMEM_EMU_ROUNDED(__dsub_rn, double, a - b)
DUSHMEM_EMU_ROUNDED(__dmul_rn, double, a * b)
DUSHMEM_EMU_ROUNDED(__ddiv_rn, double, a / b)
#undef DUSHMEM_EMU_ROUNDED
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / std::sqrt(double{x})); } // rounded once
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; } // a NaN gives 0

/* Fast forms, which are exact ones here. */
inline float __fdividef(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline void __sincosf(float x, float *sine, float *cosine) {
  *sine = std::sin(x);
  *cosine = std::cos(x);
}

/* Functions that CUDA and HIP have beyond the C library. */
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline double rcbrt(double x) { return 1.0 / std::cbrt(x); }
namespace dushmem {
namespace emu {
/* Sine of pi x: exact at multiples of a half. */
template <class T> T sine_of_pi(T x) {
  const T rest = std::remainder(x, T{2}), half = T{0.5}, pi = static_cast<T>(3.14159265358979323846);
  if (rest > half) return std::sin(pi * (T{1} - rest));
  if (rest < -half) return std::sin(pi * (T{-1} - rest));
  return std::sin(pi * rest);
}
template <class T> T cosine_of_pi(T x) {
  const T rest = std::fabs(std::remainder(x, T{2}));
  return sine_of_pi(T{0.5} - rest);
}
} // namespace emu
} // namespace dushmem
inline float sinpif(float x) { return ::dushmem::emu::sine_of_pi(x); }
inline double sinpi(double x) { return ::dushmem::emu::sine_of_pi(x); }
inline float cospif(float x) { return ::dushmem::emu::cosine_of_pi(x); }
inline double cospi(double x) { return ::dushmem::emu::cosine_of_pi(x); }
inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
inline double norm3d(double x, double y, double z) { return std::hypot(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
inline double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }

/* Loads and stores: a cache hint means nothing here; the volatile forms are read each time. */
template <class T> T __ldg(const T *address) { return *address; }
template <class T> T __ldca(const T *address) { return *address; }
template <class T> T __ldcg(const T *address) { return *address; }
template <class T> T __ldcs(const T *address) { return *address; }
template <class T> T __ldlu(const T *address) { return *address; }
template <class T> T __ldcv(const T *address) {
  T value;
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  std::memcpy(static_cast<void *>(&value), address, sizeof value);
  return value;
}
namespace dushmem {
namespace emu {
template <class T> struct same_type {
  using type = T;
};
} // namespace emu
} // namespace dushmem
#define DUSHMEM_EMU_STORE(name)                                                                               \
  template <class T> void name(T *address, typename ::dushmem::emu::same_type<T>::type value) { *address = value; }
DUSHMEM_EMU_STORE(__stwb)
DUSHMEM_EMU_STORE(__stcg)
DUSHMEM_EMU_STORE(__stcs)
DUSHMEM_EMU_STORE(__stwt)
#undef DUSHMEM_EMU_STORE

#if !defined(__clang__)
#define __builtin_assume(condition) ((void)0)
#endif
#define __assume(condition) ((void)0)
#endif
