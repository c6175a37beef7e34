/* Traps 33 to 38: atomics. */
#include "trap.h"

/* The types of the standard: all twelve compute, two more are only fetched, set and swapped, seven have bits. */
#define COMPUTED(X)                                                                                           \
  X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)              \
  X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)                    \
  X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define WITH_BITS(X)                                                                                          \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)            \
  X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

enum { TIMES = 20 };

/* All PEs, and the owner itself, update one word by every operation that adds; nothing is lost. Swaps hand
 * tokens on without losing or doubling any. */
#define SHARED_WORD(NAME, T)                                                                                  \
  static void shared_##NAME(shmem_ctx_t ctx) {                                                                \
    T *word = TAKE(T, 4), old;                                                                                \
    int home = n / 2;                                                                                         \
    for (int i = 0; i < TIMES; i++) {                                                                         \
      shmem_##NAME##_atomic_add(word, 2, home);                                                               \
      shmem_##NAME##_atomic_inc(word, home);                                                                  \
      shmem_ctx_##NAME##_atomic_fetch_add(ctx, word, 3, home);                                                \
      shmem_ctx_##NAME##_atomic_fetch_inc(ctx, word, home);                                                   \
      shmem_##NAME##_atomic_fetch_add_nbi(&old, word, 4, home);                                               \
      shmem_quiet();                                                                                          \
      shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &old, word, home);                                         \
      shmem_ctx_quiet(ctx);                                                                                   \
      for (T seen = shmem_##NAME##_atomic_fetch(word + 1, home), was; ; seen = was) {                         \
        was = shmem_##NAME##_atomic_compare_swap(word + 1, seen, (T)(seen + 1), home);                        \
        if (was == seen) break;                                                                               \
      }                                                                                                       \
      T token = shmem_##NAME##_atomic_swap(word + 2, (T)(me + 1), home);                                      \
      CHECK_IN(#NAME, token >= 0 + (T)0 && token <= (T)n);                                                    \
    }                                                                                                         \
    shmem_ctx_quiet(ctx);                                                                                     \
    shmem_barrier_all();                                                                                      \
    if (me == home) CHECK_IN(#NAME, word[0] == (T)(12 * TIMES * n) && word[1] == (T)(TIMES * n));             \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch(word, home) == (T)(12 * TIMES * n));                          \
    shmem_barrier_all();                                                                                      \
  }
#pragma GCC diagnostic ignored "-Wtype-limits"
COMPUTED(SHARED_WORD)
static void trap_33_all_update_one_word(void) {
  shmem_ctx_t ctx;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
#define RUN_SHARED(NAME, T) shared_##NAME(ctx);
  COMPUTED(RUN_SHARED)
  shmem_ctx_destroy(ctx);
}

