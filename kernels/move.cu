/* Collectives that move data, and strided copies. Lengths in bytes; a grid of blocks of 512 threads. The members reach
 * each other by loads and stores. */
#include "library.h"

DUSHMEM_KERNEL dushmem_k_fcollect(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  members team;
  if (bytes == 0 || !opened(handle, team, "fcollect")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return exchange_flagged(team, to, from, bytes, 0, "fcollect", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "fcollect")) grid_fcollect(is, to, from, bytes);
}

/* dest may be source, on all members. */
DUSHMEM_KERNEL dushmem_k_alltoall(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  members team;
  if (bytes == 0 || !opened(handle, team, "alltoall")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return exchange_flagged(team, to, from, bytes, bytes, "alltoall", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "alltoall")) grid_alltoall(is, to, from, bytes);
}

/* source is symmetric; dest may be source. */
DUSHMEM_KERNEL dushmem_k_broadcast(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes, int32_t root) {
  members team;
  if (bytes == 0 || !opened(handle, team, "broadcast")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return broadcast_flagged(team, to, from, bytes, root, "broadcast", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "broadcast")) grid_broadcast(is, to, from, bytes, root);
}

/* n elements of `elem` bytes; strides in bytes. */
DUSHMEM_KERNEL dushmem_k_copy_strided(uint64_t dest, int64_t dest_stride, uint64_t source, int64_t source_stride,
                                      uint32_t elem, uint64_t n) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  DUSHMEM_IMPL_ROLLED
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    char *const to = (char *)(uintptr_t)dest + (ptrdiff_t)i * dest_stride;
    const char *const from = (const char *)(uintptr_t)source + (ptrdiff_t)i * source_stride;
    DUSHMEM_IMPL_ROLLED
    for (size_t at = 0; at < elem; at += 16) store_unit(to + at, load_unit(from + at, elem - at), elem - at);
  }
}
