// Kernels that fail. Each case is a process of its own, started by this program.
#include "check.h"
#include <cassert>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>

#define run(kernel, grid, block, ...)                                                                         \
  (::dushmem::emu::launch(#kernel, ::dushmem::emu::config{grid, block}, [=](auto... a) { kernel(a...); }, __VA_ARGS__))

__global__ void asserting(int bad) {
  __syncthreads();
  assert(blockIdx.x != 2 || int(threadIdx.x) != bad);
  // The others of the block wait for one that does not come.
  __syncthreads();
}

__global__ void trapping(volatile int *flag) {
  if (blockIdx.x == 1 && threadIdx.x == 3) __trap();
  // Blocks that wait for what never comes end as well.
  while (*flag == 0) __nanosleep(10);
}

__global__ void touching(int *address) {
  if (threadIdx.x == 5 && blockIdx.y == gridDim.y - 1) *address = 1;
}

__global__ void throwing(int value) {
  if (threadIdx.x == 1) throw std::runtime_error("thrown " + std::to_string(value));
}

int deep(volatile int *n) {
  volatile char room[512] = {};
  return *n == 0 ? room[0] : deep(n) + room[1];
}

__global__ void recursing(int *n) {
  *n = deep(n);
}

__global__ void aborting(int) { abort(); }
__global__ void dividing(int *by) { *by = 10 / *by; }
__global__ void leaving_lanes(int) {
  if (threadIdx.x < 4) __shfl_sync(0xffu, 1, 0);
  __syncthreads();
}
__global__ void outside_the_mask(int) { __shfl_sync(0xfu, 1, 0); }
__global__ void bad_width(int) { __shfl_sync(0xffffffffu, 1, 0, 12); }
__global__ void no_grid(int) { dushmem_emu_sync_grid(); }
__global__ void fine(int *out) { *out = 7; }

int child(const std::string &how) {
  int *managed;
  ok(cudaMallocManaged(&managed, 64));
  *managed = 0;
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  if (how == "assert") {
    run(asserting, 4, 64, 7);
    fails(cudaErrorAssert, cudaDeviceSynchronize());
    // It stays so, for all calls.
    fails(cudaErrorAssert, cudaGetLastError());
    fails(cudaErrorAssert, cudaGetLastError());
    fails(cudaErrorAssert, cudaStreamSynchronize(stream));
    fails(cudaErrorAssert, cudaMemcpy(managed, managed + 1, 4, cudaMemcpyDefault));
    void *more;
    fails(cudaErrorAssert, cudaMalloc(&more, 64));
    run(fine, 1, 1, managed);
    fails(cudaErrorAssert, cudaPeekAtLastError());
    same(*managed, 0);
    // Other devices work, and this one does after a reset.
    fails(cudaErrorAssert, cudaGetLastError());
    ok(cudaSetDevice(1));
    ok(cudaGetLastError());
    run(fine, 1, 1, managed);
    ok(cudaDeviceSynchronize());
    same(*managed, 7);
    ok(cudaSetDevice(0));
    fails(cudaErrorAssert, cudaDeviceSynchronize());
    ok(cudaDeviceReset());
    ok(cudaGetLastError());
    *managed = 0;
    run(fine, 1, 1, managed);
    ok(cudaDeviceSynchronize());
    same(*managed, 7);
  } else if (how == "trap") {
    run(trapping, 3, 32, managed);
    fails(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    truth(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("kernel trapping, block (1, 0, 0)") != std::string::npos);
  } else if (how == "cooperative") {
    void *args[] = {&managed};
    ok(cudaLaunchCooperativeKernel(
        +[](int *) {
          if (blockIdx.x == 3) __trap();
          dushmem_emu_sync_grid();
        },
        dim3(4), dim3(32), args));
    fails(cudaErrorLaunchFailure, cudaDeviceSynchronize());
  } else if (how == "segv") {
    run(touching, dim3(1, 2), 8, reinterpret_cast<int *>(16));
  } else if (how == "throw") {
    run(throwing, 1, 4, 42);
  } else if (how == "overflow") {
    *managed = 1;
    run(recursing, 1, 1, managed);
  } else if (how == "abort") {
    run(aborting, 1, 1, 0);
  } else if (how == "divide") {
    run(dividing, 1, 1, managed);
  } else if (how == "own") {
    // A handler of the program's own is left alone.
    signal(SIGSEGV, [](int) { _Exit(9); });
    run(touching, 1, 8, reinterpret_cast<int *>(16));
  } else if (how == "later") {
    run(fine, 1, 1, managed);
    ok(cudaDeviceSynchronize());
    signal(SIGSEGV, [](int) { _Exit(9); });
    run(touching, 1, 8, reinterpret_cast<int *>(16));
  } else if (how == "host") {
    // A signal outside of kernels is nothing to report, though there have been kernels.
    run(fine, 1, 1, managed);
    ok(cudaDeviceSynchronize());
    *reinterpret_cast<volatile int *>(16) = 1;
  } else if (how == "lanes") {
    run(leaving_lanes, 1, 32, 0);
  } else if (how == "mask") {
    run(outside_the_mask, 1, 32, 0);
  } else if (how == "width") {
    run(bad_width, 1, 32, 0);
  } else if (how == "grid") {
    run(no_grid, 2, 32, 0);
  }
  cudaDeviceSynchronize();
  return done();
}

std::string self;

// The case ends with this status, or by this signal (negative), and says this.
void expect(const char *how, int status, const char *text) {
  std::FILE *pipe = popen(("exec " + self + " " + how + " 2>&1").c_str(), "r");
  std::string said;
  for (int c; (c = std::fgetc(pipe)) != EOF;) said += char(c);
  const int ended = pclose(pipe), got = WIFEXITED(ended) ? WEXITSTATUS(ended) : -WTERMSIG(ended);
  if (got == status && said.find(text) != std::string::npos && (*text != 0 || said.empty())) return;
  failures++;
  std::printf("%s: ended with %d, not %d, and said:\n%s\nnot: %s\n", how, got, status, said.c_str(), text);
}

int main(int argc, char **argv) {
  if (argc > 1 && *argv[1] != 0) return child(argv[1]);
  self = argv[0];
  expect("assert", 0, "kernel asserting, block (2, 0, 0), thread (7, 0, 0): ");
  expect("assert", 0, ": void asserting(int): Assertion `blockIdx.x != 2 || int(threadIdx.x) != bad` failed.\nall right\n");
  expect("trap", 0, "dushmem: kernel trapping, block (1, 0, 0), thread (3, 0, 0): __trap()\nall right\n");
  expect("cooperative", 0, "block (3, 0, 0), thread (0, 0, 0): __trap()\nall right\n");
  const bool sanitized = getenv("ASAN_OPTIONS") != nullptr;
  if (!sanitized) {
    expect("segv", -SIGSEGV, "dushmem: kernel touching, block (0, 1, 0), thread (5, 0, 0): SIGSEGV: no memory at 0x10\n");
    expect("throw", -SIGABRT, "what():  thrown 42\ndushmem: kernel throwing, block (0, 0, 0), thread (1, 0, 0): SIGABRT\n");
    expect("overflow", -SIGSEGV, "kernel recursing, block (0, 0, 0), thread (0, 0, 0): SIGSEGV: its stack of 256 KiB is full; DUSHMEM_EMU_STACK");
    expect("abort", -SIGABRT, "dushmem: kernel aborting, block (0, 0, 0), thread (0, 0, 0): SIGABRT\n");
    expect("divide", -SIGFPE, "dushmem: kernel dividing, block (0, 0, 0), thread (0, 0, 0): SIGFPE at 0x");
    expect("own", 9, "");
    expect("later", 9, "");
    expect("host", -SIGSEGV, "");
  }
  expect("lanes", -SIGABRT, "kernel leaving_lanes, block (0, 0, 0): nobody can go on: ");
  expect("lanes", -SIGABRT, "wait in __shfl_sync (mask 0xff) for lanes 4 to 7");
  expect("mask", -SIGABRT, "dushmem: kernel outside_the_mask, block (0, 0, 0), thread (4, 0, 0): __shfl_sync: mask = 0xf does not name the calling lane 4\n");
  expect("width", -SIGABRT, "thread (0, 0, 0): __shfl_sync: width must be a power of two and at most warpSize\n");
  expect("grid", -SIGABRT, ": grid sync: the kernel was not launched cooperatively\n");
  return done();
}
