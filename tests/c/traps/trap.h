/* What the programs about the traps share. A trap is a function. It takes its symmetric objects from an area of zero
 * bytes, and runs twice: once with the area on the heap, once in static data; TAKE_OTHER takes from the segment where
 * the rest is not. Before and after a trap all PEs meet.
 *
 * A program runs all its traps, or those whose names begin with an argument. */
#ifndef TRAP_H
#define TRAP_H
#include "../check.h"
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { AREA = 1 << 20 };
static char static_area[AREA] __attribute__((aligned(4096)));
static char *heap_area, *area, *other_area;
static size_t taken, other_taken;
static const char *where = "";
static int me, n, next, prev;

#undef CHECK
#define CHECK(...) CHECK_IN(where, __VA_ARGS__)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static inline void *take_from(char *from, size_t *used, size_t size) {
  void *object = from + *used;
  *used += (size + 63) / 64 * 64;
  if (*used > AREA) failed(__FILE__, __LINE__, "the area is too small", where), exit(3);
  return object;
}
#define TAKE(T, count) ((T *)take_from(area, &taken, sizeof(T) * (count)))
#define TAKE_OTHER(T, count) ((T *)take_from(other_area, &other_taken, sizeof(T) * (count)))

typedef struct {
  const char *name;
  void (*run)(void);
} trap_t;
#define TRAP(function) {#function, function}

/* Memory that others write is looked at anew each time. */
static inline long peek(const long *word) { return *(const volatile long *)word; }

/* How many of the words differ from first, first + step, ... */
static inline int wrong_words(const long *words, size_t count, long first, long step) {
  int wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += peek(words + i) != first + (long)i * step;
  return wrong;
}
static inline void fill_words(long *words, size_t count, long first, long step) {
  for (size_t i = 0; i < count; i++) words[i] = first + (long)i * step;
}

static inline int over_loopback(void) {
  const char *transport = getenv("DUSHMEM_TRANSPORT");
  return transport != NULL && strcmp(transport, "loopback") == 0;
}

static inline void nap(long microseconds) {
  struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

static inline void run_in(const char *name, char *in, char *other, const trap_t *traps, size_t count, const char *only) {
  where = name;
  area = in;
  other_area = other;
  for (size_t i = 0; i < count; i++) {
    if (strncmp(traps[i].name, only, strlen(only)) != 0) continue;
    int before = failures;
    taken = other_taken = 0;
    shmem_barrier_all();
    traps[i].run();
    shmem_barrier_all();
    if (failures > before) fprintf(stderr, "PE %d: %s failed (%s)\n", me, traps[i].name, where);
    memset(in, 0, taken);
    memset(other, 0, other_taken);
  }
  shmem_barrier_all();
}

static inline int run_traps(const trap_t *traps, size_t count, int argc, char **argv) {
  int provided = -1;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided != SHMEM_THREAD_MULTIPLE) return 4;
  me = shmem_my_pe();
  n = shmem_n_pes();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  heap_area = (char *)shmem_calloc(AREA, 1);
  const char *only = argc > 1 ? argv[1] : "";
  run_in("heap", heap_area, static_area, traps, count, only);
  run_in("static", static_area, heap_area, traps, count, only);
  shmem_free(heap_area);
  return verdict();
}
#define MAIN(traps)                                                                                           \
  int main(int argc, char **argv) { return run_traps(traps, COUNT(traps), argc, argv); }

#endif
