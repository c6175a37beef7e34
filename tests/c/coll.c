/* Collectives of every type on the world team and on others, back to back, with other roots and sizes. */
#include "check.h"
#if HAVE_LONGDOUBLE
#include <complex.h>
#endif

enum { LEN = 6 };
static int me, n; /* in the team under test */
static F(team_t) team;
static void *dest_heap, *source_heap;

#define DATA(NAME, T)                                                                                         \
  static T item_##NAME(int pe, int i) { return (T)((pe * 5 + i * 3) % 90 + 1); }                              \
  static void data_##NAME(void) {                                                                             \
    T *dest = (T *)dest_heap, *source = (T *)source_heap;                                                     \
    for (int root = 0; root < n; root += n / 3 + 1) {                                                         \
      for (int i = 0; i < LEN; i++) source[i] = item_##NAME(me, i + root), dest[i] = 0;                       \
      F(team_sync)(team);                                                                                     \
      CHECK_IN(#NAME, FT(NAME, broadcast)(team, dest, source, (size_t)(LEN - root % 2), root) == 0);          \
      for (int i = 0; i < LEN - root % 2; i++) CHECK_IN(#NAME, dest[i] == item_##NAME(root, i + root));       \
      if (root % 2) CHECK_IN(#NAME, dest[LEN - 1] == 0);                                                      \
    }                                                                                                         \
    F(team_sync)(team);                                                                                       \
    for (int i = 0; i < LEN; i++) source[i] = item_##NAME(me, i);                                             \
    F(team_sync)(team);                                                                                       \
    CHECK_IN(#NAME, FT(NAME, fcollect)(team, dest, source, LEN) == 0);                                        \
    for (int i = 0; i < n * LEN; i++) CHECK_IN(#NAME, dest[i] == item_##NAME(i / LEN, i % LEN));              \
    F(team_sync)(team);                                                                                       \
    for (int i = 0; i < 2 * n; i++) source[i] = item_##NAME(me * n + i / 2, i % 2);                           \
    F(team_sync)(team);                                                                                       \
    CHECK_IN(#NAME, FT(NAME, alltoall)(team, dest, source, 2) == 0);                                          \
    for (int i = 0; i < 2 * n; i++) CHECK_IN(#NAME, dest[i] == item_##NAME(i / 2 * n + me, i % 2));           \
    F(team_sync)(team);                                                                                       \
  }
RMA_TYPES(DATA)

/* Reductions: expected values are computed here, element by element, in the order of the ranks. */
#define REDUCE(NAME, T, OP, VALUE, COMBINE)                                                                   \
  do {                                                                                                        \
    T *dest = (T *)dest_heap, *source = (T *)source_heap;                                                     \
    for (int i = 0; i < LEN; i++) source[i] = VALUE(T, me, i), dest[i] = 0;                                   \
    F(team_sync)(team);                                                                                       \
    CHECK_IN(#NAME " " #OP, FT(NAME, OP##_reduce)(team, dest, source, LEN) == 0);                             \
    for (int i = 0; i < LEN; i++) {                                                                           \
      T all = VALUE(T, 0, i);                                                                                 \
      for (int pe = 1; pe < n; pe++) {                                                                        \
        T one = VALUE(T, pe, i);                                                                              \
        all = (T)COMBINE(all, one);                                                                           \
      }                                                                                                       \
      CHECK_IN(#NAME " " #OP, dest[i] == all);                                                                \
      CHECK_IN(#NAME " " #OP, source[i] == VALUE(T, me, i));                                                  \
    }                                                                                                         \
    F(team_sync)(team);                                                                                       \
    CHECK_IN(#NAME " in place", FT(NAME, OP##_reduce)(team, source, source, LEN) == 0);                       \
    CHECK_IN(#NAME " in place", memcmp(source, dest, LEN * sizeof(T)) == 0 || source[LEN - 1] == dest[LEN - 1]); \
    F(team_sync)(team);                                                                                       \
  } while (0)
#define SMALL(T, pe, i) ((T)(((pe) + (i)) % 3 + 1))
#define BITS(T, pe, i) ((T)(0x55 ^ ((pe) * 7 + (i) * 3)))
#define ORDERED(T, pe, i) ((T)(((pe) * 11 + (i) * 5) % 37 - 18))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))

#define ORDER(NAME, T)                                                                                        \
  REDUCE(NAME, T, max, ORDERED, MAX);                                                                         \
  REDUCE(NAME, T, min, ORDERED, MIN);
#define ARITHMETIC(NAME, T)                                                                                   \
  REDUCE(NAME, T, sum, SMALL, SUM);                                                                           \
  REDUCE(NAME, T, prod, SMALL, PROD);
#define BITWISE(NAME, T)                                                                                      \
  REDUCE(NAME, T, and, BITS, AND);                                                                            \
  REDUCE(NAME, T, or, BITS, OR);                                                                              \
  REDUCE(NAME, T, xor, BITS, XOR);
#define BIT_TYPES(X)                                                                                          \
  X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long)             \
  X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)      \
  X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)               \
  X(short, short) X(int, int) X(long, long) X(longlong, long long)

static void reductions(void) {
  BIT_TYPES(BITWISE)
  NUMBER_TYPES(ORDER)
  PTRDIFF_REDUCE(ORDER)
  LONGDOUBLE(ORDER)
  NUMBER_TYPES(ARITHMETIC)
  PTRDIFF_REDUCE(ARITHMETIC)
  LONGDOUBLE(ARITHMETIC)
#if HAVE_LONGDOUBLE
#define COMPLEX(T, pe, i) ((T)(((pe) + (i)) % 3 + 1) + (T)I * (T)((pe) % 2))
  REDUCE(complexd, double complex, sum, COMPLEX, SUM);
  REDUCE(complexf, float complex, sum, COMPLEX, SUM);
  REDUCE(complexd, double complex, prod, COMPLEX, PROD);
  REDUCE(complexf, float complex, prod, COMPLEX, PROD);
#endif
}

/* Large ones, whose bytes take another path, and lengths of zero. */
static void large(void) {
  const size_t many = 200 * 1000 + 7;
  double *dest = (double *)F(malloc)(many * 8), *source = (double *)F(malloc)(many * 8);
  if (team != K(TEAM_INVALID)) {
    for (size_t i = 0; i < many; i++) source[i] = (double)(i % 1000) + me;
    F(team_sync)(team);
    CHECK(FT(double, sum_reduce)(team, dest, source, many) == 0);
    int wrong = 0;
    for (size_t i = 0; i < many; i++) wrong += dest[i] != (double)n * (double)(i % 1000) + n * (n - 1) / 2.0;
    CHECK(wrong == 0);
    F(team_sync)(team);
    CHECK(FT(double, broadcast)(team, dest, source, many, n - 1) == 0);
    wrong = 0;
    for (size_t i = 0; i < many; i++) wrong += dest[i] != (double)(i % 1000) + n - 1;
    CHECK(wrong == 0);
    CHECK(FT(double, sum_reduce)(team, NULL, NULL, 0) == 0);
    CHECK(F(broadcastmem)(team, NULL, NULL, 0, 0) == 0);
    CHECK(F(fcollectmem)(team, NULL, NULL, 0) == 0);
    CHECK(F(alltoallmem)(team, NULL, NULL, 0) == 0);
  }
  F(free)(source);
  F(free)(dest);
}

static void mem_forms(void) {
  unsigned char *dest = (unsigned char *)dest_heap, *source = (unsigned char *)source_heap;
  for (int i = 0; i < 3 * n; i++) source[i] = (unsigned char)(me * 3 + i);
  F(team_sync)(team);
  CHECK(F(broadcastmem)(team, dest, source, 3, n / 2) == 0);
  for (int i = 0; i < 3; i++) CHECK(dest[i] == (unsigned char)(n / 2 * 3 + i));
  F(team_sync)(team);
  CHECK(F(fcollectmem)(team, dest, source, 3) == 0);
  for (int i = 0; i < 3 * n; i++) CHECK(dest[i] == (unsigned char)(i / 3 * 3 + i % 3));
  F(team_sync)(team);
  CHECK(F(alltoallmem)(team, dest, source, 3) == 0);
  for (int i = 0; i < 3 * n; i++) CHECK(dest[i] == (unsigned char)(i / 3 * 3 + me * 3 + i % 3));
  F(team_sync)(team);
}

static void on_team(F(team_t) which) {
  team = which;
  if (team != K(TEAM_INVALID)) {
    me = F(team_my_pe)(team);
    n = F(team_n_pes)(team);
#define RUN(NAME, T) data_##NAME();
    RMA_TYPES(RUN)
    reductions();
    mem_forms();
  }
  F(barrier_all)();
  large();
  F(barrier_all)();
}

int main(void) {
  F(init)();
  int world_me = F(my_pe)(), world_n = F(n_pes)();
  dest_heap = F(calloc)((size_t)world_n * LEN, 16);
  source_heap = F(calloc)((size_t)world_n * LEN, 16);
  for (int round = 0; round < 50; round++) {
    F(barrier_all)();
    F(sync_all)();
    CHECK(F(team_sync)(K(TEAM_WORLD)) == 0);
#ifndef FAMILY_SHMEM
    CHECK(F(barrier)(K(TEAM_WORLD)) == 0);
#endif
  }
  on_team(K(TEAM_WORLD));
  F(team_t) odd = K(TEAM_INVALID), back = K(TEAM_INVALID);
  if (world_n > 1) {
    /* The PEs with odd numbers, and all but the first in reverse order. */
    CHECK(F(team_split_strided)(K(TEAM_WORLD), 1, 2, world_n / 2, NULL, 0, &odd) == 0);
    CHECK((odd != K(TEAM_INVALID)) == (world_me % 2 == 1));
    on_team(odd);
    CHECK(F(team_split_strided)(K(TEAM_WORLD), world_n - 1, -1, world_n - 1, NULL, 0, &back) == 0);
    CHECK((back != K(TEAM_INVALID)) == (world_me > 0));
    on_team(back);
    if (odd != K(TEAM_INVALID)) F(team_destroy)(odd);
    if (back != K(TEAM_INVALID)) F(team_destroy)(back);
  }
  F(free)(source_heap);
  F(free)(dest_heap);
  return verdict();
}
