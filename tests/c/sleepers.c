/* CPU time of PEs that wait, each for a word of its own, for SECONDS (2): PE 0 counts it up at the end, and what it
 * costs is printed. Half of them wait for a signal, or for one of several words. */
#include "check.h"
#include <sys/resource.h>
#include <time.h>

static double cpu(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)use.ru_utime.tv_sec + (double)use.ru_stime.tv_sec +
         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 2;
  F(init)();
  int me = F(my_pe)(), n = F(n_pes)();
  long *words = (long *)F(calloc)(4, sizeof(long));
  uint64_t *sig = (uint64_t *)F(calloc)(1, sizeof(uint64_t));
  double *used = (double *)F(calloc)((size_t)n, sizeof(double));
  F(barrier_all)();
  double before = cpu();
  if (me == 0) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    for (int pe = 1; pe < n; pe++) {
      /* Sleepers don't hold up others: a wake-up one by one. */
      FT(long, p)(&words[2], 1, pe);
      F(putmem)(&words[3], &pe, sizeof pe, pe);
#ifdef FAMILY_SHMEM
      shmem_signal_set(sig, 1, pe);
#else
      FX(signal_op)(sig, 1, K(SIGNAL_SET), pe);
#endif
    }
  } else if (me % 3 == 0) {
    CHECK(F(signal_wait_until)(sig, K(CMP_NE), 0) == 1);
  } else if (me % 3 == 1) {
    FT(long, wait_until)(&words[2], K(CMP_EQ), 1);
  } else {
    size_t which = FT(long, wait_until_any)(words, 4, NULL, K(CMP_NE), 0);
    CHECK(which == 2 || which == 3);
  }
  double mine = cpu() - before;
  F(putmem)(&used[me], &mine, sizeof mine, 0);
  F(barrier_all)();
  if (me == 0) {
    double sum = 0;
    for (int pe = 0; pe < n; pe++) sum += used[pe];
    printf("%d ms of CPU time\n", (int)(sum * 1000));
  }
  return verdict();
}
