/* init and finalize nested, and again and again with other heap sizes; globals keep their values. */
#include "check.h"

static long survivor = 7, received;

int main(void) {
  static const char *size[5] = {"1M", "8M", "64K", "2.5M", "1G"};
  static const size_t fits[5] = {900 << 10, 7 << 20, 40 << 10, 2 << 20, 900u << 20};
  static const size_t too_much[5] = {2 << 20, 9 << 20, 100 << 10, 3 << 20, (size_t)2 << 30};
  for (int round = 0; round < 5; round++) {
    setenv("DUSHMEM_SYMMETRIC_SIZE", size[round], 1);
    F(init)();
    F(init)();
    int me = F(my_pe)(), n = F(n_pes)(), next = (me + 1) % n, prev = (me + n - 1) % n;
    char *block = (char *)F(malloc)(fits[round]);
    CHECK_IN(size[round], block != NULL);
    /* Fresh memory, though the round before has left something everywhere it could. */
    if (fits[round] <= 7 << 20) {
      size_t zeros = 0;
      for (size_t i = 0; i < fits[round]; i++) zeros += block[i] == 0;
      CHECK_IN(size[round], zeros == fits[round]);
      F(barrier_all)();
      memset(block, 0xEE, fits[round]);
      F(barrier_all)();
    }
    block[fits[round] - 1] = 1;
    F(putmem)(block, &me, sizeof me, next);
    F(finalize)(); /* the inner one is a barrier */
    int got = -1;
    memcpy(&got, block, sizeof got);
    CHECK_IN(size[round], got == prev);
    CHECK_IN(size[round], F(my_pe)() == me);
    F(free)(block);
    /* This prints a line that says why, on each PE. */
    if (getenv("CHECK_EXHAUSTION")) CHECK_IN(size[round], F(malloc)(too_much[round]) == NULL);
    if (globals_are_symmetric()) {
      CHECK_IN("survives", survivor == 7 + round && received == (round == 0 ? 0 : prev + round - 1));
      survivor++;
      F(barrier_all)();
      FT(long, p)(&received, me + round, next);
      F(barrier_all)();
      CHECK_IN("put", received == prev + round);
    }
    F(init)();
    F(finalize)();
    if (failures) F(global_exit)(1);
    F(finalize)();
    if (globals_are_symmetric() && survivor != 8 + round) return 5;
#ifndef FAMILY_NVSHMEM
    int on = 1;
    F(query_initialized)(&on);
    if (on) return 6;
#endif
  }
  return 0;
}
