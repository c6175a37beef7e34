// An all-gather fused with a matrix product, as tensor-parallel layers have it: out = all rows of x, times w.
//
//   dushcc -O2 allgather_matmul.hip.cpp -o allgather_matmul && dushrun -n 4 ./allgather_matmul
//
// Each PE has some rows of x and some columns of w, and wants its columns of the product for the rows of all. In one
// kernel, blocks push the own rows to all others, a slice of 16 rows with a signal at a time, and then multiply tiles:
// first those of the own rows, which need nobody, then those of the PE before, which pushes to this one first. A
// tile waits for the signal of its slice only, so copying and computing overlap.
//
// Layers follow each other without a barrier. The gathered rows have two buffers in turn: a PE pushes for layer r when
// it has finished layer r - 1, for which it had rows of all PEs; so all had begun it, and finished r - 2, which was
// the last to read this buffer. Signals count layers, so nobody resets them.
//
// The check: every PE computes its columns alone. All numbers are whole and small, so that the sums are exact.
#include "program.h"

static uint64_t size = 32, depth = 48, columns = 32, layers = 3;

static constexpr uint64_t TILE = 16;

struct Layer {
  const float *x, *w;  // rows of this PE; columns of this PE
  float *gathered;     // [PE][row][depth]: rows of the others
  float *out;          // [PE][row][column]
  uint64_t *arrived;   // [PE][slice]: the last layer whose rows are there
  uint64_t number, rows, depth, columns;
};

__global__ void multiply(Layer l) {
  const uint64_t me = (uint64_t)dushmem_my_pe(), n = (uint64_t)dushmem_n_pes();
  const uint64_t slices = (l.rows + TILE - 1) / TILE, across = (l.columns + TILE - 1) / TILE;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;

  // Slice after slice, beginning with the next PE: so everybody gets something early.
  for (uint64_t i = blockIdx.x; i < slices * (n - 1); i += gridDim.x) {
    const uint64_t slice = i / (n - 1), row = slice * TILE;
    const uint64_t rows = l.rows - row < TILE ? l.rows - row : TILE;
    dushmemx_float_put_signal_nbi_block(l.gathered + (me * l.rows + row) * l.depth, l.x + row * l.depth,
                                        rows * l.depth, &l.arrived[me * slices + slice], l.number, DUSHMEM_SIGNAL_SET,
                                        (int)((me + 1 + i % (n - 1)) % n));
  }

  __shared__ float a[TILE][TILE], b[TILE][TILE];
  for (uint64_t i = blockIdx.x; i < n * slices * across; i += gridDim.x) {
    const uint64_t owner = (me + n - i / across / slices) % n, slice = i / across % slices;
    const float *x = owner == me ? l.x : l.gathered + owner * l.rows * l.depth;
    if (owner != me && first) dushmem_signal_wait_until(&l.arrived[owner * slices + slice], DUSHMEM_CMP_GE, l.number);
    __syncthreads();
    const uint64_t row = slice * TILE + threadIdx.y, column = i % across * TILE + threadIdx.x;
    float sum = 0;
    for (uint64_t at = 0; at < l.depth; at += TILE) {
      const uint64_t k = at + threadIdx.x, j = at + threadIdx.y;
      a[threadIdx.y][threadIdx.x] = row < l.rows && k < l.depth ? x[row * l.depth + k] : 0;
      b[threadIdx.y][threadIdx.x] = j < l.depth && column < l.columns ? l.w[j * l.columns + column] : 0;
      __syncthreads();
      for (uint64_t step = 0; step < TILE; step++) sum += a[threadIdx.y][step] * b[step][threadIdx.x];
      __syncthreads();
    }
    if (row < l.rows && column < l.columns) l.out[(owner * l.rows + row) * l.columns + column] = sum;
  }
  if (first) dushmem_quiet(); // the rows of x are the program's again
}

static std::vector<float> numbers(uint64_t of, uint64_t from, uint64_t count) {
  std::vector<float> all(count);
  for (uint64_t i = 0; i < count; i++) all[i] = small_number(of, from + i, 4);
  return all;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 16, "rows of each PE"},
      {"depth", &depth, 1, 1 << 16, "columns of x, rows of w"},
      {"columns", &columns, 1, 1 << 16, "columns of each PE"},
      {"layers", &layers, 1, 200, "products, one after the other"},
  };
  start(argc, argv, "allgather_matmul", "rows of all PEs times a matrix, while the rows arrive", settings);
  const uint64_t slices = (size + TILE - 1) / TILE, pes = (uint64_t)n, all = pes * size;
  float *x = symmetric<float>(layers * size * depth);
  float *gathered = symmetric<float>(2 * all * depth);
  uint64_t *arrived = symmetric<uint64_t>(pes * slices);
  float *w = nullptr, *out = nullptr;
  CHECK(hipMalloc((void **)&w, depth * columns * sizeof(float)));
  CHECK(hipMalloc((void **)&out, layers * all * columns * sizeof(float)));
  const std::vector<float> weights = numbers(100 + (uint64_t)me, 0, depth * columns);
  to_device(w, weights);
  for (uint64_t layer = 0; layer < layers; layer++)
    to_device(x + layer * size * depth, numbers(layer, (uint64_t)me * size * depth, size * depth));

  // As many blocks as run at the same time, and no more than there are tiles.
  Layer l = {x, w, gathered, out, arrived, 1, size, depth, columns};
  void *args[] = {&l};
  const dim3 block(TILE, TILE);
  int grid = 0;
  CHECK(dushmemx_collective_launch_query_gridsize((const void *)multiply, block, args, 0, &grid));
  const uint64_t tiles = pes * slices * ((columns + TILE - 1) / TILE);
  if ((uint64_t)grid > tiles) grid = (int)tiles;
  const double seconds = timed([&] {
    for (uint64_t layer = 0; layer < layers; layer++) {
      l.number = layer + 1;
      l.x = x + layer * size * depth;
      l.gathered = gathered + layer % 2 * all * depth;
      l.out = out + layer * all * columns;
      CHECK(dushmemx_collective_launch((const void *)multiply, dim3((unsigned)grid), block, args, 0, stream));
    }
  });

  for (uint64_t layer = 0; layer < layers; layer++) {
    const std::vector<float> rows = numbers(layer, 0, all * depth), found = to_host(out + layer * all * columns, all * columns);
    std::vector<float> sums(columns);
    for (uint64_t row = 0; row < all; row++) {
      sums.assign(columns, 0);
      for (uint64_t k = 0; k < depth; k++)
        for (uint64_t column = 0; column < columns; column++)
          sums[column] += rows[row * depth + k] * weights[k * columns + column];
      for (uint64_t column = 0; column < columns; column++)
        if (found[row * columns + column] != sums[column])
          wrong("layer %" PRIu64 " row %" PRIu64 " column %" PRIu64 " is %g, not %g", layer, row, column,
                (double)found[row * columns + column], (double)sums[column]);
    }
  }
  CHECK(hipFree(out));
  CHECK(hipFree(w));
  return finish(seconds, "%" PRIu64 " x %" PRIu64 " by %" PRIu64 " x %" PRIu64 ", %" PRIu64 " layers", all, depth, depth,
                pes * columns, layers);
}
