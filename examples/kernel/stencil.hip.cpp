// Heat in a square plate: a stencil on a two-dimensional grid of PEs, all steps in one kernel.
//
//   dushcc -O2 stencil.hip.cpp -o stencil && dushrun -n 8 ./stencil
//
// In each step a cell becomes the mean of its four neighbours; beyond the plate it is cold, but hot above it. The
// kernel runs from the first step to the last. Four of its blocks have an edge each: they wait for the signals of the
// neighbours' edges, compute their own, and send it; meanwhile the others compute the inner cells. The host takes
// no part, nor does any PE but the neighbours.
//
// The blocks of a PE meet after each step, so all of them have to run at the same time: a collective launch, with as
// many blocks as the device runs at once, which the library knows.
//
// A halo has three places in turn. A neighbour that has this PE's edge of step s may send that of step s + 1, while
// another block here still reads what it sent in step s - 1, for a corner. It can't send that of s + 2 before: for
// that it needs the edge of s + 1, which is computed when all blocks here have finished step s. Each place has its own
// signal: edges of two steps may be under way at the same time, and arrive in any order.
//
// The check: every PE computes all steps alone and compares its block, to the last bit.
#include "program.h"

static uint64_t size = 60, steps = 50, most = 8;

enum { NORTH, SOUTH, WEST, EAST };
enum { THREADS = 64, PLACES = 3 };

struct Plate {
  double *cells[2];    // [row][column] of this PE's block, before and after a step in turn
  double *halo;        // [place][side][longest]: edges of the neighbours
  double *edge;        // [place][side][longest]: own edges, on their way
  uint64_t *arrived;   // [place][side]: the neighbour's last step of which the edge is there, from 1 for the start
  uint64_t *finished;  // blocks that have finished a step
  int rows, columns, longest, neighbour[4];
  uint64_t steps;
};

__device__ static inline double *line(double *lines, const Plate &p, uint64_t step, int side) {
  return lines + (step % PLACES * 4 + (uint64_t)side) * (uint64_t)p.longest;
}

__device__ static inline uint64_t *signal(const Plate &p, uint64_t step, int side) {
  return &p.arrived[step % PLACES * 4 + (uint64_t)side];
}

// A cell after `step` steps, from those before it; those around the block are in the halo.
__device__ static double mean(const Plate &p, uint64_t step, int y, int x) {
  const double *old = p.cells[(step - 1) % 2] + (size_t)y * (size_t)p.columns + x;
  const double north = y > 0                      ? old[-p.columns]
                       : p.neighbour[NORTH] >= 0  ? line(p.halo, p, step - 1, NORTH)[x]
                                                  : 1;
  const double south = y + 1 < p.rows             ? old[p.columns]
                       : p.neighbour[SOUTH] >= 0  ? line(p.halo, p, step - 1, SOUTH)[x]
                                                  : 0;
  const double west = x > 0                       ? old[-1]
                      : p.neighbour[WEST] >= 0    ? line(p.halo, p, step - 1, WEST)[y]
                                                  : 0;
  const double east = x + 1 < p.columns           ? old[1]
                      : p.neighbour[EAST] >= 0    ? line(p.halo, p, step - 1, EAST)[y]
                                                  : 0;
  return 0.25 * ((north + south) + (west + east));
}

// Computes an edge of the block and sends it. Corners belong to the rows: the columns compute theirs to send them.
__device__ static void do_edge(const Plate &p, uint64_t step, int side) {
  if (step > 0 && threadIdx.x < 4 && p.neighbour[threadIdx.x] >= 0)
    dushmem_signal_wait_until(signal(p, step - 1, (int)threadIdx.x), DUSHMEM_CMP_GE, step);
  __syncthreads();
  const bool row = side == NORTH || side == SOUTH;
  const int count = row ? p.columns : p.rows;
  double *own = line(p.edge, p, step, side), *now = p.cells[step % 2];
  for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x) {
    const int y = side == NORTH ? 0 : side == SOUTH ? p.rows - 1 : i;
    const int x = side == WEST ? 0 : side == EAST ? p.columns - 1 : i;
    double *cell = now + (size_t)y * (size_t)p.columns + x;
    own[i] = step > 0 ? mean(p, step, y, x) : *cell;
    if (step > 0 && (row || (y > 0 && y + 1 < p.rows))) *cell = own[i];
  }
  __syncthreads();
  const int to = p.neighbour[side], there = side ^ 1; // our north is their south
  if (to >= 0 && step < p.steps)
    dushmemx_double_put_signal_nbi_block(line(p.halo, p, step, there), own, (size_t)count,
                                         signal(p, step, there), step + 1, DUSHMEM_SIGNAL_SET, to);
}

