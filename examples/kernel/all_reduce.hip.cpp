// All-reduce inside a kernel, twice: each PE has a vector and wants the sum of all, as data-parallel training does.
//
//   dushcc -O2 all_reduce.hip.cpp -o all_reduce && dushrun -n 4 ./all_reduce
//
// One shot: every PE sends its vector to all others, and each adds up what it has. One hop, for short vectors.
//
// Two shots: PE p owns part p of the vector. All send their part p to it, it adds them up, and sends the sum to all.
// Two hops, but each PE sends two vectors altogether instead of one to each other PE: for long vectors.
//
// Block b has slice b of the work, with signals of its own, so no block waits for another block of its PE. Sums
// are made in the order of the PEs: all PEs have the same bits, every time. Inboxes have two places in turn: whoever
// sends for round r has finished r - 1, for which it heard from all; so all have finished r - 2, which used the place.
//
// The check: both results are what the library's all-reduces give, by a block and on the stream, and what a PE
// computes alone. All numbers are whole and small, so that the sums are exact.
#include "program.h"
#include <nvshmem.h>
#include <nvshmemx.h>

static uint64_t size = 10000, blocks = 4, rounds = 3;

enum { THREADS = 128 };

struct Work {
  const float *in;   // the vector of this PE
  float *out;        // the sum
  float *inbox;      // [PE][size]: what the others have sent
  uint64_t *arrived; // [PE][block]: rounds of which that PE's slice is here
  uint64_t *reduced; // [PE][block]: rounds of which that PE's part of the sum is here
  uint64_t size, round;
};

// Waits for this block's signal of every other PE, each in a thread.
__device__ static void wait_for_all(uint64_t *signals, uint64_t round) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  for (int pe = (int)threadIdx.x; pe < n; pe += (int)blockDim.x)
    if (pe != me) nvshmem_signal_wait_until(&signals[(uint64_t)pe * gridDim.x + blockIdx.x], NVSHMEM_CMP_GE, round);
  __syncthreads();
}

// Adds up what all PEs have at these places; what this PE has is in `in`.
__device__ static void add_up(const Work &w, uint64_t first, uint64_t count) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  for (uint64_t i = first + threadIdx.x; i < first + count; i += blockDim.x) {
    float sum = 0;
    for (int pe = 0; pe < n; pe++) sum += pe == me ? w.in[i] : w.inbox[(uint64_t)pe * w.size + i];
    w.out[i] = sum;
  }
  __syncthreads();
}

__global__ void one_shot(Work w) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  const uint64_t first = first_of(blockIdx.x, gridDim.x, w.size);
  const uint64_t count = first_of(blockIdx.x + 1, gridDim.x, w.size) - first;
  for (int i = 1; i < n; i++) // each PE begins with the next one, so that not all send to the same
    nvshmemx_float_put_signal_nbi_block(w.inbox + (uint64_t)me * w.size + first, w.in + first, count,
                                        &w.arrived[(uint64_t)me * gridDim.x + blockIdx.x], w.round, NVSHMEM_SIGNAL_SET,
                                        (me + i) % n);
  wait_for_all(w.arrived, w.round);
  add_up(w, first, count);
  if (threadIdx.x == 0) nvshmem_quiet(); // `in` is the program's again
}

