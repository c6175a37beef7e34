/* 16-bit floating-point numbers of the emulator, and how numbers become one: the ground of cuda_fp16.h and
 * cuda_bf16.h. Results are those of a GPU, bit by bit: rounded to nearest, ties to even; every NaN that an
 * operation makes is 0x7fff. */
#ifndef DUSHMEM_IMPL_EMU_HALF_H
#define DUSHMEM_IMPL_EMU_HALF_H

#include "emu_common.h"
#include "emu_math.h"
#include <cmath>
#include <cstdint>

namespace dushmem {
namespace emu {

enum class rounding { nearest, zero, up, down };

/* The bits of the number of `mantissa` and `exponent` bits that is nearest to x. */
template <int mantissa, int exponent> uint16_t narrow(double x, rounding mode = rounding::nearest) {
  constexpr int bias = (1 << (exponent - 1)) - 1, least = 1 - bias;
  constexpr unsigned infinity = ((1u << exponent) - 1) << mantissa;
  const uint64_t bits = as<uint64_t>(x), magnitude = bits & ~(uint64_t{1} << 63);
  const unsigned sign = static_cast<unsigned>(bits >> 63) << 15;
  const bool away = mode == (sign != 0 ? rounding::down : rounding::up);
  if (x != x) return 0x7fff;
  if (std::isinf(x)) return static_cast<uint16_t>(sign | infinity);
  if (magnitude == 0) return static_cast<uint16_t>(sign);
  const int power = static_cast<int>(magnitude >> 52) - 1023;
  if (power > bias) return static_cast<uint16_t>(sign | (infinity - (mode == rounding::nearest || away ? 0 : 1)));
  // Units in the last place are bits from `shift` on. Numbers of less than half a unit all round alike.
  int shift = 52 - mantissa + (power < least ? least - power : 0);
  if (shift > 60) shift = 60;
  const uint64_t digits = (magnitude & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  const uint64_t rest = digits & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
  unsigned number = static_cast<unsigned>(digits >> shift);
  if (mode == rounding::nearest ? rest > half || (rest == half && (number & 1) != 0) : away && rest != 0) number++;
  // A carry goes into the exponent, where it belongs.
  if (power >= least) number += static_cast<unsigned>(power - least) << mantissa;
  return static_cast<uint16_t>(sign | number);
}

/* The sum, with its last bit set if it is not exact: rounded once more it comes out right. */
inline double sum_to_odd(double a, double b) {
  const double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
  const uint64_t bits = as<uint64_t>(sum);
  if (!std::isfinite(sum) || error == 0 || (bits & 1) != 0) return sum;
  return as<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

/* The same for a whole number that double has no room for. */
template <class T> double number_to_odd(T x) {
  if constexpr (sizeof(T) < 8 || std::is_floating_point_v<T>) {
    return static_cast<double>(x);
  } else {
    const T low = static_cast<T>(x & 0x7ff);
    return sum_to_odd(static_cast<double>(x - low), static_cast<double>(low));
  }
}

/* Toward zero, as a cast does; beyond the type's range its nearest number. */
template <class T> T to_integer_rz(float x) { return to_integer<T>(std::trunc(x)); }

struct binary16 {
  static uint16_t narrow(double x, rounding mode = rounding::nearest) { return emu::narrow<10, 5>(x, mode); }
  static float widen(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, number = bits & 0x7fff;
    if (number < 0x400) { // subnormal: a multiple of 2^-24
      const float value = static_cast<float>(number) * 5.9604644775390625e-8f;
      return sign != 0 ? -value : value;
    }
    if (number >= 0x7c00) return as<float>(sign | 0x7f800000u | (number & 0x3ff) << 13);
    return as<float>(sign | ((number << 13) + 0x38000000u));
  }
};

struct bfloat16 {
  static uint16_t narrow(double x, rounding mode = rounding::nearest) { return emu::narrow<7, 8>(x, mode); }
  static float widen(uint16_t bits) { return as<float>(static_cast<uint32_t>(bits) << 16); }
};

} // namespace emu
} // namespace dushmem
#endif
