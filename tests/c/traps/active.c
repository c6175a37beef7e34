/* Traps 60 and 68: active sets, in which only the members' pSync arrays may be used, and the forms that they have. */
#include "trap.h"
#include <complex.h>

enum { WORK = 2 * SHMEM_REDUCE_MIN_WRKDATA_SIZE };
/* Arrays as older programs have them: static, in pairs for use in turn. */
static long sync_of[2][SHMEM_REDUCE_SYNC_SIZE], barrier_sync[SHMEM_BARRIER_SYNC_SIZE];
static long collect_sync[2][SHMEM_COLLECT_SYNC_SIZE], bcast_sync[2][SHMEM_BCAST_SYNC_SIZE];
static long alltoall_sync[SHMEM_ALLTOALL_SYNC_SIZE], alltoalls_sync[SHMEM_ALLTOALLS_SYNC_SIZE];

static void initialise(long *array, size_t count) {
  for (size_t i = 0; i < count; i++) array[i] = SHMEM_SYNC_VALUE;
}
static int initial(const long *array, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (peek(array + i) != SHMEM_SYNC_VALUE) return 0;
  return 1;
}
/* A pSync array of a trap's area, which all have initialised. */
static long *take_sync(size_t count) {
  long *array = TAKE(long, count);
  initialise(array, count);
  shmem_barrier_all();
  return array;
}

typedef struct { int start, log, size; } set_t;
enum { SETS = 5 };
static set_t set_of(int which) {
  const set_t sets[SETS] = {
      {0, 0, n}, {0, 1, (n + 1) / 2}, {n > 1, 1, n > 1 ? n / 2 : 1}, {n / 2, 0, n - n / 2}, {n - 1, 2, 1}};
  return sets[which];
}
/* The own number in the set, or -1. */
static int rank_in(set_t set) {
  int away = me - set.start;
  return away >= 0 && away % (1 << set.log) == 0 && away >> set.log < set.size ? away >> set.log : -1;
}
#define SET set.start, set.log, set.size
static int pe_of(set_t set, int rank) { return set.start + (rank << set.log); }

/* Only members call, the others do not even know: they wait for a flag that the last member raises. The same array
 * serves one barrier after the other, and holds its first values at the end. */
static void trap_68_barriers(void) {
  long *sync = take_sync(SHMEM_BARRIER_SYNC_SIZE), *data = TAKE(long, n), *over = TAKE(long, 1);
  for (int which = 0; which < SETS; which++) {
    set_t set = set_of(which);
    int rank = rank_in(set);
    if (rank >= 0) {
      for (long round = 1; round <= 30; round++) {
        if (rank == round % set.size) nap(50);
        for (int i = 0; i < set.size; i++) shmem_long_p(data + rank, round, pe_of(set, i));
        shmem_barrier(SET, sync);
        CHECK(wrong_words(data, (size_t)set.size, round, 0) == 0);
        shmem_sync(SET, sync);
      }
      CHECK(initial(sync, SHMEM_BARRIER_SYNC_SIZE));
      if (rank == 0)
        for (int pe = 0; pe < n; pe++) shmem_long_atomic_set(over, which + 1, pe);
    }
    shmem_long_wait_until(over, SHMEM_CMP_GE, which + 1);
    memset(data, 0, (size_t)n * sizeof(long));
    shmem_barrier_all();
  }
}

/* Two sets without a common member use the same array at the same time. */
static void trap_68_disjoint_sets(void) {
  long *sync = take_sync(SHMEM_BARRIER_SYNC_SIZE), *data = TAKE(long, 1);
  set_t set = {n > 1 ? me % 2 : 0, 1, (n + 1 - (me % 2)) / 2};
  for (long round = 1; round <= 50; round++) {
    data[0] = round;
    if (me == round % n) nap(100);
    shmem_sync(SET, sync);
    CHECK(shmem_long_g(data, pe_of(set, (rank_in(set) + 1) % set.size)) >= round);
    shmem_sync(SET, sync);
  }
  CHECK(initial(sync, SHMEM_BARRIER_SYNC_SIZE));
}

