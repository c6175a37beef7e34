// Calls that all threads of a block or warp make, but not with the same arguments: each ends the job with a line that names the
// call, the argument, two values of it, and who has passed them.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

namespace d = dushmem::device;
using block_scope = d::scope::block;

struct Objects {
  int *to, *from; // symmetric, 256
  uint64_t *signal;
};

__global__ void count(Objects o) { nvshmemx_int_put_block(o.to, o.from, threadIdx.x == 3 ? 17 : 16, 0); }

__global__ void address(Objects o) { nvshmemx_int_put_block(o.to + (threadIdx.x == 3), o.from, 16, 0); }

__global__ void none(Objects o) { d::get<block_scope>(o.to, o.from, threadIdx.x == 63 ? 0 : 16, 0); }

__global__ void peer(Objects o) { nvshmemx_putmem_nbi_block(o.to, o.from, 64, threadIdx.x == 40); }

__global__ void strides(Objects o) { d::iput<block_scope>(o.to, o.from, 1, threadIdx.x == 1 ? 2 : 1, 16, 0); }

__global__ void signals(Objects o) {
  nvshmemx_int_put_signal_block(o.to, o.from, 16, o.signal, threadIdx.x == 9 ? 2 : 1, NVSHMEM_SIGNAL_SET, 0);
}

__global__ void lanes(Objects o) {
  if (threadIdx.x >= 32) nvshmemx_int_get_warp(o.to, o.from, threadIdx.x == 39 ? 4 : 16, 0);
}

// Warps, blocks and threads with arguments of their own; one call after the other; what is read from shared memory.
__global__ void right(Objects o) {
  const int warp = threadIdx.x / 32;
  nvshmemx_int_put_warp(o.to + warp, o.from, 16 + warp, 0);
  nvshmem_int_put(o.to + threadIdx.x, o.from, 1, 0);
  __shared__ int n;
  for (int i = 0; i < 3; i++) {
    if (threadIdx.x == 0) n = i;
    __syncthreads();
    nvshmemx_int_put_block(o.to + i, o.from, n, 0);
    nvshmemx_int_put_signal_nbi_block(o.to, o.from + i, 4, o.signal, i, NVSHMEM_SIGNAL_ADD, 0);
    d::get<block_scope>(o.to, o.from, blockIdx.x, 0);
    d::iget<block_scope>(o.to, o.from, 1, 1 + i, 5, 0);
    __syncthreads();
  }
  if (threadIdx.x == 5) nvshmem_int_wait_until(o.to, NVSHMEM_CMP_EQ, 0);
  nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, o.to, o.from, 16);
}

struct Case {
  const char *name;
  void (*kernel)(Objects);
};
#define CASE(kernel) {#kernel, kernel}
static const Case CASES[] = {CASE(count),   CASE(address), CASE(none),  CASE(peer),
                             CASE(strides), CASE(signals), CASE(lanes), CASE(right)};

int main(int, char **args) {
  nvshmem_init();
  const Objects o = {static_cast<int *>(nvshmem_calloc(256, sizeof(int))), static_cast<int *>(nvshmem_calloc(256, sizeof(int))),
                     static_cast<uint64_t *>(nvshmem_calloc(1, sizeof(uint64_t)))};
  for (const Case &one : CASES)
    if (std::strcmp(args[1], one.name) == 0) one.kernel<<<1, 64>>>(o);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  if (error == cudaSuccess && nvshmem_my_pe() == 0) std::puts("all right");
  nvshmem_finalize();
}
