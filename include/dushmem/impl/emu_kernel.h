/* Functions that kernels call: synchronisation in a block, memory fences, clocks, assertions, traps. */
#ifndef DUSHMEM_IMPL_EMU_KERNEL_H
#define DUSHMEM_IMPL_EMU_KERNEL_H

#include "emu_abi.h"
#include "emu_atomic.h"
#include "emu_math.h"
#include <chrono>

inline void __syncthreads() { dushmem_emu_sync_threads(); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
/* In a loop that waits: lets the other threads of the block run. */
inline void __nanosleep(unsigned) { dushmem_emu_yield(); }

/* Nanoseconds. */
inline long long clock64() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline long long wall_clock64() { return clock64(); }

/* Ends the kernel with an error that later calls of the runtime return, as on a GPU. */
__attribute__((noreturn)) inline void __trap() { dushmem_emu_trap(719, "__trap()"); }

/* Addresses are the same for all kinds of memory. */
inline size_t __cvta_generic_to_shared(const void *address) { return reinterpret_cast<size_t>(address); }
inline size_t __cvta_generic_to_global(const void *address) { return reinterpret_cast<size_t>(address); }
inline void *__cvta_shared_to_generic(size_t address) { return reinterpret_cast<void *>(address); }
inline void *__cvta_global_to_generic(size_t address) { return reinterpret_cast<void *>(address); }
#endif
