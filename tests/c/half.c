/* 16-bit floating-point numbers: all transfers, and the four reductions, on the host and on a stream. */
#include "check.h"
#include <math.h>
#include <stdint.h>

#if defined(FAMILY_NVSHMEM)
typedef half half_type;
typedef __nv_bfloat16 bfloat16_type;
#else
typedef dushmem_half_t half_type;
typedef dushmem_bfloat16_t bfloat16_type;
#endif

#define MAX_PES 32
enum { N = 5000 };

#define BITS(NAME) \
  static NAME##_type NAME##_of(uint16_t bits) { \
    NAME##_type value; \
    memcpy((void *)&value, &bits, 2); \
    return value; \
  } \
  static uint16_t NAME##_bits(NAME##_type value) { \
    uint16_t bits; \
    memcpy(&bits, (const void *)&value, 2); \
    return bits; \
  }
BITS(half)
BITS(bfloat16)

/* Numbers as the two formats spell them. */
#define HALF_1 0x3c00
#define HALF_2 0x4000
#define HALF_INF 0x7c00
#define HALF_NAN 0x7e00
#define HALF_2048 0x6800
#define BFLOAT16_1 0x3f80
#define BFLOAT16_2 0x4000
#define BFLOAT16_INF 0x7f80
#define BFLOAT16_NAN 0x7fc0
#define BFLOAT16_256 0x4380

static int is_nan(uint16_t bits, uint16_t infinity) { return (bits & 0x7fff) > infinity; }

/* Small whole numbers, exactly. */
static uint16_t whole(unsigned value, int fraction_bits, int bias) {
  int exponent = 0;
  if (value == 0) return 0;
  while (value >> (exponent + 1)) exponent++;
  return (uint16_t)(((exponent + bias) << fraction_bits) |
                    (((value << fraction_bits) >> exponent) & ((1 << fraction_bits) - 1)));
}
#define half_whole(value) whole(value, 10, 15)
#define bfloat16_whole(value) whole(value, 7, 127)

