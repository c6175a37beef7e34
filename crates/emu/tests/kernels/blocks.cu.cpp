// Kernels whose threads work together in blocks. Launches are written as dushcc writes them.
#include "check.h"

__global__ void sum_static(const int *in, int *out) {
  __shared__ int part[256];
  const unsigned i = threadIdx.x;
  part[i] = in[blockIdx.x * blockDim.x + i];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (i < step) part[i] += part[i + step];
    __syncthreads();
  }
  if (i == 0) out[blockIdx.x] = part[0];
}

template <class T> __global__ void sum_dynamic(const T *in, T *out) {
  ::dushmem::emu::dynamic_shared<T> part;
  const unsigned i = threadIdx.x;
  part[i] = in[blockIdx.x * blockDim.x + i];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (i < step) part[i] += part[i + step];
    __syncthreads();
  }
  if (i == 0) atomicAdd(out, part[0]);
}

// Half of the threads return before the barrier; the others must not wait for them.
__global__ void early_exit(int *out) {
  __shared__ int seen;
  if (threadIdx.x == 0) seen = 0;
  __syncthreads();
  if (threadIdx.x % 2 == 1) return;
  atomicAdd(&seen, 1);
  __syncthreads();
  if (threadIdx.x == 0) *out = seen;
}

__global__ void positions(int *out) {
  const dim3 n(blockDim.x * gridDim.x, blockDim.y * gridDim.y, blockDim.z * gridDim.z);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  atomicAdd(&out[(z * n.y + y) * n.x + x], 1);
}

// Every thread passes something on to its neighbour, many times; blocks of 2 and 3 dimensions.
__global__ void rotate(int *wrong, int rounds) {
  __shared__ int at[2][512];
  const int n = int(blockDim.x * blockDim.y * blockDim.z);
  const int i = int((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  int have = i;
  for (int round = 0; round < rounds; round++) {
    at[round % 2][(i + 1) % n] = have;
    __syncthreads();
    have = at[round % 2][i];
  }
  if (have != ((i - rounds) % n + n) % n) atomicAdd(wrong, 1);
}

struct Big {
  double values[16];
};

__global__ void by_value(Big big, const char *text, double factor, double *out) {
  out[threadIdx.x] = big.values[threadIdx.x] * factor + double(std::strlen(text));
}

int main() {
  const int blocks = 7, threads = 256, n = blocks * threads;
  int *in, *out;
  ok(cudaMalloc(&in, n * sizeof(int)));
  ok(cudaMalloc(&out, 4096 * sizeof(int)));
  int host[n], result[4096];
  for (int i = 0; i < n; i++) host[i] = i * 3 - 5;
  ok(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));

  (::dushmem::emu::launch("sum_static", ::dushmem::emu::config{blocks, threads},
                          [=](auto... a) { sum_static(a...); }, in, out));
  ok(cudaGetLastError());
  ok(cudaMemcpy(result, out, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  long total = 0;
  for (int b = 0; b < blocks; b++) {
    int want = 0;
    for (int i = 0; i < threads; i++) want += host[b * threads + i];
    same(result[b], want);
    total += want;
  }

  hipStream_t stream;
  ok(hipStreamCreate(&stream));
  ok(hipMemsetAsync(out, 0, sizeof(int), stream));
  const int bytes = threads * int(sizeof(int)); // an int where size_t is due, as programs write it
  hipLaunchKernelGGL(HIP_KERNEL_NAME(sum_dynamic<int>), dim3(blocks), dim3(threads), bytes, stream, in, out);
  ok(hipMemcpyAsync(result, out, sizeof(int), hipMemcpyDeviceToHost, stream));
  ok(hipStreamSynchronize(stream));
  same(result[0], total);

  (::dushmem::emu::launch("early_exit", ::dushmem::emu::config{1, 64, 0, stream},
                          [=](auto... a) { early_exit(a...); }, out));
  ok(hipMemcpyAsync(result, out, sizeof(int), hipMemcpyDefault, stream));
  ok(hipStreamSynchronize(stream));
  same(result[0], 32);

  ok(cudaMemset(out, 0, 4096 * sizeof(int)));
  const dim3 grid(2, 3, 2), block(4, 2, 8);
  (::dushmem::emu::launch("positions", ::dushmem::emu::config{grid, block}, [=](auto... a) { positions(a...); }, out));
  ok(cudaMemcpy(result, out, 768 * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 768; i++) same(result[i], 1);

  ok(cudaMemset(out, 0, sizeof(int)));
  (::dushmem::emu::launch("rotate", ::dushmem::emu::config{5, dim3(8, 8, 2)}, [=](auto... a) { rotate(a...); }, out, 1000));
  (::dushmem::emu::launch("rotate", ::dushmem::emu::config{3, 333}, [=](auto... a) { rotate(a...); }, out, 77));
  ok(cudaMemcpy(result, out, sizeof(int), cudaMemcpyDeviceToHost));
  same(result[0], 0);

  // Arguments are those of the time of the launch.
  Big big = {};
  for (int i = 0; i < 16; i++) big.values[i] = i;
  double *products, factors = 2.5, copy[16];
  ok(cudaMallocManaged(&products, sizeof copy));
  void *args[] = {&big, nullptr, &factors, &products};
  const char *text = "four";
  args[1] = &text;
  ok(cudaLaunchKernel(by_value, dim3(1), dim3(16), args, 0, stream));
  big.values[3] = factors = -1;
  ok(cudaStreamSynchronize(stream));
  for (int i = 0; i < 16; i++) same(products[i], i * 2.5 + 4);
  ok(cudaLaunchKernel(by_value, dim3(1), dim3(16), args));
  ok(cudaMemcpy(copy, products, sizeof copy, cudaMemcpyDeviceToHost));
  same(copy[3], 5);

  ok(hipStreamDestroy(stream));
  ok(cudaFree(in));
  ok(cudaFree(out));
  ok(cudaFree(products));
  return done();
}
