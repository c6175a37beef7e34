// Functions that kernels have beyond the C library, with results known by other means.
#include "expect.h"
#include <cmath>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void integers(int *wrong) {
  EXPECT(__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64 && __clz(1) == 31 && __clz(0) == 32 && __clz(-1) == 0);
  EXPECT(__clzll(1) == 63 && __clzll(0) == 64 && __ffs(0) == 0 && __ffs(8) == 4 && __ffsll(1ll << 40) == 41);
  EXPECT(__brev(1u) == 0x80000000u && __brev(0x12345678u) == 0x1e6a2c48u && __brevll(1ull) == 1ull << 63);
  EXPECT(__byte_perm(0x33221100u, 0x77665544u, 0x7531u) == 0x77553311u);
  // A selector has three bits: the fourth of prmt, for a byte's sign, does nothing here.
  EXPECT(__byte_perm(0x00800011u, 0, 0x888au) == 0x11111180u && __byte_perm(1u, 2u, 0xcccc0000u) == 0x01010101u);
  EXPECT(__funnelshift_l(0x80000001u, 0x12345678u, 4) == 0x23456788u);
  EXPECT(__funnelshift_r(0x80000001u, 0x12345678u, 4) == 0x88000000u);
  EXPECT(__funnelshift_l(5, 7, 32) == 7 && __funnelshift_lc(5, 7, 32) == 5 && __funnelshift_rc(5, 7, 40) == 7);
  EXPECT(__mulhi(-2, 3) == -1 && __umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu);
  EXPECT(__mul64hi(-1ll, 5ll) == -1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1);
  EXPECT(__mul24(-3, 5) == -15 && __umul24(0x1000003u, 5u) == 15u);
  EXPECT(__sad(3, -4, 10u) == 17 && __usad(3u, 9u, 1u) == 7);
  EXPECT(__hadd(0x7fffffff, 0x7ffffffd) == 0x7ffffffe && __hadd(-3, 0) == -2 && __rhadd(1, 2) == 2);
  EXPECT(__uhadd(0xffffffffu, 1u) == 0x80000000u && __urhadd(0u, 1u) == 1u);
  EXPECT(__dp4a(0x01ff02fe, 0x01010101, 5) == 5 && __dp4a(0xff000000u, 0x02000000u, 1u) == 511u);
  EXPECT(min(3, 2) == 2 && max(3u, 2u) == 3 && min(-1ll, 1ll) == -1 && max(1.5f, 2.5f) == 2.5f && min(2.0, 1.0) == 1);
  EXPECT(max(-1, 1u) == 0xffffffffu && min(1.5f, 1.25) == 1.25);
}

