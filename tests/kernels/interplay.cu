// Hosts, kernels and streams wait for each other, of the own PE and of others.
#include "verdict.h"

enum { ROUNDS = 40, LENGTH = 30 };

// A kernel answers a host, round after round; the host is the PE before.
__global__ void answer(uint64_t *asked, uint64_t *answered, int host) {
  for (uint64_t r = 1; r <= ROUNDS; r++) {
    if (r % 2) dushmem_signal_wait_until(asked, DUSHMEM_CMP_GE, r);
    else dushmem_uint64_wait_until(asked, DUSHMEM_CMP_GE, r);
    dushmem_uint64_atomic_set(answered, 10 * r, host);
    dushmem_fence();
  }
}

static void hosts_and_kernels() {
  uint64_t *asked = zeroed<uint64_t>(1), *answered = zeroed<uint64_t>(1);
  const int kernel = (me + 1) % n, host = (me + n - 1) % n;
  answer<<<1, 1, 0, stream>>>(asked, answered, host);
  CUDA(cudaGetLastError());
  for (uint64_t r = 1; r <= ROUNDS; r++) {
    if (r % 3 == 0) dushmem_uint64_p(asked, r, kernel);
    else if (r % 3 == 1) dushmem_uint64_atomic_set(asked, r, kernel);
    else dushmemx_signal_op(asked, r, DUSHMEM_SIGNAL_SET, kernel);
    dushmem_quiet();
    dushmem_uint64_wait_until(answered, DUSHMEM_CMP_EQ, 10 * r);
  }
  finish_kernels();
}

// Data comes from a stream of another PE, and goes back to it by the kernel.
__global__ void turn_round(uint64_t *in, uint64_t *back, uint64_t *came, uint64_t *went, int to, unsigned long long *bad) {
  for (int r = 0; r < 3; r++) {
    dushmem_signal_wait_until(&came[r], DUSHMEM_CMP_EQ, 7);
    uint64_t *there = back + r * LENGTH;
    for (int i = 0; i < LENGTH; i++) {
      const uint64_t word = ((volatile uint64_t *)in)[r * LENGTH + i];
      expect(bad, "data of a stream", (long long)word, 100 * to + i + r, r);
      ((volatile uint64_t *)in)[r * LENGTH + i] = word + 1;
    }
    dushmem_uint64_put_signal(there, in + r * LENGTH, LENGTH, &went[r], 9, DUSHMEM_SIGNAL_SET, to);
  }
  dushmem_quiet();
}

static void streams_and_kernels() {
  uint64_t *in = zeroed<uint64_t>(3 * LENGTH), *back = zeroed<uint64_t>(3 * LENGTH);
  uint64_t *came = zeroed<uint64_t>(3), *went = zeroed<uint64_t>(3), *source = zeroed<uint64_t>(3 * LENGTH);
  cudaStream_t other;
  CUDA(cudaStreamCreate(&other));
  uint64_t words[3 * LENGTH], result[3 * LENGTH] = {};
  for (int i = 0; i < 3 * LENGTH; i++) words[i] = (uint64_t)(100 * me + i % LENGTH + i / LENGTH);
  CUDA(cudaMemcpy(source, words, sizeof words, cudaMemcpyHostToDevice));
  const int kernel = (me + 1) % n, from = (me + n - 1) % n;
  turn_round<<<1, 1, 0, stream>>>(in, back, came, went, from, bad);
  CUDA(cudaGetLastError());
  for (int r = 0; r < 3; r++) {
    uint64_t *there = in + r * LENGTH, *here = source + r * LENGTH;
    if (r == 0) {
      dushmemx_putmem_signal_on_stream(there, here, LENGTH * sizeof(uint64_t), &came[r], 7, DUSHMEM_SIGNAL_SET, kernel, other);
    } else if (r == 1) {
      dushmemx_uint64_put_signal_nbi_on_stream(there, here, LENGTH, &came[r], 7, DUSHMEM_SIGNAL_ADD, kernel, other);
    } else {
      dushmemx_uint64_put_on_stream(there, here, LENGTH, kernel, other);
      dushmemx_quiet_on_stream(other);
      dushmemx_signal_op_on_stream(&came[r], 7, DUSHMEM_SIGNAL_SET, kernel, other);
    }
    // The stream waits for the kernel's answer, and what stands behind it in the stream sees the data.
    if (r % 2) dushmemx_uint64_wait_until_on_stream(&went[r], DUSHMEM_CMP_EQ, 9, other);
    else dushmemx_signal_wait_until_on_stream(&went[r], DUSHMEM_CMP_GE, 9, other);
    CUDA(cudaMemcpyAsync(result + r * LENGTH, back + r * LENGTH, LENGTH * sizeof(uint64_t), cudaMemcpyDeviceToHost, other));
  }
  CUDA(cudaStreamSynchronize(other));
  for (int i = 0; i < 3 * LENGTH; i++) expect_host("data of a kernel", (long long)result[i], (long long)words[i] + 1, i);
  CUDA(cudaStreamDestroy(other));
  finish_kernels();
}

// In one stream: a kernel, a put of what it wrote, a barrier, and a kernel that reads what the neighbour's put brought.
__global__ void fill(uint64_t *words, int round) {
  words[threadIdx.x] = (uint64_t)(1000 * dushmem_my_pe() + 50 * round) + threadIdx.x;
}
__global__ void compare(const uint64_t *words, int round, unsigned long long *bad) {
  const int n = dushmem_n_pes(), from = (dushmem_my_pe() + n - 1) % n;
  expect(bad, "a stream's order", (long long)words[threadIdx.x], 1000 * from + 50 * round + (int)threadIdx.x, round);
}

static void one_stream() {
  uint64_t *source = zeroed<uint64_t>(LENGTH), *dest = zeroed<uint64_t>(LENGTH);
  for (int round = 0; round < 5; round++) {
    fill<<<1, LENGTH, 0, stream>>>(source, round);
    dushmemx_uint64_put_on_stream(dest, source, LENGTH, (me + 1) % n, stream);
    dushmemx_barrier_all_on_stream(stream);
    compare<<<1, LENGTH, 0, stream>>>(dest, round, bad);
    dushmemx_barrier_all_on_stream(stream);
  }
  CUDA(cudaGetLastError());
  finish_kernels();
}

// A kernel waits for what comes later: another stream of its PE, and a callback of that stream.
__global__ void wait_for_both(uint64_t *flags) {
  if (threadIdx.x == 0) dushmem_uint64_wait_until(&flags[0], DUSHMEM_CMP_EQ, 1);
  else dushmem_uint64_wait_until(&flags[1], DUSHMEM_CMP_EQ, 2);
  __syncthreads();
}
__global__ void set_second(uint64_t *flag) { dushmem_uint64_atomic_set(flag, 2, dushmem_my_pe()); }

static void two_streams() {
  uint64_t *flags = zeroed<uint64_t>(2);
  cudaStream_t other;
  CUDA(cudaStreamCreate(&other));
  wait_for_both<<<1, 2, 0, stream>>>(flags);
  dushmemx_signal_op_on_stream(&flags[0], 1, DUSHMEM_SIGNAL_SET, me, other);
  set_second<<<1, 1, 0, other>>>(&flags[1]);
  CUDA(cudaGetLastError());
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaStreamSynchronize(other));
  CUDA(cudaStreamDestroy(other));
}

int main() {
  begin();
  hosts_and_kernels();
  streams_and_kernels();
  one_stream();
  two_streams();
  return verdict();
}
