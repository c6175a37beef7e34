/* What the machine gives, under the names that beside.c uses: RAW_PES processes by fork over one mapping;
 * a put is memcpy, an atomic a locked instruction, a wait a loop of loads. No argument is checked. */
#ifndef BESIDE_RAW_H
#define BESIDE_RAW_H

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
enum { SHMEM_CMP_GE, SHMEM_SIGNAL_SET, SHMEM_TEAM_WORLD };
enum { RAW_HEAP = 64 << 20, RAW_LINE = 64 };

static char *raw_window; /* all heaps, one behind the other */
static char *raw_own;
static size_t raw_used = 4096; /* the first page holds the barrier */
static int raw_me, raw_pes, raw_cpu_each;

static inline void *raw_at(const void *own, int pe) {
  return raw_window + (size_t)pe * RAW_HEAP + ((const char *)own - raw_own);
}

static void shmem_init(void) {
  const char *pes = getenv("RAW_PES");
  raw_pes = pes ? atoi(pes) : 2;
  raw_cpu_each = raw_pes <= sysconf(_SC_NPROCESSORS_ONLN);
  raw_window = mmap(NULL, (size_t)raw_pes * RAW_HEAP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw_window == MAP_FAILED) {
    perror("mmap");
    exit(4);
  }
  fflush(NULL);
  for (int pe = 1; pe < raw_pes; pe++) {
    pid_t child = fork();
    if (child < 0) {
      perror("fork");
      exit(4);
    }
    if (child == 0) {
      raw_me = pe;
      break;
    }
  }
  raw_own = raw_window + (size_t)raw_me * RAW_HEAP;
}
static int shmem_my_pe(void) { return raw_me; }
static int shmem_n_pes(void) { return raw_pes; }
static void shmem_global_exit(int code) { exit(code); }
static void *shmem_align(size_t alignment, size_t size) {
  (void)alignment; /* at most a page */
  char *block = raw_own + raw_used;
  raw_used += (size + 4095) & ~(size_t)4095;
  return raw_used <= RAW_HEAP ? block : NULL;
}

/* ---- data ---- */

static inline void shmem_long_p(long *dest, long value, int pe) { *(volatile long *)raw_at(dest, pe) = value; }
static inline long shmem_long_g(const long *source, int pe) { return *(volatile long *)raw_at(source, pe); }
static inline void shmem_putmem(void *dest, const void *source, size_t size, int pe) { memcpy(raw_at(dest, pe), source, size); }
static inline void shmem_putmem_nbi(void *dest, const void *source, size_t size, int pe) { memcpy(raw_at(dest, pe), source, size); }
static inline void shmem_getmem(void *dest, const void *source, size_t size, int pe) { memcpy(dest, raw_at(source, pe), size); }
static inline long shmem_long_atomic_fetch_add(long *dest, long value, int pe) {
  return __atomic_fetch_add((long *)raw_at(dest, pe), value, __ATOMIC_ACQ_REL);
}
static inline long shmem_long_atomic_compare_swap(long *dest, long condition, long value, int pe) {
  __atomic_compare_exchange_n((long *)raw_at(dest, pe), &condition, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return condition;
}
/* Completion needs a locked instruction: a later load must not pass the stores. */
static inline void shmem_quiet(void) {
#if defined(__x86_64__)
  __asm__ volatile("lock orl $0,(%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static inline void raw_relax(void) {
  if (!raw_cpu_each) sched_yield();
}
static inline void shmem_long_wait_until(long *word, int comparison, long value) {
  (void)comparison;
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) raw_relax();
}
static inline void shmem_putmem_signal(void *dest, const void *source, size_t size, uint64_t *word, uint64_t value, int op, int pe) {
  (void)op;
  memcpy(raw_at(dest, pe), source, size);
  __atomic_store_n((uint64_t *)raw_at(word, pe), value, __ATOMIC_RELEASE);
}
static inline void shmem_signal_wait_until(uint64_t *word, int comparison, uint64_t value) {
  (void)comparison;
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) raw_relax();
}

