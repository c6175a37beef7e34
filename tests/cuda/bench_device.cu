// What calls in kernels cost: puts by scope, size and alignment, single words, and on two PEs or more signals, barriers and
// reductions. Measures one library: dushmem, or with -DNVSHMEM that one, which has no calls with scratch memory and no
// handles. PE 0 prints a line a row: row <what> <bytes> <value> <unit>, separated by tabs; what was put is compared first.
// How many loads a thread has under way where a block's copy needs no call: compile with -DDUSHMEM_IMPL_SHORT_DEPTH=2, 4, 8
// and compare "block of 256", "block of 1024", "32 blocks" and "132 blocks".
// Usage: under a launcher; with an argument it takes samples so short that they only show that all of it runs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <vector>
#ifdef NVSHMEM
#include <nvshmem.h>
#include <nvshmemx.h>
#define CALL(name) nvshmem_##name
#define CALLX(name) nvshmemx_##name
#define CONSTANT(name) NVSHMEM_##name
#else
#include <dushmem.h>
#include <dushmemx.h>
#define CALL(name) dushmem_##name
#define CALLX(name) dushmemx_##name
#define CONSTANT(name) DUSHMEM_##name
#endif

static int me, n, peer;
static bool brief;
static cudaStream_t stream;

#define CUDA(call)                                                                                           \
  do {                                                                                                       \
    const cudaError_t error = (call);                                                                        \
    if (error != cudaSuccess) {                                                                              \
      std::printf("PE %d, line %d: %s\n", me, __LINE__, cudaGetErrorString(error));                          \
      CALL(global_exit)(3);                                                                                  \
    }                                                                                                        \
  } while (0)

static void row(const std::string &what, size_t bytes, double value, const char *unit) {
  if (me == 0) std::printf("row\t%s\t%zu\t%.4g\t%s\n", what.c_str(), bytes, value, unit), std::fflush(stdout);
}

// Microseconds of one of the `times` operations of a launch: the median of seven launches after two.
static double timed(int times, const std::function<void(int)> &launch) {
  cudaEvent_t from, to;
  CUDA(cudaEventCreate(&from));
  CUDA(cudaEventCreate(&to));
  std::vector<double> all;
  for (int i = 0; i < (brief ? 2 : 9); i++) {
    CUDA(cudaEventRecord(from, stream));
    launch(times);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(to, stream));
    CUDA(cudaStreamSynchronize(stream));
    float ms = 0;
    CUDA(cudaEventElapsedTime(&ms, from, to));
    if (i >= (brief ? 1 : 2)) all.push_back(ms * 1e3 / times);
  }
  CUDA(cudaEventDestroy(from));
  CUDA(cudaEventDestroy(to));
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// ---- Puts ----

enum Scope { THREAD, WARP, BLOCK };
extern __shared__ char scratch[];

template <Scope SCOPE, bool SCRATCH>
__global__ void __launch_bounds__(1024) puts(char *to, const char *from, size_t bytes, int pe, int times, size_t room) {
  const size_t part = SCOPE == BLOCK ? bytes / gridDim.x : bytes;
  if (SCOPE == BLOCK) to += part * blockIdx.x, from += part * blockIdx.x;
  for (int i = 0; i < times; i++) {
#ifndef NVSHMEM
    if (SCRATCH) {
      if (SCOPE == THREAD) dushmemx_putmem_scratch(to, from, part, pe, scratch, room);
      if (SCOPE == WARP) dushmemx_putmem_scratch_warp(to, from, part, pe, scratch, room);
      if (SCOPE == BLOCK) dushmemx_putmem_scratch_block(to, from, part, pe, scratch, room);
      continue;
    }
#endif
    if (SCOPE == THREAD) CALL(putmem)(to, from, part, pe);
    if (SCOPE == WARP) CALLX(putmem_warp)(to, from, part, pe);
    if (SCOPE == BLOCK) CALLX(putmem_block)(to, from, part, pe);
  }
  CALL(quiet)();
  (void)room;
}

struct Shape {
  const char *name;
  Scope scope;
  unsigned blocks, threads;
  size_t most; // bytes, for which it is measured
};
static const Shape shapes[] = {
    {"thread", THREAD, 1, 1, 1 << 20},          {"warp", WARP, 1, 32, 16 << 20},
    {"block of 256", BLOCK, 1, 256, 256 << 20}, {"block of 1024", BLOCK, 1, 1024, 256 << 20},
    {"32 blocks", BLOCK, 32, 1024, 256 << 20},  {"132 blocks", BLOCK, 132, 1024, 256 << 20},
};
static const size_t SCRATCH_BYTES = 96 << 10;

