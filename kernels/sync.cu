/* Synchronisation on streams. */
#include "library.h"

/* 1 block of 64 threads. barrier: completes what this PE's kernels have issued, too. */
DUSHMEM_KERNEL dushmem_k_sync(int32_t team, int32_t barrier) {
  barrier != 0 ? dushmem::device::barrier<block_scope>(team) : dushmem::device::sync<block_scope>(team);
}

/* 1 thread: completes what this PE's kernels have issued on the default context. */
DUSHMEM_KERNEL dushmem_k_quiet() { quiet<scope::thread>(); }
