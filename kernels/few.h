/* Teams of few members that load and store each other's memory: a kernel gets all that it has to know of the team as an
 * argument, so nothing is looked up. Words, buffers and numbers are those of impl/coll_sync.h and impl/coll_ll.h, so kernels
 * that look teams up, on this member or on others, may make the calls before and behind, and the same one. 1 block of up
 * to 256 threads. */
#ifndef DUSHMEM_KERNELS_FEW_H
#define DUSHMEM_KERNELS_FEW_H

#include "library.h"

constexpr int dushmem_k_most_few = 8;
/* As Few of crates/cuda/src/on_stream/kernels.rs. Addresses are own ones. */
struct dushmem_k_few {
  uint64_t slot;    /* of the team */
  uint64_t arrays;  /* the slot's arrays of words */
  uint64_t buffers; /* of data with flags: of rank 0, for even numbers */
  uint32_t words;   /* of an array */
  uint32_t cell;    /* bytes of a buffer */
  int32_t me, n;    /* ranks */
  int64_t delta[dushmem_k_most_few]; /* by rank: from an own address to that of the member's copy */
  int32_t pe[dushmem_k_most_few];    /* by rank: world numbers */
};

/* More registers than where many blocks have to be resident: these wait for memory, and there is one block. */
#ifdef DUSHMEM_EMU
#define DUSHMEM_KERNEL_FEW DUSHMEM_KERNEL
#else
#define DUSHMEM_KERNEL_FEW extern "C" __global__ void __launch_bounds__(256, 1)
#endif

namespace {

__device__ inline uint64_t *few_count(const dushmem_k_few &few, unsigned which) {
  return (uint64_t *)(uintptr_t)few.slot + which;
}
__device__ inline uint64_t *few_word(const dushmem_k_few &few, words array, int rank) {
  return (uint64_t *)(uintptr_t)few.arrays + ((unsigned)array * few.words + (unsigned)few.pe[rank]);
}
__device__ inline chunk *few_buffer(const dushmem_k_few &few, uint64_t number, int from) {
  return (chunk *)(uintptr_t)(few.buffers + ((unsigned)(number & 1) * (unsigned)few.n + (unsigned)from) * few.cell);
}
template <class T> __device__ inline T *few_moved(const dushmem_k_few &few, T *own, int rank) {
  return (T *)moved((uintptr_t)own + (uintptr_t)few.delta[rank]);
}

/* The other member that the calling thread serves, from the own rank on; -1 for none. */
__device__ inline int few_served(const dushmem_k_few &few) {
  const int k = 1 + (int)threadIdx.x;
  if (k >= few.n) return -1;
  return few.me + k < few.n ? few.me + k : few.me + k - few.n;
}
__device__ inline void few_tell(const dushmem_k_few &few, words array, uint64_t value, int rank) {
  uint64_t *const to = few_moved(few, few_word(few, array, few.me), rank);
  store_relaxed((unsigned long long *)to, (unsigned long long)value);
  ring(few.pe[rank]);
}
__device__ inline void few_await(const dushmem_k_few &few, words array, uint64_t value, int rank, const char *call) {
  wait_word(few_word(few, array, rank), DUSHMEM_CMP_GE, value, call);
}

/* A call as all threads see it: its number, and whether everybody sent to everybody in the one before. */
__device__ inline flagged_call few_next(const dushmem_k_few &few) {
  const uint64_t number = own_count(few_count(few, 2)) + 1;
  return flagged_call{number, own_count(few_count(few, 3)) + 1 == number};
}
/* Notes the call, when all threads have the counts. */
__device__ inline void few_note(const dushmem_k_few &few, const flagged_call &is, bool by_all) {
  if (threadIdx.x != 0) return;
  own_count(few_count(few, 2), is.number);
  if (by_all) own_count(few_count(few, 3), is.number);
}

/* What the threads share out: 2^shift places for each member, of which the first ones have a word of `bytes` bytes. */
struct few_words {
  unsigned shift, bytes;
  __device__ unsigned rank(unsigned i) const { return i >> shift; }
  __device__ unsigned at(unsigned i) const { return (i & ((1u << shift) - 1)) * 8; }
  __device__ unsigned end(const dushmem_k_few &few) const { return (unsigned)few.n << shift; }
};

/* Sends what begins at source + rank * step to each member, itself included, and ends with a synchronisation. The first
 * word of the source is loaded while the counts are. */
__device__ inline void few_send(const dushmem_k_few &few, const few_words &all, const flagged_call &is, const char *source,
                                unsigned step, const char *call) {
  const unsigned end = all.end(few);
  const auto load = [&](unsigned i) {
    const unsigned at = all.at(i);
    return at < all.bytes && i < end ? load_word(source + (size_t)all.rank(i) * step + at, all.bytes - at) : 0ull;
  };
  unsigned i = threadIdx.x;
  unsigned long long value = load(i);
  const int other = few_served(few);
  if (!is.after_all) {
    if (other >= 0) few_await(few, words::here, is.number - 1, other, call);
    sync(block_scope{});
  }
  char *const to = (char *)few_buffer(few, is.number, few.me);
  DUSHMEM_IMPL_ROLLED
  while (i < end) {
    const unsigned at = all.at(i);
    if (at < all.bytes) store_flagged((chunk *)few_moved(few, to + 2 * at, (int)all.rank(i)), chunk{value, is.number});
    i += blockDim.x;
    value = load(i);
  }
  if (other >= 0) ring(few.pe[other]);
  sync(block_scope{});
}

} // namespace
#endif
