// half and bfloat16, bit by bit: all 65,536 values against arithmetic of another kind, which goes by the
// definition of the formats rather than by bits.
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdint>
#include <vector>

static_assert(sizeof(half) == 2 && alignof(half) == 2 && sizeof(half2) == 4 && alignof(half2) == 4);
static_assert(std::is_trivially_copyable_v<half> && std::is_trivially_default_constructible_v<__nv_bfloat162>);

struct Half {
  using type = half;
  static constexpr int mantissa = 10, least = -14;
  static unsigned short bits(half x) { return __half_as_ushort(x); }
  static half of(unsigned bits) { return __ushort_as_half((unsigned short)bits); }
};
struct Brain {
  using type = __nv_bfloat16;
  static constexpr int mantissa = 7, least = -126;
  static unsigned short bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
  static __nv_bfloat16 of(unsigned bits) { return __ushort_as_bfloat16((unsigned short)bits); }
};

// The value of bits by definition.
template <class F> double value(unsigned bits) {
  const int exponent = int(bits & 0x7fff) >> F::mantissa, digits = int(bits) & ((1 << F::mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (0x7fff >> F::mantissa)) return digits ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(digits, F::least - F::mantissa);
  return sign * std::ldexp(digits + (1 << F::mantissa), F::least - F::mantissa + exponent - 1);
}

// The bits nearest to a number, found among all of them: bits of positive numbers are in the order of the numbers.
template <class F> unsigned nearest(long double x) {
  if (std::isnan(x)) return 0x7fff;
  const unsigned sign = std::signbit(x) ? 0x8000 : 0, infinity = 0x7fff >> F::mantissa << F::mantissa;
  x = std::fabs(x);
  unsigned low = 0, high = infinity;
  while (low + 1 < high) {
    const unsigned middle = (low + high) / 2;
    (value<F>(middle) <= double(x) && (long double)(value<F>(middle)) <= x ? low : high) = middle;
  }
  // The step after the largest number is as long as the one before it.
  const long double above = high == infinity ? 2.0L * value<F>(low) - value<F>(low - 1) : value<F>(high);
  const long double down = x - value<F>(low), up = above - x;
  if (std::isinf(x)) return sign | infinity;
  return sign | (down < up || (down == up && low % 2 == 0) ? low : high);
}

template <class F> void conversions() {
  int bad = 0;
  for (unsigned b = 0; b < 65536; b++) {
    const typename F::type x = F::of(b);
    const double want = value<F>(b);
    const float got = float(x);
    if (std::isnan(want)) {
      bad += !std::isnan(got) || F::bits(typename F::type(got)) != 0x7fff;
      continue;
    }
    bad += double(got) != want || std::signbit(got) != std::signbit(want);
    bad += F::bits(typename F::type(got)) != b || F::bits(typename F::type(double(got))) != b;
    // Between this number and the next: the middle is a tie, and a little to both sides of it.
    if ((b & 0x7fff) < unsigned(0x7fff >> F::mantissa << F::mantissa) - 1) {
      const double next = value<F>(b + 1), middle = (want + next) / 2;
      for (double y : {middle, std::nextafter(middle, want), std::nextafter(middle, next)}) {
        bad += F::bits(typename F::type(y)) != nearest<F>(y);
        const float z = float(y);
        bad += F::bits(typename F::type(z)) != nearest<F>(z);
      }
    }
  }
  for (double y : {65519.9, 65520.0, 65536.0, 1e300, -1e300, 3.3961775e38, 3.39617752923046e38, 3.4e38, 1e-300, 5e-324, -0.0})
    bad += F::bits(typename F::type(y)) != nearest<F>(y);
  bad += F::bits(typename F::type(INFINITY)) != nearest<F>(INFINITY) || F::bits(typename F::type(NAN)) != 0x7fff;
  same(bad, 0);
}

// Numbers of all sizes, and those at the ends of ranges; a generator that always gives the same ones.
template <class F> std::vector<unsigned> samples(unsigned n) {
  const unsigned infinity = 0x7fff >> F::mantissa << F::mantissa;
  std::vector<unsigned> all = {0, 0x8000, 1, 0x8001, infinity, infinity | 0x8000, infinity - 1, 0x7fff, 0x3c00, 0x3f80};
  unsigned state = 12345;
  while (all.size() < n) all.push_back((state = state * 1664525u + 1013904223u) >> 16);
  return all;
}

template <class F> bool is(typename F::type got, long double want) {
  const unsigned bits = F::bits(got), expected = nearest<F>(want);
  return bits == expected;
}

template <class F> void arithmetic() {
  int bad = 0;
  const auto all = samples<F>(160);
  for (unsigned a : all)
    for (unsigned b : all) {
      const auto x = F::of(a), y = F::of(b);
      const double p = value<F>(a), q = value<F>(b);
      // A long double holds sums and products of most; where it doesn't, double rounding can't hit a tie.
      bad += !is<F>(x + y, (long double)p + q) || !is<F>(x - y, (long double)p - q);
      bad += !is<F>(x * y, (long double)p * q) || !is<F>(x / y, (long double)p / q);
      bad += (x < y) != (p < q) || (x == y) != (p == q) || (x != y) != (p != q) || __hge(x, y) != (p >= q);
      bad += __hltu(x, y) != !(p >= q) || __hne(x, y) != (p < q || p > q);
      const auto least = __hmin(x, y), most = __hmax_nan(x, y);
      bad += !(std::isnan(p) && std::isnan(q) ? F::bits(least) == 0x7fff : double(float(least)) == std::fmin(p, q));
      bad += !(std::isnan(p) || std::isnan(q) ? F::bits(most) == 0x7fff : double(float(most)) == std::fmax(p, q));
    }
  for (unsigned a : all) bad += !is<F>(hsqrt(F::of(a)), std::sqrt((long double)value<F>(a)));
  for (unsigned a : all) bad += F::bits(__hneg(F::of(a))) != (a ^ 0x8000) || F::bits(__habs(F::of(a))) != (a & 0x7fff);
  same(bad, 0);
}

// Fused: rounded once. 80 bits of a half's range don't fit a long double, so whole multiples of 2^-48.
void fused() {
  int bad = 0;
  const auto all = samples<Half>(40);
  for (unsigned a : all)
    for (unsigned b : all)
      for (unsigned c : all) {
        const double p = value<Half>(a), q = value<Half>(b), r = value<Half>(c);
        const half got = __hfma(Half::of(a), Half::of(b), Half::of(c));
        if (!std::isfinite(p) || !std::isfinite(q) || !std::isfinite(r)) {
          const double want = p * q + r;
          bad += std::isnan(want) ? Half::bits(got) != 0x7fff : double(float(got)) != want;
          continue;
        }
        const __int128 product = (__int128)std::ldexp(p, 24) * (__int128)std::ldexp(q, 24);
        const __int128 sum = product + (__int128)std::ldexp(r, 24) * ((__int128)1 << 24);
        if (sum == 0) {
          bad += (Half::bits(got) & 0x7fff) != 0;
          continue;
        }
        // Nearest among the neighbours, in exact arithmetic.
        const unsigned bits = Half::bits(got);
        const auto distance = [&](unsigned of) {
          const __int128 d = (__int128)std::ldexp(value<Half>(of), 24) * ((__int128)1 << 24) - sum;
          return d < 0 ? -d : d;
        };
        if ((bits & 0x7fff) == 0x7c00) {
          const __int128 limit = (__int128)65520 << 48;
          bad += (sum < 0 ? -sum : sum) < limit;
        } else {
          const __int128 mine = distance(bits);
          if ((bits & 0x7fff) < 0x7bff) bad += distance(bits + 1) < mine || (distance(bits + 1) == mine && bits % 2 == 1);
          if ((bits & 0x7fff) > 0) bad += distance(bits - 1) < mine || (distance(bits - 1) == mine && bits % 2 == 1);
        }
      }
  // Cases in which rounding twice is wrong.
  bad += Half::bits(__hfma(half(1.0f), half(2048.0f), Half::of(1))) != Half::bits(half(2048.0f));
  bad += Half::bits(__hfma(half(1.0009765625f), half(1.0009765625f), Half::of(0x8001))) != Half::bits(half(1.001953125f));
  same(bad, 0);
}

template <class H, class H2> __global__ void kernel(H *out, H2 *pairs, float *sum) {
  __shared__ H part[64];
  const int i = int(threadIdx.x);
  part[i] = H(float(i)) * H(0.5f);
  __syncthreads();
  H value = part[63 - i];
  value += H(1.0f);
  for (int step = 16; step > 0; step /= 2) value = value + __shfl_xor_sync(0xffffffffu, value, step);
  if (i % 32 == 0) out[i / 32] = value;
  atomicAdd(&out[2], H(1.0f));
  atomicAdd(pairs, H2(H(1.0f), H(2.0f)));
  if (i == 0) *sum = float(part[3]) + __low2float(H2(part[5], part[6])) + float(-part[2]);
}

template <class H, class H2> void in_a_kernel() {
  H *out;
  H2 *pairs;
  float *sum;
  ok(cudaMallocManaged(&out, 3 * sizeof(H)));
  ok(cudaMallocManaged(&pairs, sizeof(H2)));
  ok(cudaMallocManaged(&sum, sizeof(float)));
  out[2] = H(0.0f);
  *pairs = H2(H(0.0f), H(0.0f));
  (::dushmem::emu::launch("kernel", ::dushmem::emu::config{1, 64}, [=](auto... a) { kernel<H, H2>(a...); }, out, pairs, sum));
  ok(cudaDeviceSynchronize());
  // Sums of 32 to 63 and of 0 to 31, in halves, plus 32.
  same(float(out[0]), float(H(792.0f)));
  same(float(out[1]), float(H(280.0f)));
  same(float(out[2]), 64);
  same(float(pairs->y), 128);
  same(*sum, 3);
  cudaFree(out), cudaFree(pairs), cudaFree(sum);
}

int main() {
  conversions<Half>();
  conversions<Brain>();
  arithmetic<Half>();
  arithmetic<Brain>();
  fused();
  in_a_kernel<half, half2>();
  in_a_kernel<__nv_bfloat16, __nv_bfloat162>();

  // Conversions of other kinds.
  same(__half2int_rn(half(2.5f)), 2);
  same(__half2int_rz(half(-2.5f)), -2);
  same(__half2int_ru(half(2.25f)), 3);
  same(__half2ull_rn(half(-4.0f)), 0);
  same(__half2short_rz(Half::of(0x7c00)), 32767);
  same(__half2int_rn(Half::of(0x7fff)), 0);
  same(float(__int2half_rn(2049)), 2048);
  same(float(__int2half_rn(2051)), 2052);
  same(float(__int2half_ru(2049)), 2050);
  same(float(half(65519)), 65504);
  truth(std::isinf(float(half(65520))));
  same(Brain::bits(__ll2bfloat16_rn((1ll << 62) + (1ll << 54))), Brain::bits(__nv_bfloat16(std::ldexp(1.0f, 62))));
  same(Brain::bits(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + 1)), Brain::bits(__nv_bfloat16(std::ldexp(1.0078125f, 62))));
  same(Half::bits(__float2half_rz(65535.0f)), 0x7bff);
  same(Half::bits(__float2half_rd(-65535.0f)), 0xfc00);
  same(Half::bits(__float2half_ru(1e-30f)), 1);
  same(Half::bits(__float2half_rd(1e-30f)), 0);
  const half2 v = __floats2half2_rn(1.5f, -2.0f);
  same(__high2float(__lowhigh2highlow(v)), 1.5);
  same(__half22float2(__hfma2(v, v, v)).y, 2);
  truth(__hbgt2(__half2half2(half(2.0f)), v) && !__hbeq2(v, __low2half2(v)));
  same(float(__hadd_sat(half(0.75f), half(0.5f))), 1);
  same(float(__hfma_relu(half(-1.0f), half(2.0f), half(1.0f))), 0);
  half h = 3;
  h++;
  h *= half(2);
  same(int(h), 8);
  truth(bool(h) && !half(-0.0f));
  return done();
}
