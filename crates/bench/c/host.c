/* Host rows of dushbench: each operation beside the raw one, measured in turn in the same run.
 *
 * Usage: host SECTION, under dushrun. Sections: scalar, copy, barrier, memory, idle, empty, nothing.
 * Prints one line a row: row <name> <PEs> <bytes> <ours> <raw> <ours min> <raw min> <unit>, tab separated;
 * ours and raw are medians. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { REPS = 31 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_value);
  return v[n / 2];
}

typedef void (*batch)(long n);

/* Rounds of `body` that take about 200 us. */
static long calibrate(batch body) {
  long n = 16;
  for (;;) {
    double t = now_ns();
    body(n);
    t = now_ns() - t;
    if (t > 100e3 || n > (1L << 26)) return t > 0 ? (long)((double)n * 200e3 / t) + 1 : n;
    n *= 2;
  }
}

static void row(const char *name, size_t bytes, batch ours, batch raw, const char *unit) {
  double a[REPS], b[REPS];
  long na = calibrate(ours), nb = calibrate(raw);
  for (int r = 0; r < REPS; r++) {
    double t = now_ns();
    ours(na);
    a[r] = (now_ns() - t) / (double)na;
    t = now_ns();
    raw(nb);
    b[r] = (now_ns() - t) / (double)nb;
  }
  double ma = median(a, REPS), mb = median(b, REPS);
  printf("row\t%s\t%d\t%zu\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", name, shmem_n_pes(), bytes, ma, mb, a[0], b[0], unit);
  fflush(stdout);
}

/* ---- scalars: the target sits in a barrier meanwhile ---- */

static long *word;          /* symmetric */
static long *peer_word;     /* the target's copy, as the raw operations use it */
static int target;
static long sink;

#define KEEP __asm__ volatile("" ::: "memory")

static void ours_p(long n) {
  for (long i = 0; i < n; i++) { shmem_long_p(word, i, target); KEEP; }
}
static void raw_p(long n) {
  for (long i = 0; i < n; i++) { *(volatile long *)peer_word = i; KEEP; }
}
static void ours_put(long n) {
  long v = 7;
  for (long i = 0; i < n; i++) { shmem_long_put(word, &v, 1, target); KEEP; }
}
static void raw_put(long n) {
  long v = 7;
  for (long i = 0; i < n; i++) { memcpy(peer_word, &v, sizeof v); KEEP; }
}
static void ours_g(long n) {
  long s = 0;
  for (long i = 0; i < n; i++) { s += shmem_long_g(word, target); KEEP; }
  sink = s;
}
static void raw_g(long n) {
  long s = 0;
  for (long i = 0; i < n; i++) { s += *(volatile long *)peer_word; KEEP; }
  sink = s;
}
static void ours_fadd(long n) {
  for (long i = 0; i < n; i++) sink = shmem_long_atomic_fetch_add(word, 1, target);
}
static void raw_fadd(long n) {
  for (long i = 0; i < n; i++) sink = __atomic_fetch_add(peer_word, 1, __ATOMIC_SEQ_CST);
}
static void ours_p_quiet(long n) {
  for (long i = 0; i < n; i++) { shmem_long_p(word, i, target); shmem_quiet(); }
}
static void raw_p_quiet(long n) {
  for (long i = 0; i < n; i++) {
    *(volatile long *)peer_word = i;
#if defined(__x86_64__)
    __asm__ volatile("lock orl $0,(%%rsp)" ::: "memory", "cc");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  }
}

static void scalars(void) {
  word = shmem_calloc(8, sizeof(long));
  target = shmem_n_pes() - 1;
  peer_word = shmem_ptr(word, target);
  if (shmem_my_pe() == 0) {
    row("p 8 B", 8, ours_p, raw_p, "ns");
    row("put 8 B", 8, ours_put, raw_put, "ns");
    row("g 8 B", 8, ours_g, raw_g, "ns");
    row("fetch_add 8 B", 8, ours_fadd, raw_fadd, "ns");
    row("p 8 B + quiet", 8, ours_p_quiet, raw_p_quiet, "ns");
  }
  shmem_barrier_all();
}

/* ---- copies ---- */

static char *source, *local, *peer_buffer;
static size_t bytes;

static void ours_copy(long n) {
  for (long i = 0; i < n; i++) { shmem_putmem(source, local, bytes, target); KEEP; }
}
static void raw_copy(long n) {
  for (long i = 0; i < n; i++) { memcpy(peer_buffer, local, bytes); KEEP; }
}
static void ours_read(long n) {
  for (long i = 0; i < n; i++) { shmem_getmem(local, source, bytes, target); KEEP; }
}
static void raw_read(long n) {
  for (long i = 0; i < n; i++) { memcpy(local, peer_buffer, bytes); KEEP; }
}

static void copies(void) {
  const size_t most = (size_t)1 << 20;
  source = shmem_malloc(most);
  local = shmem_malloc(most);
  memset(source, 1, most);
  memset(local, 2, most);
  target = shmem_n_pes() - 1;
  peer_buffer = shmem_ptr(source, target);
  shmem_barrier_all();
  if (shmem_my_pe() == 0)
    for (bytes = 4096; bytes <= most; bytes *= 4) {
      row("put", bytes, ours_copy, raw_copy, "ns");
      row("get", bytes, ours_read, raw_read, "ns");
    }
  shmem_barrier_all();
}

/* ---- barriers: the raw one is a counter and a futex word in PE 0's memory ---- */

typedef struct {
  uint32_t arrived;
  char other_line[60];
  uint32_t released, sleepers;
} counter;

static counter *meet;
static int a_cpu_each;

