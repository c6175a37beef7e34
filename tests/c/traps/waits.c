/* Traps 15 to 19: the families of wait and test. */
#include "trap.h"

enum { N = 7 };
/* All types of the standard that words to wait for may have. */
#define WAIT_TYPES(X)                                                                                         \
  X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)              \
  X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t)                    \
  X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* any does not come back with the same entry for ever: a series of calls finds each of those that hold. */
static void trap_15_any_is_fair(void) {
  long *words = TAKE(long, N), ones[N];
  int status[N] = {0};
  for (int i = 0; i < N; i++) words[i] = ones[i] = 1;
  for (int form = 0; form < 4; form++) {
    int seen[N] = {0}, found = 0;
    for (int call = 0; call < 10000 && found < N - 1; call++) {
      size_t i = form == 0   ? shmem_long_test_any(words, N, status, SHMEM_CMP_EQ, 1)
                 : form == 1 ? shmem_long_wait_until_any(words, N, status, SHMEM_CMP_EQ, 1)
                 : form == 2 ? shmem_long_test_any_vector(words, N, status, SHMEM_CMP_EQ, ones)
                             : shmem_long_wait_until_any_vector(words, N, status, SHMEM_CMP_EQ, ones);
      CHECK(i < N && (form % 2 == 0 || i != 3));
      if (i < N && seen[i]++ == 0) found++;
      status[3] = form % 2;
    }
    CHECK(found >= N - 1);
    status[3] = 0;
  }
}

/* Two sets that are asked in turn: neither keeps the other's turn from coming round. */
static void trap_15_any_is_fair_to_two_sets(void) {
  int *words = TAKE(int, 4), seen[4] = {0};
  for (int i = 0; i < 4; i++) words[i] = 1;
  for (int call = 0; call < 1000; call++) {
    size_t one = shmem_int_test_any(words, 2, NULL, SHMEM_CMP_EQ, 1);
    size_t two = shmem_int_wait_until_any(words + 2, 2, NULL, SHMEM_CMP_NE, 0);
    CHECK(one < 2 && two < 2);
    if (one < 2 && two < 2) seen[one]++, seen[2 + two]++;
  }
  for (int i = 0; i < 4; i++) CHECK(seen[i] > 0);
}

