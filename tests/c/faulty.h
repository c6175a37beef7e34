/* Put in front of a whole program of examples/c (-include): one call of the library goes wrong, so that the
 * program's check has something to find. -DFAULT_... says which call, -DFAULT_AT=N which time on each PE. */
#ifndef FAULTY_H
#define FAULTY_H
#define _POSIX_C_SOURCE 200809L /* as program.h has it */
#include <shmem.h>
#include <stddef.h>
#include <stdint.h>

static inline int goes_wrong(void) {
  static long calls;
  return ++calls == FAULT_AT;
}

#if defined(FAULT_XOR_LOST)
#define shmem_uint64_atomic_xor(dest, value, pe)                                                             \
  (goes_wrong() ? (void)0 : shmem_uint64_atomic_xor(dest, value, pe))
#elif defined(FAULT_XOR_MISPLACED)
#define shmem_uint64_atomic_xor(dest, value, pe) shmem_uint64_atomic_xor((dest) - goes_wrong(), value, pe)
#elif defined(FAULT_PUT_SHORT) /* the last word of one that has any */
#define shmem_uint64_put_signal(dest, source, count, signal, value, op, pe)                                  \
  shmem_uint64_put_signal(dest, source, (count) - ((count) > 0 && goes_wrong()), signal, value, op, pe)
#elif defined(FAULT_COLUMN_LOST)
#define shmem_double_iput(dest, source, to, from, count, pe)                                                 \
  (goes_wrong() ? (void)0 : shmem_double_iput(dest, source, to, from, count, pe))
#elif defined(FAULT_KEY_LOST)
#define shmem_uint32_put_nbi(dest, source, count, pe)                                                        \
  shmem_uint32_put_nbi(dest, source, (count) - ((count) > 0 && goes_wrong()), pe)
#elif defined(FAULT_GET_LOST)
#define shmem_ctx_uint64_get_nbi(ctx, dest, source, count, pe)                                               \
  (goes_wrong() ? (void)0 : shmem_ctx_uint64_get_nbi(ctx, dest, source, count, pe))
#elif defined(FAULT_ADD_LOST)
#define shmem_uint64_atomic_add(dest, value, pe)                                                             \
  (goes_wrong() ? (void)0 : shmem_uint64_atomic_add(dest, value, pe))
#elif defined(FAULT_SUM)
static inline int wrong_sum(shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t count) {
  int code = shmem_uint64_sum_reduce(team, dest, source, count);
  if (goes_wrong()) dest[count - 1]++;
  return code;
}
#define shmem_uint64_sum_reduce wrong_sum
#elif defined(FAULT_TASK_CHANGED)
static inline void wrong_get(void *dest, const void *source, size_t bytes, int pe) {
  shmem_getmem(dest, source, bytes, pe);
  if (goes_wrong()) *(uint64_t *)dest ^= 1;
}
#define shmem_getmem wrong_get
#else
#error "which call goes wrong?"
#endif
#endif