#define TRANSFERS(NAME) \
  do { \
    NAME##_type *there = (NAME##_type *)F(malloc)(N * sizeof *there), got[4], put[4]; \
    uint64_t *signal = (uint64_t *)F(calloc)(1, sizeof *signal); \
    int i; \
    memset((void *)there, 0, N * sizeof *there); \
    F(barrier_all)(); \
    for (i = 0; i < 4; i++) put[i] = NAME##_of((uint16_t)(0x1234 + 256 * me + i)); \
    FT(NAME, p)(&there[0], put[0], right); \
    FT(NAME, put)(&there[1], put, 4, right); \
    FT(NAME, put_nbi)(&there[5], put, 4, right); \
    FT(NAME, iput)(&there[10], put, 3, 1, 4, right); \
    FT(NAME, put_signal)(&there[30], put, 4, signal, 1, K(SIGNAL_SET), right); \
    F(signal_wait_until)(signal, K(CMP_EQ), 1); \
    F(barrier_all)(); \
    CHECK(NAME##_bits(there[0]) == 0x1234 + 256 * left && NAME##_bits(there[4]) == 0x1237 + 256 * left); \
    CHECK(NAME##_bits(there[8]) == 0x1237 + 256 * left && NAME##_bits(there[19]) == 0x1237 + 256 * left); \
    CHECK(NAME##_bits(there[11]) == 0 && NAME##_bits(there[33]) == 0x1237 + 256 * left); \
    CHECK(NAME##_bits(FT(NAME, g)(&there[2], right)) == 0x1235 + 256 * me); \
    FT(NAME, get)(got, &there[1], 4, right); \
    CHECK(memcmp((void *)got, (void *)put, sizeof got) == 0); \
    memset((void *)got, 0, sizeof got); \
    FT(NAME, get_nbi)(got, &there[5], 4, right); \
    F(quiet)(); \
    CHECK(memcmp((void *)got, (void *)put, sizeof got) == 0); \
    FT(NAME, iget)(got, &there[10], 1, 3, 4, right); \
    CHECK(memcmp((void *)got, (void *)put, sizeof got) == 0); \
    F(barrier_all)(); \
    CHECK(FT(NAME, broadcast)(K(TEAM_WORLD), &there[40], &there[0], 3, n - 1) == 0); \
    CHECK(NAME##_bits(there[41]) == 0x1234 + 256 * ((n - 2 + n) % n)); \
    CHECK(FT(NAME, fcollect)(K(TEAM_WORLD), &there[100], &there[0], 2) == 0); \
    for (i = 0; i < n; i++) CHECK(NAME##_bits(there[100 + 2 * i]) == 0x1234 + 256 * ((i + n - 1) % n)); \
    F(barrier_all)(); \
    F(free)(signal); \
    F(free)((void *)there); \
  } while (0)

/* value[i] of PE pe: small whole numbers, whose sum and product are exact as long as they are small. */
static unsigned value_of(int pe, int i) { return (unsigned)((pe * 7 + i) % 3 + (pe < 3)); }

#define REDUCTIONS(NAME, UP) \
  do { \
    NAME##_type *source = (NAME##_type *)F(malloc)(N * sizeof *source); \
    NAME##_type *dest = (NAME##_type *)F(malloc)(N * sizeof *dest); \
    int i, pe, on_stream; \
    for (i = 0; i < N; i++) source[i] = NAME##_of(NAME##_whole(value_of(me, i))); \
    for (on_stream = 0; on_stream < 2; on_stream++) { \
      unsigned wrong = 0; \
      F(barrier_all)(); \
      CHECK((on_stream ? FX(NAME##_sum_reduce_on_stream)(K(TEAM_WORLD), dest, source, N, NULL) \
                       : FT(NAME, sum_reduce)(K(TEAM_WORLD), dest, source, N)) == 0); \
      FX(quiet_on_stream)(NULL); \
      FX(barrier_all_on_stream)(NULL); \
      (void)FX(NAME##_g_on_stream)(dest, me, NULL); /* waits for the stream */ \
      for (i = 0; i < N; i++) { \
        unsigned sum = 0; \
        for (pe = 0; pe < n; pe++) sum += value_of(pe, i); \
        wrong += NAME##_bits(dest[i]) != NAME##_whole(sum); \
      } \
      CHECK(wrong == 0); \
      F(barrier_all)(); \
      CHECK((on_stream ? FX(NAME##_max_reduce_on_stream)(K(TEAM_WORLD), dest, source, 7, NULL) \
                       : FT(NAME, max_reduce)(K(TEAM_WORLD), dest, source, 7)) == 0); \
      (void)FX(NAME##_g_on_stream)(dest, me, NULL); \
      for (i = 0; i < 7; i++) { \
        unsigned max = 0; \
        for (pe = 0; pe < n; pe++) max = value_of(pe, i) > max ? value_of(pe, i) : max; \
        CHECK(NAME##_bits(dest[i]) == NAME##_whole(max)); \
      } \
      F(barrier_all)(); \
    } \
    CHECK(FT(NAME, min_reduce)(K(TEAM_WORLD), dest, source, 7) == 0); \
    for (i = 0; i < 7; i++) { \
      unsigned min = 9; \
      for (pe = 0; pe < n; pe++) min = value_of(pe, i) < min ? value_of(pe, i) : min; \
      CHECK(NAME##_bits(dest[i]) == NAME##_whole(min)); \
    } \
    F(barrier_all)(); \
    source[0] = NAME##_of(me == 0 ? UP##_2 : UP##_1); \
    source[1] = NAME##_of(me == n - 1 ? UP##_NAN : UP##_1); \
    source[2] = NAME##_of(me == 0 ? UP##_INF : UP##_1); \
    CHECK(FT(NAME, prod_reduce)(K(TEAM_WORLD), dest, source, 3) == 0); \
    CHECK(NAME##_bits(dest[0]) == UP##_2 && is_nan(NAME##_bits(dest[1]), UP##_INF)); \
    CHECK(NAME##_bits(dest[2]) == UP##_INF); \
    CHECK(FT(NAME, max_reduce)(K(TEAM_WORLD), dest, source, 3) == 0); \
    CHECK(is_nan(NAME##_bits(dest[1]), UP##_INF) && NAME##_bits(dest[2]) == UP##_INF); \
    CHECK(FT(NAME, min_reduce)(K(TEAM_WORLD), dest, source, 3) == 0); \
    CHECK(is_nan(NAME##_bits(dest[1]), UP##_INF)); \
    F(barrier_all)(); \
    F(free)((void *)dest); \
    F(free)((void *)source); \
  } while (0)

/* One more than the numbers that have all units: half way, to even, at each step. */
#define ROUNDING(NAME, BIG) \
  do { \
    NAME##_type *word = (NAME##_type *)F(malloc)(2 * sizeof *word); \
    word[0] = NAME##_of(me == 0 ? (BIG) : NAME##_whole(1)); \
    CHECK(FT(NAME, sum_reduce)(K(TEAM_WORLD), &word[1], &word[0], 1) == 0); \
    CHECK(NAME##_bits(word[1]) == (BIG)); \
    F(barrier_all)(); \
    F(free)((void *)word); \
  } while (0)

int main(void) {
  int me, n, left, right;
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  left = (me + n - 1) % n;
  right = (me + 1) % n;
  if (n > MAX_PES) F(global_exit)(2);
  TRANSFERS(half);
  TRANSFERS(bfloat16);
  REDUCTIONS(half, HALF);
  REDUCTIONS(bfloat16, BFLOAT16);
  ROUNDING(half, HALF_2048);
  ROUNDING(bfloat16, BFLOAT16_256);
#if defined(FAMILY_DUSHMEM) && (defined(__cplusplus) || __STDC_VERSION__ >= 201112L)
  {
    dushmem_half_t *word = (dushmem_half_t *)dushmem_malloc(sizeof *word);
    *word = half_of(HALF_1);
    dushmem_barrier_all();
    dushmem_p(word, half_of(HALF_2), right);
    dushmem_barrier_all();
    CHECK(half_bits(*word) == HALF_2 && half_bits(dushmem_g(word, right)) == HALF_2);
    CHECK(dushmem_max_reduce(DUSHMEM_TEAM_WORLD, word, word, 1) == 0 && half_bits(*word) == HALF_2);
    dushmem_free((void *)word);
  }
#endif
  return verdict();
}
