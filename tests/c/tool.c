/* Counts calls and passes them on: preloaded, or linked into the program. Does not include shmem.h. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stddef.h>

static long counts[2];

long tool_count(int which);
void shmem_long_p(long *dest, long value, int pe);
void shmem_int_put(int *dest, const int *source, size_t nelems, int pe);

long tool_count(int which) { return counts[which]; }

void shmem_long_p(long *dest, long value, int pe) {
  void (*next)(long *, long, int);
  *(void **)&next = dlsym(RTLD_NEXT, "shmem_long_p");
  counts[0]++;
  next(dest, value, pe);
}

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {
  void (*next)(int *, const int *, size_t, int);
  *(void **)&next = dlsym(RTLD_NEXT, "shmem_int_put");
  counts[1]++;
  next(dest, source, nelems, pe);
}
