/* Atomic operations on, and waiting for, words of the device's memory. */
#include "library.h"

namespace {

template <class U> __device__ U updated(U *at, U value, U cond, uint32_t op) {
  switch ((amo)op) {
  case amo::fetch: return amo_on<amo::fetch, true>::act(at, value, cond);
  case amo::set: return amo_on<amo::set, false>::act(at, value, cond);
  case amo::swap: return amo_on<amo::swap, true>::act(at, value, cond);
  case amo::compare_swap: return amo_on<amo::compare_swap, true>::act(at, value, cond);
  case amo::add: return amo_on<amo::add, true>::act(at, value, cond);
  case amo::bit_and: return amo_on<amo::bit_and, true>::act(at, value, cond);
  case amo::bit_or: return amo_on<amo::bit_or, true>::act(at, value, cond);
  default: return amo_on<amo::bit_xor, true>::act(at, value, cond);
  }
}

template <class T> __device__ bool word_compares(uint64_t at, int cmp, uint64_t value) {
  return compares<T>(impl::look((const T *)(uintptr_t)at), cmp, (T)value);
}

/* A word of 2, 4 or 8 bytes compares with a value of its type. */
__device__ bool compares_as(uint64_t at, uint32_t bytes, uint32_t is_signed, int cmp, uint64_t value) {
  switch (bytes * 2 + (is_signed != 0)) {
  case 4: return word_compares<uint16_t>(at, cmp, value);
  case 5: return word_compares<int16_t>(at, cmp, value);
  case 8: return word_compares<uint32_t>(at, cmp, value);
  case 9: return word_compares<int32_t>(at, cmp, value);
  case 16: return word_compares<uint64_t>(at, cmp, value);
  default: return word_compares<int64_t>(at, cmp, value);
  }
}

struct until_compares {
  uint64_t at;
  uint32_t bytes, is_signed;
  int cmp;
  uint64_t value;
  __device__ bool operator()() const { return compares_as(at, bytes, is_signed, cmp, value); }
};

/* The value of word i: one for all, or from an array of the words' type. */
__device__ uint64_t value_at(uint64_t values, uint32_t each, uint32_t bytes, uint64_t i) {
  if (each == 0) return values;
  switch (bytes) {
  case 2: return ((const unit2 *)(uintptr_t)values)[i];
  case 4: return ((const unit4 *)(uintptr_t)values)[i];
  default: return ((const unit8 *)(uintptr_t)values)[i];
  }
}

} // namespace

/* 1 thread. op: AmoOp of crates/core/src/amo.rs. wide: 8 bytes, otherwise 4. fetch: where the old value goes, as 8 bytes,
 * or 0. */
DUSHMEM_KERNEL dushmem_k_amo(uint64_t at, uint64_t value, uint64_t cond, uint32_t op, uint32_t wide, uint64_t fetch) {
  const unsigned long long old =
      wide != 0 ? updated((unsigned long long *)(uintptr_t)at, (unsigned long long)value, (unsigned long long)cond, op)
                : updated((unsigned int *)(uintptr_t)at, (unsigned int)value, (unsigned int)cond, op);
  if (fetch != 0) store_relaxed((unsigned long long *)(uintptr_t)fetch, old);
}

namespace {

/* What the host knows of a wait: CAME and WENT of crates/cuda/src/on_stream/records.rs. */
__device__ inline void marked(uint64_t mark, unsigned value) {
  if (threadIdx.x == 0 && mark != 0) store_relaxed((unsigned int *)(uintptr_t)mark, value);
}

/* Whether the CPU has seen that there is nothing to wait for: HOLDS of crates/cuda/src/on_stream/watch.rs. */
__device__ inline bool was_seen(uint64_t said) {
  return said != 0 && load_relaxed((const unsigned int *)(uintptr_t)said) == 1;
}

} // namespace

/* 1 block of 32 threads: until the word compares. mark: a word of the host's that says that the kernel waits, or 0. said: one
 * that the CPU has set, to 1 where it has seen that the word compares, and that becomes 0 again; or 0. */
DUSHMEM_KERNEL dushmem_k_wait(uint64_t at, uint32_t bytes, uint32_t is_signed, uint32_t cmp, uint64_t value, uint64_t mark,
                              uint64_t said) {
  marked(mark, 1);
  if (threadIdx.x == 0 && !was_seen(said))
    wait("wait_until", (const void *)(uintptr_t)at, value, until_compares{at, bytes, is_signed, (int)cmp, value});
  awaited();
  sync(block_scope{});
  marked(mark, 2);
  marked(said, 0);
}

/* 1 block of 32 threads: until all of the n words compare whose status (an int each; address 0: all of them) is 0.
 * values: one for all, or with `each` the address of an array. mark and said: as above. */
DUSHMEM_KERNEL dushmem_k_wait_all(uint64_t at, uint32_t bytes, uint32_t is_signed, uint64_t n, uint64_t status, uint32_t cmp,
                                  uint64_t values, uint32_t each, uint64_t mark, uint64_t said) {
  const int *const left_out = (const int *)(uintptr_t)status;
  marked(mark, 1);
  const uint64_t end = was_seen(said) ? 0 : n;
  for (uint64_t i = threadIdx.x; i < end; i += blockDim.x) {
    if (left_out != nullptr && left_out[i] != 0) continue;
    const uint64_t word = at + i * bytes, value = value_at(values, each, bytes, i);
    wait("wait_until_all", (const void *)(uintptr_t)word, value,
         until_compares{word, bytes, is_signed, (int)cmp, value});
  }
  awaited();
  sync(block_scope{});
  marked(mark, 2);
  marked(said, 0);
}
