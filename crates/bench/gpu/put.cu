// put and get by a thread, a warp, a block and grids; aligned, and with source or destination off by 1 and 4 bytes.
#include "beside.h"

enum Scope { THREAD, WARP, BLOCK };

// Each thread, warp or block of the grid moves its part, `times` times.
template <Scope SCOPE, bool GET, bool FLOATS>
__global__ void __launch_bounds__(1024) move(char *to, const char *from, size_t bytes, int peer, long times) {
  const size_t threads = (size_t)gridDim.x * blockDim.x, thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  const size_t units = SCOPE == THREAD ? threads : SCOPE == WARP ? threads / 32 : gridDim.x;
  const size_t unit = SCOPE == THREAD ? thread : SCOPE == WARP ? thread / 32 : blockIdx.x;
  const size_t part = bytes / units;
  to += part * unit;
  from += part * unit;
  for (long i = 0; i < times; i++) {
    if (FLOATS) {
      float *d = (float *)to;
      const float *s = (const float *)from;
      const size_t count = part / sizeof(float);
      if (SCOPE == THREAD) GET ? nvshmem_float_get(d, s, count, peer) : nvshmem_float_put(d, s, count, peer);
      if (SCOPE == WARP) GET ? nvshmemx_float_get_warp(d, s, count, peer) : nvshmemx_float_put_warp(d, s, count, peer);
      if (SCOPE == BLOCK) GET ? nvshmemx_float_get_block(d, s, count, peer) : nvshmemx_float_put_block(d, s, count, peer);
    } else {
      if (SCOPE == THREAD) nvshmem_putmem(to, from, part, peer);
      if (SCOPE == WARP) nvshmemx_putmem_warp(to, from, part, peer);
      if (SCOPE == BLOCK) nvshmemx_putmem_block(to, from, part, peer);
    }
    if (SCOPE == WARP) __syncwarp();
    if (SCOPE == BLOCK) __syncthreads();
  }
  nvshmem_quiet();
}

static void compare_bytes(const std::string &name, const char *at, size_t bytes) {
  std::vector<unsigned char> all(bytes);
  CUDA(cudaMemcpy(all.data(), at, bytes, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < bytes; i++) {
    const unsigned char wanted = (unsigned char)(i * 7 + i / 251);
    if (all[i] != wanted) return wrong(name, "a byte", all[i], wanted, (long long)i);
  }
}
static void fill_bytes(char *at, size_t bytes) {
  std::vector<unsigned char> all(bytes);
  for (size_t i = 0; i < bytes; i++) all[i] = (unsigned char)(i * 7 + i / 251);
  CUDA(cudaMemcpy(at, all.data(), bytes, cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize());
}

struct Shape {
  const char *name;
  Scope scope;
  unsigned blocks, threads;
};
static const Shape shapes[] = {
    {"thread", THREAD, 1, 1},
    {"warp", WARP, 1, 32},
    {"block of 256", BLOCK, 1, 256},
    {"block of 1024", BLOCK, 1, 1024},
    {"32 blocks of 1024", BLOCK, 32, 1024},
    {"132 blocks of 1024", BLOCK, 132, 1024},
};

template <bool GET, bool FLOATS> static void run(const Shape &shape, char *to, const char *from, size_t bytes, long times) {
  const auto launch = [&](auto kernel) { kernel<<<shape.blocks, shape.threads, 0, stream>>>(to, from, bytes, 1, times); };
  if (shape.scope == THREAD) launch(move<THREAD, GET, FLOATS>);
  if (shape.scope == WARP) launch(move<WARP, GET, FLOATS>);
  if (shape.scope == BLOCK) launch(move<BLOCK, GET, FLOATS>);
  CUDA(cudaGetLastError());
}

template <bool GET, bool FLOATS>
static void one(const Shape &shape, char *dest, char *source, size_t bytes, size_t to, size_t from) {
  std::string name = std::string("device ") + (GET ? "get" : "put") + ", " + shape.name + ", " + size_name(bytes);
  if (!FLOATS) name += ", to " + std::to_string(to) + " from " + std::to_string(from);
  // What is moved is a multiple of what each part is.
  const size_t units = shape.scope == BLOCK ? shape.blocks : 1, all = bytes / units / 16 * 16 * units;
  // The side that is read.
  if (me == (GET ? 1 : 0)) fill_bytes(source + from, all);
  clear(dest, all + 64);
  measure_launch(name, 2000, [=](long times) { run<GET, FLOATS>(shape, dest + to, source + from, all, times); });
  if (me == (GET ? 0 : 1)) compare_bytes(name, dest + to, all);
  settle();
}

void put_rows(char *dest, char *source) {
  static const size_t KIB = 1024, MIB = 1024 * KIB;
  const std::vector<size_t> sizes[] = {
      {KIB, 8 * KIB, 64 * KIB, MIB},
      {KIB, 8 * KIB, 64 * KIB, MIB, 16 * MIB},
      {KIB, 8 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB},
      {KIB, 8 * KIB, 64 * KIB, MIB, 16 * MIB, 256 * MIB},
      {64 * KIB, MIB, 16 * MIB, 256 * MIB},
      {64 * KIB, MIB, 16 * MIB, 256 * MIB},
  };
  const size_t off[] = {64 * KIB, MIB, MIB, 64 * MIB, 64 * MIB, 64 * MIB};
  for (size_t at = 0; at < sizeof shapes / sizeof *shapes; at++) {
    for (size_t bytes : sizes[at]) one<false, true>(shapes[at], dest, source, bytes, 0, 0);
    for (size_t bytes : {sizes[at][sizes[at].size() - 2], sizes[at].back()})
      one<true, true>(shapes[at], dest, source, bytes, 0, 0);
    one<false, false>(shapes[at], dest, source, off[at], 4, 4);
    one<false, false>(shapes[at], dest, source, off[at], 1, 1);
    one<false, false>(shapes[at], dest, source, off[at], 0, 4);
    one<false, false>(shapes[at], dest, source, off[at], 0, 1);
  }
}
