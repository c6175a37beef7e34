/* Clock, batches, and the two ways of timing. */
#ifndef BESIDE_TIMING_H
#define BESIDE_TIMING_H

enum { MOST_BATCHES = 255, WORDS = 64 };

/* Does the operation n times. */
typedef void (*batch)(long n);

static int me, n_pes;
static double batch_ns = 200e3; /* about so long is a batch */
static int batches = 31;
static const double most_ns = 1e9; /* about so long is all of an operation, where 3 batches allow it */

/* Symmetric memory. The large buffers hold one MiB, or 64 KiB for each PE. */
static char *from, *to, *aside;
static long *words, *reports, *agreed, *flag, *awaited;
static uint64_t *signal_word;
static size_t bytes; /* of the operation in hand */

#define KEEP __asm__ volatile("" ::: "memory")

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t buffer_bytes(void) {
  size_t least = (size_t)1 << 20, each = (size_t)n_pes << 16;
  return least > each ? least : each;
}

/* At the start of a page: how two blocks lie to each other within their pages changes the speed of a copy by a
 * tenth, and libraries place blocks differently. */
static void *symmetric(size_t size) {
  void *block = shmem_align(4096, size);
  if (!block) {
    fprintf(stderr, "beside: no %zu bytes in the symmetric heap\n", size);
    shmem_global_exit(4);
  }
  return block;
}

static void *symmetric_zero(size_t size) { return memset(symmetric(size), 0, size); }

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_row(const char *name, const char *suffix, double *values, int count, const char *unit) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  double median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
  printf("row\t%s%s\t%zu\t%.4f\t%.4f\t%s\n", name, suffix, bytes, median, values[0], unit);
  fflush(stdout);
}

/* How often `run` fits into a batch. */
static long calibrate(batch run) {
  run(1);
  for (long n = 1;; n *= 2) {
    double t = now_ns();
    run(n);
    t = now_ns() - t;
    if (t > batch_ns / 2 || n >= 1L << 26) return t > 0 ? (long)((double)n * batch_ns / t) + 1 : n;
  }
}

static double time_batch(batch run, long n) {
  run(1);
  double t = now_ns();
  run(n);
  return (now_ns() - t) / (double)n;
}

/* PE 0 works, the others sit in the barrier. With a reference, both in turn, and also their ratio. */
static void time_solo(const char *name, batch run, batch reference) {
  static double ours[MOST_BATCHES], theirs[MOST_BATCHES], ratios[MOST_BATCHES];
  shmem_barrier_all();
  if (me == 0) {
    long n = calibrate(run), m = reference ? calibrate(reference) : 0;
    for (int i = 0; i < batches; i++) {
      ours[i] = time_batch(run, n);
      if (!reference) continue;
      theirs[i] = time_batch(reference, m);
      ratios[i] = ours[i] / theirs[i];
    }
    print_row(name, "", ours, batches, "ns");
    if (reference) print_row(name, "/memcpy", ratios, batches, "x");
    if (reference) print_row(name, "-memcpy", theirs, batches, "ns");
  }
  shmem_barrier_all();
}

/* All PEs work. PE 0 chooses how often and tells the others. Each batch ends with a barrier, within the time. */
static void time_together(const char *name, batch run) {
  static double times[MOST_BATCHES];
  double best = 1e18;
  run(n_pes);
  for (int i = 0; i < 5; i++) {
    shmem_barrier_all();
    double t = now_ns();
    run(4);
    t = (now_ns() - t) / 4;
    if (t < best) best = t;
  }
  shmem_barrier_all();
  if (me == 0) {
    /* A whole number of turns around the PEs, so that each is the root equally often. */
    long n = (long)(5 * batch_ns / best) + 1;
    if (n > 100000) n = 100000;
    n = (n + n_pes - 1) / n_pes * n_pes;
    long count = (long)(most_ns / (best * (double)n));
    if (count < 3) count = 3;
    if (count > batches) count = batches;
    for (int pe = 0; pe < n_pes; pe++) {
      shmem_long_p(&agreed[1], n, pe);
      shmem_long_p(&agreed[2], count, pe);
    }
  }
  shmem_barrier_all();
  long n = *(volatile long *)&agreed[1], count = *(volatile long *)&agreed[2];
  for (long i = 0; i < count; i++) {
    shmem_barrier_all();
    double t = now_ns();
    run(n);
    shmem_barrier_all();
    times[i] = (now_ns() - t) / (double)n;
  }
  shmem_barrier_all();
  if (me == 0) print_row(name, "", times, (int)count, "ns");
  shmem_barrier_all();
}

#endif
