// cuda::atomic_ref and cuda::atomic: the header of libcu++, on the CPU the emulator's.
#include "expect.h"
#include <cuda/atomic>

__global__ void each(int *wrong, int *words) {
  cuda::atomic_ref<int, cuda::thread_scope_system> word(words[0]);
  word.store(5, cuda::memory_order_relaxed);
  EXPECT(word.load(cuda::memory_order_acquire) == 5 && word.fetch_add(3) == 5 && word.exchange(20) == 8);
  int expected = 21;
  EXPECT(!word.compare_exchange_strong(expected, 1) && expected == 20);
  EXPECT(word.compare_exchange_strong(expected, 6, cuda::memory_order_acq_rel, cuda::memory_order_relaxed));
  EXPECT(word.fetch_and(3) == 6 && word.fetch_or(8) == 2 && word.fetch_xor(1) == 10 && word.fetch_sub(1) == 11);
  EXPECT(word.fetch_min(4) == 10 && word.fetch_max(9) == 4 && ++word == 10 && word-- == 10);
  float *number = (float *)&words[1];
  cuda::atomic_ref<float, cuda::thread_scope_device> real(*number);
  real.store(1.5f);
  EXPECT(real.fetch_add(0.25f) == 1.5f && *number == 1.75f);
}

// A message through a flag from one block to the other, and a counter of the block.
__global__ void together(int *wrong, int *words, cuda::atomic<unsigned, cuda::thread_scope_device> *flag, cuda::atomic<int> *total) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
  if (threadIdx.x == 0) count.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  count.fetch_add(1, cuda::memory_order_relaxed);
  *total += 2;
  __syncthreads();
  EXPECT(count.load() == int(blockDim.x));
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      words[2] = 77;
      flag->store(1, cuda::memory_order_release);
      flag->notify_all();
    } else {
      flag->wait(0, cuda::memory_order_acquire);
      EXPECT(words[2] == 77);
    }
  }
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}

int main() {
  int *wrong = counters(8), *words = wrong + 1;
  each<<<1, 1>>>(wrong, words);
  together<<<2, 64>>>(wrong, words, (cuda::atomic<unsigned, cuda::thread_scope_device> *)(words + 4), (cuda::atomic<int> *)(words + 5));
  EXPECT_HOST(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT_HOST(words[5] == 2 * 2 * 64);
  return result(wrong);
}
