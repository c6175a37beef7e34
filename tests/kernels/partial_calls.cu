// Calls that all threads of a block or warp have to make, made by some of them only: each ends the job with a line that
// names the call, how many threads make it, and where the others are.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

namespace d = dushmem::device;
using block_scope = d::scope::block;
using warp_scope = d::scope::warp;

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

// The templates: no name of the library stands around them.
__global__ void template_ended(Objects o) {
  if (threadIdx.x < 10) d::put<block_scope>(o.to, o.from, 64, 0);
}

__global__ void template_at_barrier(Objects o) {
  if (threadIdx.x >= 54) d::iget<block_scope>(o.to, o.from, 1, 1, 16, 0);
  __syncthreads();
}

__global__ void template_elsewhere(Objects o) {
  if (threadIdx.x == 7)
    d::reduce<block_scope, d::op::sum>(NVSHMEM_TEAM_WORLD, o.to, (const int *)o.from, 16);
  else
    d::barrier_all<block_scope>();
}

__global__ void template_order(Objects) {
  if (threadIdx.x < 3)
    d::quiet<block_scope>();
  else
    d::fence<block_scope>();
}

__global__ void template_and_name(Objects o) {
  if (threadIdx.x < 32)
    d::put<block_scope>(o.to, o.from, 16, 0);
  else
    nvshmemx_int_put_block(o.to, o.from, 16, 0);
}

__global__ void template_test(Objects o) {
  if (threadIdx.x != 5) d::test<block_scope>(o.to, NVSHMEM_CMP_EQ, 1);
}

__global__ void template_lanes(Objects o) {
  if (threadIdx.x >= 32 && threadIdx.x < 40) d::get<warp_scope>(o.to, o.from, 16, 0);
}

__global__ void template_lanes_at_syncwarp(Objects o) {
  if (threadIdx.x % 32 >= 30) d::broadcast<warp_scope>(NVSHMEM_TEAM_WORLD, o.to, (const int *)o.from, 16, 0);
  __syncwarp();
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
  d::put<block_scope>(o.to, o.from, 16, 0);
  if (threadIdx.x < 32) d::get<warp_scope>(o.to, o.from, 16, 0);
  if (threadIdx.x == 40) d::put(o.to, o.from, 16, 0);
  d::quiet<block_scope>();
  d::reduce<block_scope, d::op::sum>(NVSHMEM_TEAM_WORLD, o.to, (const int *)o.from, 16);
  d::wait_until<block_scope>(o.from, NVSHMEM_CMP_EQ, 0);
  __syncthreads();
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
                             CASE(waiting),      CASE(right),         CASE(template_ended),   CASE(template_at_barrier),
                             CASE(template_elsewhere), CASE(template_order), CASE(template_and_name), CASE(template_test),
                             CASE(template_lanes), CASE(template_lanes_at_syncwarp)};

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
