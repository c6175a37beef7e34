/* A tool: adds 1000 to what is written, so that being called shows, and counts barriers. */
#include <pshmem.h>
#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

static int barriers;

void shmem_int_p(int *dest, int value, int pe) { pshmem_int_p(dest, value + 1000, pe); }

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {
  int changed = *source + 1000;
  if (nelems == 1) pshmem_int_put(dest, &changed, nelems, pe);
}

void shmem_ctx_int_put(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe) {
  int changed = *source + 1000;
  if (nelems == 1) pshmem_ctx_int_put(ctx, dest, &changed, nelems, pe);
}

int shmem_int_atomic_fetch_add(int *dest, int value, int pe) {
  return pshmem_int_atomic_fetch_add(dest, value + 1000, pe);
}

void shmem_longdouble_p(long double *dest, long double value, int pe) {
  pshmem_longdouble_p(dest, value + 1000, pe);
}

void shmem_barrier_all(void) {
  barriers++;
  pshmem_barrier_all();
}

void shmem_pcontrol(int level, ...) {
  va_list more;
  va_start(more, level);
  *va_arg(more, int *) = level == 3 ? 7 : barriers;
  va_end(more);
}

int shmem_my_pe(void) { return pshmem_my_pe(); }

#ifdef __cplusplus
}
#endif