/* The root's destination stays as it is. */
static void trap_60_active_set_broadcast_spares_the_root(void) {
  enum { LEN = 500 };
  uint64_t *in = TAKE(uint64_t, LEN), *out = TAKE(uint64_t, LEN);
  uint32_t *small = TAKE(uint32_t, 5), *result = TAKE(uint32_t, 5);
  initialise(bcast_sync[0], SHMEM_BCAST_SYNC_SIZE);
  initialise(bcast_sync[1], SHMEM_BCAST_SYNC_SIZE);
  shmem_barrier_all();
  for (int which = 0; which < SETS; which++) {
    set_t set = set_of(which);
    int rank = rank_in(set);
    for (int root = 0; rank >= 0 && root < set.size; root += 1 + root % 2) {
      fill_words((long *)in, LEN, rank * 1000, 1);
      fill_words((long *)out, LEN, -5, 0);
      for (int i = 0; i < 5; i++) small[i] = (uint32_t)(rank * 10 + i), result[i] = 99;
      shmem_sync(SET, barrier_sync);
      shmem_broadcast64(out, in, root % 2 ? 3 : LEN, root, SET, bcast_sync[0]);
      size_t len = root % 2 ? 3 : LEN;
      CHECK(wrong_words((long *)out, len, rank == root ? -5 : root * 1000, rank == root ? 0 : 1) == 0);
      if (len < LEN) CHECK(out[len] == (uint64_t)-5);
      shmem_broadcast32(result, small, 5, root, SET, bcast_sync[1]);
      for (int i = 0; i < 5; i++) CHECK(result[i] == (rank == root ? 99u : (uint32_t)(root * 10 + i)));
      shmem_sync(SET, barrier_sync);
    }
    shmem_barrier_all();
  }
  CHECK(initial(bcast_sync[0], SHMEM_BCAST_SYNC_SIZE) && initial(bcast_sync[1], SHMEM_BCAST_SYNC_SIZE));
}

static void trap_68_collects(void) {
  enum { LEN = 200 };
  uint32_t *in = TAKE(uint32_t, LEN), *out = TAKE(uint32_t, LEN * n);
  uint64_t *wide = TAKE(uint64_t, LEN), *result = TAKE(uint64_t, LEN * n);
  initialise(collect_sync[0], SHMEM_COLLECT_SYNC_SIZE);
  initialise(collect_sync[1], SHMEM_COLLECT_SYNC_SIZE);
  shmem_barrier_all();
  for (int which = 0; which < SETS; which++) {
    set_t set = set_of(which);
    int rank = rank_in(set);
    if (rank >= 0)
      for (int round = 0; round < 4; round++) {
        size_t most = round % 2 ? LEN : 3, mine = (most + (size_t)rank * 2) % (most + 1), at = 0;
        if (round == 2) mine = rank == 0 ? 0 : 2;
        for (size_t i = 0; i < LEN; i++) in[i] = (uint32_t)(rank * 1000 + (int)i), wide[i] = in[i] + (1ull << 40);
        shmem_sync(SET, barrier_sync);
        shmem_collect32(out, mine ? in : NULL, mine, SET, collect_sync[0]);
        shmem_fcollect64(result, wide, most, SET, collect_sync[1]);
        for (int r = 0; r < set.size; r++) {
          size_t theirs = round == 2 ? (r == 0 ? 0 : 2) : (most + (size_t)r * 2) % (most + 1);
          for (size_t i = 0; i < theirs; i++) CHECK(out[at + i] == (uint32_t)(r * 1000 + (int)i));
          at += theirs;
          for (size_t i = 0; i < most; i++)
            CHECK(result[(size_t)r * most + i] == (1ull << 40) + (uint64_t)(r * 1000) + i);
        }
        shmem_sync(SET, barrier_sync);
        shmem_fcollect32(out, in, most, SET, collect_sync[0]);
        shmem_collect64(result, mine ? wide : NULL, mine, SET, collect_sync[1]);
        CHECK(out[(size_t)(set.size - 1) * most] == (uint32_t)((set.size - 1) * 1000));
        shmem_sync(SET, barrier_sync);
      }
    shmem_barrier_all();
  }
  CHECK(initial(collect_sync[0], SHMEM_COLLECT_SYNC_SIZE) && initial(collect_sync[1], SHMEM_COLLECT_SYNC_SIZE));
}

static void trap_68_alltoalls(void) {
  enum { LEN = 3 };
  uint32_t *in = TAKE(uint32_t, LEN * n * 3), *out = TAKE(uint32_t, LEN * n * 3);
  uint64_t *wide = TAKE(uint64_t, LEN * n * 2), *result = TAKE(uint64_t, LEN * n * 2);
  initialise(alltoall_sync, SHMEM_ALLTOALL_SYNC_SIZE);
  initialise(alltoalls_sync, SHMEM_ALLTOALLS_SYNC_SIZE);
  shmem_barrier_all();
  for (int which = 0; which < SETS; which++) {
    set_t set = set_of(which);
    int rank = rank_in(set);
    if (rank >= 0) {
      for (int i = 0; i < LEN * n * 3; i++) in[i] = (uint32_t)(rank * 1000 + i), out[i] = 77;
      for (int i = 0; i < LEN * n * 2; i++) wide[i] = (uint64_t)(rank * 1000 + i) << 33, result[i] = 77;
      shmem_sync(SET, barrier_sync);
      shmem_alltoall64(result, wide, LEN, SET, alltoall_sync);
      shmem_alltoalls32(out, in, 3, 2, LEN, SET, alltoalls_sync);
      for (int i = 0; i < LEN * set.size; i++) {
        CHECK(result[i] == (uint64_t)(i / LEN * 1000 + rank * LEN + i % LEN) << 33);
        CHECK(out[3 * i] == (uint32_t)(i / LEN * 1000 + 2 * (rank * LEN + i % LEN)) && out[3 * i + 1] == 77);
      }
      shmem_sync(SET, barrier_sync);
      shmem_alltoall32(out, in, LEN, SET, alltoall_sync);
      shmem_alltoalls64(result, wide, 2, 1, LEN, SET, alltoalls_sync);
      for (int i = 0; i < LEN * set.size; i++) {
        CHECK(out[i] == (uint32_t)(i / LEN * 1000 + rank * LEN + i % LEN));
        CHECK(result[2 * i] == (uint64_t)(i / LEN * 1000 + rank * LEN + i % LEN) << 33);
      }
      shmem_sync(SET, barrier_sync);
    }
    shmem_barrier_all();
  }
  CHECK(initial(alltoall_sync, SHMEM_ALLTOALL_SYNC_SIZE) && initial(alltoalls_sync, SHMEM_ALLTOALLS_SYNC_SIZE));
}

