// Atomics of every type and scope: the value that each gives back, and the sum of many threads' work.
#include "expect.h"

template <class T> __device__ bool changed(T *word, T before, T got, T after) {
  return got == before && *word == after;
}

#define ONCE(T, call, before, after)                                                                          \
  do {                                                                                                        \
    __shared__ T word;                                                                                        \
    T *at = &word;                                                                                            \
    word = before;                                                                                            \
    const T got = call;                                                                                       \
    EXPECT(changed<T>(at, before, got, after));                                                               \
  } while (0)
#if defined(__HIPCC__)
// HIP has one scope.
#define SCOPES(T, name, before, argument, after) ONCE(T, name(at, argument), before, after)
#define SWAPS(T)                                                                                              \
  ONCE(T, atomicCAS(at, T(5), T(9)), T(5), T(9));                                                             \
  ONCE(T, atomicCAS(at, T(6), T(9)), T(5), T(5))
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd
#else
// One operation in its three scopes.
#define SCOPES(T, name, before, argument, after)                                                              \
  ONCE(T, name(at, argument), before, after);                                                                 \
  ONCE(T, name##_block(at, argument), before, after);                                                         \
  ONCE(T, name##_system(at, argument), before, after)
#define SWAPS(T)                                                                                              \
  ONCE(T, atomicCAS(at, T(5), T(9)), T(5), T(9));                                                             \
  ONCE(T, atomicCAS(at, T(6), T(9)), T(5), T(5));                                                             \
  ONCE(T, atomicCAS_block(at, T(5), T(9)), T(5), T(9));                                                       \
  ONCE(T, atomicCAS_system(at, T(5), T(9)), T(5), T(9))
#endif
#define INTEGERS(T)                                                                                           \
  SCOPES(T, atomicAdd, T(5), T(3), T(8));                                                                     \
  SCOPES(T, atomicExch, T(5), T(3), T(3));                                                                    \
  SCOPES(T, atomicMin, T(5), T(3), T(3));                                                                     \
  SCOPES(T, atomicMin, T(5), T(7), T(5));                                                                     \
  SCOPES(T, atomicMax, T(5), T(7), T(7));                                                                     \
  SCOPES(T, atomicAnd, T(5), T(6), T(4));                                                                     \
  SCOPES(T, atomicOr, T(5), T(6), T(7));                                                                      \
  SCOPES(T, atomicXor, T(5), T(6), T(3));                                                                     \
  SWAPS(T)

typedef unsigned long long Wide;
typedef unsigned short Narrow;

__global__ void each(int *wrong) {
  INTEGERS(int);
  INTEGERS(unsigned);
  INTEGERS(Wide);
  SCOPES(int, atomicMin, 5, -3, -3);
  SCOPES(int, atomicMax, -5, -7, -5);
  SCOPES(unsigned, atomicMax, 5u, 0xffffffffu, 0xffffffffu);
  SCOPES(int, atomicSub, 5, 7, -2);
  SCOPES(unsigned, atomicSub, 5u, 7u, 0xfffffffeu);
  SCOPES(unsigned, atomicInc, 5u, 6u, 6u);
  SCOPES(unsigned, atomicInc, 6u, 6u, 0u);
  SCOPES(unsigned, atomicInc, 9u, 6u, 0u);
  SCOPES(unsigned, atomicDec, 5u, 6u, 4u);
  SCOPES(unsigned, atomicDec, 0u, 6u, 6u);
  SCOPES(unsigned, atomicDec, 9u, 6u, 6u);
  SCOPES(float, atomicAdd, 1.5f, 2.25f, 3.75f);
  SCOPES(double, atomicAdd, 1.5, 2.25, 3.75);
  SCOPES(float, atomicExch, 1.5f, 2.25f, 2.25f);
  SCOPES(Wide, atomicAdd, ~0ull, 2ull, 1ull);
#if !defined(__HIPCC__)
  SCOPES(long long, atomicMin, 5ll, -(1ll << 40), -(1ll << 40));
  SCOPES(long long, atomicMax, 5ll, 1ll << 40, 1ll << 40);
  ONCE(Narrow, atomicCAS(at, Narrow(5), Narrow(9)), Narrow(5), Narrow(9));
  ONCE(Narrow, atomicCAS(at, Narrow(6), Narrow(9)), Narrow(5), Narrow(5));
#endif
}

struct Totals {
  int count;
  unsigned long long wide;
  float single;
  double twice;
  int least, most;
  unsigned turn;
  int locked;
  int guarded;
  unsigned short narrow[2];
};

__global__ void together(Totals *totals) {
  __shared__ int part;
  if (threadIdx.x == 0) part = 0;
  __syncthreads();
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd_block(&part, 1);
  atomicAdd(&totals->wide, 1ull << 32);
  atomicAdd(&totals->single, 0.5f);
  atomicAdd_system(&totals->twice, 0.25);
  atomicMin(&totals->least, -i);
  atomicMax(&totals->most, i);
  atomicInc(&totals->turn, 6);
  // A lock by compare and swap.
  for (bool done = false; !done;) {
    if (atomicCAS(&totals->locked, 0, 1) == 0) {
      __threadfence();
      *(volatile int *)&totals->guarded = totals->guarded + 1;
      __threadfence();
      atomicExch(&totals->locked, 0);
      done = true;
    }
  }
#if !defined(__HIPCC__)
  // The half of a word beside it does not change.
  unsigned short seen = totals->narrow[0], old;
  do {
    old = seen;
    seen = atomicCAS(&totals->narrow[0], old, (unsigned short)(old + 1));
  } while (seen != old);
#endif
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&totals->count, part);
}

int main() {
  int *wrong = counters(1);
  Totals *totals = (Totals *)counters(sizeof(Totals) / sizeof(int) + 1);
  each<<<1, 1>>>(wrong);
  const int blocks = 20, threads = 96, n = blocks * threads;
  together<<<blocks, threads>>>(totals);
  EXPECT_HOST(RUNTIME(DeviceSynchronize)() == RUNTIME(Success));
  EXPECT_HOST(totals->count == n);
  EXPECT_HOST(totals->wide == (unsigned long long)n << 32);
  EXPECT_HOST(totals->single == 0.5f * n && totals->twice == 0.25 * n);
  EXPECT_HOST(totals->least == 1 - n && totals->most == n - 1);
  EXPECT_HOST(totals->turn == unsigned(n % 7));
  EXPECT_HOST(totals->guarded == n && totals->locked == 0);
#if !defined(__HIPCC__)
  EXPECT_HOST(totals->narrow[0] == n && totals->narrow[1] == 0);
#endif
  return result(wrong);
}
