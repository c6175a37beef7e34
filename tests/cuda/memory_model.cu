// The memory model by NVSHMEM's names, as hosts use it: allocation on all PEs at one address, put and get of arrays of floats,
// what a fence orders and a barrier completes, and memory that is free again. The programs of examples/c do the same and touch
// symmetric memory themselves; here it may lie on the device, so contents come and go by copies.
#include "patterns.h"
#include <nvshmem.h>

enum { FLOATS = 1024, ROUNDS = 20 };

static std::vector<float> numbers_of(int pe) {
  std::vector<float> all(FLOATS);
  for (size_t i = 0; i < FLOATS; i++) all[i] = (float)i + 0.5f * (float)pe;
  return all;
}
static void set(float *at, const std::vector<float> &values) { copy_now(at, values.data(), values.size() * sizeof(float)); }

// Memory of the device that the program has chosen behind init, where it is a device's.
static void on_the_chosen_device(const void *object) {
#ifdef DUSHMEM_EMU
  (void)object; // memory there belongs to no device
#else
  int chosen = -1;
  cudaPointerAttributes of;
  CUDA(cudaGetDevice(&chosen));
  CUDA(cudaPointerGetAttributes(&of, object));
  if (of.type == cudaMemoryTypeDevice) expect_host("the device of an object", of.device, chosen);
#endif
}

// The same address on every PE; as much as was asked for, usable to its end; another object than before.
static void allocation() {
  const int world = nvshmem_n_pes();
  float *a = (float *)nvshmem_malloc(FLOATS * sizeof(float)), *b = (float *)nvshmem_malloc(FLOATS * sizeof(float));
  expect_host("an allocation", a != nullptr && b != nullptr && (a + FLOATS <= b || b + FLOATS <= a), 1);
  on_the_chosen_device(a);
  uint64_t *table = (uint64_t *)nvshmem_calloc((size_t)world, sizeof(uint64_t));
  for (int pe = 0; pe < world; pe++) nvshmem_uint64_p(&table[me], (uint64_t)(uintptr_t)a, pe);
  nvshmem_barrier_all();
  for (int pe = 0; pe < world; pe++)
    expect_host("the address on a PE", (long long)look(&table[pe]), (long long)(uintptr_t)a, pe);
  set(a, numbers_of(me));
  set(b, numbers_of(me + 1));
  compare_values("the first of two objects", a, numbers_of(me));
  nvshmem_free(table);
  nvshmem_free(b);
  nvshmem_free(a);
  // What is free again is there for the next one.
  float *again = (float *)nvshmem_malloc(2 * FLOATS * sizeof(float));
  expect_host("an allocation of what is free again", again == a, 1);
  nvshmem_free(again);
}

// A put has taken its source when it returns, and is complete behind the barrier; a get is complete when it returns.
static void put_and_get() {
  float *source = (float *)nvshmem_malloc(FLOATS * sizeof(float)), *dest = (float *)nvshmem_calloc(FLOATS, sizeof(float));
  set(source, numbers_of(me));
  nvshmem_barrier_all();
  nvshmem_float_put(dest, source, FLOATS, right_of(me));
  set(source, std::vector<float>(FLOATS, -1.0f));
  nvshmem_barrier_all();
  compare_values("an array that was put", dest, numbers_of(left_of(me)));
  std::vector<float> here(FLOATS);
  nvshmem_float_get(here.data(), dest, FLOATS, right_of(me));
  compare_values("an array by a get", here.data(), numbers_of(me));
  nvshmem_float_get(source, dest, FLOATS, left_of(me));
  compare_values("an array by a get into symmetric memory", source, numbers_of(left_of(left_of(me))));
  nvshmem_barrier_all();
  nvshmem_free(dest);
  nvshmem_free(source);
}

// Who sees the flag sees the data that were put before the fence in front of it.
static void fence() {
  float *data = (float *)nvshmem_calloc(FLOATS, sizeof(float));
  int *flag = (int *)nvshmem_calloc(2, sizeof(int));
  for (int round = 1; round <= ROUNDS; round++) {
    std::vector<float> values = numbers_of(100 * round + me);
    nvshmem_float_put(data, values.data(), FLOATS, right_of(me));
    nvshmem_fence();
    nvshmem_int_p(flag, round, right_of(me));
    nvshmem_int_wait_until(flag, NVSHMEM_CMP_GE, round);
    compare_values("data behind a flag", data, numbers_of(100 * round + left_of(me)));
    // The writer goes on when they were looked at.
    nvshmem_int_p(flag + 1, round, left_of(me));
    nvshmem_int_wait_until(flag + 1, NVSHMEM_CMP_GE, round);
  }
  nvshmem_barrier_all();
  nvshmem_free(flag);
  nvshmem_free(data);
}

// Behind a barrier everybody sees what all have put, at a third PE, too.
static void barrier() {
  int *board = (int *)nvshmem_calloc((size_t)n * (size_t)n, sizeof(int));
  for (int pe = 0; pe < n; pe++)
    for (int row = 0; row < n; row++) nvshmem_int_p(&board[row * n + me], 1000 * me + row, pe);
  nvshmem_barrier_all();
  std::vector<int> wanted;
  for (int row = 0; row < n; row++)
    for (int pe = 0; pe < n; pe++) wanted.push_back(1000 * pe + row);
  compare_values("what all have put", board, wanted);
  std::vector<int> there(wanted.size());
  nvshmem_int_get(there.data(), board, there.size(), right_of(me));
  compare_values("what all have put at the next PE", there.data(), wanted);
  nvshmem_barrier_all();
  nvshmem_free(board);
}

int main() {
  begin();
  allocation();
  put_and_get();
  fence();
  barrier();
  return verdict();
}