__global__ void numbers(int *wrong) {
  const float nan = nanf("");
  EXPECT(__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f && __float_as_uint(-0.0f) == 0x80000000u);
  EXPECT(__uint_as_float(0x3f800000u) == 1.0f && __double_as_longlong(1.0) == 0x3ff0000000000000ll);
  EXPECT(__hiloint2double(0x3ff80000, 0) == 1.5 && __double2hiint(1.5) == 0x3ff80000 && __double2loint(1.5) == 0);
  EXPECT(__longlong_as_double(0x4000000000000000ll) == 2.0);
  EXPECT(__float2int_rn(2.5f) == 2 && __float2int_rn(3.5f) == 4 && __float2int_rz(-2.9f) == -2);
  EXPECT(__float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3);
  EXPECT(__float2int_rn(3e9f) == 0x7fffffff && __float2int_rn(-3e9f) == -0x7fffffff - 1 && __float2int_rn(nan) == 0);
  EXPECT(__float2uint_rz(-1.0f) == 0 && __float2uint_rz(5e9f) == 0xffffffffu && __double2uint_rn(4294967294.5) == 4294967294u);
  EXPECT(__double2ll_rn(-2.5) == -2 && __float2ll_rz(1e30f) == 0x7fffffffffffffffll && __double2ull_rz(1e30) == ~0ull);
  // Of a NaN: 0, or where 64 bits are involved the highest bit. Volatile, so that no compiler does the conversion.
  volatile float hidden = nan;
  volatile double hidden_wide = hidden;
  EXPECT(__double2int_rn(hidden_wide) == -0x7fffffff - 1 && __double2uint_rz(hidden_wide) == 0x80000000u);
  EXPECT(__float2uint_rn(hidden) == 0 && __float2int_rz(hidden) == 0);
  EXPECT(__float2ll_rn(hidden) == -0x7fffffffffffffffll - 1 && __double2ull_rn(hidden_wide) == 1ull << 63);
  EXPECT(__int2float_rn(16777217) == 16777216.0f && __ll2double_rn(9007199254740993ll) == 9007199254740992.0);
  EXPECT(__fmaf_rn(3.0f, 4.0f, 5.0f) == 17.0f && __fadd_rn(1.0f, 2.0f) == 3.0f && __fmul_rn(1.5f, 2.0f) == 3.0f);
  // Fused: the product of these two is not a float.
  const float x = 1.0f + 1.0f / 4096;
  EXPECT(__fmaf_rn(x, x, -1.0f) == 2.0f / 4096 + 1.0f / 16777216 && __fma_rn(0.5, 0.5, 1.0) == 1.25);
  EXPECT(__fdiv_rn(1.0f, 4.0f) == 0.25f && __fsqrt_rn(9.0f) == 3.0f && __frcp_rn(8.0f) == 0.125f);
  EXPECT(__saturatef(1.5f) == 1 && __saturatef(-1.0f) == 0 && __saturatef(nan) == 0 && __saturatef(0.5f) == 0.5f);
  EXPECT(rsqrtf(4.0f) == 0.5f && fabs(rsqrt(2.0) - 0.70710678118654752) < 1e-15);
  EXPECT(fabsf(__expf(1.0f) - 2.718281828f) < 1e-5f && fabsf(__logf(10.0f) - 2.302585093f) < 1e-5f);
  EXPECT(fabsf(__powf(2.0f, 10.0f) - 1024) < 0.01f && fabsf(__sinf(0.5f) - 0.4794255386f) < 1e-5f);
  EXPECT(fabsf(__fdividef(1.0f, 3.0f) - 0.33333333f) < 1e-6f);
  EXPECT(sinpif(1.0f) == 0 && sinpif(0.5f) == 1 && cospi(1.0) == -1 && fabs(sinpi(0.25) - 0.70710678118654752) < 1e-15);
  float sine, cosine;
  __sincosf(0.25f, &sine, &cosine);
  EXPECT(fabsf(sine * sine + cosine * cosine - 1) < 1e-5f);
  EXPECT(fabs(norm3d(2.0, 3.0, 6.0) - 7) < 1e-14 && fabsf(norm3df(1, 2, 2) - 3) < 1e-6f);
  EXPECT(fmaxf(nan, 1.0f) == 1.0f && max(nan, 1.0f) == 1.0f);
}

__global__ void loads(int *wrong, int *words, float4 *vectors) {
  const int i = int(threadIdx.x);
  EXPECT(__ldg(&words[i]) == i && __ldca(&words[i]) == i && __ldcg(&words[i]) == i && __ldcs(&words[i]) == i);
  EXPECT(__ldcv(&words[i]) == i);
  __syncthreads();
  __stcg(&words[i], i + 1);
  EXPECT(words[i] == i + 1);
  __stwt(&words[i], i + 2);
  EXPECT(words[i] == i + 2);
  float4 v = __ldg(&vectors[i]);
  EXPECT(v.x == float(i) && v.w == float(i) + 3);
  v = make_float4(v.w, v.z, v.y, v.x);
  __stcs(&vectors[i], v);
  EXPECT(vectors[i].x == float(i) + 3);
  const uint2 u = make_uint2(1, 2);
  const double2 d = make_double2(0.5, 1.5);
  const uchar4 c = make_uchar4(1, 2, 3, 255);
  EXPECT(u.y == 2 && d.y == 1.5 && c.w == 255 && sizeof(short4) == 8 && sizeof(float3) == 12 && alignof(int4) == 16);
}

