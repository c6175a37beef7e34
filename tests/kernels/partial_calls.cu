// Calls that all threads of a block or warp have to make, made by some of them only: each ends the job with a line that
// names the call, how many threads make it, and where the others are.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

struct Objects {
  int *to, *from; // symmetric, 256
};

__global__ void ended(Objects o) {
  if (threadIdx.x < 10) nvshmemx_putmem_block(o.to, o.from, 64, 0);
}

__global__ void at_barrier(Objects o) {
  if (threadIdx.x >= 54) nvshmemx_int_put_nbi_block(o.to, o.from, 16, 0);
  __syncthreads();
}

__global__ void elsewhere(Objects o) {
  if (threadIdx.x == 7)
    nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, o.to, o.from, 16);
  else
    nvshmemx_barrier_all_block();
}

__global__ void early(Objects o) {
  if (threadIdx.x == 63) return;
  nvshmemx_barrier_all_block();
  o.to[threadIdx.x] = 1;
}

__global__ void lanes_ended(Objects o) {
  if (threadIdx.x >= 32 && threadIdx.x < 40) nvshmemx_int_get_warp(o.to, o.from, 16, 0);
}

__global__ void lanes_at_syncwarp(Objects o) {
  if (threadIdx.x % 32 >= 30) nvshmemx_int_put_warp(o.to, o.from, 16, 0);
  __syncwarp();
}

__global__ void lanes_at_barrier(Objects o) {
  if (threadIdx.x < 8) nvshmemx_int_put_warp(o.to, o.from, 16, 0);
  __syncthreads();
}

__global__ void lanes_shuffle(Objects o) {
  if (threadIdx.x % 32 == 31)
    nvshmemx_int_put_warp(o.to, o.from, 16, 0);
  else
    o.to[threadIdx.x] = __shfl_sync(0xffffffffu, int(threadIdx.x), 0);
}

__global__ void waiting(Objects o) {
  if (threadIdx.x < 5)
    nvshmemx_putmem_block(o.to, o.from, 64, 0);
  else
    nvshmem_int_wait_until(o.from, NVSHMEM_CMP_EQ, 1);
}

// What is right stays so: calls that all make, from two lines; warps that take different ways; threads that end after the
// last call of their block or warp; templates that some threads have for themselves.
__global__ void right(Objects o) {
  if (threadIdx.x < 32)
    nvshmemx_int_put_block(o.to, o.from, 16, 0);
  else
    nvshmemx_int_put_block(o.to, o.from, 16, 0);
  if (threadIdx.x < 32) {
    nvshmemx_int_put_warp(o.to, o.from, 16, 0);
    nvshmemx_int_get_warp(o.to, o.from, 16, 0);
  }
  __syncthreads();
  if (threadIdx.x == 3) {
    nvshmem_int_put(o.to, o.from, 16, 0);
    nvshmem_quiet();
  }
  if (threadIdx.x == 0) nvshmem_barrier_all();
  __syncthreads();
  nvshmemx_barrier_all_block();
  nvshmemx_int_sum_reduce_block(NVSHMEM_TEAM_WORLD, o.to, o.from, 16);
  if (threadIdx.x < 20) return;
  __syncthreads();
  if (threadIdx.x >= 32) nvshmemx_int_put_warp(o.to, o.from, 0, 0);
}

struct Case {
  const char *name;
  void (*kernel)(Objects);
};
#define CASE(kernel) {#kernel, kernel}
static const Case CASES[] = {CASE(ended),        CASE(at_barrier),    CASE(elsewhere),        CASE(early),
                             CASE(lanes_ended),  CASE(lanes_at_syncwarp), CASE(lanes_at_barrier), CASE(lanes_shuffle),
                             CASE(waiting),      CASE(right)};

int main(int, char **args) {
  nvshmem_init();
  const Objects o = {static_cast<int *>(nvshmem_calloc(256, sizeof(int))), static_cast<int *>(nvshmem_calloc(256, sizeof(int)))};
  for (const Case &one : CASES)
    if (std::strcmp(args[1], one.name) == 0) one.kernel<<<1, 64>>>(o);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  if (error == cudaSuccess && nvshmem_my_pe() == 0) std::puts("all right");
  nvshmem_finalize();
}
