// The grid of a collective launch has to be resident beside those of the PEs whose kernels are on the device at the same
// time. The launch is the first call of the program that needs a device, so it chooses one.
#include "../kernels/verdict.h"
#include <dushmem/launch.h>

__global__ static void count(unsigned *blocks) {
  if (threadIdx.x == 0) atomicAdd(blocks, 1u);
}

// What differs only in blocks: threads, registers and shared memory are those of the one kernel.
static int fit(dim3 block, size_t shared) {
  int most = -1;
  expect_host("the query", dushmemx_collective_launch_query_gridsize((const void *)count, block, nullptr, shared, &most), 0);
  return most;
}

static unsigned counted(dim3 grid, dim3 block, size_t shared, int outcome) {
  static unsigned *blocks = nullptr;
  if (blocks == nullptr) CUDA(cudaMallocHost((void **)&blocks, sizeof *blocks));
  *blocks = 0;
  void *args[] = {&blocks};
  expect_host("the launch", dushmemx_collective_launch((const void *)count, grid, block, args, shared, stream), outcome,
              (long long)grid.x);
  CUDA(cudaDeviceSynchronize());
  return *blocks;
}

int main() {
  dushmem_init();
  me = dushmem_my_pe();
  n = dushmem_n_pes();
#ifdef CUDA_STANDIN_RUNTIME_H
  standin_kernel(count);
#endif
  // Nobody has chosen a device, so no query says more than what is right in any case.
  const int before = fit(dim3(64), 0);
  const unsigned first = counted(dim3(0, 0, 0), dim3(64), 0, 0);
  const int after = fit(dim3(64), 0);
  expect_host("the blocks of a grid of 0", first, after);
  expect_host("before a device is chosen, no more", before >= 1 && before <= after, 1, before);

  // The whole device's, by the runtime; and those of them that are this PE's.
  int processors = 0, whole = 0, together = 0;
  CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&whole, count, 64, 0));
  // A client of MPS says so; what is emulated has a device for each PE.
  if (cudaDeviceGetAttribute(&together, (cudaDeviceAttr)133, 0) != cudaSuccess) together = 0;
  (void)cudaGetLastError();
  expect_host("a PE's part", after, whole * processors / (together ? n : 1));

  // The edge, with and without shared memory.
  for (size_t shared : {(size_t)0, (size_t)20000}) {
    const int most = fit(dim3(32, 3), shared);
    expect_host("what fits runs", counted(dim3((unsigned)most), dim3(32, 3), shared, 0), most);
    expect_host("what does not fit is not launched",
                counted(dim3((unsigned)most + 1), dim3(32, 3), shared, DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED), 0);
  }
  CUDA(cudaMalloc((void **)&bad, sizeof *bad));
  CUDA(cudaMemset(bad, 0, sizeof *bad));
  CUDA(cudaDeviceSynchronize());
  return verdict();
}
