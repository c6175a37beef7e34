// What the memory model promises kernels of several PEs: each test has words of its own for each round, so that
// nothing is reset and no round hides what another one did. With -DWITHOUT_FENCE only the first one is left, without
// what it depends on: a transport that reorders must show it.
#include "verdict.h"

enum { ROUNDS = 180, LENGTH = 17 };

// Message passing: data, fence, flag; whoever sees the flag sees the data. Block 0 sends to the next PE, block 1
// receives. Every kind of put meets every kind of flag and of wait.
enum { PUTS = 6, FLAGS = 6, WAITS = 6 };

__device__ static uint64_t word_of(int from, int round, int i) {
  return ((uint64_t)(from + 1) << 32) + (uint64_t)round * 100 + (uint64_t)i;
}

__global__ void message(uint64_t *data, uint64_t *flag, uint64_t *mine, unsigned long long *bad) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
  for (int r = 0; r < ROUNDS; r++) {
    uint64_t *slot = data + r * 2 * LENGTH, *source = mine + r * LENGTH;
    const size_t count = (size_t)(1 + r % LENGTH);
    if (blockIdx.x == 0) {
      for (int i = 0; i < LENGTH; i++) source[i] = word_of(me, r, i);
      switch (r % PUTS) {
      case 0:
        for (size_t i = 0; i < count; i++) dushmem_uint64_p(slot + i, source[i], to);
        break;
      case 1: dushmem_uint64_put(slot, source, count, to); break;
      case 2: dushmem_uint64_put_nbi(slot, source, count, to); break;
      case 3: dushmem_uint64_iput(slot, source, 2, 1, count, to); break;
      case 4:
        for (size_t i = 0; i < count; i++) dushmem_uint64_atomic_set(slot + i, source[i], to);
        break;
      default: dushmem_putmem(slot, source, count * sizeof(uint64_t), to);
      }
#ifndef WITHOUT_FENCE
      dushmem_fence();
#endif
      const uint64_t next = (uint64_t)r + 1;
      switch (r / PUTS % FLAGS) {
      case 0: dushmem_uint64_atomic_set(flag, next, to); break;
      case 1: dushmem_uint64_p(flag, next, to); break;
      case 2: dushmemx_signal_op(flag, next, DUSHMEM_SIGNAL_SET, to); break;
      case 3: dushmem_uint64_put(flag, &next, 1, to); break;
      case 4: dushmem_uint64_atomic_inc(flag, to); break;
      default: dushmemx_signal_op(flag, 1, DUSHMEM_SIGNAL_ADD, to);
      }
      dushmem_fence(); // the flags of rounds in order, too
    } else {
      const uint64_t wanted = (uint64_t)r + 1;
      size_t at = 9;
      switch (r * 7 % WAITS) {
      case 0: dushmem_uint64_wait_until(flag, DUSHMEM_CMP_GE, wanted); break;
      case 1: dushmem_signal_wait_until(flag, DUSHMEM_CMP_GT, wanted - 1); break;
      case 2:
        while (!dushmem_uint64_test(flag, DUSHMEM_CMP_GE, wanted)) continue;
        break;
      case 3: dushmem_uint64_wait_until_all(flag, 1, nullptr, DUSHMEM_CMP_GE, wanted); break;
      case 4: expect(bad, "any", (long long)dushmem_uint64_wait_until_any(flag, 1, nullptr, DUSHMEM_CMP_GE, wanted), 0); break;
      default:
        expect(bad, "some", (long long)dushmem_uint64_wait_until_some(flag, 1, &at, nullptr, DUSHMEM_CMP_GE, wanted), 1);
        expect(bad, "index", (long long)at, 0);
      }
      const size_t stride = r % PUTS == 3 ? 2 : 1;
      for (size_t i = 0; i < count; i++)
        expect(bad, "data behind its flag", (long long)((volatile uint64_t *)slot)[i * stride],
               (long long)word_of(from, r, (int)i), r);
      uint64_t copy = 0;
      dushmem_uint64_get(&copy, slot + (count - 1) * stride, 1, me);
      expect(bad, "data by a get", (long long)copy, (long long)word_of(from, r, (int)count - 1), r);
    }
  }
}

