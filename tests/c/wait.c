/* Waits and tests, of every type: one word, all, any, some, each with one value or a vector of them. */
#include "check.h"

enum { N = 6 };
static int me, n, next, prev;
static void *heap;

/* The sender changes the entries one after another, from the last to the first. */
#define ONE(NAME, T)                                                                                          \
  static void one_##NAME(void) {                                                                              \
    T *v = (T *)heap;                                                                                         \
    const char *where = #NAME;                                                                                \
    v[0] = 5;                                                                                                 \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_EQ), 5) && !FT(NAME, test)(v, K(CMP_NE), 5));                     \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_GT), 4) && !FT(NAME, test)(v, K(CMP_GT), 5));                     \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_LE), 5) && !FT(NAME, test)(v, K(CMP_LE), 4));                     \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_LT), 6) && !FT(NAME, test)(v, K(CMP_LT), 5));                     \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_GE), 5) && !FT(NAME, test)(v, K(CMP_GE), 6));                     \
    CHECK_IN(where, FT(NAME, test)(v, K(CMP_LT), (T)-1) == ((T)-1 > 0));                                      \
    F(barrier_all)();                                                                                         \
    FT(NAME, p)(v, 9, next);                                                                                  \
    FT(NAME, wait_until)(v, K(CMP_GT), 8);                                                                    \
    CHECK_IN(where, v[0] == 9);                                                                               \
    F(barrier_all)();                                                                                         \
  }

#define MANY(NAME, T)                                                                                         \
  static void many_##NAME(void) {                                                                             \
    T *v = (T *)heap;                                                                                         \
    const char *where = #NAME;                                                                                \
    static const int skip[N] = {0, 1, 0, 0, 1, 0}, none[N] = {1, 1, 1, 1, 1, 1};                              \
    static const T each[N] = {1, 2, 3, 4, 5, 6};                                                              \
    size_t index[N], seen = 0, rounds = 0;                                                                    \
    int found[N];                                                                                             \
    for (int i = 0; i < N; i++) v[i] = 0;                                                                     \
    /* Nothing to wait for: at once, with the values of section 9.11. */                                      \
    FT(NAME, wait_until_all)(v, N, none, K(CMP_NE), 0);                                                       \
    FT(NAME, wait_until_all)(v, 0, NULL, K(CMP_NE), 0);                                                       \
    CHECK_IN(where, FT(NAME, wait_until_any)(v, N, none, K(CMP_NE), 0) == SIZE_MAX);                          \
    CHECK_IN(where, FT(NAME, wait_until_some)(v, N, index, none, K(CMP_NE), 0) == 0);                         \
    CHECK_IN(where, FT(NAME, test_all)(v, N, none, K(CMP_NE), 0) == 1);                                       \
    CHECK_IN(where, FT(NAME, test_any)(v, N, none, K(CMP_EQ), 0) == SIZE_MAX);                                \
    CHECK_IN(where, FT(NAME, test_some)(v, N, index, none, K(CMP_EQ), 0) == 0);                               \
    CHECK_IN(where, FT(NAME, test_all)(v, N, NULL, K(CMP_EQ), 0) == 1);                                       \
    CHECK_IN(where, FT(NAME, test_all)(v, N, NULL, K(CMP_GT), 0) == 0);                                       \
    CHECK_IN(where, FT(NAME, test_any)(v, N, NULL, K(CMP_GT), 0) == SIZE_MAX);                                \
    CHECK_IN(where, FT(NAME, test_some)(v, N, index, NULL, K(CMP_GT), 0) == 0);                               \
    v[3] = 4;                                                                                                 \
    CHECK_IN(where, FT(NAME, test_any)(v, N, skip, K(CMP_EQ), 4) == 3);                                       \
    CHECK_IN(where, FT(NAME, test_some)(v, N, index, skip, K(CMP_GT), 0) == 1 && index[0] == 3);              \
    CHECK_IN(where, FT(NAME, test_any_vector)(v, N, NULL, K(CMP_EQ), each) == 3);                             \
    CHECK_IN(where, FT(NAME, test_some_vector)(v, N, index, NULL, K(CMP_EQ), each) == 1 && index[0] == 3);    \
    CHECK_IN(where, FT(NAME, test_all_vector)(v, N, NULL, K(CMP_LE), each) == 1);                             \
    CHECK_IN(where, FT(NAME, test_all_vector)(v, N, NULL, K(CMP_EQ), each) == 0);                             \
    CHECK_IN(where, FT(NAME, wait_until_any_vector)(v, N, skip, K(CMP_EQ), each) == 3);                       \
    CHECK_IN(where, FT(NAME, wait_until_some_vector)(v, N, index, skip, K(CMP_EQ), each) == 1);               \
    v[3] = 0;                                                                                                 \
    F(barrier_all)();                                                                                         \
    for (int i = N - 1; i >= 0; i--)                                                                          \
      if (!skip[i]) FT(NAME, p)(v + i, (T)(i + 1), next);                                                     \
    memset(found, 0, sizeof found);                                                                           \
    while (seen < 4 && rounds++ < 1000) {                                                                     \
      int exclude[N];                                                                                         \
      for (int i = 0; i < N; i++) exclude[i] = skip[i] || found[i];                                           \
      if (rounds % 2) {                                                                                       \
        size_t got = FT(NAME, wait_until_some)(v, N, index, exclude, K(CMP_NE), 0);                           \
        CHECK_IN(where, got >= 1 && got <= 4 - seen);                                                         \
        for (size_t i = 0; i < got; i++) found[index[i]]++;                                                   \
        seen += got;                                                                                          \
      } else {                                                                                                \
        size_t got = FT(NAME, wait_until_any)(v, N, exclude, K(CMP_NE), 0);                                   \
        CHECK_IN(where, got < N);                                                                             \
        if (got < N) found[got]++;                                                                            \
        seen++;                                                                                               \
      }                                                                                                       \
    }                                                                                                         \
    for (int i = 0; i < N; i++) CHECK_IN(where, found[i] == !skip[i] && v[i] == (T)(skip[i] ? 0 : i + 1));    \
    F(barrier_all)();                                                                                         \
    FT(NAME, p)(v + 1, 2, next);                                                                              \
    FT(NAME, p)(v + 4, 5, next);                                                                              \
    FT(NAME, wait_until_all)(v, N, NULL, K(CMP_NE), 0);                                                       \
    FT(NAME, wait_until_all_vector)(v, N, NULL, K(CMP_EQ), each);                                             \
    CHECK_IN(where, FT(NAME, test_all_vector)(v, N, NULL, K(CMP_EQ), each) == 1);                             \
    F(barrier_all)();                                                                                         \
  }

