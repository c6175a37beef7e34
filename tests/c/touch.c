/* PE 1 writes to as many MiB of its heap as the argument says, while the others wait for it. */
#include "check.h"

int main(int argc, char **argv) {
  if (argc < 2) return 98;
  F(init)();
  size_t mib = (size_t)atol(argv[1]);
  char *block = (char *)F(malloc)(mib << 20);
  if (block == NULL) return 97;
  F(barrier_all)();
  if (F(my_pe)() == (F(n_pes)() > 1))
    for (size_t at = 0; at < mib << 20; at += 4096) block[at] = 1;
  F(barrier_all)();
  if (F(my_pe)() == 0) printf("%ld MiB\n", (long)mib);
  F(finalize)();
  return 0;
}
