/* A histogram of random values that the PEs count together.
 *
 *   dushcc -O2 histogram.c -o histogram && dushrun -n 8 ./histogram
 *   dushrun -n 8 ./histogram 40000000 --reduce 1
 *
 * Each PE counts its values in bins of its own. Then these are added up, in one of two ways:
 *   by atomic additions to bins that lie in blocks on the PEs. PEs may come when they are ready, and only
 * bins in which there is something are sent: right for many bins of which each PE has few; by a sum
 * reduction, after which every PE has the whole histogram.
 *
 * The check: PE 0 counts all values alone.
 */
#include "program.h"

static uint64_t size = 1 << 25, bins = 1000, reduce = 0;

/* The mean of two random numbers: bins in the middle get more than those at the ends. */
static uint64_t bin_of(uint64_t i) {
  uint64_t random = random_at(1, i);
  return ((random >> 32) + (random & 0xffffffff)) * bins >> 33;
}

static void count(uint64_t *counts, uint64_t from, uint64_t to, const char *what) {
  for (uint64_t i = from; i < to; i++) {
    counts[bin_of(i)]++;
    if (i % 65536 == 0) progress(what, i - from, to - from);
  }
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, (uint64_t)1 << 48, "values of all PEs together"},
      {"bins", &bins, 1, 1 << 30, "bins"},
      {"reduce", &reduce, 0, 1, "1: bins are added up by a reduction, 0: by atomics"},
  };
  start(argc, argv, "histogram", "counts random values", settings, sizeof settings / sizeof *settings);
  uint64_t block = (bins + (uint64_t)n - 1) / (uint64_t)n; /* bins that a PE holds */
  uint64_t *mine = symmetric(bins, sizeof *mine), *all = symmetric(reduce ? bins : block, sizeof *all);

  shmem_barrier_all();
  double began = now();
  count(mine, first_of(me, n, size), first_of(me + 1, n, size), "values of PE 0");
  if (reduce) {
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, bins);
  } else {
    for (uint64_t i = 0; i < bins; i++) {
      uint64_t bin =
          (i + (uint64_t)me * block) % bins; /* from the own bins on: not all to the same PE at a time */
      if (mine[bin]) shmem_uint64_atomic_add(&all[bin % block], mine[bin], (int)(bin / block));
    }
  }
  shmem_barrier_all(); /* the additions have arrived */
  double seconds = now() - began;

  uint64_t sum = 0;
  if (me == 0) {
    uint64_t *alone = private_memory(bins, sizeof *alone),
             *found = private_memory(block * (uint64_t)n, sizeof *found);
    count(alone, 0, size, "values of the check");
    if (reduce) memcpy(found, all, bins * sizeof *found);
    for (int pe = 0; pe < n && !reduce; pe++) shmem_uint64_get(found + (uint64_t)pe * block, all, block, pe);
    for (uint64_t bin = 0; bin < bins; bin++) {
      if (found[bin] != alone[bin])
        wrong("bin %" PRIu64 " has %" PRIu64 " values, not %" PRIu64, bin, found[bin], alone[bin]);
      sum ^= mark(bin, found[bin]);
    }
    free(found);
    free(alone);
  } else if (reduce) {
    /* The others have the same as PE 0. */
    shmem_uint64_get(mine, all, bins, 0);
    for (uint64_t bin = 0; bin < bins; bin++)
      if (mine[bin] != all[bin])
        wrong("bin %" PRIu64 " has %" PRIu64 " values, on PE 0 %" PRIu64, bin, all[bin], mine[bin]);
  }
  return finish(size, "values", seconds, "%" PRIu64 " values in %" PRIu64 " bins, checksum %016" PRIx64, size,
                bins, sum);
}