/* ---- a counter and a futex word in PE 0's first page ---- */

struct raw_meeting {
  uint32_t arrived;
  char line[RAW_LINE - sizeof(uint32_t)];
  uint32_t released, sleepers;
};

static void shmem_sync_all(void) {
  struct raw_meeting *meeting = (struct raw_meeting *)raw_window;
  uint32_t epoch = __atomic_load_n(&meeting->released, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&meeting->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)raw_pes) {
    __atomic_store_n(&meeting->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&meeting->released, epoch + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&meeting->sleepers, __ATOMIC_SEQ_CST))
      syscall(SYS_futex, &meeting->released, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
    return;
  }
  /* With a CPU for each, spinning is best; otherwise sleeping at once. */
  while (raw_cpu_each)
    if (__atomic_load_n(&meeting->released, __ATOMIC_ACQUIRE) != epoch) return;
  __atomic_fetch_add(&meeting->sleepers, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&meeting->released, __ATOMIC_SEQ_CST) == epoch)
    syscall(SYS_futex, &meeting->released, FUTEX_WAIT, epoch, NULL, NULL, 0);
  __atomic_fetch_sub(&meeting->sleepers, 1, __ATOMIC_SEQ_CST);
}
static void shmem_barrier_all(void) {
  shmem_quiet();
  shmem_sync_all();
}
static void shmem_finalize(void) {
  shmem_barrier_all();
  if (raw_me != 0) _exit(0);
  while (wait(NULL) > 0) continue;
}

/* ---- collectives by direct loads of the others' buffers ---- */

static void shmem_broadcastmem(int team, void *dest, const void *source, size_t size, int root) {
  (void)team;
  shmem_sync_all();
  memcpy(dest, raw_at(source, root), size);
  shmem_sync_all();
}
static void shmem_fcollectmem(int team, void *dest, const void *source, size_t size) {
  (void)team;
  shmem_sync_all();
  for (int i = 0; i < raw_pes; i++) {
    int pe = (raw_me + i) % raw_pes;
    memcpy((char *)dest + (size_t)pe * size, raw_at(source, pe), size);
  }
  shmem_sync_all();
}
static void shmem_alltoallmem(int team, void *dest, const void *source, size_t size) {
  (void)team;
  shmem_sync_all();
  for (int i = 0; i < raw_pes; i++) {
    int pe = (raw_me + i) % raw_pes;
    memcpy((char *)dest + (size_t)pe * size, (char *)raw_at(source, pe) + (size_t)raw_me * size, size);
  }
  shmem_sync_all();
}
/* Each PE sums its share of the elements, then all gather: every element is read once. */
static void shmem_long_sum_reduce(int team, long *dest, const long *source, size_t count) {
  (void)team;
  size_t share = count < 512 ? count : (count + (size_t)raw_pes - 1) / (size_t)raw_pes;
  size_t low = count < 512 ? 0 : share * (size_t)raw_me;
  size_t high = low + share < count ? low + share : count;
  shmem_sync_all();
  for (size_t i = low; i < high; i++) dest[i] = ((const long *)raw_at(source, 0))[i];
  for (int pe = 1; pe < raw_pes; pe++) {
    const long *theirs = raw_at(source, pe);
    for (size_t i = low; i < high; i++) dest[i] += theirs[i];
  }
  shmem_sync_all();
  for (int i = 1; share < count && i < raw_pes; i++) {
    int pe = (raw_me + i) % raw_pes;
    size_t start = share * (size_t)pe, end = start + share < count ? start + share : count;
    if (start < end) memcpy(dest + start, (long *)raw_at(dest, pe) + start, (end - start) * sizeof *dest);
  }
  if (share < count) shmem_sync_all();
}

#endif
