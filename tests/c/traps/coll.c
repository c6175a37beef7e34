/* Traps 58 to 67 and in-place forms (25): collectives of teams. Active sets are in active.c. */
#include "trap.h"
#include <complex.h>
#include <math.h>

/* The teams on which a trap runs: the world, its reverse, every other PE, and a part from the middle on. */
enum { TEAMS = 4 };
static shmem_team_t make_team(int which) {
  const struct { int start, stride, size; } shapes[TEAMS] = {
      {0, 1, n}, {n - 1, -1, n}, {0, 2, (n + 1) / 2}, {n / 2, 1, n - n / 2}}, *shape = shapes + which;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, shape->start, shape->stride, shape->size, NULL, 0, &team) == 0);
  return team;
}
/* Runs the body on each team, with rank and size of it. */
#define ON_TEAMS(...)                                                                                         \
  for (int which = 0; which < TEAMS; which++) {                                                               \
    shmem_team_t team = make_team(which);                                                                     \
    if (team != SHMEM_TEAM_INVALID) {                                                                         \
      const int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);                                 \
      (void)rank, (void)size;                                                                                 \
      __VA_ARGS__                                                                                             \
      shmem_team_destroy(team);                                                                               \
    }                                                                                                         \
    shmem_barrier_all();                                                                                      \
  }

/* A barrier is a quiet of the default context and a meeting of all. */
static void trap_58_barrier_all(void) {
  long *data = TAKE(long, n), *arrived = TAKE(long, 1);
  for (long round = 1; round <= 20; round++) {
    for (int pe = 0; pe < n; pe++) shmem_long_put_nbi(data + me, &round, 1, pe);
    shmem_long_atomic_inc(arrived, (int)round % n);
    if (round % n == me) nap(300);
    shmem_barrier_all();
    CHECK(wrong_words(data, (size_t)n, round, 0) == 0);
    if (round % n == me) CHECK(peek(arrived) == n * ((round - 1) / n + 1));
    shmem_barrier_all();
  }
}

/* sync waits for everybody too, and makes stores visible to the team; it completes no puts. */
static void trap_58_sync(void) {
  long *data = TAKE(long, 3);
  for (long round = 1; round <= 20; round++) {
    ON_TEAMS({
      if (rank == (int)round % size) nap(200);
      data[0] = round * 100 + rank;
      CHECK(shmem_team_sync(team) == 0);
      int right = shmem_team_translate_pe(team, (rank + 1) % size, SHMEM_TEAM_WORLD);
      CHECK(shmem_long_g(data, right) == round * 100 + (rank + 1) % size);
      const long *there = (const long *)shmem_ptr(data, right);
      if (there) CHECK(peek(there) == round * 100 + (rank + 1) % size);
      CHECK(shmem_team_sync(team) == 0);
    })
    data[1] = round;
    shmem_sync_all();
    CHECK(shmem_long_g(data + 1, next) == round);
    shmem_sync_all();
    if (round == 3) break;
  }
}

/* One collective after the other, with other roots, sizes and kinds, small and large, and members that come late.
 * No one in between: only the destinations of the last few calls are other ones. */
