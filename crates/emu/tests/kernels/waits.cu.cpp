// Kernels that wait: for the host, for other blocks, for the same block's other threads, for other streams.
#include "check.h"
#include <chrono>
#include <thread>

template <class T> T look(const volatile T *p) { return *p; }

// Spins by itself: the host sets the flag after the launch.
__global__ void spin_for_host(const volatile int *flag, int *out) {
  while (*flag == 0) {
  }
  *out = *flag + 1;
}

// Each block waits for the next one: they have to run at the same time, though the last one starts last.
__global__ void wait_for_next_block(volatile int *flags, int yield) {
  const unsigned b = blockIdx.x;
  if (b + 1 < gridDim.x)
    while (flags[b + 1] == 0)
      if (yield) __nanosleep(100);
  flags[b] = 1;
}

// Thread 0 waits for a word that the last thread writes: fibers give way to each other.
__global__ void wait_in_block(volatile int *word) {
  if (threadIdx.x == 0)
    while (*word == 0) __nanosleep(1);
  else if (threadIdx.x == blockDim.x - 1)
    *word = 1;
  __syncthreads();
}

__global__ void set(volatile int *word, int value) { *word = value; }

#define LAUNCH(kernel, grid, block, stream, ...)                                                              \
  (::dushmem::emu::launch(#kernel, ::dushmem::emu::config{grid, block, 0, stream},                            \
                          [=](auto... a) { kernel(a...); }, __VA_ARGS__))

int main() {
  int *words, *out;
  ok(cudaMallocManaged(&words, 4096 * sizeof(int)));
  ok(cudaMallocManaged(&out, sizeof(int)));
  ok(cudaMemset(words, 0, 4096 * sizeof(int)));
  cudaStream_t one, two;
  ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));

  // The launch returns while the kernel runs.
  *out = 0;
  LAUNCH(spin_for_host, 1, 1, one, words, out);
  ok(cudaGetLastError());
  fails(cudaErrorNotReady, cudaStreamQuery(one));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  same(*out, 0);
  *(volatile int *)words = 41;
  ok(cudaStreamSynchronize(one));
  same(*out, 42);
  ok(cudaStreamQuery(one));
  // Not ready is the last error until it is taken.
  fails(cudaErrorNotReady, cudaGetLastError());
  ok(cudaGetLastError());

  // A kernel in one stream waits for a kernel in another one.
  words[0] = 0;
  LAUNCH(spin_for_host, 1, 1, one, words, out);
  LAUNCH(set, 1, 1, two, words, 7);
  ok(cudaDeviceSynchronize());
  same(*out, 8);

  // Blocks that wait don't hold up those that they wait for.
  for (int yield = 1; yield >= 0; yield--) {
    ok(cudaMemset(words, 0, 4096 * sizeof(int)));
    LAUNCH(wait_for_next_block, 20, 1, one, words, yield);
    ok(cudaStreamSynchronize(one));
    for (int b = 0; b < 20; b++) same(words[b], 1);
  }

  words[0] = 0;
  LAUNCH(wait_in_block, 3, 64, one, words);
  ok(cudaStreamSynchronize(one));
  same(words[0], 1);

  // All blocks of a cooperative launch run at the same time.
  ok(cudaMemset(words, 0, 4096 * sizeof(int)));
  int yield = 1;
  void *args[] = {&words, &yield};
  ok(cudaLaunchCooperativeKernel(wait_for_next_block, dim3(64), dim3(1), args, 0, one));
  ok(cudaStreamSynchronize(one));
  same(words[0], 1);
  fails(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel(wait_for_next_block, dim3(100000), dim3(1), args, 0, one));
  cudaGetLastError();

  // Destroying a stream that is busy lets it finish.
  ok(cudaMemset(words, 0, sizeof(int)));
  *out = 0;
  LAUNCH(spin_for_host, 1, 1, two, words, out);
  ok(cudaStreamDestroy(two));
  fails(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(two));
  *(volatile int *)words = 1;
  ok(cudaDeviceSynchronize());
  same(look(out), 2);
  ok(cudaStreamDestroy(one));
  ok(cudaFree(words));
  ok(cudaFree(out));
  return done();
}