/* An empty set: everything excluded, or no entries at all, with NULL or with a pointer. */
#define EMPTY(NAME, T)                                                                                        \
  static void empty_##NAME(void) {                                                                            \
    T *words = TAKE(T, N), values[N] = {0};                                                                   \
    const T *each = values;                                                                                   \
    int none[N], kept[N];                                                                                     \
    size_t index[N];                                                                                          \
    for (int i = 0; i < N; i++) none[i] = i % 2 ? 1 : -5, kept[i] = none[i], index[i] = 99;                   \
    for (int len = 0; len <= N; len += N) {                                                                   \
      T *at = len ? words : NULL;                                                                             \
      const int *status = len ? none : NULL;                                                                  \
      CHECK_IN(#NAME, shmem_##NAME##_test_any(at, len, status, SHMEM_CMP_EQ, 0) == SIZE_MAX);                 \
      CHECK_IN(#NAME, shmem_##NAME##_test_any_vector(at, len, status, SHMEM_CMP_EQ, each) == SIZE_MAX);       \
      CHECK_IN(#NAME, shmem_##NAME##_wait_until_any(at, len, status, SHMEM_CMP_NE, 0) == SIZE_MAX);           \
      CHECK_IN(#NAME, shmem_##NAME##_wait_until_any_vector(at, len, status, SHMEM_CMP_NE, each) == SIZE_MAX); \
      CHECK_IN(#NAME, shmem_##NAME##_test_some(at, len, index, status, SHMEM_CMP_EQ, 0) == 0);                \
      CHECK_IN(#NAME, shmem_##NAME##_test_some_vector(at, len, index, status, SHMEM_CMP_EQ, each) == 0);      \
      CHECK_IN(#NAME, shmem_##NAME##_wait_until_some(at, len, index, status, SHMEM_CMP_NE, 0) == 0);          \
      CHECK_IN(#NAME, shmem_##NAME##_wait_until_some_vector(at, len, index, status, SHMEM_CMP_NE, each) == 0);\
      CHECK_IN(#NAME, shmem_##NAME##_test_all(at, len, status, SHMEM_CMP_NE, 0) == 1);                        \
      CHECK_IN(#NAME, shmem_##NAME##_test_all_vector(at, len, status, SHMEM_CMP_NE, each) == 1);              \
      shmem_##NAME##_wait_until_all(at, len, status, SHMEM_CMP_NE, 0);                                        \
      shmem_##NAME##_wait_until_all_vector(at, len, status, SHMEM_CMP_NE, each);                              \
    }                                                                                                         \
    CHECK_IN(#NAME, shmem_##NAME##_test_any(NULL, 0, NULL, SHMEM_CMP_EQ, 0) == SIZE_MAX);                     \
    CHECK_IN(#NAME, shmem_##NAME##_test_some(NULL, 0, NULL, NULL, SHMEM_CMP_EQ, 0) == 0);                     \
    CHECK_IN(#NAME, shmem_##NAME##_test_all_vector(NULL, 0, NULL, SHMEM_CMP_EQ, NULL) == 1);                  \
    /* Nothing but the result says so: neither the status nor the indices are written. */                     \
    for (int i = 0; i < N; i++) CHECK_IN(#NAME, none[i] == kept[i] && index[i] == 99);                        \
  }
WAIT_TYPES(EMPTY)
static void trap_17_empty_sets(void) {
#define RUN_EMPTY(NAME, T) empty_##NAME();
  WAIT_TYPES(RUN_EMPTY)
}

/* some looks at all entries; its indices are those that hold, each once. */
static void trap_16_some_tests_all(void) {
  long *words = TAKE(long, N), each[N];
  int status[N] = {0};
  size_t index[N];
  for (int i = 0; i < N; i++) words[i] = i, each[i] = i % 2 ? i : -1;
  status[4] = 1;
  for (int form = 0; form < 4; form++) {
    int hits[N] = {0};
    memset(index, 0xFF, sizeof index);
    size_t got = form == 0   ? shmem_long_test_some(words, N, index, status, SHMEM_CMP_GE, 2)
                 : form == 1 ? shmem_long_wait_until_some(words, N, index, status, SHMEM_CMP_GE, 2)
                 : form == 2 ? shmem_long_test_some_vector(words, N, index, status, SHMEM_CMP_EQ, each)
                             : shmem_long_wait_until_some_vector(words, N, index, status, SHMEM_CMP_EQ, each);
    CHECK(got == (form < 2 ? 4 : 3));
    for (size_t i = 0; i < got && i < N; i++)
      if (index[i] < N) hits[index[i]]++;
    for (int i = 0; i < N; i++) CHECK(hits[i] == (form < 2 ? i >= 2 && i != 4 : i % 2));
    for (size_t i = got; i < N; i++) CHECK(index[i] == SIZE_MAX);
  }
}

/* A status that is not 0 excludes; NULL excludes nothing. Words that are excluded are not waited for. */
static void trap_17_status_excludes(void) {
  long *words = TAKE(long, N), values[N] = {0};
  int status[N], kept[N];
  for (int i = 0; i < N; i++) words[i] = i % 3 == 0, status[i] = kept[i] = i % 3 == 0 ? 0 : i % 2 ? -1 : 7;
  shmem_long_wait_until_all(words, N, status, SHMEM_CMP_EQ, 1);
  CHECK(shmem_long_test_all(words, N, status, SHMEM_CMP_EQ, 1) == 1);
  CHECK(shmem_long_test_all(words, N, NULL, SHMEM_CMP_EQ, 1) == 0);
  CHECK(shmem_long_test_any(words, N, status, SHMEM_CMP_EQ, 0) == SIZE_MAX);
  CHECK(shmem_long_test_any(words, N, NULL, SHMEM_CMP_EQ, 0) < N);
  shmem_long_wait_until_all_vector(words, N, status, SHMEM_CMP_GT, values);
  CHECK(shmem_long_test_all_vector(words, N, NULL, SHMEM_CMP_GT, values) == 0);
  CHECK(memcmp(status, kept, sizeof status) == 0);
}

/* Every comparison, signed and unsigned at their ends, on words that another PE updates. */
#define COMPARES(NAME, T)                                                                                     \
  static void compares_##NAME(void) {                                                                         \
    T *word = TAKE(T, 2), low = (T)-1 < (T)1 ? (T)-1 : (T)0, high = low ? (T)1 : (T)-1;                        \
    const T *ends[] = {&low, &high};                                                                          \
    for (int a = 0; a < 2; a++) {                                                                             \
      shmem_##NAME##_atomic_set(word, *ends[a], next);                                                        \
      shmem_barrier_all();                                                                                    \
      for (int b = 0; b < 2; b++) {                                                                           \
        T is = *ends[a], other = *ends[b];                                                                    \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_EQ, other) == (is == other));                     \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_NE, other) == (is != other));                     \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_GT, other) == (is > other));                      \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_GE, other) == (is >= other));                     \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_LT, other) == (is < other));                      \
        CHECK_IN(#NAME, shmem_##NAME##_test(word, SHMEM_CMP_LE, other) == (is <= other));                     \
      }                                                                                                       \
      shmem_barrier_all();                                                                                    \
    }                                                                                                         \
    shmem_##NAME##_atomic_inc(word + 1, next);                                                                \
    shmem_##NAME##_wait_until(word + 1, SHMEM_CMP_GE, 1);                                                     \
    shmem_##NAME##_atomic_add(word + 1, 41, next);                                                            \
    shmem_##NAME##_wait_until(word + 1, SHMEM_CMP_GE, 42);                                                    \
  }
WAIT_TYPES(COMPARES)
static void trap_19_types_and_comparisons(void) {
#define RUN_COMPARES(NAME, T) compares_##NAME();
  WAIT_TYPES(RUN_COMPARES)
}

/* The values of vector forms are read only: a constant table will do, and this is what the prototypes say. */
static void trap_18_values_are_const(void) {
  static const long table[] = {3, 1, 2};
  void (*all)(long *, size_t, const int *, int, const long *) = shmem_long_wait_until_all_vector;
  size_t (*any)(long *, size_t, const int *, int, const long *) = shmem_long_test_any_vector;
  int (*test)(long *, size_t, const int *, int, const long *) = shmem_long_test_all_vector;
  long *words = TAKE(long, 3);
  for (int i = 0; i < 3; i++) shmem_long_p(words + i, table[i], next);
  all(words, 3, NULL, SHMEM_CMP_EQ, table);
  CHECK(any(words, 3, NULL, SHMEM_CMP_EQ, table) < 3 && test(words, 3, NULL, SHMEM_CMP_GE, table) == 1);
}

/* short and unsigned short, which only the oldest two forms have. */
static void trap_19_short_words(void) {
  short *word = TAKE(short, 3);
  unsigned short *natural = TAKE(unsigned short, 3);
  shmem_short_p(word + 1, -300, next);
  shmem_short_wait_until(word + 1, SHMEM_CMP_LT, 0);
  CHECK(shmem_short_test(word + 1, SHMEM_CMP_EQ, -300) == 1 && word[0] == 0 && word[2] == 0);
  shmem_ushort_p(natural + 1, 65535, next);
  shmem_ushort_wait_until(natural + 1, SHMEM_CMP_GT, 40000);
  CHECK(shmem_ushort_test(natural + 1, SHMEM_CMP_EQ, 65535) == 1 && natural[0] == 0 && natural[2] == 0);
}

/* The oldest forms wait for another value than the one given, and have no type in their name. */
static void trap_19_forms_without_a_type(void) {
  long *word = TAKE(long, 1);
  short *half = TAKE(short, 1);
  shmem_long_atomic_set(word, me + 5, next);
  shmem_wait(word, 0);
  CHECK(peek(word) == prev + 5);
  shmem_barrier_all();
  shmem_long_atomic_set(word, -1, next);
  (shmem_wait_until)(word, SHMEM_CMP_LT, 0);
  CHECK(peek(word) == -1);
  shmem_barrier_all();
  shmem_long_atomic_set(word, 7, next);
  shmem_long_wait(word, -1);
  shmem_short_p(half, 3, next);
  shmem_short_wait(half, 0);
  CHECK(peek(word) == 7 && *half == 3);
}

/* Many words, updated by all PEs in no order, are collected one by one and in groups, each once. */
static void trap_16_collect_from_all(void) {
  enum { EACH = 8 };
  size_t count = (size_t)n * EACH, left = count, *index = (size_t *)malloc(count * sizeof *index);
  int *words = TAKE(int, n * EACH), *done = (int *)calloc(count, sizeof *done);
  for (int pe = 0; pe < n; pe++)
    for (int i = 0; i < EACH; i++) shmem_int_atomic_set(words + me * EACH + i, me * EACH + i + 1, (me + pe) % n);
  for (int turn = 0; left > 0; turn++) {
    size_t got = 1;
    if (turn % 2) got = shmem_int_wait_until_some(words, count, index, done, SHMEM_CMP_NE, 0);
    else index[0] = shmem_int_wait_until_any(words, count, done, SHMEM_CMP_GT, 0);
    CHECK(got >= 1 && got <= left);
    for (size_t i = 0; i < got; i++) {
      CHECK(index[i] < count);
      if (index[i] >= count) exit(5);
      CHECK(done[index[i]] == 0 && words[index[i]] == (int)index[i] + 1);
      done[index[i]] = 1;
    }
    left -= got;
  }
  CHECK(shmem_int_wait_until_any(words, count, done, SHMEM_CMP_NE, 0) == SIZE_MAX);
  free(done);
  free(index);
}

static const trap_t traps[] = {
    TRAP(trap_15_any_is_fair),
    TRAP(trap_15_any_is_fair_to_two_sets),
    TRAP(trap_16_some_tests_all),
    TRAP(trap_16_collect_from_all),
    TRAP(trap_17_empty_sets),
    TRAP(trap_17_status_excludes),
    TRAP(trap_18_values_are_const),
    TRAP(trap_19_short_words),
    TRAP(trap_19_forms_without_a_type),
    TRAP(trap_19_types_and_comparisons),
};
MAIN(traps)
