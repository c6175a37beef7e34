// What the tests of captures and graphs share.
#pragma once
#include "check.h"
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

__global__ void add(int *word, int what) { atomicAdd(word, what); }
__global__ void set(int *flag, int value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }
__global__ void wait_for(int *flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) __nanosleep(100);
}

static const ::dushmem::emu::registration registered_add{add}, registered_set{set}, registered_wait{wait_for};

#define LAUNCH(kernel, grid, block, stream, ...)                                                              \
  (::dushmem::emu::launcher(#kernel, ::dushmem::emu::config{grid, block, 0, stream},                          \
                            [=](auto f) -> decltype(f(kernel)) { return f(kernel); },                         \
                            [=](auto... a) { kernel(a...); })(__VA_ARGS__))

static bool says(int code, const char *part) {
  const std::string text = cudaGetErrorString(cudaError_t(code));
  if (text.find(part) != std::string::npos) return true;
  std::printf("the message is: %s\n", text.c_str());
  return false;
}

static cudaStream_t a, b, c;
static cudaEvent_t fork_event, join_event;
static int *words, *flag;

static void make_streams() {
  ok(cudaStreamCreate(&a));
  ok(cudaStreamCreate(&b));
  ok(cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking));
  ok(cudaEventCreate(&fork_event));
  ok(cudaEventCreateWithFlags(&join_event, cudaEventDisableTiming));
  ok(cudaMallocManaged(&words, 64 * sizeof(int)));
  ok(cudaMallocManaged(&flag, sizeof(int)));
}
