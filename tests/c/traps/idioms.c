/* Trap 30: globals as objects of every kind of call, used as programs use them. */
#include "trap.h"
#include <complex.h>
#include <pshmem.h>

/* One of each type, some with a first value, some in .bss, in a function, in a structure, and large. */
#define GLOBALS(NAME, T) static T one_##NAME = 7, many_##NAME[5];
RMA_TYPES(GLOBALS)
static double complex pairs[3] = {1 + 2 * I};
int exported_array[3][4] = {{1}, {2}, {3}};
static struct { char c; long count; double field[3]; } record = {'x', 5, {0.5}};
static char large[3 << 20];
static long counter, flag, box[64];
static uint64_t signal_word;

#define USE(NAME, T)                                                                                          \
  do {                                                                                                        \
    CHECK_IN(#NAME, one_##NAME == 7);                                                                         \
    shmem_barrier_all();                                                                                      \
    T source[5], back[5];                                                                                     \
    for (int i = 0; i < 5; i++) source[i] = (T)(me + i + 1);                                                  \
    shmem_##NAME##_put(many_##NAME, source, 5, next);                                                         \
    shmem_##NAME##_p(&one_##NAME, (T)(me + 20), next);                                                        \
    shmem_barrier_all();                                                                                      \
    for (int i = 0; i < 5; i++) CHECK_IN(#NAME, many_##NAME[i] == (T)(prev + i + 1));                         \
    CHECK_IN(#NAME, one_##NAME == (T)(prev + 20) && shmem_##NAME##_g(&one_##NAME, next) == (T)(me + 20));     \
    shmem_##NAME##_get(back, many_##NAME, 5, next);                                                           \
    for (int i = 0; i < 5; i++) CHECK_IN(#NAME, back[i] == source[i]);                                        \
    shmem_barrier_all();                                                                                      \
    one_##NAME = 7;                                                                                           \
  } while (0);
static void trap_30_globals_of_every_type(void) {
  RMA_TYPES(USE)
  double complex pair = me + 3 * I;
  shmem_putmem(pairs + 1, &pair, sizeof pair, next);
  shmem_barrier_all();
  CHECK(pairs[0] == 1 + 2 * I && pairs[1] == prev + 3 * I && pairs[2] == 0);
}

/* Long doubles travel whole: by value through p and g, with all 64 bits of their fraction. */
static void trap_83_long_double_by_value(void) {
  const long double values[] = {1.0L / 3,    -0.0L,    0x1.fffffffffffffffep+16383L,
                                0x1p-16445L, -1e-4000L, (long double)INT64_MAX};
  for (size_t i = 0; i < COUNT(values); i++) {
    shmem_longdouble_p(many_longdouble + 2, values[i], next);
    shmem_quiet();
    long double got = shmem_longdouble_g(many_longdouble + 2, next);
    CHECK(got == values[i] && memcmp(&got, values + i, 10) == 0);
    shmem_ctx_longdouble_p(SHMEM_CTX_DEFAULT, many_longdouble + 1, got, next);
    shmem_quiet();
    got = shmem_ctx_longdouble_g(SHMEM_CTX_DEFAULT, many_longdouble + 1, next);
    CHECK(memcmp(&got, values + i, 10) == 0);
  }
  shmem_barrier_all();
  many_longdouble[0] = 1 / (long double)(me + 3);
  shmem_barrier_all();
  CHECK(shmem_longdouble_sum_reduce(SHMEM_TEAM_WORLD, many_longdouble + 3, many_longdouble, 1) == 0);
  CHECK(shmem_longdouble_sum_inscan(SHMEM_TEAM_WORLD, many_longdouble + 4, many_longdouble, 1) == 0);
  volatile long double sum = 1 / 3.0L, prefix = sum;
  for (int pe = 1; pe < n; pe++) {
    sum = sum + 1 / (long double)(pe + 3);
    if (pe == me) prefix = sum;
  }
  CHECK(many_longdouble[3] == sum && many_longdouble[4] == prefix);
}

static void trap_30_variables_of_a_function(void) {
  static int calls[2], first = 3;
  static short table[7][3];
  shmem_int_atomic_add(calls + 1, me + 1, 0);
  shmem_short_p(&table[me % 7][2], (short)(me + 9), next);
  shmem_barrier_all();
  if (me == 0) CHECK(calls[0] == 0 && calls[1] == n * (n + 1) / 2);
  CHECK(table[prev % 7][2] == prev + 9 && table[prev % 7][1] == 0 && first == 3);
  shmem_barrier_all();
  memset(calls, 0, sizeof calls);
}

static void trap_30_structures_and_large_arrays(void) {
  shmem_double_p(&record.field[1], me * 1.5, next);
  shmem_long_atomic_add(&record.count, 10, next);
  shmem_int_p(&exported_array[1][3], me + 100, next);
  shmem_char_p(large + sizeof large - 1, (char)(me + 1), next);
  memset(large + 100, me + 1, 2 << 20);
  shmem_barrier_all();
  CHECK(record.c == 'x' && record.field[0] == 0.5 && record.field[1] == prev * 1.5 && record.count % 10 == 5);
  CHECK(exported_array[0][0] == 1 && exported_array[1][3] == prev + 100 && exported_array[2][0] == 3);
  CHECK(large[sizeof large - 1] == (char)(prev + 1));
  shmem_getmem(large + (2 << 20) + 200, large + 100, 1 << 19, next);
  for (int i = 0; i < 1 << 19; i += 4095) CHECK(large[(2 << 20) + 200 + i] == (char)(next + 1));
}

/* A counter, a lock and a flag, each a global. */
static void trap_30_counter_lock_and_flag(void) {
  static long lock, guarded;
  long ticket = shmem_long_atomic_fetch_inc(&counter, 0);
  CHECK(ticket >= 0 && ticket < n);
  shmem_set_lock(&lock);
  shmem_long_p(&guarded, shmem_long_g(&guarded, 0) + ticket, 0);
  shmem_clear_lock(&lock);
  shmem_barrier_all();
  if (me == 0) CHECK(guarded == (long)n * (n - 1) / 2 && counter == n);
  shmem_barrier_all();
  guarded = counter = 0;
  /* Everybody tells its right neighbour, by the oldest means. */
  shmem_long_p(&flag, me + 1, next);
  shmem_long_wait_until(&flag, SHMEM_CMP_NE, 0);
  CHECK(flag == prev + 1);
  shmem_barrier_all();
  flag = 0;
}

/* A mailbox of the others: data, then a flag, behind a fence; or both at once. */
static void trap_30_mailbox(void) {
  long letter[64];
  for (long round = 1; round <= 5; round++) {
    fill_words(letter, 64, round * 10 + me, 1);
    shmem_long_put(box, letter, 64, next);
    shmem_fence();
    shmem_long_p(&flag, round, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
    CHECK(wrong_words(box, 64, round * 10 + prev, 1) == 0);
    shmem_barrier_all();
    shmem_long_put_signal(box, letter, 64, &signal_word, (uint64_t)round, SHMEM_SIGNAL_SET, prev);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, (uint64_t)round);
    CHECK(wrong_words(box, 64, round * 10 + next, 1) == 0);
    shmem_barrier_all();
  }
  flag = 0;
  signal_word = 0;
}

/* Rows of a neighbour's array read through a pointer, where there is one. */
static void trap_30_pointer_to_a_neighbour(void) {
  fill_words(box, 64, me, 64);
  shmem_barrier_all();
  const long *theirs = (const long *)shmem_ptr(box, next);
  if (theirs) CHECK(wrong_words(theirs, 64, next, 64) == 0);
  for (int i = 0; i < 64; i += 9) CHECK(shmem_long_g(box + i, next) == next + i * 64);
  shmem_barrier_all();
  memset(box, 0, sizeof box);
}

/* Constants of the program have the same value everywhere: they can be read from any PE. */
static void trap_30_constants_can_be_read(void) {
  static const int table[] = {3, 1, 4, 1, 5, 9};
  static const char text[] = "the same on every PE";
  int back[6] = {0};
  char copy[sizeof text] = "";
  shmem_int_get(back, table, 6, next);
  shmem_getmem(copy, text, sizeof text, next);
  CHECK(memcmp(back, table, sizeof table) == 0 && strcmp(copy, text) == 0 && shmem_int_g(table + 4, prev) == 5);
}

/* Collectives from and to globals. */
static void trap_30_collectives_on_globals(void) {
  static int in[8], out[8 * 64], sum[8];
  for (int i = 0; i < 8; i++) in[i] = me * 8 + i;
  shmem_barrier_all();
  CHECK(n <= 64 && shmem_int_fcollect(SHMEM_TEAM_WORLD, out, in, 8) == 0);
  for (int i = 0; i < 8 * n; i++) CHECK(out[i] == i);
  CHECK(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, sum, in, 8) == 0);
  for (int i = 0; i < 8; i++) CHECK(sum[i] == 8 * n * (n - 1) / 2 + i * n);
  shmem_barrier_all();
  CHECK(shmem_int_broadcast(SHMEM_TEAM_WORLD, out, in, 8, n - 1) == 0);
  for (int i = 0; i < 8; i++) CHECK(out[i] == (n - 1) * 8 + i);
}

/* The second name does what the first does. */
static void trap_79_second_names(void) {
  long *word = TAKE(long, 2), seen = 0;
  CHECK(pshmem_my_pe() == me && pshmem_n_pes() == n);
  pshmem_long_p(word, me + 1, next);
  pshmem_barrier_all();
  CHECK(pshmem_long_g(word, next) == me + 1 && peek(word) == prev + 1);
  CHECK(pshmem_long_atomic_fetch_add(word + 1, 4, next) == 0);
  pshmem_long_get(&seen, word + 1, 1, next);
  pshmem_barrier_all();
  CHECK(seen == 4 && pshmem_long_sum_reduce(SHMEM_TEAM_WORLD, word + 1, word + 1, 1) == 0 && peek(word + 1) == 4 * n);
  void *block = pshmem_malloc(64);
  CHECK(block != NULL && shmem_addr_accessible(block, next) == 1);
  pshmem_free(block);
}

/* The level, and anything behind it. */
static void trap_84_pcontrol(void) {
  shmem_pcontrol(0);
  shmem_pcontrol(1, 2.5, "text", 3ll, (void *)&counter);
  shmem_pcontrol(-7, me);
  pshmem_pcontrol(2, 1, 2, 3, 4, 5, 6, 7, 8.0, 9.0f, 10.0L);
}

static const trap_t traps[] = {
    TRAP(trap_30_globals_of_every_type),
    TRAP(trap_30_variables_of_a_function),
    TRAP(trap_30_structures_and_large_arrays),
    TRAP(trap_30_counter_lock_and_flag),
    TRAP(trap_30_mailbox),
    TRAP(trap_30_pointer_to_a_neighbour),
    TRAP(trap_30_collectives_on_globals),
    TRAP(trap_30_constants_can_be_read),
    TRAP(trap_79_second_names),
    TRAP(trap_83_long_double_by_value),
    TRAP(trap_84_pcontrol),
};
MAIN(traps)