static void trap_59_back_to_back(void) {
  enum { SMALL = 3, LARGE = 700, TURNS = 3 };
  long *in = TAKE(long, n * LARGE), *out = TAKE(long, TURNS * n * LARGE);
  fill_words(in, (size_t)n * LARGE, me * 100000, 1);
  shmem_barrier_all();
  ON_TEAMS({
    int first = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);
    int stride = size > 1 ? shmem_team_translate_pe(team, 1, SHMEM_TEAM_WORLD) - first : 1;
    for (int round = 0; round < 24; round++) {
      size_t len = round % 5 ? SMALL : LARGE;
      long *to = out + round % TURNS * n * LARGE, root = (round * 5) % size;
      if (round % 7 == rank) nap(100);
      switch (round % 4) {
      case 0:
        CHECK(shmem_long_broadcast(team, to, in, len, (int)root) == 0);
        CHECK(wrong_words(to, len, (first + root * stride) * 100000, 1) == 0);
        break;
      case 1:
        CHECK(shmem_long_fcollect(team, to, in, len) == 0);
        for (int i = 0; i < size; i++)
          CHECK(wrong_words(to + (size_t)i * len, len, (first + i * stride) * 100000, 1) == 0);
        break;
      case 2:
        CHECK(shmem_long_alltoall(team, to, in, len) == 0);
        for (int i = 0; i < size; i++)
          CHECK(wrong_words(to + (size_t)i * len, len, (first + i * stride) * 100000 + rank * (long)len, 1) == 0);
        break;
      default:
        CHECK(shmem_long_max_reduce(team, to, in, len) == 0);
        CHECK(wrong_words(to, len, (stride > 0 ? first + (size - 1) * stride : first) * 100000, 1) == 0);
      }
      /* Nobody overwrites what another may still be reading: three rounds later. */
      if (round % TURNS == TURNS - 1) CHECK(shmem_team_sync(team) == 0);
    }
  })
}

/* The root of a team's broadcast gets its own data too; its number is the team's. */
static void trap_60_broadcast_writes_at_the_root(void) {
  long *in = TAKE(long, 600), *out = TAKE(long, 600);
  ON_TEAMS({
    for (int root = 0; root < size; root++)
      for (size_t len = 1; len <= 600; len += 599) {
        fill_words(in, len, me * 1000 + root, 1);
        fill_words(out, 600, -1, 0);
        shmem_team_sync(team);
        CHECK(shmem_long_broadcast(team, out, in, len, root) == 0);
        CHECK(wrong_words(out, len, shmem_team_translate_pe(team, root, SHMEM_TEAM_WORLD) * 1000 + root, 1) == 0);
        if (len < 600) CHECK(out[len] == -1);
        CHECK(wrong_words(in, len, me * 1000 + root, 1) == 0);
        shmem_team_sync(team);
      }
  })
}

/* Each member brings as much as it likes, nothing included, and the parts stand in the order of ranks. */
static void trap_61_collect(void) {
  long *in = TAKE(long, 900), *out = TAKE(long, 900 * n);
  ON_TEAMS({
    for (int form = 0; form < 6; form++) {
      size_t len[64], total = 0;
      for (int i = 0; i < size; i++)
        len[i] = form == 0   ? (size_t)i
                 : form == 1 ? (size_t)(size - 1 - i) * 3
                 : form == 2 ? (i == size / 2 ? 5 : 0)
                 : form == 3 ? (i % 2 ? 0 : 900)
                 : form == 4 ? 0
                             : (size_t)(i * 131 % 7 * 100);
      fill_words(in, len[rank], rank * 1000, 1);
      fill_words(out, 900 * (size_t)n, -7, 0);
      shmem_team_sync(team);
      CHECK(shmem_long_collect(team, out, len[rank] ? in : NULL, len[rank]) == 0);
      for (int i = 0; i < size; total += len[i++]) CHECK(wrong_words(out + total, len[i], i * 1000, 1) == 0);
      if (total < 900 * (size_t)n) CHECK(out[total] == -7);
      shmem_team_sync(team);
      CHECK(shmem_collectmem(team, out, in, len[rank] * sizeof(long)) == 0);
      total = 0;
      for (int i = 0; i < size; total += len[i++]) CHECK(wrong_words(out + total, len[i], i * 1000, 1) == 0);
      shmem_team_sync(team);
    }
  })
}

