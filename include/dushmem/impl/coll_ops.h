/* Operations of reductions, on all types: integers wrap, 16-bit floating-point numbers are computed with as floats. */
#ifndef DUSHMEM_IMPL_COLL_OPS_H
#define DUSHMEM_IMPL_COLL_OPS_H

#include "half.h"
#include "target.h"
#include <type_traits>

namespace dushmem {
namespace device {
namespace impl {

/* ---- 16-bit floating-point numbers ---- */

DUSHMEM_IMPL_FN float float_of(const dushmem_impl_half &number) {
  const unsigned short from = bits<unsigned short>(number);
#if defined(__CUDA_ARCH__)
  float to;
  asm("cvt.f32.f16 %0, %1;" : "=f"(to) : "h"(from));
  return to;
#elif defined(__HIPCC__)
  return (float)bits<_Float16>(from);
#else
  const unsigned sign = (unsigned)(from >> 15) << 31, exponent = (unsigned)from >> 10 & 31, fraction = from & 0x3ff;
  /* Without the leading 1: in units of 2^-24. */
  if (exponent == 0) return bits<float>(bits<unsigned>((float)fraction * (1.0f / 16777216.0f)) | sign);
  if (exponent == 31) return bits<float>(sign | 0x7f800000u | fraction << 13);
  return bits<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
#endif
}

DUSHMEM_IMPL_FN float float_of(const dushmem_impl_bfloat16 &number) {
  return bits<float>((unsigned)bits<unsigned short>(number) << 16);
}

/* Without the lowest bits, rounded to nearest, to even where two are equally near. */
DUSHMEM_IMPL_FN unsigned round_off(unsigned value, unsigned count) {
  const unsigned kept = value >> count, rest = value & ((1u << count) - 1), middle = 1u << (count - 1);
  return kept + ((rest > middle || (rest == middle && (kept & 1))) ? 1 : 0);
}

template <class T> struct rounded;

template <> struct rounded<dushmem_impl_half> {
  static DUSHMEM_IMPL_MEMBER dushmem_impl_half from(float number) {
#if defined(__CUDA_ARCH__)
    unsigned short to;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to) : "f"(number));
    return bits<dushmem_impl_half>(to);
#elif defined(__HIPCC__)
    return bits<dushmem_impl_half>((_Float16)number);
#else
    const unsigned all = bits<unsigned>(number), sign = all >> 16 & 0x8000, size = all & 0x7fffffffu;
    unsigned to;
    if (size > 0x7f800000u) {
      to = 0x7e00 | (size >> 13 & 0x3ff); /* a NaN stays one */
    } else if (size >= 0x477ff000u) {
      to = 0x7c00;
    } else if (size >= 0x38800000u) {
      to = round_off(size - ((127 - 15) << 23), 13); /* a carry moves into the exponent, as it should */
    } else if (size >= 0x33000000u) {
      to = round_off((size & 0x7fffff) | 0x800000, 126 - (size >> 23)); /* in units of 2^-24 */
    } else {
      to = 0;
    }
    return bits<dushmem_impl_half>((unsigned short)(sign | to));
#endif
  }
};

template <> struct rounded<dushmem_impl_bfloat16> {
  static DUSHMEM_IMPL_MEMBER dushmem_impl_bfloat16 from(float number) {
    const unsigned all = bits<unsigned>(number);
    const unsigned to = (all & 0x7fffffffu) > 0x7f800000u ? (all >> 16 | 0x40) : round_off(all, 16);
    return bits<dushmem_impl_bfloat16>((unsigned short)to);
  }
};

/* ---- How a type is computed with ---- */

enum class kind { other, integer, half };
template <class T> struct kind_of {
  static constexpr kind value = std::is_integral<T>::value ? kind::integer : kind::other;
};
template <> struct kind_of<dushmem_impl_half> {
  static constexpr kind value = kind::half;
};
template <> struct kind_of<dushmem_impl_bfloat16> {
  static constexpr kind value = kind::half;
};

/* Floating-point numbers, and all else that has the operators. */
template <class T, kind = kind_of<T>::value> struct arithmetic {
  static DUSHMEM_IMPL_MEMBER T sum(T a, T b) { return a + b; }
  static DUSHMEM_IMPL_MEMBER T prod(T a, T b) { return a * b; }
  /* A NaN is the result, whichever rank it comes from. Of two zeros, the sum is -0 only if both are. */
  static DUSHMEM_IMPL_MEMBER T max(T a, T b) {
    if (a != a || a > b) return a;
    if (b != b || b > a) return b;
    return a == T(0) ? a + b : a;
  }
  static DUSHMEM_IMPL_MEMBER T min(T a, T b) {
    if (a != a || a < b) return a;
    if (b != b || b < a) return b;
    return a == T(0) ? -(-a + -b) : a;
  }
};

template <class T> struct arithmetic<T, kind::integer> {
  typedef unsigned long long wide;
  static DUSHMEM_IMPL_MEMBER T sum(T a, T b) { return (T)((wide)a + (wide)b); }
  static DUSHMEM_IMPL_MEMBER T prod(T a, T b) { return (T)((wide)a * (wide)b); }
  static DUSHMEM_IMPL_MEMBER T max(T a, T b) { return b > a ? b : a; }
  static DUSHMEM_IMPL_MEMBER T min(T a, T b) { return b < a ? b : a; }
};

template <class T> struct arithmetic<T, kind::half> {
  typedef arithmetic<float> wide;
  static DUSHMEM_IMPL_MEMBER T sum(T a, T b) { return rounded<T>::from(wide::sum(float_of(a), float_of(b))); }
  static DUSHMEM_IMPL_MEMBER T prod(T a, T b) { return rounded<T>::from(wide::prod(float_of(a), float_of(b))); }
  static DUSHMEM_IMPL_MEMBER T max(T a, T b) { return rounded<T>::from(wide::max(float_of(a), float_of(b))); }
  static DUSHMEM_IMPL_MEMBER T min(T a, T b) { return rounded<T>::from(wide::min(float_of(a), float_of(b))); }
};

/* ---- The operations: apply(what was combined so far, the next rank's operand) ---- */

struct op_and {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return (T)(a & b); }
};
struct op_or {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return (T)(a | b); }
};
struct op_xor {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return (T)(a ^ b); }
};
struct op_max {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return arithmetic<T>::max(a, b); }
};
struct op_min {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return arithmetic<T>::min(a, b); }
};
struct op_sum {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return arithmetic<T>::sum(a, b); }
};
struct op_prod {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) { return arithmetic<T>::prod(a, b); }
};
/* A NaN as x is the result, as with max. */
struct op_maxloc {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) {
    if (a.x != a.x || a.x > b.x) return a;
    if (b.x != b.x || b.x > a.x) return b;
    return b.y < a.y ? b : a;
  }
};

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
