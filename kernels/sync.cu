/* Synchronisation on streams. */
#include "library.h"

/* 1 block of 64 threads. barrier: completes what this PE's kernels have issued, too. */
DUSHMEM_KERNEL dushmem_k_sync(int32_t team, int32_t barrier) {
  barrier != 0 ? dushmem::device::barrier<block_scope>(team) : dushmem::device::sync<block_scope>(team);
}

/* 1 thread: completes what this PE's kernels have issued on the default context. */
DUSHMEM_KERNEL dushmem_k_quiet() { quiet<scope::thread>(); }

/* 1 thread: adds to a signal of the host's heap, which only the CPU adds to; it is done at the end. own: the PE's own
 * address, which the host has checked. */
DUSHMEM_KERNEL dushmem_k_signal_add(uint64_t own, uint64_t value, uint32_t pe) {
  remote_signal(context{0}, (uint64_t *)(uintptr_t)own, value, DUSHMEM_SIGNAL_ADD, (int)pe);
  remote_quiet(context{0});
}
