/* How long the parts of a program took, and how many requests kernels of this PE posted to the proxy in each. */
#ifndef PARTS_H
#define PARTS_H
#include <chrono>
#include <cstdio>
#include <dushmem.h>
#include "memory.h"

namespace parts {

/* Whether anything is printed. */
static bool shown;
static uint64_t posted_before;
static std::chrono::steady_clock::time_point begun;

static __global__ void count(uint64_t *to) {
  namespace impl = dushmem::device::impl;
  *to = impl::state().proxy == 0 ? 0 : *impl::proxy::ring().head;
}

static inline uint64_t posted() {
  static uint64_t *to = nullptr;
  if (to == nullptr && cudaMalloc((void **)&to, sizeof *to) != cudaSuccess) return 0;
  count<<<1, 1>>>(to);
  return cudaDeviceSynchronize() == cudaSuccess ? look(to) : 0;
}

static inline void begin() {
  if (!shown) return;
  posted_before = posted();
  begun = std::chrono::steady_clock::now();
}

/* A part is over, and the next one begins. */
static inline void over(const char *part) {
  if (!shown) return;
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
  const uint64_t requests = posted() - posted_before;
  std::printf("PE %d: %s: %llu requests in %.3f s, %.2f us each\n", dushmem_my_pe(), part, (unsigned long long)requests,
              us / 1e6, requests == 0 ? 0 : us / (double)requests);
  std::fflush(stdout);
  begin();
}

} // namespace parts
#endif
