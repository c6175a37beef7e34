// Kernels and the heap of the host, beside that of the device: data, words that wait and words that count. A word has one
// executor for its atomic operations, whoever asks: kernels, streams, hosts, here and on other PEs.
#include "patterns.h"
#include <dushmem/device.h>
#include <shmem.h>

namespace d = dushmem::device;
typedef d::scope::thread one;

static const int ROUNDS = 300;

/* Written by one thread of each PE's kernel; `at` lies in the one heap, `from` in the other. */
__global__ static void exchange(int *at, const int *from, int *got, size_t count, unsigned long long *wrong) {
  const int me = d::my_pe(), n = d::n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
  d::put<one>(at, from, count, right);
  d::p(at + count, 1000 + me, right);
  d::iput<one>(at + count + 1, from, 2, 1, 3, right);
  d::barrier_all<one>();
  for (size_t i = 0; i < count; i++) expect(wrong, "put", at[i], left * 100 + (long long)i, (long long)i);
  expect(wrong, "p", at[count], 1000 + left);
  for (int i = 0; i < 3; i++) expect(wrong, "iput", at[count + 1 + 2 * i], left * 100 + i, i);
  d::get<one>(got, at, count, right);
  for (size_t i = 0; i < count; i++) expect(wrong, "get", got[i], me * 100 + (long long)i, (long long)i);
  expect(wrong, "g", d::g(at + count, right), 1000 + me);
  holds(wrong, "ptr", d::ptr(at, me) == at);
  d::barrier_all<one>();
}

/* Atomic operations of every kind on PE 0's words, while hosts and streams use them. */
__global__ static void count_up(uint64_t *words, unsigned *narrow, int rounds, unsigned long long *wrong) {
  uint64_t before = 0;
  for (int i = 0; i < rounds; i++) {
    d::atomic_add(words, 1, 0);
    const uint64_t old = d::atomic_fetch_add(words + 1, 1, 0);
    holds(wrong, "a count goes up", i == 0 || old > before, i);
    before = old;
    d::atomic_inc(narrow, 0);
    d::signal_op(words + 2, 1, DUSHMEM_SIGNAL_ADD, 0);
    uint64_t seen = d::atomic_fetch(words + 3, 0), found;
    while ((found = d::atomic_compare_swap(words + 3, seen, seen + 1, 0)) != seen) seen = found;
  }
  const uint64_t bit = 1ull << (unsigned)d::my_pe();
  d::atomic_or(words + 4, bit, 0);
  d::atomic_xor(words + 5, bit, 0);
  d::atomic_and(words + 6, ~bit, 0);
  d::quiet<one>();
}

/* What one thread does after a fence, or a quiet, comes after what it did before, whoever does it. */
__global__ static void in_order(uint64_t *words, int *plain, int rounds, unsigned long long *wrong) {
  const int me = d::my_pe(), n = d::n_pes(), right = (me + 1) % n;
  for (int i = 1; i <= rounds; i++) {
    d::atomic_add(words, 1, right);
    d::fence<one>();
    d::signal_op(words + 1, (uint64_t)i, DUSHMEM_SIGNAL_SET, right);
    d::signal_wait_until<one>(words + 1, DUSHMEM_CMP_GE, (uint64_t)i);
    holds(wrong, "an atomic operation before a fence", d::signal_fetch(words) >= (uint64_t)i, i);
    d::p(plain, i, right);
    d::atomic_add(words + 2, 1, right);
    d::quiet<one>();
    expect(wrong, "p before quiet", d::g(plain, right), i, i);
    expect(wrong, "an atomic operation before quiet", (long long)d::g(words + 2, right), i, i);
    // Data, and a signal that counts.
    plain[2] = 3 * i;
    d::put_signal<one>(plain + 1, (const int *)plain + 2, 1, words + 3, 1, DUSHMEM_SIGNAL_ADD, right);
    d::signal_wait_until<one>(words + 3, DUSHMEM_CMP_GE, (uint64_t)i);
    expect(wrong, "data before its signal", d::g(plain + 1, me), 3 * i, i);
    d::atomic_add(words + 4, 1, right);
    d::barrier_all<one>();
    expect(wrong, "an atomic operation before a barrier", (long long)words[4], i, i);
    d::barrier_all<one>();
  }
}

/* A host and a kernel hand a number to and fro. */
__global__ static void answer(uint64_t *words, int rounds) {
  for (int i = 1; i <= rounds; i++) {
    d::wait_until<one>(words, DUSHMEM_CMP_EQ, (uint64_t)i);
    d::p(words + 1, (uint64_t)i, d::my_pe());
  }
}

