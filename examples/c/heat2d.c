/* Heat in a square plate whose top edge is hot: a stencil on a two-dimensional grid of PEs.
 *
 *   dushcc -O2 heat2d.c -o heat2d && dushrun -n 8 ./heat2d
 *
 * In each step a cell becomes the mean of its four neighbours. A PE has a block of the plate with a rim of
 * one cell for its neighbours' edges. A row is consecutive: a put brings it together with its signal. A
 * column is not: a strided put (iput), a fence, and a signal. Nobody waits for anybody but its neighbours;
 * every 20 steps all agree by a reduction whether the plate has settled.
 *
 * PEs that the grid has no place for take no part: the others are a team, whose reduction does not need them.
 *
 * The check: PE 0 computes the same steps alone, and compares every cell, to the last bit.
 */
#include "program.h"

enum { EVERY = 20 };
enum { NORTH, SOUTH, WEST, EAST };

static uint64_t size = 300, steps = 10000, digits = 4;
static size_t width; /* cells in a row of a block, its rim included; the same on all PEs */

/* The part of the plate that a PE computes. */
typedef struct {
  uint64_t top, left;
  size_t rows, columns;
} Block;

static int down, across; /* PEs of the grid */

static Block block_of(int pe) {
  int y = pe / across, x = pe % across;
  uint64_t top = first_of(y, down, size), left = first_of(x, across, size);
  return (Block){top, left, (size_t)(first_of(y + 1, down, size) - top),
                 (size_t)(first_of(x + 1, across, size) - left)};
}

/* One step. Row 0 and column 0 are the rim. */
static void step(const double *old, double *new, Block block, size_t row) {
  for (size_t y = 1; y <= block.rows; y++)
    for (size_t x = 1; x <= block.columns; x++) {
      size_t at = y * row + x;
      new[at] = 0.25 * ((old[at - row] + old[at + row]) + (old[at - 1] + old[at + 1]));
    }
}

static double largest_change(const double *old, const double *new, Block block, size_t row) {
  double largest = 0;
  for (size_t y = 1; y <= block.rows; y++)
    for (size_t x = 1; x <= block.columns; x++) {
      double change = new[y * row + x] - old[y * row + x];
      change = change < 0 ? -change : change;
      largest = change > largest ? change : largest;
    }
  return largest;
}

/* The hot edge lies in the rim above the plate. */
static void heat_top(double *plate, Block block) {
  for (size_t x = 1; x <= block.columns && block.top == 0; x++) plate[x] = 1;
}

/* Sends the edges of this PE's block to the neighbours' rims, and waits for theirs. A neighbour is at most
 * one step ahead, and then writes to the rim of the other plate. */
static void exchange(double *plate, Block mine, uint64_t *arrived, uint64_t number) {
  int x = me % across, y = me / across;
  int north = y > 0 ? me - across : -1, south = y + 1 < down ? me + across : -1;
  int west = x > 0 ? me - 1 : -1, east = x + 1 < across ? me + 1 : -1;
  ptrdiff_t row = (ptrdiff_t)width;
  double *first = plate + width + 1, *last_row = plate + mine.rows * width + 1;
  if (west >= 0)
    shmem_double_iput(plate + width + block_of(west).columns + 1, first, row, row, mine.rows, west);
  if (east >= 0) shmem_double_iput(plate + width, plate + width + mine.columns, row, row, mine.rows, east);
  if (north >= 0)
    shmem_double_put_signal(plate + (block_of(north).rows + 1) * width + 1, first, mine.columns,
                            &arrived[SOUTH], number, SHMEM_SIGNAL_SET, north);
  if (south >= 0)
    shmem_double_put_signal(plate + 1, last_row, mine.columns, &arrived[NORTH], number, SHMEM_SIGNAL_SET,
                            south);
  shmem_fence(); /* columns before their signals, and this step's signals before those of the next */
  if (west >= 0) shmem_signal_set(&arrived[EAST], number, west);
  if (east >= 0) shmem_signal_set(&arrived[WEST], number, east);

  const int there[4] = {[NORTH] = north, [SOUTH] = south, [WEST] = west, [EAST] = east};
  for (int side = 0; side < 4; side++)
    if (there[side] >= 0) shmem_signal_wait_until(&arrived[side], SHMEM_CMP_GE, number);
}

