// Signals from many blocks of all PEs to one word, by each scope: who has seen them all has the data of all.
#include "verdict.h"

enum { BLOCKS = 6, THREADS = 64, LENGTH = 40, ROUNDS = 4 };

__device__ static uint64_t word_of(int pe, int block, int round, int i) {
  return ((uint64_t)pe << 40) + ((uint64_t)block << 32) + (uint64_t)round * 1000 + (uint64_t)i;
}

// Every block puts its slot to every PE; the slots of a PE are filled by all blocks of all PEs. The scope changes from
// round to round: threads, warps, the block.
__global__ void exchange(uint64_t *slots, uint64_t *source, uint64_t *signals, unsigned long long *bad) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes(), block = (int)blockIdx.x;
  uint64_t *mine = source + (size_t)block * LENGTH;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = (int)threadIdx.x; i < LENGTH; i += THREADS) mine[i] = word_of(me, block, round, i);
    __syncthreads();
    for (int k = 0; k < n; k++) {
      const int to = (me + k) % n;
      uint64_t *slot = slots + (((size_t)round * n + me) * BLOCKS + block) * LENGTH;
      if (round == 0) {
        // One thread for each of the first words: as many signals.
        if (threadIdx.x < LENGTH)
          dushmem_uint64_put_signal_nbi(slot + threadIdx.x, mine + threadIdx.x, 1, &signals[round], 1, DUSHMEM_SIGNAL_ADD, to);
      } else if (round == 1) {
        // Half of it by each warp.
        const size_t half = LENGTH / 2 * (threadIdx.x / 32);
        dushmemx_uint64_put_signal_warp(slot + half, mine + half, LENGTH / 2, &signals[round], 1, DUSHMEM_SIGNAL_ADD, to);
      } else if (round == 2) {
        dushmemx_uint64_put_signal_block(slot, mine, LENGTH, &signals[round], 1, DUSHMEM_SIGNAL_ADD, to);
      } else {
        dushmemx_putmem_signal_nbi_block(slot, mine, LENGTH * sizeof(uint64_t), &signals[round], 1, DUSHMEM_SIGNAL_ADD, to);
      }
    }
    // The source is changed in the next round.
    dushmem_quiet();
    __syncthreads();
  }
  const int each[ROUNDS] = {LENGTH, THREADS / 32, 1, 1};
  for (int round = 0; round < ROUNDS; round++) {
    const uint64_t all = (uint64_t)n * BLOCKS * (uint64_t)each[round];
    // Every thread waits by itself.
    dushmem_signal_wait_until(&signals[round], DUSHMEM_CMP_GE, all);
    expect(bad, "signals", (long long)dushmem_signal_fetch(&signals[round]), (long long)all, round);
    for (int pe = 0; pe < n; pe++)
      for (int i = (int)threadIdx.x; i < LENGTH; i += THREADS)
        expect(bad, "data behind its signal", (long long)slots[(((size_t)round * n + pe) * BLOCKS + block) * LENGTH + i],
               (long long)word_of(pe, block, round, i), round);
  }
}

int main() {
  begin();
  uint64_t *slots = zeroed<uint64_t>((size_t)ROUNDS * n * BLOCKS * LENGTH), *source = zeroed<uint64_t>(BLOCKS * LENGTH);
  uint64_t *signals = zeroed<uint64_t>(ROUNDS);
  exchange<<<BLOCKS, THREADS, 0, stream>>>(slots, source, signals, bad);
  CUDA(cudaGetLastError());
  return verdict();
}