template <bool SCRATCH> static void put_row(const Shape &shape, char *to, char *from, size_t bytes, size_t dst, size_t src) {
  const auto kernel = shape.scope == THREAD ? puts<THREAD, SCRATCH> : shape.scope == WARP ? puts<WARP, SCRATCH> : puts<BLOCK, SCRATCH>;
  const size_t room = SCRATCH ? SCRATCH_BYTES : 0, all = bytes / shape.blocks / 16 * 16 * shape.blocks;
  if (SCRATCH) CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room));
  char *there = (char *)CALL(ptr)(to, peer);
  if (there != nullptr) CUDA(cudaMemset(there, 0xee, all + 64));
  CUDA(cudaDeviceSynchronize()); // `stream` does not wait for the default one
  const int times = brief ? 1 : (int)std::max<size_t>(1, std::min<size_t>(200, (size_t)(shape.blocks * shape.threads) * 40000 / all));
  const double us = timed(times, [=](int k) { kernel<<<shape.blocks, shape.threads, room, stream>>>(to + dst, from + src, all, peer, k, room); });
  std::string name = std::string("put, ") + shape.name + (SCRATCH ? ", scratch" : "");
  if (dst + src != 0) name += ", to " + std::to_string(dst) + " from " + std::to_string(src);
  if (there != nullptr) {
    std::vector<char> got(all), wanted(all);
    CUDA(cudaMemcpy(got.data(), there + dst, all, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(wanted.data(), from + src, all, cudaMemcpyDeviceToHost));
    if (got != wanted) std::printf("wrong\t%s\t%zu\n", name.c_str(), all);
  }
  row(name, all, (double)all / us / 1e3, "GB/s");
}

static void put_rows(char *to, char *from, size_t most) {
  for (const Shape &shape : shapes) {
    for (size_t bytes : {size_t(64), size_t(1) << 10, size_t(8) << 10, size_t(64) << 10, size_t(1) << 20, size_t(16) << 20, size_t(256) << 20}) {
      if (bytes > shape.most || bytes > most || bytes / shape.blocks < 64) continue;
      put_row<false>(shape, to, from, bytes, 0, 0);
      if (bytes < (64 << 10) || bytes > (64 << 20)) continue;
      const size_t offsets[][2] = {{1, 1}, {4, 4}, {0, 1}, {0, 4}, {0, 8}};
      for (const auto &off : offsets) put_row<false>(shape, to, from, bytes, off[0], off[1]);
    }
#ifndef NVSHMEM
    for (size_t bytes : {size_t(8) << 10, size_t(64) << 10, size_t(1) << 20, size_t(64) << 20})
      if (bytes <= most && bytes <= 64 * shape.most) put_row<true>(shape, to, from, bytes, 0, 0);
#endif
  }
}

// ---- Words ----

__global__ void p_each(int *at, int pe, int times) {
  for (int i = 0; i < times; i++) CALL(int_p)(at + (i & 63), i, pe);
  CALL(quiet)();
}
__global__ void p_quiet(int *at, int pe, int times) {
  for (int i = 0; i < times; i++) {
    CALL(int_p)(at, i, pe);
    CALL(quiet)();
  }
}
__global__ void g_each(int *at, int pe, int times) {
  int sum = 0;
  for (int i = 0; i < times; i++) sum += CALL(int_g)(at + (sum & 1), pe);
  if (sum == 12345) at[1] = sum;
}
// Each from a place that no other decides: their loads may be under way together.
__global__ void g_apart(const int *at, int pe, int times) {
  int sum = 0;
  for (int i = 0; i < times; i++) sum += CALL(int_g)(at + (i & 63), pe);
  if (sum == 12345) *(volatile int *)at = sum;
}
__global__ void p_coalesced(int *at, const int *from, size_t count, int pe) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
    CALL(int_p)(at + i, from[i], pe);
}
#ifndef NVSHMEM
__global__ void p_by_handle(int *at, int pe, int times) {
  dushmem::device::remote<int> there(at, 64, pe);
  for (int i = 0; i < times; i++) there.p((size_t)(i & 63), i);
  dushmem_quiet();
}
#endif

static void word_rows(int *at, const int *from, size_t most) {
  const int times = brief ? 50 : 20000;
  const auto ns = [&](const char *name, auto kernel) {
    row(name, 4, 1e3 * timed(times, [=](int k) { kernel<<<1, 1, 0, stream>>>(at, peer, k); }), "ns");
  };
  ns("int_p, one thread", p_each);
#ifndef NVSHMEM
  ns("p by a handle, one thread", p_by_handle);
#endif
  ns("int_p and quiet", p_quiet);
  ns("int_g", g_each);
  ns("int_g, of words that don't depend on each other", g_apart);
  for (unsigned blocks : {1u, 132u}) {
    const size_t count = std::min<size_t>(most, blocks == 1 ? 4 << 20 : 256 << 20) / 4;
    const double us = timed(1, [=](int) { p_coalesced<<<blocks, 256, 0, stream>>>(at, from, count, peer); });
    row("int_p, " + std::to_string(blocks) + " blocks of 256", count * 4, (double)count * 4 / us / 1e3, "GB/s");
  }
}

