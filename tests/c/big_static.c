/* Global variables of more than 2 GiB, which need -mcmodel=medium or large: symmetric to their ends, and those behind. */
#include "check.h"

static char before[100];
static char big[3UL << 30];
static long behind = 5;

int main(void) {
  F(init)();
  int me = F(my_pe)(), n = F(n_pes)(), next = (me + 1) % n, prev = (me + n - 1) % n;
  const size_t last = sizeof big - 1;
  CHECK(behind == 5);
  F(barrier_all)();
  FT(char, p)(&before[99], (char)(3 + me), next);
  FT(char, p)(&big[last], (char)(7 + me), next);
  FT(char, p)(&big[1UL << 31], (char)(9 + me), next);
  FT(long, atomic_add)(&behind, 50 + me, next);
  F(barrier_all)();
  CHECK(before[99] == 3 + prev && big[last] == 7 + prev && big[1UL << 31] == 9 + prev && behind == 55 + prev);
  CHECK(FT(char, g)(&big[last], next) == 7 + me);
  return verdict();
}