#define SHORTS(X) X(short, short) X(ushort, unsigned short)
SHORTS(ONE)
AMO_TYPES(ONE)
AMO_TYPES(MANY)
#ifndef FAMILY_SHMEM
SHORTS(MANY)
#endif

/* Every way of changing a word ends a wait for it. */
static void who_wakes(void) {
  long *word = (long *)heap;
  static long one = 1, two = 2;
  *word = 0;
  F(barrier_all)();
  for (long round = 0; round < 8; round++) {
    long base = 10 * round;
    FT(long, put)(word, &one, round == 0 ? 1 : 0, next);
    if (round == 0) FT(long, wait_until)(word, K(CMP_EQ), 1);
    F(barrier_all)();
    FT(long, atomic_set)(word, base + 2, next);
    FT(long, wait_until)(word, K(CMP_EQ), base + 2);
    F(barrier_all)();
    FT(long, atomic_add)(word, 1, next);
    FT(long, wait_until)(word, K(CMP_EQ), base + 3);
    F(barrier_all)();
    FT(long, atomic_compare_swap)(word, base + 3, base + 4, next);
    FT(long, wait_until)(word, K(CMP_GE), base + 4);
    F(barrier_all)();
    /* A store through ptr tells nobody. */
    long *there = (long *)F(ptr)(word, next);
    if (there)
      *(volatile long *)there = base + 5;
    else
      FT(long, p)(word, base + 5, next);
    FT(long, wait_until)(word, K(CMP_EQ), base + 5);
    F(barrier_all)();
    FT(long, iput)(word, &two, 1, 1, 1, next);
    FT(long, wait_until)(word, K(CMP_EQ), 2);
    F(barrier_all)();
  }
  if (globals_are_symmetric()) {
    static long global;
    FT(long, p)(&global, 77, next);
    FT(long, wait_until)(&global, K(CMP_EQ), 77);
    F(barrier_all)();
  }
}

int main(void) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  heap = F(calloc)(N, sizeof(long long));
#define RUN_ONE(NAME, T) one_##NAME();
#define RUN_MANY(NAME, T) many_##NAME();
  SHORTS(RUN_ONE)
  AMO_TYPES(RUN_ONE)
  AMO_TYPES(RUN_MANY)
#ifndef FAMILY_SHMEM
  SHORTS(RUN_MANY)
#endif
  who_wakes();
  F(free)(heap);
  return verdict();
}
