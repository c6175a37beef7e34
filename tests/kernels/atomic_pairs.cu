// Atomics of two kinds of callers on the same words at the same time. Who calls: the word's host, a kernel of its PE, a
// kernel of another PE, a stream. Each pair of them does every operation, and nothing may be lost or seen twice.
#include "verdict.h"
#include <vector>

enum { TIMES = 150 };
enum Caller { HOST, KERNEL, REMOTE, STREAM, CALLERS };
static const char *const names[CALLERS] = {"host", "kernel", "remote kernel", "stream"};

// The words of one PE, which two callers change.
struct Words {
  uint64_t added, compared, bits, toggled, swapped, signalled;
  int counted;
  uint64_t fetched[2 * TIMES], counts[2 * TIMES]; // how often each value was fetched
  uint64_t swaps;                                 // sum of what was swapped out
};

// What each caller does; the same in kernels and on the host. Caller `which` of the two has bits and values of its own.
__host__ __device__ static void calls(Words *w, int pe, int which) {
  for (uint64_t i = 0; i < TIMES; i++) {
    const uint64_t got = dushmem_uint64_atomic_fetch_add(&w->added, 1, pe);
    if (got < 2 * TIMES) dushmem_uint64_atomic_inc(&w->fetched[got], pe);
    const int count = dushmem_int_atomic_fetch_inc(&w->counted, pe);
    if (count >= 0 && count < 2 * TIMES) dushmem_uint64_atomic_inc(&w->counts[count], pe);
    for (uint64_t old = dushmem_uint64_atomic_fetch(&w->compared, pe);;) {
      const uint64_t now = dushmem_uint64_atomic_compare_swap(&w->compared, old, old + 3, pe);
      if (now == old) break;
      old = now;
    }
    const uint64_t bit = (uint64_t)1 << (which * 32 + (int)(i % 32));
    if (i < 32) dushmem_uint64_atomic_or(&w->bits, bit, pe);
    if (i >= 64 && i < 80) dushmem_uint64_atomic_fetch_and(&w->bits, ~bit, pe);
    dushmem_uint64_atomic_xor(&w->toggled, bit, pe);
    dushmem_uint64_atomic_add(&w->swaps, dushmem_uint64_atomic_swap(&w->swapped, i + 1, pe), pe);
    dushmemx_signal_op(&w->signalled, 1, DUSHMEM_SIGNAL_ADD, pe);
    if (i == 31) dushmem_fence(); // bits are set before they are taken away
  }
  dushmem_quiet();
}

__global__ void call_in_kernel(Words *w, int pe, int which) { calls(w, pe, which); }

static void run(Words *w, int caller, int which, cudaStream_t on) {
  switch (caller) {
  case HOST: calls(w, me, which); break;
  case KERNEL: call_in_kernel<<<1, 1, 0, on>>>(w, me, which); break;
  case REMOTE: call_in_kernel<<<1, 1, 0, on>>>(w, (me + 1) % n, which); break;
  default: // of atomics, a stream has signals
    for (int i = 0; i < TIMES; i++) dushmemx_signal_op_on_stream(&w->signalled, 1, DUSHMEM_SIGNAL_ADD, me, on);
  }
}

static void pair(int a, int b, cudaStream_t other) {
  Words *w = zeroed<Words>(1);
  dushmem_barrier_all();
  // Those that return at once first; the host's calls run beside them.
  if (b != HOST) run(w, b, 1, other);
  run(w, a, 0, stream);
  CUDA(cudaGetLastError());
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaStreamSynchronize(other));
  dushmem_barrier_all();
  char what[100];
  std::snprintf(what, sizeof what, "%s and %s", names[a], names[b]);
  const Words got = look(w);
  const int full = (a != STREAM) + (b != STREAM);
  expect_host(what, (long long)got.added, TIMES * full, 1);
  expect_host(what, got.counted, TIMES * full, 2);
  for (int i = 0; i < TIMES * full; i++) {
    expect_host(what, (long long)got.fetched[i], 1, i + 1000);
    expect_host(what, (long long)got.counts[i], 1, i + 2000);
  }
  expect_host(what, (long long)got.compared, 3 * TIMES * full, 3);
  uint64_t bits = 0, toggled = 0;
  for (int which = 0; which < 2; which++) {
    if ((which ? b : a) == STREAM) continue;
    bits |= (uint64_t)0xffff0000 << which * 32;
    for (int i = 0; i < TIMES; i++) toggled ^= (uint64_t)1 << (which * 32 + i % 32);
  }
  expect_host(what, (long long)got.bits, (long long)bits, 4);
  expect_host(what, (long long)got.toggled, (long long)toggled, 5);
  // What went in is what came out, and what is still there.
  expect_host(what, (long long)(got.swaps + got.swapped), (long long)TIMES * (TIMES + 1) / 2 * full, 6);
  expect_host(what, (long long)got.signalled, 2 * TIMES, 7);
  dushmem_free(w);
}

int main() {
  begin();
  cudaStream_t other;
  CUDA(cudaStreamCreate(&other));
  for (int a = 0; a < CALLERS; a++)
    for (int b = a; b < CALLERS; b++)
      if (b != HOST) pair(a, b, other);
  CUDA(cudaStreamDestroy(other));
  return verdict();
}
