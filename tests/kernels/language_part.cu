// The second source of language.cu: compiled by itself.
#include "language.h"

// Variables and shared memory with the names of the other source's.
static __device__ int offset = 1000;
static __constant__ int table[4] = {9, 9, 9, 9};
extern __shared__ int scratch[];

__global__ void scale(int *values, int n, int factor) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  scratch[threadIdx.x] = i < n ? twice(values[i]) * factor : 0;
  __syncthreads();
  if (i < n) values[i] = scratch[threadIdx.x] + offset + table[i % 4];
}

void scale_on_device(int *values, int n, int factor) {
  scale<<<(n + 31) / 32, 32, 32 * sizeof(int)>>>(values, n, factor);
}