/* Computes `taken` steps alone and compares with all blocks. Returns the checksum of the plate. */
static uint64_t check(const double *plate, uint64_t taken) {
  Block whole = {0, 0, (size_t)size, (size_t)size};
  size_t row = (size_t)size + 2;
  double *old = private_memory(row * row, sizeof *old), *new = private_memory(row * row, sizeof *new);
  double *theirs = private_memory(size, sizeof *theirs);
  heat_top(old, whole);
  heat_top(new, whole);
  for (uint64_t i = 0; i < taken; i++) {
    step(old, new, whole, row);
    double *swap = old;
    old = new;
    new = swap;
    progress("steps of the check", i, taken);
  }
  uint64_t sum = 0;
  for (int pe = 0; pe < down * across; pe++) {
    Block block = block_of(pe);
    for (size_t y = 0; y < block.rows; y++) {
      shmem_double_get(theirs, plate + (y + 1) * width + 1, block.columns, pe);
      for (size_t x = 0; x < block.columns; x++) {
        uint64_t line = block.top + y, column = block.left + x, bits;
        double expected = old[(line + 1) * row + column + 1];
        memcpy(&bits, &theirs[x], sizeof bits);
        sum ^= mark(line * size + column, bits);
        if (theirs[x] != expected)
          wrong("row %" PRIu64 " column %" PRIu64 " is %.17g on PE %d, but %.17g alone", line, column,
                theirs[x], pe, expected);
      }
    }
  }
  free(theirs);
  free(new);
  free(old);
  return sum;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 20, "rows and columns of the plate"},
      {"steps", &steps, 1, 1 << 30, "steps at most"},
      {"digits", &digits, 1, 17, "ends when no cell changes by more than 10 to the minus this"},
  };
  start(argc, argv, "heat2d", "a heat stencil on a grid of PEs", settings,
        sizeof settings / sizeof *settings);
  /* As square as can be; one of 17 PEs is left over then, which is better than 17 thin strips. */
  for (down = 1; (down + 1) * (down + 1) <= n && (uint64_t)down < size; down++) {}
  across = n / down;
  if ((uint64_t)across > size) across = (int)size;
  width = (size_t)((size + (uint64_t)across - 1) / (uint64_t)across) + 2;
  size_t height = (size_t)((size + (uint64_t)down - 1) / (uint64_t)down) + 2;
  double *old = symmetric((uint64_t)height * width, sizeof *old),
         *new = symmetric((uint64_t)height * width, sizeof *new);
  uint64_t *arrived = symmetric(4, sizeof *arrived), *taken = symmetric(1, sizeof *taken);
  double *change = symmetric(2, sizeof *change), *largest = symmetric(2, sizeof *largest);
  double limit = 1;
  for (uint64_t i = 0; i < digits; i++) limit /= 10;

  shmem_team_t workers;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, down * across, NULL, 0, &workers);
  shmem_barrier_all();
  double began = now();
  if (workers != SHMEM_TEAM_INVALID) {
    Block mine = block_of(me);
    heat_top(old, mine);
    heat_top(new, mine);
    int settled = 0;
    for (uint64_t i = 1; i <= steps && !settled; i++) {
      exchange(old, mine, arrived, i);
      step(old, new, mine, width);
      if (i % EVERY == 0) {
        /* Two places in turn: whoever is slow may still be looking at the last result. */
        size_t turn = i / EVERY % 2;
        change[turn] = largest_change(old, new, mine, width);
        shmem_double_max_reduce(workers, &largest[turn], &change[turn], 1);
        settled = largest[turn] < limit;
      }
      double *swap = old;
      old = new;
      new = swap;
      *taken = i;
      progress("steps", i, steps);
    }
    shmem_team_destroy(workers);
  }
  shmem_barrier_all();
  double seconds = now() - began;

  uint64_t sum = me == 0 ? check(old, *taken) : 0;
  /* finish is collective, so nobody's plate goes before PE 0 has read it. */
  return finish(size * size * *taken, "cells", seconds,
                "%" PRIu64 " x %" PRIu64 " cells, %" PRIu64 " steps, checksum %016" PRIx64, size, size,
                *taken, sum);
}