// ---- Several PEs: kernels of all of them run at the same time ----

template <Scope SCOPE> __global__ void __launch_bounds__(1024) ping_pong(char *to, const char *from, size_t bytes, uint64_t *signal, uint64_t *base, int pe, int times) {
  const bool first = CALL(my_pe)() == 0;
  const uint64_t begin = *(volatile uint64_t *)base;
  __syncthreads();
  for (int i = 1; i <= times; i++)
    for (int turn = 0; turn < 2; turn++) {
      if ((turn == 0) == first) {
        if (SCOPE == THREAD && bytes == 0) CALLX(signal_op)(signal, begin + i, CONSTANT(SIGNAL_SET), pe);
        if (SCOPE == THREAD && bytes != 0) CALL(putmem_signal)(to, from, bytes, signal, begin + i, CONSTANT(SIGNAL_SET), pe);
        if (SCOPE == BLOCK) CALLX(putmem_signal_block)(to, from, bytes, signal, begin + i, CONSTANT(SIGNAL_SET), pe);
      } else {
        if (threadIdx.x == 0) CALL(signal_wait_until)(signal, CONSTANT(CMP_GE), begin + i);
        __syncthreads();
      }
    }
  if (threadIdx.x == 0) *base = begin + times;
}
template <Scope SCOPE> __global__ void barriers(int times) {
  for (int i = 0; i < times; i++) SCOPE == BLOCK ? CALLX(barrier_all_block)() : CALL(barrier_all)();
}
__global__ void __launch_bounds__(512) reduces(float *to, const float *from, size_t count, int times) {
  for (int i = 0; i < times; i++) CALLX(float_sum_reduce_block)(CONSTANT(TEAM_WORLD), to, from, count);
}

static void pair_rows(char *to, char *from, uint64_t *signal) {
  uint64_t *base;
  CUDA(cudaMalloc((void **)&base, sizeof *base));
  CUDA(cudaMemset(base, 0, sizeof *base));
  CUDA(cudaDeviceSynchronize());
  const auto us = [&](const std::string &name, size_t bytes, int times, const std::function<void(int)> &launch) {
    CALL(barrier_all)();
    row(name, bytes, timed(brief ? 3 : times, launch), "us");
    CALL(barrier_all)();
  };
  if (n == 2) {
    for (size_t bytes : {size_t(0), size_t(8), size_t(1024), size_t(16384)})
      us(bytes == 0 ? "signal_op ping-pong" : "put_signal ping-pong, thread", bytes, bytes > 8192 ? 300 : 2000,
         [=](int k) { ping_pong<THREAD><<<1, 1, 0, stream>>>(to, from, bytes, signal, base, peer, k); });
    for (size_t bytes : {size_t(1024), size_t(16384), size_t(1) << 20})
      us("put_signal ping-pong, block of 1024", bytes, 500,
         [=](int k) { ping_pong<BLOCK><<<1, 1024, 0, stream>>>(to, from, bytes, signal, base, peer, k); });
  }
  us("barrier_all, thread", 0, 2000, [](int k) { barriers<THREAD><<<1, 1, 0, stream>>>(k); });
  us("barrier_all, block of 32", 0, 2000, [](int k) { barriers<BLOCK><<<1, 32, 0, stream>>>(k); });
  for (size_t count : {size_t(1), size_t(1024), size_t(16384)})
    us("float sum_reduce, block of 512", count * 4, 500,
       [=](int k) { reduces<<<1, 512, 0, stream>>>((float *)to, (const float *)from, count, k); });
  CUDA(cudaFree(base));
}

int main(int argc, char **) {
  brief = argc > 1;
  CALL(init)();
  me = CALL(my_pe)();
  n = CALL(n_pes)();
  peer = (me + 1) % n;
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  CUDA(cudaSetDevice(me % devices));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const size_t most = brief ? 1 << 20 : 256 << 20;
  char *to = (char *)CALL(malloc)(most + 4096), *from = (char *)CALL(malloc)(most + 4096);
  uint64_t *signal = (uint64_t *)CALL(calloc)(8, sizeof *signal);
  std::vector<char> bytes(most + 4096);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = (char)(i * 7 + i / 251);
  CUDA(cudaMemcpy(from, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize()); // of pageable memory the last part may be under way still
  CALL(barrier_all)();
  if (me == 0) put_rows(to, from, most);
  if (me == 0) word_rows((int *)to, (const int *)from, most);
  CALL(barrier_all)();
  if (n > 1) pair_rows(to, from, signal);
  CALL(barrier_all)();
  CALL(free)(signal);
  CALL(free)(from);
  CALL(free)(to);
  if (me == 0) std::printf("all right\n");
  CALL(finalize)();
  return 0;
}