/* nelems is for each pair, with strides as well; the strides count elements. */
static void trap_61_alltoall(void) {
  enum { LEN = 3 };
  int *in = TAKE(int, n * LEN * 3), *out = TAKE(int, n * LEN * 3);
  ON_TEAMS({
    for (int i = 0; i < size * LEN; i++) in[i] = rank * 1000 + i;
    memset(out, 0xFF, (size_t)(n * LEN * 3) * sizeof(int));
    shmem_team_sync(team);
    CHECK(shmem_int_alltoall(team, out, in, LEN) == 0);
    for (int i = 0; i < size * LEN; i++) CHECK(out[i] == i / LEN * 1000 + rank * LEN + i % LEN);
    CHECK(size == n || out[size * LEN] == -1);
    shmem_team_sync(team);
    for (int i = 0; i < size * LEN * 3; i++) in[i] = rank * 1000 + i;
    memset(out, 0xFF, (size_t)(n * LEN * 3) * sizeof(int));
    shmem_team_sync(team);
    CHECK(shmem_int_alltoalls(team, out, in, 2, 3, LEN) == 0);
    for (int i = 0; i < size * LEN; i++) {
      CHECK(out[2 * i] == i / LEN * 1000 + (rank * LEN + i % LEN) * 3);
      CHECK(out[2 * i + 1] == -1);
    }
    shmem_team_sync(team);
  })
}

#define IN_PLACE(call, first, step)                                                                           \
  fill_words(data, (size_t)len, rank, size);                                                                  \
  shmem_team_sync(team);                                                                                      \
  CHECK((call) == 0);                                                                                           \
  CHECK(wrong_words(data, (size_t)len, first, step) == 0);                                                    \
  shmem_team_sync(team);

/* Reductions and scans with one address for both, the two others that older programs use so, and large ones. */
static void trap_25_in_place(void) {
  enum { LARGE = 3000 };
  long *data = TAKE(long, LARGE);
  ON_TEAMS({
    for (int len = 5; len <= LARGE; len += LARGE - 5) {
      long all = (long)size * (size - 1) / 2, before = (long)rank * (rank - 1) / 2;
      IN_PLACE(shmem_long_sum_reduce(team, data, data, (size_t)len), all, (long)size * size)
      IN_PLACE(shmem_long_max_reduce(team, data, data, (size_t)len), size - 1, size)
      IN_PLACE(shmem_long_min_reduce(team, data, data, (size_t)len), 0, size)
      IN_PLACE(shmem_long_sum_inscan(team, data, data, (size_t)len), before + rank, (long)size * (rank + 1))
      IN_PLACE(shmem_long_sum_exscan(team, data, data, (size_t)len), before, (long)size * rank)
      IN_PLACE(shmem_long_broadcast(team, data, data, (size_t)len, size - 1), size - 1, size)
      size_t each = (size_t)(len / size);
      for (size_t i = 0; i < each * (size_t)size; i++) data[i] = (long)(i / each) * 100 + rank;
      shmem_team_sync(team);
      CHECK(shmem_long_alltoall(team, data, data, each) == 0);
      for (size_t i = 0; i < each * (size_t)size; i++) CHECK(peek(data + i) == rank * 100 + (long)(i / each));
      shmem_team_sync(team);
    }
  })
}

/* Inclusive and exclusive prefix sums; the first member of an exclusive one gets zeroes. */
static void trap_63_scans(void) {
  enum { LEN = 400 };
  int *in = TAKE(int, LEN), *out = TAKE(int, LEN);
  double *wide = TAKE(double, LEN), *sums = TAKE(double, LEN);
  double complex *pairs = TAKE(double complex, LEN), *result = TAKE(double complex, LEN);
  float complex *narrow = TAKE(float complex, 2);
  ON_TEAMS({
    for (size_t len = 1; len <= LEN; len += LEN - 1) {
      int before = rank * (rank - 1) / 2;
      for (size_t i = 0; i < len; i++) in[i] = rank + (int)i, out[i] = -9;
      for (size_t i = 0; i < len; i++) wide[i] = rank * 0.5, pairs[i] = rank + 2 * rank * I;
      narrow[0] = 1 - I;
      shmem_team_sync(team);
      CHECK(shmem_int_sum_exscan(team, out, in, len) == 0);
      for (size_t i = 0; i < len; i++) CHECK(out[i] == before + rank * (int)i);
      shmem_team_sync(team);
      CHECK(shmem_int_sum_inscan(team, out, in, len) == 0);
      for (size_t i = 0; i < len; i++) CHECK(out[i] == before + rank + (rank + 1) * (int)i);
      CHECK(shmem_double_sum_inscan(team, sums, wide, len) == 0 && sums[len - 1] == (before + rank) * 0.5);
      CHECK(shmem_complexd_sum_exscan(team, result, pairs, len) == 0 && result[len - 1] == before + 2 * before * I);
      CHECK(shmem_complexf_sum_inscan(team, narrow + 1, narrow, 1) == 0);
      CHECK(crealf(narrow[1]) == (float)(rank + 1) && cimagf(narrow[1]) == (float)-(rank + 1));
      shmem_team_sync(team);
    }
  })
}