// Store buffering: each of two writes its word, calls quiet, and reads the other's. Not both can miss the other.
__global__ void store_buffer(uint64_t *words, uint64_t *go, uint64_t *seen, int first, int second) {
  const int me = dushmem_my_pe();
  const bool alone = first == second;
  if (!alone && blockIdx.x == 1) return;
  const int agent = alone ? (int)blockIdx.x : me == second, other = 1 - agent;
  const int pes[2] = {first, second};
  for (int r = 0; r < ROUNDS; r++) {
    dushmemx_signal_op(&go[other], (uint64_t)r + 1, DUSHMEM_SIGNAL_SET, pes[other]);
    dushmem_signal_wait_until(&go[agent], DUSHMEM_CMP_GE, (uint64_t)r + 1);
    // The words are at home with their writer, with the other one, or both with the first.
    const int home[2] = {r % 3 == 1 ? second : first, r % 3 == 0 ? second : first};
    uint64_t *mine = &words[2 * r + agent], *theirs = &words[2 * r + other];
    const uint64_t one = 1;
    if (r % 4 == 0) dushmem_uint64_p(mine, 1, home[agent]);
    else if (r % 4 == 1) dushmem_uint64_put_nbi(mine, &one, 1, home[agent]);
    else if (r % 4 == 2) dushmem_uint64_atomic_set(mine, 1, home[agent]);
    else dushmemx_signal_op(mine, 1, DUSHMEM_SIGNAL_ADD, home[agent]);
    dushmem_quiet();
    const uint64_t value = r / 4 % 2 ? dushmem_uint64_g(theirs, home[other]) : dushmem_uint64_atomic_fetch(theirs, home[other]);
    dushmem_uint64_p(&seen[2 * r + agent], value, first);
  }
  dushmem_quiet();
}

// Causality through a third PE: a writes at c, calls quiet, and tells b; b tells c; c sees what a wrote. Each PE is
// each of the three, in three blocks.
__global__ void causality(uint64_t *data, uint64_t *flags, unsigned long long *bad) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  for (int r = 0; r < ROUNDS; r++) {
    const uint64_t next = (uint64_t)r + 1;
    if (blockIdx.x == 0) {
      const int b = (me + 1) % n, c = (me + 2) % n;
      if (r % 2) dushmem_uint64_p(&data[r], word_of(me, r, 0), c);
      else dushmem_uint64_atomic_add(&data[r], word_of(me, r, 0), c);
      dushmem_quiet();
      dushmemx_signal_op(&flags[0], next, DUSHMEM_SIGNAL_SET, b);
    } else if (blockIdx.x == 1) {
      dushmem_signal_wait_until(&flags[0], DUSHMEM_CMP_GE, next);
      dushmem_uint64_atomic_set(&flags[1], next, (me + 1) % n);
      dushmem_fence(); // nothing else keeps the sets of two rounds in order
    } else {
      dushmem_uint64_wait_until(&flags[1], DUSHMEM_CMP_GE, next);
      expect(bad, "what a third PE was told of", (long long)*(volatile uint64_t *)&data[r],
             (long long)word_of((me + 2 * n - 2) % n, r, 0), r);
    }
  }
}

// Coherence: one writer counts up. Nobody who reads the word sees it go back, and whoever was told a value by another
// reader sees that or a later one.
__global__ void coherence(uint64_t *word, uint64_t *told, unsigned long long *bad) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes(), home = (me + 1) % n, reader = (me + 2) % n;
  if (blockIdx.x == 0) {
    for (int r = 0; r < ROUNDS; r++) dushmem_uint64_atomic_inc(&word[me], home);
  } else if (blockIdx.x == 1) {
    // Reads what this PE's writer writes, and tells the reader.
    for (uint64_t last = 0; last < ROUNDS;) {
      const uint64_t now = dushmem_uint64_atomic_fetch(&word[me], home);
      holds(bad, "a word that goes back", now >= last, (long long)now);
      if (now == last) {
        idle();
        continue;
      }
      last = now;
      dushmem_uint64_atomic_set(&told[me], now, reader);
      dushmem_fence();
    }
  } else {
    const int writer = (me + 2 * n - 2) % n;
    for (uint64_t last = 0, least = 0; last < ROUNDS;) {
      dushmem_uint64_wait_until(&told[writer], DUSHMEM_CMP_GT, least);
      least = dushmem_uint64_atomic_fetch(&told[writer], me);
      last = dushmem_uint64_atomic_fetch(&word[writer], (writer + 1) % n);
      holds(bad, "a word older than what was told", last >= least, (long long)least);
    }
  }
}