__global__ void diffuse(Plate p) {
  for (uint64_t step = 0; step <= p.steps; step++) {
    for (int side = (int)blockIdx.x; side < 4; side += (int)gridDim.x) do_edge(p, step, side);
    double *now = p.cells[step % 2];
    for (int y = 1 + (int)blockIdx.x; step > 0 && y + 1 < p.rows; y += (int)gridDim.x)
      for (int x = 1 + (int)threadIdx.x; x + 1 < p.columns; x += (int)blockDim.x)
        now[(size_t)y * (size_t)p.columns + x] = mean(p, step, y, x);
    // All blocks of this PE: they wait for a counter, by the library, so that they sleep where they can.
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      dushmem_uint64_atomic_inc(p.finished, dushmem_my_pe());
      dushmem_uint64_wait_until(p.finished, DUSHMEM_CMP_GE, (step + 1) * gridDim.x);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) dushmem_quiet();
}

static double at_start(uint64_t y, uint64_t x) { return (double)(random_at(3, y * size + x) >> 11) / 9007199254740992.0; }

// The whole plate after all steps.
static std::vector<double> alone() {
  const size_t row = size + 2;
  std::vector<double> old(row * row), now;
  for (size_t i = 0; i < row; i++) old[i] = 1;
  for (size_t y = 0; y < size; y++)
    for (size_t x = 0; x < size; x++) old[(y + 1) * row + x + 1] = at_start(y, x);
  now = old;
  for (uint64_t step = 0; step < steps; step++) {
    for (size_t y = 1; y <= size; y++)
      for (size_t x = 1; x <= size; x++) {
        const size_t at = y * row + x;
        now[at] = 0.25 * ((old[at - row] + old[at + row]) + (old[at - 1] + old[at + 1]));
      }
    old.swap(now);
  }
  return old;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 14, "rows and columns of the plate"},
      {"steps", &steps, 1, 1 << 30, "steps"},
      {"blocks", &most, 1, 1 << 16, "blocks at most"},
  };
  start(argc, argv, "stencil", "heat in a plate, all steps in one kernel", settings);
  // A grid of PEs, as square as can be.
  int down = 1;
  for (int i = 1; i * i <= n; i++)
    if (n % i == 0) down = i;
  const int across = n / down, y = me / across, x = me % across;
  if (size < (uint64_t)across) {
    if (me == 0) std::fprintf(stderr, "stencil: --size is at least %d with %d PEs\n", across, n);
    leave(2);
  }
  const uint64_t top = first_of((uint64_t)y, (uint64_t)down, size), left = first_of((uint64_t)x, (uint64_t)across, size);
  Plate p = {};
  p.rows = (int)(first_of((uint64_t)y + 1, (uint64_t)down, size) - top);
  p.columns = (int)(first_of((uint64_t)x + 1, (uint64_t)across, size) - left);
  p.longest = (int)((size + (uint64_t)down - 1) / (uint64_t)down); // down is at most across: rows are not fewer
  p.neighbour[NORTH] = y > 0 ? me - across : -1;
  p.neighbour[SOUTH] = y + 1 < down ? me + across : -1;
  p.neighbour[WEST] = x > 0 ? me - 1 : -1;
  p.neighbour[EAST] = x + 1 < across ? me + 1 : -1;
  p.steps = steps;
  p.halo = symmetric<double>(PLACES * 4 * (uint64_t)p.longest);
  p.edge = symmetric<double>(PLACES * 4 * (uint64_t)p.longest);
  p.arrived = symmetric<uint64_t>(PLACES * 4);
  p.finished = symmetric<uint64_t>(1);
  const size_t count = (size_t)p.rows * (size_t)p.columns;
  std::vector<double> block(count);
  for (size_t i = 0; i < count; i++)
    block[i] = at_start(top + i / (size_t)p.columns, left + i % (size_t)p.columns);
  for (double *&cells : p.cells) CHECK(hipMalloc((void **)&cells, count * sizeof(double)));
  to_device(p.cells[0], block);

  void *args[] = {&p};
  int grid = 0;
  CHECK(dushmemx_collective_launch_query_gridsize((const void *)diffuse, dim3(THREADS), args, 0, &grid));
  if ((uint64_t)grid > most) grid = (int)most;
  const double seconds = timed([&] {
    CHECK(dushmemx_collective_launch((const void *)diffuse, dim3((unsigned)grid), dim3(THREADS), args, 0, stream));
  });

  const std::vector<double> found = to_host(p.cells[steps % 2], count), whole = alone();
  for (size_t i = 0; i < count; i++) {
    const size_t row = top + i / (size_t)p.columns, column = left + i % (size_t)p.columns;
    const double expected = whole[(row + 1) * (size + 2) + column + 1];
    if (found[i] != expected) wrong("row %zu column %zu is %.17g, but %.17g alone", row, column, found[i], expected);
  }
  for (double *cells : p.cells) CHECK(hipFree(cells));
  return finish(seconds, "%" PRIu64 " x %" PRIu64 " cells, %" PRIu64 " steps", size, size, steps);
}