/* Operands are combined in the order of ranks: everybody has the same bits, those of the plain loop. */
static void trap_64_floats_in_order(void) {
  enum { LEN = 900 };
  float *in = TAKE(float, LEN), *out = TAKE(float, LEN);
  ON_TEAMS({
    for (int round = 0; round < 2; round++) {
      size_t len = round ? LEN : 7;
      for (size_t i = 0; i < len; i++) in[i] = 1.0f / (float)(rank * 3 + 1) * (i % 2 ? 1e8f : 1e-3f) * (float)(i + 1);
      shmem_team_sync(team);
      CHECK(shmem_float_sum_reduce(team, out, in, len) == 0);
      for (size_t i = 0; i < len; i++) {
        volatile float sum = 0;
        for (int r = 0; r < size; r++) {
          float one = 1.0f / (float)(r * 3 + 1) * (i % 2 ? 1e8f : 1e-3f) * (float)(i + 1);
          sum = r == 0 ? one : sum + one;
        }
        CHECK(out[i] == sum);
      }
      shmem_team_sync(team);
    }
  })
}

/* A NaN of any member is the result of max and min, and -0.0 is less than +0.0. */
static void trap_64_nan_and_zeroes(void) {
  double *in = TAKE(double, 3), *out = TAKE(double, 3);
  float *narrow = TAKE(float, 2), *result = TAKE(float, 2);
  ON_TEAMS({
    for (int who = 0; who < size; who++) {
      in[0] = rank == who ? NAN : rank;
      in[1] = rank == who ? -0.0 : 0.0;
      in[2] = rank == who ? INFINITY : -INFINITY;
      narrow[0] = rank == who ? NAN : -1.0f;
      narrow[1] = rank == who ? 0.0f : -0.0f;
      shmem_team_sync(team);
      CHECK(shmem_double_max_reduce(team, out, in, 3) == 0);
      CHECK(isnan(out[0]) && out[1] == 0 && signbit(out[1]) == (size == 1) && out[2] == INFINITY);
      shmem_team_sync(team);
      CHECK(shmem_double_min_reduce(team, out, in, 3) == 0);
      CHECK(isnan(out[0]) && out[1] == 0 && signbit(out[1]) && out[2] == (size == 1 ? INFINITY : -INFINITY));
      CHECK(shmem_float_min_reduce(team, result, narrow, 2) == 0);
      CHECK(isnan(result[0]) && (size == 1) == !signbit(result[1]));
      shmem_team_sync(team);
      CHECK(shmem_float_max_reduce(team, result, narrow, 2) == 0 && isnan(result[0]) && !signbit(result[1]));
      CHECK(shmem_double_sum_reduce(team, out, in, 1) == 0 && isnan(out[0]));
      shmem_team_sync(team);
    }
  })
}