static void data(int *host, int *device, size_t count) {
  for (int which = 0; which < 2; which++) {
    int *const at = which ? device : host, *const from = (which ? host : device) + 2 * count;
    for (size_t i = 0; i < count; i++) put_here(from + i, me * 100 + (int)i);
    dushmem_barrier_all();
    exchange<<<1, 1, 0, stream>>>(at, from, from + count, count, bad);
    finish_kernels();
  }
}

static void atomics(uint64_t *words, unsigned *narrow) {
  if (me == 0)
    for (int i = 0; i < 8; i++) put_here(words + i, i == 6 ? ~(uint64_t)0 : (uint64_t)0);
  if (me == 0) put_here(narrow, 0u);
  dushmem_barrier_all();
  cudaStream_t other;
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  count_up<<<1, 1, 0, stream>>>(words, narrow, ROUNDS, bad);
  for (int i = 0; i < ROUNDS; i++) {
    shmem_uint64_atomic_add(words, 1, 0);
    shmem_uint64_atomic_fetch_add(words + 1, 1, 0);
    shmem_uint_atomic_inc(narrow, 0);
    dushmemx_signal_op_on_stream(words + 2, 1, DUSHMEM_SIGNAL_ADD, 0, (void *)other);
    uint64_t seen = shmem_uint64_atomic_fetch(words + 3, 0), found;
    while ((found = shmem_uint64_atomic_compare_swap(words + 3, seen, seen + 1, 0)) != seen) seen = found;
  }
  CUDA(cudaStreamSynchronize(other));
  CUDA(cudaStreamDestroy(other));
  finish_kernels();
  if (me != 0) return;
  const long long all = 2ll * ROUNDS * n, bits = (1ll << n) - 1;
  for (int i = 0; i < 4; i++) expect_host("a count", (long long)look(words + i), all, i);
  expect_host("a count of 32 bits", look(narrow), all);
  expect_host("or", (long long)look(words + 4), bits);
  expect_host("xor", (long long)look(words + 5), bits);
  expect_host("and", (long long)look(words + 6), ~bits);
}

static void order(uint64_t *words, int *plain) {
  for (int i = 0; i < 5; i++) put_here(words + i, (uint64_t)0);
  for (int i = 0; i < 3; i++) put_here(plain + i, 0);
  dushmem_barrier_all();
  in_order<<<1, 1, 0, stream>>>(words, plain, 20, bad);
  finish_kernels();
}

static void pingpong(uint64_t *host) {
  host[0] = host[1] = 0;
  dushmem_barrier_all();
  answer<<<1, 1, 0, stream>>>(host, 20);
  for (uint64_t i = 1; i <= 20; i++) {
    shmem_uint64_p(host, i, me);
    shmem_uint64_wait_until(host + 1, SHMEM_CMP_EQ, i);
  }
  finish_kernels();
}

/* An object that begins in what kernels have reached so far and ends beyond. */
static void growth() {
  const size_t bytes = 8 << 20;
  void *const filler = shmem_malloc(60 << 20);
  unsigned char *host = (unsigned char *)shmem_malloc(bytes), *device = (unsigned char *)dushmem_malloc(bytes);
  if (filler == nullptr || host == nullptr || device == nullptr) dushmem_global_exit(5);
  const int before = left_of(left_of(me));
  fill(device, pattern(me, bytes, 3));
  dushmem_barrier_all();
  dushmem_putmem(host, device, bytes, right_of(me));
  dushmem_barrier_all();
  expect_host("a large object", std::memcmp(host, pattern(left_of(me), bytes, 3).data(), bytes), 0);
  dushmemx_getmem_on_stream(device, host, bytes, left_of(me), (void *)stream);
  CUDA(cudaStreamSynchronize(stream));
  compare("the same on a stream", device, pattern(before, bytes, 3));
  dushmem_barrier_all();
  dushmem_iput8(device, host, 2, 3, bytes / 4, right_of(me));
  dushmem_barrier_all();
  const size_t last = bytes / 4 - 1;
  expect_host("bytes apart", look(device + 2 * last), byte_of(before, 3 * last, 3));
  dushmem_barrier_all();
  // Kernels reach the end of it, too.
  data((int *)(host + bytes) - 640, (int *)device, 100);
  dushmem_free(device);
  shmem_free(host);
  shmem_free(filler);
}

int main() {
  // Some of the one heap before there is the other.
  dushmem_init();
  int *host = (int *)shmem_calloc(4000, sizeof(int));
  begin();
  int *device = zeroed<int>(4000);
  uint64_t *device_words = zeroed<uint64_t>(16), *host_words = (uint64_t *)shmem_calloc(16, sizeof(uint64_t));
  data(host, device, 500);
  atomics(host_words, (unsigned *)(host_words + 8));
  atomics(device_words, (unsigned *)(device_words + 8));
  order(host_words, device);
  order(device_words, host);
  order(host_words, host);
  pingpong(host_words);
  growth();
  const int failed = verdict();
  dushmem_finalize();
  return failed;
}
