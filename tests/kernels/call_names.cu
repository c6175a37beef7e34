// Wrong arguments of calls in kernels: the lines name each call as it is written here.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <nvshmem.h>
#include <nvshmemx.h>

__global__ void wrong(int what, int *ints, int *local, uint64_t *signal) {
  if (what == 0) nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, local, ints, 4);
  if (what == 1) nvshmemx_putmem_signal_nbi_warp(ints, local, 4, signal, 1, 7, 0);
  if (threadIdx.x != 5) return;
  switch (what) {
  case 2: nvshmem_int_p(ints, 1, 99); break;
  case 3: nvshmem_int_wait_until(local, NVSHMEM_CMP_EQ, 1); break;
  case 4: printf("%d\n", nvshmem_barrier(4321)); break;
  case 5: printf("%d\n", nvshmem_int_broadcast(NVSHMEM_TEAM_WORLD, ints, ints, 4, 17)); break;
  case 6: printf("%d\n", nvshmem_int_atomic_fetch_add(local, 1, 0)); break;
  // A template that no call of the library stands on has the name that it has.
  case 7:
    nvshmem_quiet();
    dushmem::device::p(local, 1, 0);
    break;
  case 8: printf("%d\n", nvshmem_team_sync(NVSHMEM_TEAM_INVALID)); break;
  }
}

int main(int, char **args) {
  nvshmem_init();
  int *ints = static_cast<int *>(nvshmem_malloc(256)), *local = nullptr;
  uint64_t *signal = static_cast<uint64_t *>(nvshmem_malloc(8));
  if (cudaMalloc(&local, 256) != cudaSuccess) return 3;
  wrong<<<1, 32>>>(std::atoi(args[1]), ints, local, signal);
  cudaDeviceSynchronize();
  nvshmem_finalize();
}