/* Sums and products of complex numbers; bits of the types that have them. */
static void trap_65_complex_and_bits(void) {
  double complex *in = TAKE(double complex, 2), *out = TAKE(double complex, 2);
  float complex *narrow = TAKE(float complex, 2), *result = TAKE(float complex, 2);
  uint8_t *bits = TAKE(uint8_t, 4);
  size_t *wide = TAKE(size_t, 2);
  ON_TEAMS({
    double complex sum = 0, product = 1;
    for (int r = 0; r < size; r++) sum += r + I, product *= r % 2 ? I : 1 - I;
    in[0] = narrow[0] = rank + I;
    in[1] = narrow[1] = rank % 2 ? I : 1 - I;
    bits[0] = (uint8_t)(1 << rank % 8);
    wide[0] = (size_t)1 << (rank + 40);
    shmem_team_sync(team);
    CHECK(shmem_complexd_sum_reduce(team, out, in, 1) == 0 && out[0] == sum);
    CHECK(shmem_complexd_prod_reduce(team, out + 1, in + 1, 1) == 0 && out[1] == product);
    CHECK(shmem_complexf_sum_reduce(team, result, narrow, 1) == 0 && result[0] == (float complex)sum);
    CHECK(shmem_complexf_prod_reduce(team, result + 1, narrow + 1, 1) == 0 && result[1] == (float complex)product);
    CHECK(shmem_uint8_or_reduce(team, bits + 1, bits, 1) == 0 && bits[1] == (uint8_t)((1 << size) - 1));
    CHECK(shmem_uint8_xor_reduce(team, bits + 2, bits, 1) == 0 && bits[2] == (uint8_t)((1 << size) - 1));
    CHECK(shmem_uint8_and_reduce(team, bits + 3, bits, 1) == 0 && bits[3] == (size == 1 ? 1 : 0));
    CHECK(shmem_size_or_reduce(team, wide + 1, wide, 1) == 0 && wide[1] == (((size_t)1 << size) - 1) << 40);
    shmem_team_sync(team);
  })
}

/* Team forms have a status; what concerns all PEs has none. */
static void trap_66_status(void) {
  int (*status)(shmem_team_t) = shmem_team_sync;
  int (*reduce)(shmem_team_t, int *, const int *, size_t) = shmem_int_sum_reduce;
  void (*none)(void) = shmem_barrier_all, (*neither)(void) = shmem_sync_all;
  int *data = TAKE(int, 2);
  data[0] = 3;
  none();
  neither();
  CHECK(status(SHMEM_TEAM_WORLD) == 0 && reduce(SHMEM_TEAM_WORLD, data + 1, data, 1) == 0 && data[1] == 3 * n);
}

/* Nothing to do, between calls with something to do; it is no way out of a collect where others bring something. */
static void trap_67_zero_elements(void) {
  long *in = TAKE(long, n), *out = TAKE(long, n);
  ON_TEAMS({
    for (long round = 1; round <= 5; round++) {
      in[0] = round + rank;
      shmem_team_sync(team);
      CHECK(shmem_long_broadcast(team, NULL, NULL, 0, size - 1) == 0 && shmem_long_alltoall(team, out, in, 0) == 0);
      CHECK(shmem_long_sum_reduce(team, NULL, NULL, 0) == 0 && shmem_long_sum_exscan(team, NULL, NULL, 0) == 0);
      CHECK(shmem_long_collect(team, out, rank == round % size ? in : NULL, rank == round % size) == 0);
      CHECK(peek(out) == round + round % size);
      shmem_team_sync(team);
      CHECK(shmem_long_fcollect(team, NULL, NULL, 0) == 0 && shmem_long_alltoalls(team, out, in, 1, 1, 0) == 0);
      CHECK(shmem_long_sum_reduce(team, out, in, 1) == 0 && peek(out) == round * size + (long)size * (size - 1) / 2);
      shmem_team_sync(team);
    }
  })
}

static const trap_t traps[] = {
    TRAP(trap_25_in_place),
    TRAP(trap_58_barrier_all),
    TRAP(trap_58_sync),
    TRAP(trap_59_back_to_back),
    TRAP(trap_60_broadcast_writes_at_the_root),
    TRAP(trap_61_collect),
    TRAP(trap_61_alltoall),
    TRAP(trap_63_scans),
    TRAP(trap_64_floats_in_order),
    TRAP(trap_64_nan_and_zeroes),
    TRAP(trap_65_complex_and_bits),
    TRAP(trap_66_status),
    TRAP(trap_67_zero_elements),
};
MAIN(traps)
