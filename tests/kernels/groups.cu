// Cooperative groups: what every thread gets is compared with what it must be. Compiled for the CPU, and by nvcc.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "expect.h"

namespace cg = cooperative_groups;

struct Pair {
  double a;
  int b[4];
};

__global__ void blocks(int *wrong) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ int box[256];
  const unsigned n = block.size(), i = block.thread_rank();
  EXPECT(n == blockDim.x * blockDim.y * blockDim.z);
  EXPECT(i == (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
  EXPECT(block.group_index().x == blockIdx.x && block.thread_index().y == threadIdx.y);
  EXPECT(block.num_threads() == n && block.dim_threads().z == blockDim.z);
  for (unsigned round = 1; round < 5; round++) {
    box[(i + round) % n] = int(i);
    block.sync();
    EXPECT(box[i] == int((i + n - round) % n));
    cg::sync(block);
  }
}

// An operator of the program's own.
struct Largest {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a < b ? b : a; }
};

template <unsigned Size> __device__ void tile_of(int *wrong) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<Size>(block);
  const unsigned rank = tile.thread_rank(), first = block.thread_rank() - rank;
  EXPECT(tile.size() == Size && rank == block.thread_rank() % Size);
  EXPECT(tile.meta_group_rank() == block.thread_rank() / Size && tile.meta_group_size() == block.size() / Size);
  EXPECT(tile.shfl(first + rank, Size - 1) == first + Size - 1);
  EXPECT(tile.shfl_up(rank, 1) == (rank ? rank - 1 : 0));
  EXPECT(tile.shfl_down(rank, 1) == (rank + 1 < Size ? rank + 1 : rank));
  EXPECT(tile.shfl_xor(rank, Size / 2) == (rank ^ Size / 2));
  const unsigned all = Size == 32 ? 0xffffffffu : (1u << Size) - 1;
  EXPECT(tile.ballot(rank % 2) == (all & 0xaaaaaaaau));
  EXPECT(tile.any(rank == 0) && !tile.any(0) && tile.all(1));
  EXPECT(Size == 1 || !tile.all(rank == 0));
  Pair pair = {double(rank), {int(rank), 1, 2, int(first)}};
  pair = tile.shfl(pair, 0);
  EXPECT(pair.a == 0 && pair.b[0] == 0 && pair.b[3] == int(first));
  EXPECT(cg::reduce(tile, int(rank), cg::plus<int>()) == int(Size * (Size - 1) / 2));
  EXPECT(cg::reduce(tile, rank, cg::greater<unsigned>()) == Size - 1);
  EXPECT(cg::reduce(tile, int(rank) - 7, cg::less<int>()) == -7);
  EXPECT(cg::reduce(tile, 1u << rank, cg::bit_or<unsigned>()) == all);
  EXPECT(cg::reduce(tile, rank + 1, Largest()) == Size);
  EXPECT(cg::inclusive_scan(tile, rank) == rank * (rank + 1) / 2);
  EXPECT(cg::exclusive_scan(tile, 2) == 2 * int(rank));
  // Tiles go different ways.
  if (block.thread_rank() / Size % 2 == 0)
    for (unsigned i = 0; i < 3; i++) tile.sync();
  else
    EXPECT(tile.shfl(rank, 0) == 0);
}

__global__ void tiles(int *wrong) {
  tile_of<32>(wrong);
  tile_of<16>(wrong);
  tile_of<4>(wrong);
  tile_of<1>(wrong);
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto quarter = cg::tiled_partition<8>(warp);
  EXPECT(quarter.meta_group_rank() == warp.thread_rank() / 8 && quarter.meta_group_size() == 4);
  EXPECT(quarter.shfl(warp.thread_rank(), 1) == warp.thread_rank() / 8 * 8 + 1);
  const cg::thread_group any = cg::tiled_partition(cg::this_thread_block(), 8);
  EXPECT(any.size() == 8 && any.thread_rank() == warp.thread_rank() % 8);
  any.sync();
}

__global__ void coalesced(int *wrong, int *counter) {
  const unsigned lane = threadIdx.x % 32;
  if (lane % 3 == 1) {
    const cg::coalesced_group active = cg::coalesced_threads();
    // On a GPU too, since nothing has parted the lanes of this branch.
    EXPECT(active.size() == 11 && active.thread_rank() == lane / 3);
    EXPECT(active.shfl(lane, 2) == 7);
    EXPECT(active.ballot(lane < 10) == 7);
    EXPECT(active.any(lane == 4) && !active.all(lane == 4));
    EXPECT(active.shfl_down(lane, 1) == (lane == 31 ? 31 : lane + 3));
    EXPECT(cg::reduce(active, 1, cg::plus<int>()) == 11);
    // One atomic for all.
    int at = 0;
    if (active.thread_rank() == 0) at = atomicAdd(counter, int(active.size()));
    at = active.shfl(at, 0) + int(active.thread_rank());
    EXPECT(at >= 0 && at < 11 * int(gridDim.x * blockDim.x / 32));
    const auto halves = cg::binary_partition(active, lane % 2 == 1);
    EXPECT(halves.size() == (lane % 2 ? 6 : 5));
    EXPECT(halves.shfl(lane, 0) == (lane % 2 ? 1 : 4));
    const auto thirds = cg::labeled_partition(active, int(lane / 12));
    EXPECT(thirds.size() == (lane < 24 ? 4 : 3) && thirds.shfl(lane, 0) == lane / 12 * 12 + 1);
    active.sync();
  }
}

// Every block sees what all blocks wrote before.
__global__ void whole_grid(int *wrong, int *values) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned long long n = grid.size(), i = grid.thread_rank();
  EXPECT(grid.is_valid() && n == (unsigned long long)gridDim.x * blockDim.x);
  for (int round = 1; round <= 10; round++) {
    values[i] = int(i) * round;
    grid.sync();
    const unsigned long long other = (i + blockDim.x * round + 1) % n;
    EXPECT(values[other] == int(other) * round);
    grid.sync();
  }
}

__global__ void not_cooperative(int *wrong) { EXPECT(!cg::this_grid().is_valid()); }

int main() {
  int *wrong = counters(4096), *counter = wrong + 1, *values = wrong + 2;
  blocks<<<3, dim3(8, 4, 4)>>>(wrong);
  blocks<<<2, 77>>>(wrong);
  tiles<<<2, 128>>>(wrong);
  coalesced<<<3, 64>>>(wrong, counter);
  not_cooperative<<<1, 32>>>(wrong);
  void *args[] = {&wrong, &values};
  const cudaError_t launched = cudaLaunchCooperativeKernel((void *)whole_grid, dim3(12), dim3(96), args, 0, 0);
  cudaDeviceSynchronize();
  EXPECT_HOST(launched == cudaSuccess);
  EXPECT_HOST(*counter == 11 * 6);
  return result(wrong);
}
