// Buffers of collectives in kernels that overlap in part: the job ends, as with the host's collectives. What is allowed in
// place stays so, and so do neighbours. Argument: number of the case, or "allowed".
#include "coll_common.h"
#include <cstdlib>

enum { reduce_behind, reduce_before, reducescatter_in_the_middle, inscan_behind, broadcast_behind, fcollect_in_place,
       fcollect_inside, collect_in_place, collect_behind, alltoall_behind, cases };

__global__ void overlaps(int *at, size_t n, int what) {
  const int team = DUSHMEM_TEAM_WORLD;
  const size_t all = n * (size_t)d::n_pes();
  switch (what) {
  case reduce_behind: d::reduce<block_scope, d::op::sum>(team, at + 1, (const int *)at, n); break;
  case reduce_before: d::reduce<block_scope, d::op::sum>(team, at, (const int *)at + n - 1, n); break;
  case reducescatter_in_the_middle: d::reducescatter<block_scope, d::op::max>(team, at + 1, (const int *)at, n); break;
  case inscan_behind: d::inscan<block_scope>(team, at + n - 1, (const int *)at, n); break;
  case broadcast_behind: d::broadcast<block_scope>(team, at + 1, (const int *)at, n, 0); break;
  case fcollect_in_place: d::fcollect<block_scope>(team, at, (const int *)at, n); break;
  case fcollect_inside: d::fcollect<block_scope>(team, at, (const int *)at + all - 1, n); break;
  case collect_in_place: d::collect<block_scope>(team, at, (const int *)at, n); break;
  case collect_behind: d::collect<block_scope>(team, at, (const int *)at + all - 1, n); break;
  default: d::alltoall<block_scope>(team, at + 1, (const int *)at, n); break;
  }
}

__global__ void allowed(Space space, size_t n) {
  const int team = DUSHMEM_TEAM_WORLD, pes = d::n_pes();
  const size_t all = n * (size_t)pes;
  int *const at = space.to<int>();
  const auto set = [&] {
    __syncthreads();
    for (size_t i = threadIdx.x; i < 2 * all; i += blockDim.x) at[i] = (int)i;
    __syncthreads();
  };
  const auto expect = [&](const char *what, size_t from, size_t end, int value, int step) {
    for (size_t i = from + threadIdx.x; i < end; i += blockDim.x)
      if (at[i] != value + step * (int)(i - from)) wrong(space, what, (long)i, at[i], (long)n);
  };
  // In place, as far as it is allowed.
  set();
  d::reduce<block_scope, d::op::sum>(team, at, (const int *)at, n);
  expect("reduce", 0, n, 0, pes);
  set();
  d::broadcast<block_scope>(team, at, (const int *)at, n, pes - 1);
  expect("broadcast", 0, n, 0, 1);
  // One behind the other, of no length, and a source that nobody reads.
  set();
  d::fcollect<block_scope>(team, at + n, (const int *)at, n);
  for (int r = 0; r < pes; r++) expect("fcollect", n + (size_t)r * n, n + (size_t)(r + 1) * n, 0, 1);
  d::reduce<block_scope, d::op::sum>(team, at + 1, (const int *)at, 0);
  d::collect<block_scope>(team, at, (const int *)at, 0);
  set();
  d::broadcast<block_scope>(team, at, (const int *)at + (d::my_pe() == 0 ? all : 1), n, 0);
  expect("broadcast", 0, n, (int)all, 1);
}

int main(int argc, char **argv) {
  const int what = argc > 1 ? std::atoi(argv[1]) : cases;
  dushmem_init();
  const Space space = make_space(1 << 20);
  if (argc > 1 && std::strcmp(argv[1], "allowed") == 0) {
    for (size_t n : {size_t(1), size_t(40), size_t(5000)}) allowed<<<1, 32>>>(space, n);
  } else {
    overlaps<<<1, 32>>>((int *)space.dest, 100, what);
  }
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  return finish(space);
}
