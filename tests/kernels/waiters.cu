// Many wait for the same words at the same time, each by another call, while blocks of another PE write them in mixed
// order: every form of wait and test, in three rounds that compare differently.
#include "verdict.h"

enum { WORDS = 60, WRITERS = 3, ROUNDS = 3 };

__device__ static uint64_t value_of(int word, int round) { return (uint64_t)(word * 7 + 3 + 1000 * round); }
// Every fifth word is left out by its status.
__device__ static int left_out(int word) { return word % 5 == 2; }

__global__ void write_all(uint64_t *words, int round) {
  const int me = dushmem_my_pe(), to = (me + 1) % dushmem_n_pes();
  for (int i = (int)blockIdx.x; i < WORDS; i += WRITERS) {
    const int word = i * 37 % WORDS; // 37 and 60 have no common factor
    const uint64_t value = value_of(word, round);
    switch (i % 4) {
    case 0: dushmem_uint64_p(&words[word], value, to); break;
    case 1: dushmem_uint64_atomic_set(&words[word], value, to); break;
    case 2: dushmemx_signal_op(&words[word], value, DUSHMEM_SIGNAL_SET, to); break;
    default: dushmem_uint64_atomic_swap(&words[word], value, to);
    }
    dushmem_quiet();
  }
}

// What a waiter knows of the words: each is reported once, none that is left out, and none before it is written.
struct Report {
  int status[WORDS];
  int left;

  __device__ Report() : left(0) {
    for (int i = 0; i < WORDS; i++) {
      status[i] = left_out(i);
      left += !status[i];
    }
  }
  __device__ void add(size_t word, const uint64_t *words, int round, unsigned long long *bad, const char *call) {
    holds(bad, call, word < WORDS && !status[word], (long long)word);
    if (word >= WORDS || status[word]) return;
    expect(bad, call, (long long)((const volatile uint64_t *)words)[word], (long long)value_of((int)word, round), (long long)word);
    status[word] = 1;
    left--;
  }
};

__global__ void wait_all_ways(uint64_t *words, int round, int cmp, unsigned long long *bad) {
  uint64_t values[WORDS];
  size_t at[WORDS];
  const uint64_t value = (uint64_t)(1000 * round); // for EQ only the forms with a value for each word make sense
  for (int i = 0; i < WORDS; i++) values[i] = cmp == DUSHMEM_CMP_GT ? value_of(i, round) - 1 : value_of(i, round);
  const bool vector = cmp == DUSHMEM_CMP_EQ || blockIdx.x % 2 == 1;
  const int scalar = DUSHMEM_CMP_GT;
  Report report;
  switch (blockIdx.x / 2) {
  case 0:
    if (vector) dushmem_uint64_wait_until_all_vector(words, WORDS, report.status, cmp, values);
    else dushmem_uint64_wait_until_all(words, WORDS, report.status, scalar, value);
    for (int i = 0; i < WORDS; i++)
      if (!left_out(i)) report.add((size_t)i, words, round, bad, "wait_until_all");
    break;
  case 1:
    while (report.left > 0)
      report.add(vector ? dushmem_uint64_wait_until_any_vector(words, WORDS, report.status, cmp, values)
                        : dushmem_uint64_wait_until_any(words, WORDS, report.status, scalar, value),
                 words, round, bad, "wait_until_any");
    expect(bad, "any of none", (long long)dushmem_uint64_wait_until_any(words, WORDS, report.status, scalar, value), -1);
    break;
  case 2:
    while (report.left > 0) {
      const size_t count = vector ? dushmem_uint64_wait_until_some_vector(words, WORDS, at, report.status, cmp, values)
                                  : dushmem_uint64_wait_until_some(words, WORDS, at, report.status, scalar, value);
      holds(bad, "some is none", count >= 1 && count <= WORDS, (long long)count);
      for (size_t i = 0; i < count && i < WORDS; i++) report.add(at[i], words, round, bad, "wait_until_some");
    }
    expect(bad, "some of none", (long long)dushmem_uint64_wait_until_some(words, WORDS, at, report.status, scalar, value), 0);
    break;
  case 3:
    while (report.left > 0) {
      const size_t word = vector ? dushmem_uint64_test_any_vector(words, WORDS, report.status, cmp, values)
                                 : dushmem_uint64_test_any(words, WORDS, report.status, scalar, value);
      if (word == (size_t)-1) idle();
      else report.add(word, words, round, bad, "test_any");
    }
    break;
  case 4:
    while (report.left > 0) {
      const size_t count = vector ? dushmem_uint64_test_some_vector(words, WORDS, at, report.status, cmp, values)
                                  : dushmem_uint64_test_some(words, WORDS, at, report.status, scalar, value);
      if (count == 0) idle();
      for (size_t i = 0; i < count && i < WORDS; i++) report.add(at[i], words, round, bad, "test_some");
    }
    break;
  case 5:
    while (!(vector ? dushmem_uint64_test_all_vector(words, WORDS, report.status, cmp, values)
                    : dushmem_uint64_test_all(words, WORDS, report.status, scalar, value)))
      idle();
    for (int i = 0; i < WORDS; i++)
      if (!left_out(i)) report.add((size_t)i, words, round, bad, "test_all");
    break;
  default:
    // One after the other, by the plain calls.
    for (int i = 0; i < WORDS; i++) {
      if (left_out(i)) continue;
      if (vector) {
        dushmem_uint64_wait_until(&words[i], cmp, values[i]);
      } else {
        while (!dushmem_uint64_test(&words[i], cmp, values[i])) idle();
      }
      report.add((size_t)i, words, round, bad, "wait_until");
    }
  }
}

// Threads of one block: all but one wait, each for its own word, and the one writes them.
__global__ void within_a_block(uint64_t *words, int *small, unsigned long long *bad) {
  const int me = dushmem_my_pe(), rank = (int)threadIdx.x;
  if (threadIdx.x == blockDim.x - 1) {
    for (int i = (int)blockDim.x - 2; i >= 0; i--) {
      dushmem_uint64_atomic_set(&words[i], (uint64_t)i + 1, me);
      dushmem_int_p(&small[i], -i - 1, me);
    }
  } else {
    dushmem_uint64_wait_until(&words[rank], DUSHMEM_CMP_EQ, (uint64_t)rank + 1);
    dushmem_int_wait_until(&small[rank], DUSHMEM_CMP_LT, 0);
    expect(bad, "a word of 4 bytes", small[rank], -rank - 1);
  }
  __syncthreads();
}

int main() {
  begin();
  cudaStream_t other;
  CUDA(cudaStreamCreate(&other));
  uint64_t *words = zeroed<uint64_t>(WORDS), *own = zeroed<uint64_t>(WORDS);
  int *small = zeroed<int>(WORDS);
  const int how[ROUNDS] = {DUSHMEM_CMP_GE, DUSHMEM_CMP_EQ, DUSHMEM_CMP_GT};
  for (int round = 1; round <= ROUNDS; round++) {
    // Words of the last round compare as too small.
    wait_all_ways<<<14, 1, 0, stream>>>(words, round, how[round - 1], bad);
    CUDA(cudaGetLastError());
    write_all<<<WRITERS, 1, 0, other>>>(words, round);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(other));
    finish_kernels();
  }
  within_a_block<<<1, WORDS, 0, stream>>>(own, small, bad);
  CUDA(cudaGetLastError());
  CUDA(cudaStreamDestroy(other));
  return verdict();
}
