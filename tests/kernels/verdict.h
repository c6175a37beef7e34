/* What tests of kernels share: errors found on the host and in kernels, and the verdict of all PEs. */
#ifndef VERDICT_H
#define VERDICT_H
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include "memory.h"

static int me, n;
static cudaStream_t stream;
static unsigned long long *bad; /* what the kernels of this PE have found */
static unsigned long long host_bad;

#define CUDA(call)                                                                                           \
  do {                                                                                                       \
    const cudaError_t cuda_error = (call);                                                                   \
    if (cuda_error != cudaSuccess) {                                                                         \
      std::printf("PE %d, line %d: %s\n", me, __LINE__, cudaGetErrorString(cuda_error));                     \
      dushmem_global_exit(3);                                                                                \
    }                                                                                                        \
  } while (0)

/* In a loop that looks for something: lets others run. */
__device__ static inline void idle() {
#if defined(__HIP_PLATFORM_AMD__) && !defined(DUSHMEM_EMU)
  __builtin_amdgcn_s_sleep(8);
#else
  __nanosleep(100);
#endif
}

/* In kernels: counts, and tells of the first. */
__device__ static inline void expect(unsigned long long *count, const char *what, long long got, long long wanted,
                                     long long at = -1) {
  if (got == wanted) return;
  if (atomicAdd(count, 1ull) < 3)
    printf("PE %d block %d: %s: %lld instead of %lld (%lld)\n", dushmem_my_pe(), (int)blockIdx.x, what, got, wanted, at);
}
__device__ static inline void holds(unsigned long long *count, const char *what, bool right, long long at = -1) {
  expect(count, what, right, 1, at);
}

static inline void expect_host(const char *what, long long got, long long wanted, long long at = -1) {
  if (got == wanted) return;
  if (host_bad++ < 3) std::printf("PE %d: %s: %lld instead of %lld (%lld)\n", me, what, got, wanted, at);
}

template <class T> static inline T *zeroed(size_t count) {
  T *memory = (T *)dushmem_calloc(count, sizeof(T));
  if (memory == nullptr) dushmem_global_exit(4);
  return memory;
}

static inline void begin() {
  dushmem_init();
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  CUDA(cudaSetDevice(me % devices));
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMalloc((void **)&bad, sizeof *bad));
  CUDA(cudaMemset(bad, 0, sizeof *bad));
  CUDA(cudaDeviceSynchronize()); /* the library reads it by streams of its own */
}

/* After kernels of all PEs. */
static inline void finish_kernels() {
  CUDA(cudaGetLastError()); /* a kernel that was not launched leaves nothing to wait for */
  CUDA(cudaStreamSynchronize(stream));
  dushmem_barrier_all();
}

static inline int verdict() {
  finish_kernels();
  unsigned long long *words = zeroed<unsigned long long>(2), all = look(bad) + host_bad;
  put_here(words, all);
  dushmem_ulonglong_sum_reduce(DUSHMEM_TEAM_WORLD, words + 1, words, 1);
  all = look(words + 1);
  if (me == 0 && all == 0) std::printf("all right\n");
  dushmem_finalize();
  return all != 0;
}
#endif
