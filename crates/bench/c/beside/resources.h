/* Allocation of the buffers; memory of a PE; CPU time of PEs that wait. */
#ifndef BESIDE_RESOURCES_H
#define BESIDE_RESOURCES_H

static void allocate(void) {
  size_t size = buffer_bytes() + 64;
  from = symmetric(size);
  to = symmetric(size);
  aside = symmetric(size);
  if (me < 2) memset(aside, 1, size);
  words = symmetric_zero(WORDS * sizeof *words);
  reports = symmetric_zero((size_t)n_pes * sizeof *reports);
  agreed = symmetric_zero(8 * sizeof *agreed);
  flag = symmetric_zero(4096);
  awaited = symmetric_zero(4096);
  signal_word = symmetric_zero(4096);
  allocate_collectives();
  shmem_barrier_all();
}

/* Mean over the PEs of the proportional set size, before anything is allocated in the heap. */
static void report_memory(void) {
  shmem_barrier_all();
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kib = -1;
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Pss: %ld", &kib) == 1) break;
  if (file) fclose(file);
  shmem_barrier_all();
  long *all = symmetric_zero((size_t)n_pes * sizeof *all);
  shmem_barrier_all();
  shmem_long_p(&all[me], kib, 0);
  shmem_barrier_all();
  double sum = 0;
  for (int pe = 0; me == 0 && pe < n_pes; pe++) sum += (double)all[pe];
  double mean = sum / n_pes;
  if (me == 0) print_row("memory", "", &mean, 1, "KiB");
  shmem_barrier_all();
}

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* All but PE 0 wait on words of their own: first for two seconds in which nobody writes, which gives their
 * CPU time, then while PE 0 times its p to one of them. */
static inline void run_waiters(long n) {
  (void)n;
  static double before[MOST_BATCHES], meanwhile[MOST_BATCHES];
  static long turn;
  double cpu = 0;
  const struct timespec two_seconds = {2, 0}, settle = {0, 50000000};
  shmem_barrier_all();
  long count = 0;
  if (me == 0) {
    count = calibrate(run_p);
    for (int i = 0; i < batches; i++) before[i] = time_batch(run_p, count);
  }
  shmem_barrier_all();
  double used = cpu_seconds();
  if (me == 0) {
    nanosleep(&two_seconds, NULL);
    for (int pe = 1; pe < n_pes; pe++) shmem_long_p(awaited, turn + 1, pe);
    shmem_quiet();
  } else {
    shmem_long_wait_until(awaited, SHMEM_CMP_GE, turn + 1);
  }
  used = cpu_seconds() - used;
  shmem_barrier_all();
  shmem_long_p(&reports[me], (long)(used * 1e9), 0);
  shmem_barrier_all();
  if (me == 0) {
    nanosleep(&settle, NULL);
    for (int i = 0; i < batches; i++) meanwhile[i] = time_batch(run_p, count);
    for (int pe = 1; pe < n_pes; pe++) shmem_long_p(awaited, turn + 2, pe);
    shmem_quiet();
  } else {
    shmem_long_wait_until(awaited, SHMEM_CMP_GE, turn + 2);
  }
  long wrong = me != 0 && *(volatile long *)awaited != turn + 2;
  shmem_barrier_all();
  if (me == 0) {
    for (int pe = 1; pe < n_pes; pe++) cpu += (double)reports[pe] / 1e9;
    print_row("waiters", "/cpu", &cpu, 1, "s");
    print_row("waiters", "/p", meanwhile, batches, "ns");
    print_row("waiters", "/p-before", before, batches, "ns");
    double ratio = meanwhile[batches / 2] / before[batches / 2];
    print_row("waiters", "/p-ratio", &ratio, 1, "x");
  }
  turn += 2;
  if (wrong) {
    fprintf(stderr, "beside: PE %d was woken before its word had changed\n", me);
    shmem_global_exit(3);
  }
  shmem_barrier_all();
}

#endif