/* Reductions with work arrays as small as allowed, in place too, with the two arrays in turn. */
#define REDUCES(NAME, T, OP, VALUE, COMBINE)                                                                  \
  do {                                                                                                        \
    static T work[2][WORK > LEN / 2 + 1 ? WORK : LEN / 2 + 1];                                                \
    T *in = (T *)in_words, *out = (T *)out_words, expected[LEN];                                              \
    for (int i = 0; i < LEN; i++) {                                                                           \
      in[i] = (T)(VALUE(rank, i));                                                                            \
      expected[i] = (T)(VALUE(0, i));                                                                         \
      for (int r = 1; r < set.size; r++) expected[i] = (T)(COMBINE(expected[i], (T)(VALUE(r, i))));           \
    }                                                                                                         \
    shmem_sync(SET, barrier_sync);                                                                            \
    shmem_##NAME##_##OP##_to_all(out, in, LEN, SET, work[turn % 2], sync_of[turn % 2]), turn++;               \
    for (int i = 0; i < LEN; i++) CHECK_IN(#NAME " " #OP, out[i] == expected[i]);                             \
    shmem_##NAME##_##OP##_to_all(in, in, LEN, SET, work[turn % 2], sync_of[turn % 2]), turn++;                \
    for (int i = 0; i < LEN; i++) CHECK_IN(#NAME " " #OP " in place", in[i] == expected[i]);                  \
    shmem_sync(SET, barrier_sync);                                                                            \
  } while (0);
#define SMALL(r, i) (((r) + (i)) % 3 + 1)
#define BITS(r, i) (0x55 ^ ((r) * 7 + (i) * 3))
#define SPREAD(r, i) (((r) * 11 + (i) * 5) % 37 - 18)
#define PAIR(r, i) (((r) + (i)) % 3 + 1 + I * ((r) % 2))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
#define BIT_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define ORDER_TYPES(X) BIT_TYPES(X) X(float, float) X(double, double) X(longdouble, long double)
#define BITWISE(NAME, T)                                                                                      \
  REDUCES(NAME, T, and, BITS, AND) REDUCES(NAME, T, or, BITS, OR) REDUCES(NAME, T, xor, BITS, XOR)
#define ORDERED(NAME, T)                                                                                      \
  REDUCES(NAME, T, max, SPREAD, MAX) REDUCES(NAME, T, min, SPREAD, MIN)                                       \
  REDUCES(NAME, T, sum, SMALL, SUM) REDUCES(NAME, T, prod, SMALL, PROD)

static void trap_65_active_set_reductions(void) {
  enum { LEN = 300 };
  static int turn;
  long double *in_words = TAKE(long double, LEN), *out_words = TAKE(long double, LEN);
  initialise(sync_of[0], SHMEM_REDUCE_SYNC_SIZE);
  initialise(sync_of[1], SHMEM_REDUCE_SYNC_SIZE);
  shmem_barrier_all();
  for (int which = 0; which < SETS; which++) {
    set_t set = set_of(which);
    int rank = rank_in(set);
    if (rank >= 0) {
      turn = 0;
      BIT_TYPES(BITWISE)
      ORDER_TYPES(ORDERED)
      REDUCES(complexd, double complex, sum, PAIR, SUM)
      REDUCES(complexd, double complex, prod, PAIR, PROD)
      REDUCES(complexf, float complex, sum, PAIR, SUM)
      REDUCES(complexf, float complex, prod, PAIR, PROD)
    }
    shmem_barrier_all();
  }
  CHECK(initial(sync_of[0], SHMEM_REDUCE_SYNC_SIZE) && initial(sync_of[1], SHMEM_REDUCE_SYNC_SIZE));
}

static const trap_t traps[] = {
    TRAP(trap_60_active_set_broadcast_spares_the_root),
    TRAP(trap_65_active_set_reductions),
    TRAP(trap_68_alltoalls),
    TRAP(trap_68_barriers),
    TRAP(trap_68_collects),
    TRAP(trap_68_disjoint_sets),
};
MAIN(traps)
