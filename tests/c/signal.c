/* Fence, quiet, signals and put with signal: what a reader may rely on, many times over. */
#include "check.h"

enum { ROUNDS = 40, WORDS = 300 };
static int me, n, next, prev;
static long *data;
static uint64_t *sig;
static long *flag;

#define SIGNAL_TYPE(NAME, T)                                                                                  \
  static void signal_##NAME(void) {                                                                           \
    T source[8], *dest = (T *)data;                                                                           \
    memset(data, 0, 8 * sizeof(T));                                                                           \
    sig[0] = sig[1] = 0;                                                                                      \
    for (int i = 0; i < 8; i++) source[i] = (T)(me % 50 + i + 1);                                             \
    F(barrier_all)();                                                                                         \
    FT(NAME, put_signal)(dest, source, 4, sig, 7, K(SIGNAL_SET), next);                                       \
    FT(NAME, put_signal_nbi)(dest + 4, source + 4, 4, sig + 1, 3, K(SIGNAL_ADD), next);                       \
    CHECK_IN(#NAME, F(signal_wait_until)(sig, K(CMP_EQ), 7) == 7);                                            \
    for (int i = 0; i < 4; i++) CHECK_IN(#NAME, dest[i] == (T)(prev % 50 + i + 1));                           \
    CHECK_IN(#NAME, F(signal_wait_until)(sig + 1, K(CMP_GT), 2) == 3);                                        \
    for (int i = 4; i < 8; i++) CHECK_IN(#NAME, dest[i] == (T)(prev % 50 + i + 1));                           \
    F(quiet)();                                                                                               \
    F(barrier_all)();                                                                                         \
  }
RMA_TYPES(SIGNAL_TYPE)

#define SIGNAL_SIZE(BITS)                                                                                     \
  do {                                                                                                        \
    unsigned char source[4 * BITS / 8], *dest = (unsigned char *)data;                                        \
    for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)((size_t)me + i);                   \
    memset(data, 0xFF, sizeof source);                                                                        \
    sig[0] = sig[1] = 0;                                                                                      \
    F(barrier_all)();                                                                                         \
    F(put##BITS##_signal)(dest, source, 2, sig, 5, K(SIGNAL_ADD), next);                                      \
    F(put##BITS##_signal_nbi)(dest + BITS / 4, source + BITS / 4, 2, sig + 1, 9, K(SIGNAL_SET), next);        \
    CHECK(F(signal_wait_until)(sig, K(CMP_NE), 0) == 5 && F(signal_wait_until)(sig + 1, K(CMP_GE), 9) == 9);  \
    for (size_t i = 0; i < sizeof source; i++) CHECK(dest[i] == (unsigned char)((size_t)prev + i));           \
    F(quiet)();                                                                                               \
    F(barrier_all)();                                                                                         \
  } while (0)

/* put, fence, put of a flag: who sees the flag sees the data. */
static void fence_orders(void) {
  static long source[WORDS];
  F(barrier_all)();
  for (long round = 1; round <= ROUNDS; round++) {
    for (int i = 0; i < WORDS; i++) source[i] = round * 1000 + i + me;
    FT(long, put)(data, source, WORDS, next);
    FT(long, put_nbi)(data + WORDS, source, WORDS, next);
    F(fence)();
    FT(long, p)(flag, round, next);
    FT(long, wait_until)(flag, K(CMP_GE), round);
    int wrong = 0;
    for (int i = 0; i < 2 * WORDS; i++) wrong += data[i] != round * 1000 + i % WORDS + prev;
    CHECK(wrong == 0);
    F(quiet)();
    /* The reader is done before the next round overwrites. */
    FT(long, atomic_set)(flag + 1, round, prev);
    FT(long, wait_until)(flag + 1, K(CMP_GE), round);
  }
  F(barrier_all)();
}

/* quiet completes: a third PE that hears of it sees the data. */
static void quiet_completes(void) {
  static long source[WORDS], back[WORDS];
  F(barrier_all)();
  flag[0] = flag[1] = 0;
  F(barrier_all)();
  int third = (me + 2) % n, first = (me + n - 2) % n;
  for (long round = 1; round <= ROUNDS; round++) {
    for (int i = 0; i < WORDS; i++) source[i] = -round * 1000 - i - me;
    FT(long, put_nbi)(data, source, WORDS, next);
    F(quiet)();
    FT(long, atomic_set)(flag, round, third);
    FT(long, wait_until)(flag, K(CMP_GE), round);
    FT(long, get)(back, data, WORDS, (first + 1) % n);
    int wrong = 0;
    for (int i = 0; i < WORDS; i++) wrong += back[i] != -round * 1000 - i - first;
    CHECK(wrong == 0);
    F(barrier_all)();
  }
}

/* After a quiet, and only then, a get sees the own put; stores through the own address count as well. */
static void put_quiet_get(void) {
  for (long round = 1; round <= ROUNDS; round++) {
    FT(long, p)(data + me % WORDS, round, next);
    F(quiet)();
    CHECK(FT(long, g)(data + me % WORDS, next) == round);
    data[WORDS] = round;
    F(sync_all)(); /* completes stores */
    CHECK(FT(long, g)(data + WORDS, next) == round);
    F(sync_all)();
  }
  F(barrier_all)();
}

/* One word, all PEs add to it by signals. */
static void signals_add_up(void) {
  static const char text[] = "word";
  sig[0] = sig[1] = 0;
  F(barrier_all)();
  for (int i = 0; i < ROUNDS; i++) {
    F(putmem_signal)((char *)data + 8 * me, text, sizeof text, sig, 1, K(SIGNAL_ADD), 0);
#ifdef FAMILY_SHMEM
    shmem_signal_add(sig + 1, 2, 0);
#else
    FX(signal_op)(sig + 1, 2, K(SIGNAL_ADD), 0);
#endif
  }
  /* Without data, and with NULL for it, the signal is sent all the same. */
  F(putmem_signal)(NULL, NULL, 0, sig, 1, K(SIGNAL_ADD), 0);
  if (me == 0) {
    uint64_t all = (uint64_t)n * (ROUNDS + 1);
    CHECK(F(signal_wait_until)(sig, K(CMP_GE), all) == all);
    CHECK(F(signal_wait_until)(sig + 1, K(CMP_EQ), (uint64_t)n * ROUNDS * 2) == (uint64_t)n * ROUNDS * 2);
    CHECK(F(signal_fetch)(sig) == all);
    for (int pe = 0; pe < n; pe++) CHECK(strcmp((char *)data + 8 * pe, text) == 0);
  }
  F(barrier_all)();
}

int main(void) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  data = (long *)F(calloc)(2 * WORDS + 128, sizeof(long));
  sig = (uint64_t *)F(calloc)(2, sizeof(uint64_t));
  flag = (long *)F(calloc)(2, sizeof(long));
#define RUN(NAME, T) signal_##NAME();
  RMA_TYPES(RUN)
  SIGNAL_SIZE(8);
  SIGNAL_SIZE(16);
  SIGNAL_SIZE(32);
  SIGNAL_SIZE(64);
  SIGNAL_SIZE(128);
  fence_orders();
  quiet_completes();
  put_quiet_get();
  signals_add_up();
  F(free)(flag);
  F(free)(sig);
  F(free)(data);
  return verdict();
}
