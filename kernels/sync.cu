/* Synchronisation on streams. */
#include "few.h"

/* 1 block of 64 threads. barrier: completes what this PE's kernels have issued, too. */
DUSHMEM_KERNEL dushmem_k_sync(int32_t team, int32_t barrier) {
  barrier != 0 ? dushmem::device::barrier<block_scope>(team) : dushmem::device::sync<block_scope>(team);
}

/* The same for few members, 32 threads, but for what kernels have asked the proxy for. */
DUSHMEM_KERNEL_FEW dushmem_k_few_sync(DUSHMEM_BY_VALUE dushmem_k_few few, int32_t barrier) {
  const uint64_t number = own_count(few_count(few, 0)) + 1;
  const int other = few_served(few);
  if (other >= 0) barrier != 0 ? fence_system() : fence_release();
  sync(block_scope{});
  if (other >= 0) {
    few_tell(few, words::sync, number, other);
    few_await(few, words::sync, number, other, barrier != 0 ? "barrier" : "sync");
  }
  if (threadIdx.x == 0) own_count(few_count(few, 0), number);
}

/* 1 thread: completes what this PE's kernels have issued on the default context. */
DUSHMEM_KERNEL dushmem_k_quiet() { quiet<scope::thread>(); }

/* 1 thread: adds to a signal of the host's heap, which only the CPU adds to; it is done at the end. own: the PE's own
 * address, which the host has checked. */
DUSHMEM_KERNEL dushmem_k_signal_add(uint64_t own, uint64_t value, uint32_t pe) {
  remote_signal(context{0}, (uint64_t *)(uintptr_t)own, value, DUSHMEM_SIGNAL_ADD, (int)pe);
  remote_quiet(context{0});
}
