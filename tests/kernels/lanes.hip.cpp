// Operations of warps with HIP's names, which have no mask: among the lanes that run together. For any width of warps.
#include "expect.h"
#include <hip/hip_runtime.h>

// Without masks: those that come together.
__global__ void together(int *wrong) {
  const unsigned lane = threadIdx.x % unsigned(warpSize);
  const unsigned long long all = ~0ull >> (64 - warpSize);
  int bad = 0;
  bad += __ballot(lane & 1) != (0xaaaaaaaaaaaaaaaaull & all);
  bad += __shfl(int(lane), warpSize - 1) != warpSize - 1;
  bad += __shfl_xor(lane, 1) != (lane ^ 1) || __shfl_up(lane, 1) != (lane ? lane - 1 : 0);
  bad += __shfl_down(lane, 1, 2) != (lane | 1);
  bad += !__all(1) || __any(0) || !__any(lane == 2) || __all(lane == 2);
  // A loop that lanes leave at different times.
  for (unsigned i = 0; i < lane % 4; i++) {
    unsigned long long left = 0;
    for (unsigned l = 0; l < unsigned(warpSize); l++) left |= (unsigned long long)(l % 4 > i) << l;
    bad += __ballot(1) != left;
  }
  bad += __ballot(1) != all;
  if (lane < 8) {
    bad += __ballot(1) != 0xff;
    // In a branch a lane can be alone.
    if (lane == 4) bad += __ballot(1) != 0x10 || __shfl(7, 4) != 7;
  } else {
    bad += __ballot(lane < 10) != 0x300;
  }
  bad += __ballot(1) != all;
  if (bad) atomicAdd(wrong, bad);
}

__global__ void wide(int *wrong) {
  const unsigned lane = threadIdx.x % unsigned(warpSize);
  const unsigned long long all = ~0ull >> (64 - warpSize);
  int bad = __ballot(1) != all;
  bad += __shfl(lane, warpSize - 2) != unsigned(warpSize - 2);
  bad += __shfl_down(lane, warpSize / 2) != (lane < unsigned(warpSize / 2) ? lane + warpSize / 2 : lane);
  bad += __lane_id() != lane || __popcll(__ballot(lane % 2)) != warpSize / 2;
  if (bad) atomicAdd(wrong, bad);
}


int main() {
  int *wrong = counters(1);
  together<<<2, 128>>>(wrong);
  wide<<<2, 192>>>(wrong);
  return result(wrong);
}