// A lock with a queue, out of swap and compare_swap: blocks of all PEs change words on PE 0 that are no atomics.
__global__ void locked(uint64_t *tail, uint64_t *next, uint64_t *turn, uint64_t *counters) {
  const int me = dushmem_my_pe();
  // Numbers of blocks, from 1: PE and block.
  const uint64_t self = (uint64_t)me * gridDim.x + blockIdx.x + 1;
  for (int r = 0; r < 20; r++) {
    dushmem_uint64_atomic_set(&next[blockIdx.x], 0, me);
    dushmem_uint64_atomic_set(&turn[blockIdx.x], 0, me);
    dushmem_quiet(); // before anybody hears of this block
    const uint64_t before = dushmem_uint64_atomic_swap(tail, self, 0);
    if (before != 0) {
      dushmem_uint64_atomic_set(&next[(before - 1) % gridDim.x], self, (int)((before - 1) / gridDim.x));
      dushmem_uint64_wait_until(&turn[blockIdx.x], DUSHMEM_CMP_EQ, 1);
    }
    uint64_t values[5];
    dushmem_uint64_get(values, counters, 5, 0);
    for (uint64_t &value : values) value++;
    dushmem_uint64_put(counters, values, 4, 0);
    dushmem_uint64_p(counters + 4, values[4], 0);
    dushmem_quiet();
    if (dushmem_uint64_atomic_fetch(&next[blockIdx.x], me) == 0) {
      if (dushmem_uint64_atomic_compare_swap(tail, self, 0, 0) == self) continue;
      dushmem_uint64_wait_until(&next[blockIdx.x], DUSHMEM_CMP_NE, 0);
    }
    const uint64_t after = dushmem_uint64_atomic_fetch(&next[blockIdx.x], me);
    dushmem_uint64_atomic_set(&turn[(after - 1) % gridDim.x], 1, (int)((after - 1) / gridDim.x));
  }
}

int main() {
  begin();
  uint64_t *data = zeroed<uint64_t>(ROUNDS * 2 * LENGTH), *flag = zeroed<uint64_t>(1);
  uint64_t *mine = zeroed<uint64_t>(ROUNDS * LENGTH);
  message<<<2, 1, 0, stream>>>(data, flag, mine, bad);
  CUDA(cudaGetLastError());
  finish_kernels();
#ifdef WITHOUT_FENCE
  return verdict();
#endif

  const int first = me - me % 2, second = first + 1 < n ? first + 1 : first;
  uint64_t *words = zeroed<uint64_t>(ROUNDS * 2), *go = zeroed<uint64_t>(2), *seen = zeroed<uint64_t>(ROUNDS * 2);
  store_buffer<<<2, 1, 0, stream>>>(words, go, seen, first, second);
  CUDA(cudaGetLastError());
  finish_kernels();
  for (int r = 0; r < ROUNDS && me == first; r++)
    expect_host("both saw nothing", look(&seen[2 * r]) == 0 && look(&seen[2 * r + 1]) == 0, 0, r);

  uint64_t *sent = zeroed<uint64_t>(ROUNDS), *flags = zeroed<uint64_t>(2);
  causality<<<3, 1, 0, stream>>>(sent, flags, bad);
  CUDA(cudaGetLastError());
  finish_kernels();

  uint64_t *word = zeroed<uint64_t>((size_t)n), *told = zeroed<uint64_t>((size_t)n);
  coherence<<<3, 1, 0, stream>>>(word, told, bad);
  CUDA(cudaGetLastError());
  finish_kernels();

  const unsigned blocks = 3;
  uint64_t *tail = zeroed<uint64_t>(1), *next = zeroed<uint64_t>(blocks), *turn = zeroed<uint64_t>(blocks);
  uint64_t *counters = zeroed<uint64_t>(5);
  dushmem_barrier_all();
  locked<<<blocks, 1, 0, stream>>>(tail, next, turn, counters);
  CUDA(cudaGetLastError());
  finish_kernels();
  for (int i = 0; i < 5 && me == 0; i++) expect_host("a counter under a lock", (long long)look(&counters[i]), 20 * blocks * n, i);
  return verdict();
}