__global__ void two_shot(Work w) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  // This block's slice of a PE's part.
  const auto slice_of = [&w, n](int pe, uint64_t slice) {
    const uint64_t part = first_of((uint64_t)pe, (uint64_t)n, w.size);
    return part + first_of(slice, gridDim.x, first_of((uint64_t)pe + 1, (uint64_t)n, w.size) - part);
  };
  for (int i = 1; i < n; i++) {
    const int to = (me + i) % n;
    const uint64_t first = slice_of(to, blockIdx.x), count = slice_of(to, blockIdx.x + 1) - first;
    nvshmemx_float_put_signal_nbi_block(w.inbox + (uint64_t)me * w.size + first, w.in + first, count,
                                        &w.arrived[(uint64_t)me * gridDim.x + blockIdx.x], w.round, NVSHMEM_SIGNAL_SET,
                                        to);
  }
  const uint64_t first = slice_of(me, blockIdx.x), count = slice_of(me, blockIdx.x + 1) - first;
  wait_for_all(w.arrived, w.round);
  add_up(w, first, count);
  // Whoever gets this sum has begun the round, so nobody reads the last round's there any more.
  for (int i = 1; i < n; i++)
    nvshmemx_float_put_signal_nbi_block(w.out + first, w.out + first, count,
                                        &w.reduced[(uint64_t)me * gridDim.x + blockIdx.x], w.round, NVSHMEM_SIGNAL_SET,
                                        (me + i) % n);
  wait_for_all(w.reduced, w.round);
  if (threadIdx.x == 0) nvshmem_quiet();
}

// The library's, by a block.
__global__ void by_a_block(Work w) { nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, w.out, w.in, w.size); }

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 26, "elements of the vector"},
      {"blocks", &blocks, 1, 64, "blocks that share the work"},
      {"rounds", &rounds, 1, 100, "sums, one after the other"},
  };
  start(argc, argv, "all_reduce", "the sum of all PEs' vectors, in one shot and in two", settings);
  const uint64_t pes = (uint64_t)n;
  float *in = symmetric<float>(rounds * size), *inbox = symmetric<float>(2 * pes * size);
  for (uint64_t i = 0; i < rounds; i++) {
    std::vector<float> numbers(size);
    for (uint64_t j = 0; j < size; j++) numbers[j] = small_number((uint64_t)me, i * size + j, 1000);
    to_device(in + i * size, numbers);
  }

  enum { ONE_SHOT, TWO_SHOT, BLOCK, STREAM, WAYS };
  const char *const names[WAYS] = {"one shot", "two shots", "the library by a block", "the library on the stream"};
  const void *const kernels[] = {(const void *)one_shot, (const void *)two_shot, (const void *)by_a_block};
  double seconds[WAYS];
  for (int way = 0; way < WAYS; way++) {
    float *out = symmetric<float>(rounds * size);
    uint64_t *arrived = symmetric<uint64_t>(pes * blocks), *reduced = symmetric<uint64_t>(pes * blocks);
    seconds[way] = timed([&] {
      for (uint64_t i = 0; i < rounds; i++) {
        Work w = {in + i * size, out + i * size, inbox + i % 2 * pes * size, arrived, reduced, size, i + 1};
        void *args[] = {&w};
        const dim3 grid(way == BLOCK ? 1 : (unsigned)blocks);
        if (way == STREAM) nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, w.out, w.in, size, stream);
        else CHECK(nvshmemx_collective_launch(kernels[way], grid, dim3(THREADS), args, 0, stream));
      }
    });
    const std::vector<float> sums = to_host(out, rounds * size);
    for (uint64_t i = 0; i < rounds * size; i++) {
      float sum = 0;
      for (int pe = 0; pe < n; pe++) sum += small_number((uint64_t)pe, i, 1000);
      if (sums[i] != sum)
        wrong("%s: round %" PRIu64 " element %" PRIu64 " is %g, not %g", names[way], i / size, i % size,
              (double)sums[i], (double)sum);
    }
    timed([] {}); // all have ended
    nvshmem_free(reduced);
    nvshmem_free(arrived);
    nvshmem_free(out);
  }
  for (double &one : seconds) one = largest(one);
  return finish(seconds[ONE_SHOT] + seconds[TWO_SHOT],
                "%" PRIu64 " rounds of %" PRIu64 " floats, one shot %.3g ms, two %.3g ms, a block %.3g ms, the stream %.3g ms",
                rounds, size, 1e3 * seconds[ONE_SHOT], 1e3 * seconds[TWO_SHOT], 1e3 * seconds[BLOCK],
                1e3 * seconds[STREAM]);
}
