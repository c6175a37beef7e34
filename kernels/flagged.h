/* Collectives of middle length, for few members that load and store each other's memory: as those of few.h, each word of data
 * travels with the number of the call, so nothing is fenced and nobody is met; but by a grid, since one multiprocessor stores
 * a tenth of what a link takes.
 *
 * Block b of a member sends to block b of the others, and has a part of the data, buffers and a count of its own: the count and
 * the flags of coll_grid.h, whose calls may be made before and behind. A block says at its beginning that it is there, so it
 * has done with the call before. Who sends in call k has seen that of call k - 1, so the buffers of call k - 2, which it
 * writes now, have been read. The area of the buffers holds zeros at first; no two calls have the same number. */
#ifndef DUSHMEM_KERNELS_FLAGGED_H
#define DUSHMEM_KERNELS_FLAGGED_H

#include "few.h"

/* As FLAGGED_BLOCKS of crates/cuda/src/on_stream/kernels.rs. */
constexpr unsigned dushmem_k_flagged_blocks = 64;

#ifdef DUSHMEM_EMU
#define DUSHMEM_KERNEL_FLAGGED DUSHMEM_KERNEL
#else
#define DUSHMEM_KERNEL_FLAGGED extern "C" __global__ void __launch_bounds__(256, 2)
#endif

namespace {

/* A thread's words that are under way together, one every `width` bytes. */
constexpr int flagged_at_once = 4;

/* A block's part of a vector, and the call. few.buffers is the area, few.cell the bytes in it of a block's data from a member. */
struct flagged_call_of_block {
  const dushmem_k_few &few;
  unsigned from, bytes, width;
  const char *call;
  uint64_t number;

  __device__ chunk *buffer(int rank) const {
    const unsigned row = (unsigned)(number & 1) * dushmem_k_flagged_blocks + blockIdx.x;
    return (chunk *)(uintptr_t)(few.buffers + (uint64_t)(row * (unsigned)few.n + (unsigned)rank) * few.cell);
  }
  /* The member so many behind the own one. */
  __device__ int behind(int k) const { return few.me + k < few.n ? few.me + k : few.me + k - few.n; }
  __device__ unsigned long long load(const char *vector, unsigned at) const {
    return at < bytes ? load_word(vector + from + at, bytes - at) : 0ull;
  }
  __device__ void store(char *vector, unsigned at, unsigned long long value) const {
    if (at < bytes) store_word(vector + from + at, value, bytes - at);
  }
};

__device__ inline flagged_call_of_block flagged_part(const dushmem_k_few &few, unsigned bytes, unsigned part, const char *call) {
  const unsigned from = blockIdx.x * part, left = bytes - from;
  return flagged_call_of_block{few, from, left < part ? left : part, blockDim.x * 8, call, 0};
}

/* Loads that the number of the call is not needed for are under way with it. */
__device__ inline void flagged_begin(flagged_call_of_block &is) {
  const dushmem_k_few &few = is.few;
  uint64_t *const calls = (uint64_t *)(uintptr_t)few.slot + 8 + blockIdx.x;
  const int other = few_served(few);
  const auto flag = [&](int rank) { return few_word(few, words::grid, rank) + (size_t)blockIdx.x * few.words; };
  const uint64_t before = own_count(calls), began = own_count(few_count(few, 1));
  const uint64_t seen = other >= 0 ? load_relaxed((const unsigned long long *)flag(other)) : 0;
  is.number = before + 1;
  if (other >= 0) {
    store_relaxed((unsigned long long *)few_moved(few, flag(few.me), other), (unsigned long long)(2 * is.number + 1));
    ring(few.pe[other]);
    /* The first call of a team has none before it. */
    if (before > began && seen < 2 * before + 1) wait_word(flag(other), DUSHMEM_CMP_GE, 2 * before + 1, is.call);
  }
  sync(block_scope{});
  if (threadIdx.x == 0) own_count(calls, is.number);
}

/* Begins the call, and sends to each other member what begins at source + rank * step. */
__device__ inline void flagged_send(flagged_call_of_block &is, const char *source, size_t step) {
  unsigned long long value[flagged_at_once];
  const auto load = [&](unsigned at, int rank) {
    for (int i = 0; i < flagged_at_once; i++) value[i] = is.load(source + (size_t)rank * step, at + (unsigned)i * is.width);
  };
  unsigned at = threadIdx.x * 8;
  load(at, is.behind(1));
  flagged_begin(is);
  chunk *const own = is.buffer(is.few.me);
  bool loaded = true;
  DUSHMEM_IMPL_ROLLED
  for (; at < is.bytes; at += flagged_at_once * is.width)
    DUSHMEM_IMPL_ROLLED
    for (int k = 1; k < is.few.n; k++) {
      const int rank = is.behind(k);
      if (!loaded && (k == 1 || step != 0)) load(at, rank);
      loaded = false;
      chunk *const to = few_moved(is.few, own, rank);
      for (int i = 0; i < flagged_at_once; i++) {
        const unsigned word = at + (unsigned)i * is.width;
        if (word < is.bytes) store_flagged(to + word / 8, chunk{value[i], is.number});
      }
    }
  for (int k = 1; k < is.few.n; k++)
    if (threadIdx.x == 0) ring(is.few.pe[is.behind(k)]);
}

/* Words that a thread waits for together. Those without a use are the first one, since loads under conditions of their own are
 * made one after the other. */
template <int Words> struct flagged_arrived {
  const chunk *const (&at)[Words];
  uint64_t number;
  unsigned long long (&got)[Words];

  __device__ bool operator()() const {
    chunk found[Words];
    bool all = true;
    for (int k = 0; k < Words; k++) found[k] = load_flagged(at[k]);
    for (int k = 0; k < Words; k++) {
      got[k] = found[k].low;
      all = all & (found[k].high == number);
    }
    return all;
  }
};

/* The member's words from `at` on. */
__device__ inline void flagged_words_of(const flagged_call_of_block &is, int rank, unsigned at,
                                        unsigned long long (&got)[flagged_at_once]) {
  const chunk *const first = is.buffer(rank) + at / 8, *from[flagged_at_once];
  for (int i = 0; i < flagged_at_once; i++) from[i] = at + (unsigned)i * is.width < is.bytes ? first + i * (is.width / 8) : first;
  wait(is.call, &first->high, is.number, flagged_arrived<flagged_at_once>{from, is.number, got});
}
__device__ inline void flagged_receive(const flagged_call_of_block &is, int rank, char *dest) {
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = threadIdx.x * 8; at < is.bytes; at += flagged_at_once * is.width) {
    unsigned long long got[flagged_at_once];
    flagged_words_of(is, rank, at, got);
    for (int i = 0; i < flagged_at_once; i++) is.store(dest, at + (unsigned)i * is.width, got[i]);
  }
}

} // namespace
#endif
