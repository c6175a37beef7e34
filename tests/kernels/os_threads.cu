// Threads of a block that wait for each other in loops on plain memory, which never give way: compiled with
// -fdushmem-os-threads. Shared variables in declarations of every form.
#include "expect.h"

__shared__ int everywhere;
__shared__ int table[4][4];
struct Pair {
  int a, b;
};
namespace outer {
static __shared__ Pair pairs[2];
}

template <class T, int n> __device__ T total(T mine) {
  __shared__ T part[n];
  part[threadIdx.x] = mine;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < n; i++) sum += part[i];
  __syncthreads();
  return sum;
}

#define FLAG(name) volatile __shared__ int name

__global__ void relay(int *wrong) {
  FLAG(flag);
  __shared__ int one, two[8]; // two names
  static __shared__ __align__(16) float four;
  __shared__ struct {
    int x, y;
  } both;
  const int i = int(threadIdx.x), n = int(blockDim.x);
  if (i == 0) {
    flag = n;
    one = two[3] = everywhere = table[1][2] = 0;
    four = 4;
    outer::pairs[1] = Pair{int(blockIdx.x), 2};
    both.x = both.y = int(blockIdx.x);
  }
  __syncthreads();
  // From the last thread to the first.
  while (flag != i + 1) {
  }
  one++; // in turn
  table[1][2] += 2;
  flag = i;
  atomicAdd(&two[3], 1);
  atomicAdd(&everywhere, 3);
  __syncthreads();
  EXPECT(one == n && two[3] == n && everywhere == 3 * n && table[1][2] == 2 * n);
  EXPECT(four == 4 && (reinterpret_cast<size_t>(&four) & 15) == 0);
  EXPECT(outer::pairs[1].a == int(blockIdx.x) && both.x == int(blockIdx.x) && both.y == both.x);
  EXPECT((total<int, 8>(i) == 28 && total<double, 8>(0.5) == 4));
  EXPECT(__ballot_sync(0xff, i & 1) == 0xaa);
  EXPECT(__syncthreads_count(i < 3) == 3);
  EXPECT(__shfl_xor_sync(0xff, i, 1) == (i ^ 1));
}

__global__ void dynamic(int *wrong) {
  extern __shared__ int words[];
  words[threadIdx.x] = int(threadIdx.x);
  if (threadIdx.x >= 5) return; // the barrier doesn't wait for them
  __syncthreads();
  EXPECT(words[4 - threadIdx.x] == int(4 - threadIdx.x));
}

// Blocks that wait for each other, in loops of the same kind.
__global__ void blocks(volatile int *turn, int *wrong) {
  if (threadIdx.x == 1)
    while (*turn != int(gridDim.x - 1 - blockIdx.x)) {
    }
  __syncthreads();
  if (threadIdx.x == 0) {
    EXPECT(*turn == int(gridDim.x - 1 - blockIdx.x));
    *turn = *turn + 1;
  }
}

int main() {
  int *wrong = counters(2);
  relay<<<5, 8>>>(wrong);
  dynamic<<<3, 12, 12 * sizeof(int)>>>(wrong);
  blocks<<<6, 2>>>(wrong + 1, wrong);
  const int end = result(wrong);
  return wrong[1] == 6 ? end : 1;
}
