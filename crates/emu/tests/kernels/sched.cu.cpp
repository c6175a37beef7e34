// What the scheduler does: orders, grids of all shapes, blocks that wait for each other, and hangs, which are told.
#include "check.h"
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#define LAUNCH(kernel, how, ...)                                                                              \
  (::dushmem::emu::launch(#kernel, ::dushmem::emu::config how, [=](auto... a) { kernel(a...); }, __VA_ARGS__))

static std::vector<std::string> *seen;
static std::mutex pen; // blocks of a launch can run at the same time

// Threads note when they begin, and when they go on after a barrier.
__global__ void note(int barriers) {
  auto say = [](const char *what) {
    const std::lock_guard<std::mutex> guard(pen);
    seen->push_back(what + std::to_string(blockIdx.x) + "/" + std::to_string(threadIdx.x));
  };
  say("b");
  for (int i = 0; i < barriers; i++) {
    __syncthreads();
    say("r");
  }
}

static void order() {
  std::vector<std::string> all;
  seen = &all;
  LAUNCH(note, (1, 40), 2);
  LAUNCH(note, (1, 40), 2);
  ok(cudaDeviceSynchronize());
  LAUNCH(note, (24, 2), 1);
  ok(cudaDeviceSynchronize());
  same(all.size(), 2 * 3 * 40 + 24 * 2 * 2);
  for (auto &one : all) std::printf("%s ", one.c_str());
  std::printf("\n");
}

// Every position is there once: their sums are right, and the sums of squares.
__global__ void add_up(unsigned long long *sums) {
  const unsigned long long x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                           z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned long long number = (z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x;
  atomicAdd(&sums[0], 1ull);
  atomicAdd(&sums[1], number);
  atomicAdd(&sums[2], number * number);
}

static void shape(dim3 grid, dim3 block) {
  static unsigned long long *sums = nullptr;
  if (sums == nullptr) ok(cudaMallocManaged(&sums, 3 * sizeof *sums));
  sums[0] = sums[1] = sums[2] = 0;
  LAUNCH(add_up, (grid, block), sums);
  ok(cudaGetLastError());
  ok(cudaDeviceSynchronize());
  const unsigned long long n = 1ull * grid.x * grid.y * grid.z * block.x * block.y * block.z;
  unsigned long long squares = 0;
  for (unsigned long long i = 0; i < n; i++) squares += i * i;
  same(sums[0], n);
  truth(sums[1] == n * (n - 1) / 2);
  truth(sums[2] == squares);
}

static void shapes() {
  for (dim3 grid : {dim3(100000, 1, 1), dim3(1, 65535, 1), dim3(1, 1, 65535), dim3(31, 33, 35), dim3(1)})
    shape(grid, dim3(1));
  for (dim3 block : {dim3(1024, 1, 1), dim3(1, 1024, 1), dim3(4, 4, 64), dim3(7, 11, 13)}) shape(dim3(3, 2, 2), block);
  // Most of each side is accepted, and no more. What is too large is refused before anything runs.
  const int invalid = cudaErrorInvalidConfiguration;
  const auto refused = [&](dim3 grid, dim3 block) {
    LAUNCH(add_up, (grid, block), static_cast<unsigned long long *>(nullptr));
    fails(invalid, cudaGetLastError());
  };
  refused(dim3(1u << 31), dim3(1));
  refused(dim3(1, 65536), dim3(1));
  refused(dim3(1, 1, 65536), dim3(1));
  refused(dim3(1), dim3(1025));
  refused(dim3(1), dim3(1, 1025));
  refused(dim3(1), dim3(1, 1, 65));
  refused(dim3(1), dim3(32, 33));
  refused(dim3(0), dim3(1));
  refused(dim3(1), dim3(1, 0));
}

__global__ void after_the_previous(volatile int *turn, int *wrong) {
  const int block = int(blockIdx.x);
  if (threadIdx.x == 0)
    while (*turn != block) __nanosleep(100);
  __syncthreads();
  if (*turn != block) atomicAdd(wrong, 1);
  __syncthreads();
  if (threadIdx.x == 0) *turn = block + 1;
}

__global__ void after_the_next(volatile int *turn, int *wrong) {
  const int block = int(gridDim.x - 1 - blockIdx.x);
  if (threadIdx.x == 0)
    while (*turn != block) __nanosleep(100);
  __syncthreads();
  if (*turn != block) atomicAdd(wrong, 1);
  __syncthreads();
  if (threadIdx.x == 0) *turn = block + 1;
}

static void chains() {
  int *words;
  ok(cudaMallocManaged(&words, 2 * sizeof *words));
  words[0] = words[1] = 0;
  LAUNCH(after_the_previous, (4000, 3), words, words + 1);
  ok(cudaDeviceSynchronize());
  same(words[0], 4000);
  // All of them wait for the last one: as many as can be there at a time.
  words[0] = 0;
  LAUNCH(after_the_next, (256, 2), words, words + 1);
  ok(cudaDeviceSynchronize());
  same(words[0], 256);
  same(words[1], 0);
}

__global__ void spin(volatile int *flag) {
  if (threadIdx.x == 5)
    while (*flag == 0) {
    }
  if (threadIdx.x == 6) *flag = 1;
}

__global__ void waiter(volatile int *flag) {
  if (threadIdx.x >= 2)
    while (*flag == 0) __nanosleep(100);
  __syncthreads();
}

__global__ void divergent() {
  if (threadIdx.x < 3)
    __syncthreads();
  else
    __syncwarp();
}

// Not a loop, whatever the compiler thinks of it.
__device__ __attribute__((noinline)) int deep(volatile char *outer, int levels) {
  volatile char mine[1024];
  mine[0] = outer[0];
  return levels == 0 ? mine[0] : deep(mine, levels - 1) + mine[0];
}

__global__ void recurse(int levels, int *out) {
  volatile char first[1] = {1};
  if (threadIdx.x == 3) *out = deep(first, levels);
}

int main(int, char **args) {
  const std::string what = args[1];
  int *word;
  ok(cudaMallocManaged(&word, sizeof *word));
  *word = 0;
  if (what == "order") order();
  if (what == "shapes") shapes();
  if (what == "chains") chains();
  if (what == "spin") {
    LAUNCH(spin, (1, 8), word);
    ok(cudaDeviceSynchronize());
  }
  if (what == "wait") {
    LAUNCH(waiter, (3, 8), word);
    std::getchar(); // until whoever runs this has read enough
    *word = 1;
    ok(cudaDeviceSynchronize());
  }
  if (what == "divergent") {
    (::dushmem::emu::launch("divergent", ::dushmem::emu::config(dim3(1, 2), 8), [] { divergent(); }));
    ok(cudaDeviceSynchronize());
  }
  if (what == "deep") {
    LAUNCH(recurse, (1, 4), 1000, word);
    ok(cudaDeviceSynchronize());
    same(*word, 1001);
  }
  ok(cudaFree(word));
  return done();
}
