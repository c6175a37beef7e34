// Operations of warps with CUDA's names and masks, checked lane by lane.
#include "expect.h"

__global__ void shuffles(int *wrong) {
  const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32, full = 0xffffffffu;
  int bad = 0;
  bad += __shfl_sync(full, int(lane) * 3, 5) != 15;
  bad += __shfl_sync(full, 100u + lane, 33) != 101u;
  bad += __shfl_sync(full, lane, 9, 8) != lane - lane % 8 + 1;
  bad += __shfl_up_sync(full, double(lane), 3) != double(lane < 3 ? lane : lane - 3);
  bad += __shfl_up_sync(full, lane, 5, 16) != (lane % 16 < 5 ? lane : lane - 5);
  bad += __shfl_down_sync(full, 1ll << lane, 4) != 1ll << (lane > 27 ? lane : lane + 4);
  bad += __shfl_down_sync(full, lane, 1, 4) != (lane % 4 == 3 ? lane : lane + 1);
  bad += __shfl_xor_sync(full, float(lane), 6) != float(lane ^ 6);
  // Beyond the own segment: earlier ones can be read, later ones can't.
  bad += __shfl_xor_sync(full, lane, 8, 8) != (lane & 8 ? lane ^ 8 : lane);
  bad += __shfl_sync(full, (unsigned char)(200 + lane), 31) != 231;
  bad += sizeof(__shfl_sync(full, short(lane), 0)) != 4;
  // A sum over the warp, many times.
  for (int round = 0; round < 50; round++) {
    unsigned sum = lane + round;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(full, sum, step);
    sum = __shfl_sync(full, sum, 0);
    bad += sum != 31 * 16 + 32u * round;
  }
  if (bad) atomicAdd(wrong, bad);
}

__global__ void votes(int *wrong) {
  const unsigned lane = threadIdx.x % 32, full = 0xffffffffu;
  int bad = 0;
  bad += __ballot_sync(full, lane % 3 == 0) != 0x49249249u;
  bad += !__any_sync(full, lane == 7) || __any_sync(full, 0);
  bad += __all_sync(full, lane != 7) || !__all_sync(full, 2);
  // Halves of the warp by masks of their own, from both sides of a branch, in different numbers of rounds.
  const unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
  if (lane < 16) {
    for (int i = 0; i < 10; i++) bad += __ballot_sync(half, 1) != half;
  } else {
    bad += __ballot_sync(half, lane & 1) != 0xaaaa0000u;
  }
  // One meeting from two places of the program.
  int got;
  if (lane & 1)
    got = __shfl_xor_sync(full, int(lane), 1);
  else
    got = __shfl_xor_sync(full, int(lane), 1);
  bad += got != int(lane ^ 1);
  bad += __match_any_sync(full, lane / 4) != 0xfu << (lane / 4 * 4);
  bad += __match_any_sync(full, lane % 2 ? 0.0 : -0.0) != (lane % 2 ? 0xaaaaaaaau : 0x55555555u);
  int all = -1;
  bad += __match_all_sync(full, 5ll, &all) != full || all != 1;
  bad += __match_all_sync(full, lane, &all) != 0 || all != 0;
  bad += __reduce_add_sync(full, lane) != 496 || __reduce_add_sync(full, -1) != -32;
  bad += __reduce_min_sync(full, int(lane) - 20) != -20 || __reduce_max_sync(half, lane) != (lane < 16 ? 15 : 31);
  bad += __reduce_and_sync(full, lane | 64) != 64 || __reduce_or_sync(full, lane) != 31;
  bad += __reduce_xor_sync(full, 1u << lane) != full;
  __syncwarp();
  __syncwarp(half);
  if (bad) atomicAdd(wrong, bad);
}

// The last warp has 11 threads, lane 3 of each returns at once, and odd lanes return before the end.
__global__ void leavers(int *wrong) {
  const unsigned lane = threadIdx.x % 32, full = 0xffffffffu;
  const bool last = threadIdx.x / 32 == (blockDim.x - 1) / 32;
  if (lane == 3) return;
  const unsigned there = (last ? (1u << blockDim.x % 32) - 1 : full) & ~8u;
  int bad = __ballot_sync(full, 1) != there;
  if (lane & 1) {
    if (bad) atomicAdd(wrong, bad);
    return;
  }
  bad += __ballot_sync(full, 1) != (there & 0x55555555u);
  if (bad) atomicAdd(wrong, bad);
}

// Neighbours pass things on through shared memory with barriers of the warp only.
__global__ void through_memory(int *wrong) {
  __shared__ int box[256];
  const unsigned i = threadIdx.x, lane = i % 32;
  int have = int(lane);
  for (int round = 0; round < 100; round++) {
    box[i] = have;
    __syncwarp();
    have = box[i - lane + (lane + 1) % 32];
    __syncwarp();
  }
  if (have != int((lane + 100) % 32)) atomicAdd(wrong, 1);
}

__global__ void active(int *wrong) {
  const unsigned lane = threadIdx.x % 32;
  int bad = __activemask() != 0xffffffffu;
  if (lane % 4 == 1) {
    const unsigned mask = __activemask();
    bad += mask != 0x22222222u;
    bad += __shfl_sync(mask, lane, 1) != 1;
  }
  __syncthreads();
  if (bad) atomicAdd(wrong, bad);
}

__global__ void block_votes(int *wrong) {
  const int i = int(threadIdx.x), n = int(blockDim.x);
  int bad = 0;
  for (int round = 0; round < 20; round++) {
    bad += __syncthreads_count(i % 3 == 0) != (n + 2) / 3;
    bad += __syncthreads_and(i >= 0) == 0 || __syncthreads_and(i != round) != 0;
    bad += __syncthreads_or(i == round) == 0 || __syncthreads_or(i < 0) != 0;
  }
  if (bad) atomicAdd(wrong, bad);
}

int main() {
  int *wrong = counters(1);
  shuffles<<<3, 96>>>(wrong);
  votes<<<2, 64>>>(wrong);
  leavers<<<2, 32 * 3 + 11>>>(wrong);
  through_memory<<<4, 256>>>(wrong);
  active<<<2, 128>>>(wrong);
  shuffles<<<1, dim3(8, 4, 4)>>>(wrong); // lanes count along x first
  block_votes<<<2, 333>>>(wrong);
  return result(wrong);
}
