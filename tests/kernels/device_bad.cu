// Wrong arguments of calls in kernels: each ends the job with one line that names call, argument, value and place.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>

using namespace dushmem::device;

struct Objects {
  int *ints;         // symmetric, 64
  long long *words;  // symmetric, 8
  uint64_t *signal;  // symmetric
  int *local;        // not symmetric
};

enum {
  pe_of_put, pe_of_p, pe_of_nothing, address, behind, outside, misaligned, sig_op, cmp, stride, null_source, null_dest,
  length, wait_address, indices, signal_address, never, queue_pair, negative_queue_pair, negative_stride,
  negative_count, far_stride, no_stride, near_stride, negative_words, negative_reduce, early_barrier, foreign_word
};

__global__ void wrong(Objects o, int what) {
  if (what == pe_of_put) put<scope::block>(o.ints, o.local, 3, n_pes());
  if (what == never) signal_wait_until<scope::block>(o.signal, DUSHMEM_CMP_EQ, 7);
  if (threadIdx.x != 2 || blockIdx.x != 1) return;
  volatile size_t less_than_none = size_t(-5);
  switch (what) {
  case pe_of_p: p(o.ints, 1, -1); break;
  case pe_of_nothing: put(o.ints, o.local, 0, 1000); break;
  case address: dushmem_int_put(o.local, o.ints, 3, 0); break;
  case behind: get((char *)o.local, (const char *)o.ints, size_t(1) << 40, 0); break;
  case outside: p(o.ints + (1 << 28), 1, 0); break;
  case misaligned: atomic_add((long long *)(o.ints + 1), 1, 0); break;
  case sig_op: put_signal(o.ints, o.local, 3, o.signal, 1, 7, 0); break;
  case cmp: wait_until(o.words, 6, 0); break;
  case stride: iput(o.ints, o.local, 0, 1, 3, 0); break;
  case null_source: put(o.ints, (const int *)nullptr, 3, 0); break;
  case null_dest: get((int *)nullptr, o.ints, 3, 0); break;
  case length: put(o.ints, o.local, less_than_none, 0); break;
  case wait_address: test_all((long long *)o.local, 1, nullptr, DUSHMEM_CMP_EQ, 0ll); break;
  case indices: test_some(o.words, 3, nullptr, nullptr, DUSHMEM_CMP_EQ, 0ll); break;
  case negative_stride: iget(o.local, o.ints, 1, -1, 3, 0); break;
  case negative_count: iput(o.ints, o.local, 1, 1, less_than_none, 0); break;
  case far_stride: iput(o.ints, o.local, ptrdiff_t(1) << 61, 1, 3, 0); break;
  case no_stride: iput(o.ints, o.local, 1, 0, 0, 0); break;
  case near_stride: iput(o.ints, o.local, 1, ptrdiff_t(1) << 61, 3, 0); break;
  case negative_words: wait_until_all(o.words, less_than_none, nullptr, DUSHMEM_CMP_EQ, 0ll); break;
  case negative_reduce: reduce<scope::thread, op::sum>(DUSHMEM_TEAM_WORLD, o.ints, o.ints, less_than_none); break;
  case early_barrier: dushmem_barrier_all(); break;
  case foreign_word: dushmem_int_p(o.local, 1, 0); break;
  case queue_pair: dushmemx_qp_int_p(o.ints, 1, 0, 1000); break;
  case negative_queue_pair: dushmemx_qp_int_p(o.ints, 1, 0, -1); break;
  case signal_address: signal_op((uint64_t *)(o.ints + 1), 1, DUSHMEM_SIGNAL_SET, 0); break;
  }
}

int main(int, char **argv) {
  const int what = std::atoi(argv[1]);
  const bool ready = std::strcmp(argv[2], "early") != 0;
  if (ready) dushmem_init();
  Objects o = {};
  if (ready)
    o = {(int *)dushmem_malloc(256), (long long *)dushmem_malloc(64), (uint64_t *)dushmem_malloc(8), nullptr};
  if (cudaMallocManaged(&o.local, 256) != cudaSuccess) return 3;
  wrong<<<2, 4>>>(o, what);
  cudaDeviceSynchronize();
  if (ready) dushmem_finalize();
  std::puts("nothing was wrong");
  return 0;
}