/* Each PE has bits of its own in a word and changes them by and, or, xor; the bits of others stay. */
#define BITS(NAME, T)                                                                                         \
  static void bits_##NAME(void) {                                                                             \
    T *word = TAKE(T, 2), mine = (T)((T)5 << 3 * (me % 10)), old;                                             \
    int home = (me / 10 + 1) % n; /* ten PEs to a word */                                                     \
    for (int i = 0; i < TIMES; i++) {                                                                         \
      CHECK_IN(#NAME, (shmem_##NAME##_atomic_fetch_or(word, mine, home) & mine) == 0);                        \
      CHECK_IN(#NAME, (shmem_##NAME##_atomic_fetch_xor(word, mine, home) & mine) == mine);                    \
      shmem_##NAME##_atomic_or(word, mine, home);                                                             \
      shmem_quiet();                                                                                          \
      CHECK_IN(#NAME, (shmem_##NAME##_atomic_fetch_and(word, (T)~mine, home) & mine) == mine);                \
      shmem_##NAME##_atomic_fetch_xor_nbi(&old, word, mine, home);                                            \
      shmem_quiet();                                                                                          \
      CHECK_IN(#NAME, (old & mine) == 0);                                                                     \
      shmem_##NAME##_atomic_fetch_or_nbi(&old, word, mine, home);                                             \
      shmem_quiet();                                                                                          \
      CHECK_IN(#NAME, (old & mine) == mine);                                                                  \
      shmem_##NAME##_atomic_xor(word, mine, home);                                                            \
      shmem_quiet();                                                                                          \
      shmem_##NAME##_atomic_fetch_and_nbi(&old, word, (T)~mine, home);                                        \
      shmem_quiet();                                                                                          \
      CHECK_IN(#NAME, (old & mine) == 0);                                                                     \
      shmem_##NAME##_atomic_xor(word, mine, home);                                                            \
      shmem_quiet();                                                                                          \
      shmem_##NAME##_atomic_and(word, (T)~mine, home);                                                        \
      shmem_quiet();                                                                                          \
    }                                                                                                         \
    shmem_barrier_all();                                                                                      \
    CHECK_IN(#NAME, word[0] == 0 && word[1] == 0);                                                            \
  }
WITH_BITS(BITS)
static void trap_36_bits_of_seven_types(void) {
#define RUN_BITS(NAME, T) bits_##NAME();
  WITH_BITS(RUN_BITS)
}

/* Bits move as they are: a NaN keeps its payload, a signalling one does not become quiet, -0.0 its sign. */
static void trap_35_floats_are_swapped_by_bits(void) {
  const uint32_t narrow[] = {0x7fc12345, 0x7f812345, 0xffc00001, 0x80000000, 0x00000001, 0x7f800000, 0};
  const uint64_t wide[] = {0x7ff8123456789abc, 0x7ff0123456789abc, 0xfff8000000000001, 0x8000000000000000, 1,
                           0x7ff0000000000000, 0};
  float *single = TAKE(float, 1), value;
  double *twice = TAKE(double, 1), number;
  uint32_t was = 0, got;
  uint64_t before = 0, have;
  for (size_t i = 0; i < COUNT(narrow); i++) {
    memcpy(&value, narrow + i, 4);
    memcpy(&number, wide + i, 8);
    value = shmem_float_atomic_swap(single, value, next);
    number = shmem_double_atomic_swap(twice, number, next);
    memcpy(&got, &value, 4);
    memcpy(&have, &number, 8);
    CHECK(got == was && have == before);
    value = shmem_float_atomic_fetch(single, next);
    shmem_double_atomic_fetch_nbi(&number, twice, next);
    shmem_quiet();
    memcpy(&got, &value, 4);
    memcpy(&have, &number, 8);
    CHECK(got == narrow[i] && have == wide[i]);
    was = narrow[(i + 1) % COUNT(narrow)];
    before = wide[(i + 1) % COUNT(wide)];
    memcpy(&value, &was, 4);
    memcpy(&number, &before, 8);
    shmem_float_atomic_set(single, value, next);
    shmem_double_atomic_set(twice, number, next);
    shmem_quiet();
    shmem_float_atomic_swap_nbi(&value, single, value, next);
    shmem_double_atomic_swap_nbi(&number, twice, number, next);
    shmem_quiet();
    memcpy(&got, &value, 4);
    memcpy(&have, &number, 8);
    CHECK(got == was && have == before);
  }
}

/* The fetched values of non-blocking atomics are there after a quiet; a fence does not bring them. */
static void trap_37_fetched_after_quiet(void) {
  enum { LEN = 40 };
  uint64_t *words = TAKE(uint64_t, LEN), old[8][LEN];
  for (uint64_t round = 0; round < 4; round++) {
    memset(old, 0xFF, sizeof old);
    for (int i = 0; i < LEN; i++) {
      shmem_uint64_atomic_set(words + i, round * 1000 + (uint64_t)i, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_nbi(old[0] + i, words + i, next);
      shmem_fence();
      shmem_uint64_atomic_swap_nbi(old[1] + i, words + i, 7, next);
      shmem_fence();
      shmem_uint64_atomic_compare_swap_nbi(old[2] + i, words + i, 7, 8, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_inc_nbi(old[3] + i, words + i, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_add_nbi(old[4] + i, words + i, 10, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_and_nbi(old[5] + i, words + i, 0xf, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_or_nbi(old[6] + i, words + i, 0x20, next);
      shmem_fence();
      shmem_uint64_atomic_fetch_xor_nbi(old[7] + i, words + i, 1, next);
    }
    shmem_quiet();
    const uint64_t expected[] = {0, 0, 7, 8, 9, 19, 3, 35};
    for (int i = 0; i < LEN; i++)
      for (int op = 0; op < 8; op++)
        CHECK(old[op][i] == (op < 2 ? round * 1000 + (uint64_t)i : expected[op]));
    CHECK(shmem_uint64_g(words + LEN - 1, next) == 34);
    shmem_barrier_all();
  }
}

/* Addition wraps, in all types, by all operations. */
#define WRAPS(NAME, T)                                                                                        \
  do {                                                                                                        \
    T *word = TAKE(T, 1), top = (T)((((T)1 << (sizeof(T) * 8 - 2)) - 1) * 2 + 1), old;                        \
    if ((T)-1 > 0) top = (T)-1;                                                                               \
    T low = (T)((T)-1 > 0 ? 0 : -top - 1);                                                                    \
    shmem_##NAME##_atomic_set(word, top, next);                                                               \
    shmem_quiet();                                                                                            \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch_inc(word, next) == top);                                      \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch(word, next) == low);                                          \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch_add(word, (T)-1, next) == low);                               \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch(word, next) == top);                                          \
    shmem_##NAME##_atomic_add(word, top, next);                                                               \
    shmem_##NAME##_atomic_inc(word, next);                                                                    \
    shmem_##NAME##_atomic_inc(word, next);                                                                    \
    shmem_quiet();                                                                                            \
    CHECK_IN(#NAME, shmem_##NAME##_atomic_fetch(word, next) == 0);                                             \
    shmem_##NAME##_atomic_set(word, top, next);                                                               \
    shmem_quiet();                                                                                            \
    shmem_##NAME##_atomic_fetch_inc_nbi(&old, word, next);                                                    \
    shmem_quiet();                                                                                            \
    CHECK_IN(#NAME, old == top && shmem_##NAME##_g(word, next) == low);                                       \
  } while (0);
static void trap_38_addition_wraps(void) { COMPUTED(WRAPS) }

/* So do sums and products of reductions. */
static void trap_38_reductions_wrap(void) {
  int *in = TAKE(int, 2), *out = TAKE(int, 2);
  int8_t *small = TAKE(int8_t, 1), *result = TAKE(int8_t, 1);
  in[0] = 0x7fffffff;
  in[1] = 0x10001;
  small[0] = 100;
  shmem_barrier_all();
  CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, out, in, 1) == 0);
  CHECK(shmem_int_prod_reduce(SHMEM_TEAM_WORLD, out + 1, in + 1, 1) == 0);
  CHECK(shmem_int8_sum_reduce(SHMEM_TEAM_WORLD, result, small, 1) == 0);
  uint32_t sum = 0, product = 1;
  for (int pe = 0; pe < n; pe++) sum += 0x7fffffffu, product *= 0x10001u;
  CHECK((uint32_t)out[0] == sum && (uint32_t)out[1] == product && *result == (int8_t)(100 * n));
}

/* Threads of one PE and other PEs at the same word. */
static void *add_many(void *word) {
  for (int i = 0; i < 200; i++) {
    shmem_long_atomic_inc((long *)word, 0);
    shmem_long_atomic_fetch_add((long *)word, 2, 0);
  }
  return NULL;
}
static void trap_33_threads_and_pes(void) {
  long *word = TAKE(long, 1);
  pthread_t thread[3];
  for (int t = 0; t < 3; t++) CHECK(pthread_create(thread + t, NULL, add_many, word) == 0);
  add_many(word);
  for (int t = 0; t < 3; t++) pthread_join(thread[t], NULL);
  shmem_barrier_all();
  if (me == 0) CHECK(peek(word) == 4L * 600 * n);
}

static const trap_t traps[] = {
    TRAP(trap_33_all_update_one_word),
    TRAP(trap_33_threads_and_pes),
    TRAP(trap_35_floats_are_swapped_by_bits),
    TRAP(trap_36_bits_of_seven_types),
    TRAP(trap_37_fetched_after_quiet),
    TRAP(trap_38_addition_wraps),
    TRAP(trap_38_reductions_wrap),
};
MAIN(traps)
