/* One name for all types: _Generic in C11, overloads in C++; with and without a context in front. */
#include "check.h"
#ifdef __cplusplus
#include <complex>
typedef std::complex<double> complex_double;
#else
#include <complex.h>
typedef double _Complex complex_double;
#endif

static int me, n, next, prev;
static F(ctx_t) ctx;
static void *heap, *other;

#define EACH(NAME, T)                                                                                         \
  static void generic_##NAME(void) {                                                                          \
    T *dest = (T *)heap, source[4], back[4];                                                                  \
    const T *readable = dest;                                                                                 \
    for (int i = 0; i < 4; i++) source[i] = (T)(me + i + 1), back[i] = 0;                                     \
    for (int i = 0; i < 16; i++) dest[i] = 0;                                                                 \
    F(barrier_all)();                                                                                         \
    F(put)(dest, source, 4, next);                                                                            \
    F(p)(dest + 4, source[0], next);                                                                          \
    F(iput)(dest + 5, source, 2, 1, 2, next);                                                                 \
    F(put_nbi)(dest + 8, source, 4, next);                                                                    \
    F(put)(ctx, dest + 12, source, 2, next);                                                                  \
    F(p)(ctx, dest + 14, source[3], next);                                                                    \
    F(ctx_quiet)(ctx);                                                                                        \
    F(barrier_all)();                                                                                         \
    for (int i = 0; i < 4; i++) CHECK_IN(#NAME, dest[i] == (T)(prev + i + 1) && dest[8 + i] == dest[i]);      \
    CHECK_IN(#NAME, dest[4] == dest[0] && dest[5] == dest[0] && dest[7] == dest[1] && dest[12] == dest[0]);   \
    CHECK_IN(#NAME, F(g)(readable, next) == source[0] && F(g)(ctx, dest + 14, next) == source[3]);            \
    F(get)(back, readable, 4, next);                                                                          \
    CHECK_IN(#NAME, back[3] == source[3]);                                                                    \
    F(get_nbi)(back, dest + 12, 2, next);                                                                     \
    F(iget)(back + 2, dest, 1, 3, 2, next);                                                                   \
    F(quiet)();                                                                                               \
    CHECK_IN(#NAME, back[1] == source[1] && back[3] == source[3]);                                            \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, F(broadcast)(K(TEAM_WORLD), (T *)other, readable, 4, n - 1) == 0);                        \
    CHECK_IN(#NAME, ((T *)other)[2] == (T)((2 * n - 2) % n + 3));                                             \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, F(fcollect)(K(TEAM_WORLD), (T *)other, readable, 1) == 0);                                \
    CHECK_IN(#NAME, ((T *)other)[n - 1] == (T)((2 * n - 2) % n + 1));                                         \
    F(barrier_all)();                                                                                         \
    dest[0] = (T)(me % 3 + 1);                                                                                \
    F(barrier_all)();                                                                                         \
    T sum = 0;                                                                                                \
    for (int pe = 0; pe < n; pe++) sum = (T)(sum + (T)(pe % 3 + 1));                                          \
    CHECK_IN(#NAME, F(sum_reduce)(K(TEAM_WORLD), (T *)other, readable, 1) == 0 && *(T *)other == sum);        \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, F(max_reduce)(K(TEAM_WORLD), (T *)other, readable, 1) == 0);                              \
    CHECK_IN(#NAME, *(T *)other == (T)(n > 2 ? 3 : n));                                                       \
    F(barrier_all)();                                                                                         \
  }
RMA_TYPES(EACH)

#define ATOMIC(NAME, T)                                                                                       \
  static void atomic_##NAME(void) {                                                                           \
    T *word = (T *)heap, got = 0;                                                                             \
    *word = 10;                                                                                               \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, F(atomic_fetch)(word, next) == 10 && F(atomic_fetch_add)(word, (T)2, next) == 10);        \
    CHECK_IN(#NAME, F(atomic_fetch_inc)(word, next) == 12 && F(atomic_swap)(word, (T)20, next) == 13);        \
    CHECK_IN(#NAME, F(atomic_compare_swap)(word, (T)20, (T)21, next) == 20);                                  \
    F(atomic_add)(word, (T)1, next);                                                                          \
    F(atomic_inc)(word, next);                                                                                \
    F(quiet)();                                                                                               \
    F(atomic_fetch_add_nbi)(&got, word, (T)1, next);                                                          \
    F(quiet)();                                                                                               \
    CHECK_IN(#NAME, got == 23 && F(atomic_fetch)(ctx, word, next) == 24);                                     \
    F(atomic_set)(word, (T)1, next);                                                                          \
    F(wait_until)(word, K(CMP_EQ), (T)1);                                                                     \
    CHECK_IN(#NAME, F(test)(word, K(CMP_EQ), (T)1) == 1);                                                     \
    F(barrier_all)();                                                                                         \
    size_t any = F(wait_until_any)(word, 1, (int *)NULL, K(CMP_NE), (T)0);                                    \
    CHECK_IN(#NAME, any == 0);                                                                                \
    F(barrier_all)();                                                                                         \
  }
AMO_TYPES(ATOMIC)

#define BITWISE(NAME, T)                                                                                      \
  static void bitwise_##NAME(void) {                                                                          \
    T *word = (T *)heap;                                                                                      \
    *word = 12;                                                                                               \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, F(atomic_fetch_and)(word, (T)6, next) == 12 && F(atomic_fetch_or)(word, (T)3, next) == 4); \
    CHECK_IN(#NAME, F(atomic_fetch_xor)(word, (T)1, next) == 7);                                              \
    F(barrier_all)();                                                                                         \
    CHECK_IN(#NAME, *word == 6 && F(or_reduce)(K(TEAM_WORLD), (T *)other, word, 1) == 0);                     \
    CHECK_IN(#NAME, *(T *)other == 6);                                                                        \
    F(barrier_all)();                                                                                         \
  }
BIT_AMO_TYPES(BITWISE)

static void rest(void) {
  uint64_t *sig = (uint64_t *)other;
  *sig = 0;
  F(barrier_all)();
  int value = me + 5;
  F(put_signal)((int *)heap, &value, 1, sig, 1, K(SIGNAL_ADD), next);
  F(signal_wait_until)(sig, K(CMP_EQ), 1);
  CHECK(*(int *)heap == prev + 5);
  F(barrier_all)();
  complex_double *z = (complex_double *)heap, *sum = (complex_double *)other;
#ifdef __cplusplus
  *z = complex_double(1, me);
#else
  *z = 1 + (double)me * I;
#endif
  F(barrier_all)();
  CHECK(F(sum_reduce)(K(TEAM_WORLD), sum, z, 1) == 0);
  double *parts = (double *)sum;
  CHECK(parts[0] == n && parts[1] == n * (n - 1) / 2.0);
  CHECK(F(sync)(K(TEAM_WORLD)) == 0);
}

int main(void) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  heap = F(calloc)(64, 16);
  other = F(calloc)(64, 16);
  CHECK(F(ctx_create)(0, &ctx) == 0);
#define RUN(NAME, T) generic_##NAME();
#define RUN_ATOMIC(NAME, T) atomic_##NAME();
#define RUN_BITWISE(NAME, T) bitwise_##NAME();
  RMA_TYPES(RUN)
  AMO_TYPES(RUN_ATOMIC)
  BIT_AMO_TYPES(RUN_BITWISE)
  rest();
  F(ctx_destroy)(ctx);
  return verdict();
}