static void raw_barrier(uint32_t members) {
  uint32_t epoch = __atomic_load_n(&meet->released, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&meet->arrived, 1, __ATOMIC_ACQ_REL) == members) {
    __atomic_store_n(&meet->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&meet->released, epoch + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&meet->sleepers, __ATOMIC_SEQ_CST))
      syscall(SYS_futex, &meet->released, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
    return;
  }
  /* With a CPU for each, spinning is the raw optimum; otherwise it is sleeping at once. */
  while (a_cpu_each)
    if (__atomic_load_n(&meet->released, __ATOMIC_ACQUIRE) != epoch) return;
  __atomic_fetch_add(&meet->sleepers, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&meet->released, __ATOMIC_SEQ_CST) == epoch)
    syscall(SYS_futex, &meet->released, FUTEX_WAIT, epoch, NULL, NULL, 0);
  __atomic_fetch_sub(&meet->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void barriers(void) {
  enum { ROUNDS = 200, TURNS = 15 };
  counter *mine = shmem_calloc(1, sizeof *mine);
  meet = shmem_ptr(mine, 0);
  uint32_t members = (uint32_t)shmem_n_pes();
  a_cpu_each = members <= sysconf(_SC_NPROCESSORS_ONLN);
  double a[TURNS], b[TURNS];
  for (int turn = 0; turn < TURNS; turn++) {
    shmem_barrier_all();
    double t = now_ns();
    for (int i = 0; i < ROUNDS; i++) shmem_barrier_all();
    a[turn] = (now_ns() - t) / ROUNDS / 1e3;
    t = now_ns();
    for (int i = 0; i < ROUNDS; i++) raw_barrier(members);
    b[turn] = (now_ns() - t) / ROUNDS / 1e3;
  }
  if (shmem_my_pe() == 0) {
    double ma = median(a, TURNS), mb = median(b, TURNS);
    printf("row\tbarrier_all\t%u\t0\t%.3f\t%.3f\t%.3f\t%.3f\tus\n", members, ma, mb, a[0], b[0]);
  }
  shmem_barrier_all();
}

/* ---- memory of a PE beyond its heap: proportional set size ---- */

static double pss_kib(void) {
  FILE *f = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  double kib = 0;
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "Pss: %lf", &kib) == 1) break;
  if (f) fclose(f);
  return kib;
}

static void memory(void) {
  double before = pss_kib();
  shmem_init();
  shmem_barrier_all();
  double *used = shmem_malloc(sizeof *used);
  double *most = shmem_malloc(sizeof *most);
  *used = pss_kib();
  shmem_double_max_reduce(SHMEM_TEAM_WORLD, most, used, 1);
  if (shmem_my_pe() == 0)
    printf("row\tPSS of a PE\t%d\t0\t%.0f\t%.0f\t%.0f\t%.0f\tKiB\n", shmem_n_pes(), *most, before, *most, before);
}

/* ---- CPU time of PEs that wait for one that computes for two seconds: in a barrier, and each for a word ---- */

static void idle_in(const char *name, int words) {
  double *cpu = shmem_malloc(sizeof *cpu);
  double *sum = shmem_malloc(sizeof *sum);
  long *own = shmem_calloc(1, sizeof *own);
  shmem_barrier_all();
  struct rusage r0, r1;
  getrusage(RUSAGE_SELF, &r0);
  if (shmem_my_pe() == 0)
    for (double end = now_ns() + 2e9; now_ns() < end;) KEEP;
  if (words && shmem_my_pe() == 0)
    for (int pe = 1; pe < shmem_n_pes(); pe++) shmem_long_p(own, 1, pe);
  else if (words)
    shmem_long_wait_until(own, SHMEM_CMP_EQ, 1);
  shmem_barrier_all();
  getrusage(RUSAGE_SELF, &r1);
#define SECONDS(t) ((double)(t).tv_sec + (double)(t).tv_usec / 1e6)
  double mine = SECONDS(r1.ru_utime) + SECONDS(r1.ru_stime) - SECONDS(r0.ru_utime) - SECONDS(r0.ru_stime);
  *cpu = shmem_my_pe() == 0 ? 0 : mine;
  shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, cpu, 1);
  if (shmem_my_pe() == 0)
    printf("row\t%s\t%d\t0\t%.4f\t%.4f\t%.4f\t%.4f\ts\n", name, shmem_n_pes(), *sum, 0.3, *sum, 0.3);
}

static void idle(void) {
  idle_in("CPU of waiters, 2 s", 0);
  idle_in("CPU of waiters for words, 2 s", 1);
  /* What a waiter costs the one that writes to other words of it. */
  word = shmem_calloc(2, sizeof *word);
  target = 1;
  peer_word = shmem_ptr(word, target);
  shmem_barrier_all();
  if (shmem_my_pe() == 0) {
    row("p 8 B to a PE that waits", 8, ours_p, raw_p, "ns");
    for (int pe = 1; pe < shmem_n_pes(); pe++) shmem_long_p(word + 1, 1, pe);
  } else {
    shmem_long_wait_until(word + 1, SHMEM_CMP_EQ, 1);
  }
  shmem_barrier_all();
}

int main(int argc, char **argv) {
  const char *section = argc > 1 ? argv[1] : "";
  if (!strcmp(section, "memory")) {
    memory();
    shmem_finalize();
    return 0;
  }
  if (!strcmp(section, "nothing")) return 0;
  shmem_init();
  if (!strcmp(section, "scalar")) scalars();
  else if (!strcmp(section, "copy")) copies();
  else if (!strcmp(section, "barrier")) barriers();
  else if (!strcmp(section, "idle")) idle();
  else if (strcmp(section, "empty")) {
    fprintf(stderr, "host: no section named \"%s\"\n", section);
    shmem_global_exit(2);
  }
  shmem_finalize();
  return 0;
}