// Halves in kernels: the same text for both types.
template <class H> __device__ float all_of(H a, H b, int *wrong) {
  EXPECT(__hgt(a, b) && __hlt(b, a) && !__heq(a, b) && a > b && b <= a && __hne(a, b));
  EXPECT(float(__hadd(a, b)) == 4 && float(a - b) == 1 && float(a * b) == 3.75f && float(__hfma(a, b, a)) == 6.25f);
  EXPECT(float(__hneg(a)) == -2.5f && float(__habs(-a)) == 2.5f && float(__hmax(a, b)) == 2.5f && float(__hmin(a, b)) == 1.5f);
  EXPECT(!__hisnan(a) && float(hfloor(a)) == 2 && float(hceil(b)) == 2 && float(hsqrt(H(9.0f))) == 3);
  H sum = a;
  sum += b;
  sum /= H(2.0f);
  for (int step = 16; step > 0; step /= 2) sum = __hadd(sum, __shfl_down_sync(0xffffffffu, sum, step));
  return float(__shfl_sync(0xffffffffu, sum, 0));
}

__global__ void halves(int *wrong, __half *half_sum, __half2 *pair_sum, __nv_bfloat16 *brain_sum) {
  EXPECT(all_of(__float2half(2.5f), __float2half(1.5f), wrong) == 64);
  EXPECT(all_of(__float2bfloat16(2.5f), __float2bfloat16(1.5f), wrong) == 64);
  EXPECT(__half2float(__float2half(65519.0f)) == 65504 && __half_as_ushort(__float2half(65520.0f)) == 0x7c00);
  EXPECT(__half_as_ushort(__float2half_rn(0.1f)) == 0x2e66 && __half_as_ushort(__float2half_rz(0.1f)) == 0x2e66);
  EXPECT(__half_as_ushort(__float2half_ru(0.1f)) == 0x2e67 && __bfloat16_as_ushort(__float2bfloat16(0.1f)) == 0x3dcd);
  EXPECT(__half2int_rz(__float2half(-3.75f)) == -3 && __half2float(__int2half_rn(2049)) == 2048);
  const __half2 v = __floats2half2_rn(1.5f, -2.0f), w = __hmul2(v, v);
  EXPECT(__low2float(w) == 2.25f && __high2float(w) == 4 && __half22float2(__hfma2(v, v, v)).x == 3.75f);
  EXPECT(__hbeq2(v, v) && __half2float(__high2half(__lowhigh2highlow(v))) == 1.5f);
  const __nv_bfloat162 b = __floats2bfloat162_rn(3.0f, 4.0f);
  EXPECT(__low2float(__hadd2(b, b)) == 6 && __bfloat162float(__high2bfloat16(b)) == 4);
  atomicAdd(half_sum, __float2half(0.5f));
  atomicAdd(pair_sum, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(brain_sum, __float2bfloat16(1.0f));
}

int main() {
  int *wrong = counters(1), *words = counters(64);
  float4 *vectors = (float4 *)counters(64 * 4 + 4);
  for (int i = 0; i < 64; i++) {
    words[i] = i;
    vectors[i] = make_float4(float(i), float(i) + 1, float(i) + 2, float(i) + 3);
  }
  __half *half_sum = (__half *)counters(1);
  __half2 *pair_sum = (__half2 *)counters(1);
  __nv_bfloat16 *brain_sum = (__nv_bfloat16 *)counters(1);
  integers<<<1, 1>>>(wrong);
  numbers<<<1, 1>>>(wrong);
  loads<<<1, 64>>>(wrong, words, vectors);
  halves<<<1, 64>>>(wrong, half_sum, pair_sum, brain_sum);
  EXPECT_HOST(RUNTIME(DeviceSynchronize)() == RUNTIME(Success));
  EXPECT_HOST(__half2float(*half_sum) == 32);
  EXPECT_HOST(__low2float(*pair_sum) == 64 && __high2float(*pair_sum) == 128);
  EXPECT_HOST(__bfloat162float(*brain_sum) == 64);
  return result(wrong);
}
