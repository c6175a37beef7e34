// Kernels whose peers are out of reach, so that requests to the proxy carry everything. Argument: what to do.
//   all            order, completion, results of many threads, a full ring, contexts; prints "all right"
//   parts          the same, with a line for each part: how long it took, and how many requests were posted
//   again          init and finalize three times with kernels in between, and a fork
//   exit           the last PE ends the job by a request, with status 7, while the others wait
//   busy           the last PE is killed while it and all others post requests
//   speed          figures
//   bad-...        requests that end the job
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <sys/wait.h>
#include <unistd.h>
#include "memory.h"
#include "parts.h"

namespace d = dushmem::device;
namespace px = dushmem::device::impl::proxy;

static int failures;
#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(bool good, const char *what, int line) {
  if (good) return;
  failures++;
  std::printf("PE %d: line %d: %s\n", dushmem_my_pe(), line, what);
}

struct Heap {
  uint64_t *data;    // 4096
  uint64_t *signals; // 64
  int *ints;         // 64
  uint64_t *seen;    // one for each ticket of the counters
};

// Data of all threads, one fence, then the flag; the receiver acknowledges. Other data comes with put and signal.
__global__ void order(Heap h, int rounds, unsigned long long *wrong) {
  const int me = d::my_pe(), n = d::n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
  const int t = threadIdx.x, threads = blockDim.x;
  uint64_t mine[8];
  for (int round = 1; round <= rounds; round++) {
    d::p(h.data + t, uint64_t(round * 1000 + t), right);
    __syncthreads();
    if (t == 3) {
      d::fence();
      d::signal_op(h.signals, (uint64_t)round, DUSHMEM_SIGNAL_SET, right);
    }
    d::signal_wait_until(h.signals, DUSHMEM_CMP_GE, (uint64_t)round);
    if (h.data[t] != uint64_t(round * 1000 + t)) atomicAdd(wrong, 1ull);
    // Each thread its own put with signal: the data of eight words comes first.
    for (int i = 0; i < 8; i++) mine[i] = round * 77 + t * 8 + i;
    d::put_signal(h.data + 512 + 8 * t, mine, 8, h.signals + 2, (uint64_t)1, DUSHMEM_SIGNAL_ADD, right);
    d::signal_wait_until(h.signals + 2, DUSHMEM_CMP_GE, (uint64_t)round * threads);
    for (int i = 0; i < 8; i++)
      if (h.data[512 + 8 * t + i] != uint64_t(round * 77 + t * 8 + i)) atomicAdd(wrong, 1ull);
    __syncthreads();
    if (t == 0) {
      d::signal_op(h.signals + 1, (uint64_t)round, DUSHMEM_SIGNAL_SET, left);
      d::signal_wait_until(h.signals + 1, DUSHMEM_CMP_GE, (uint64_t)round);
    }
    __syncthreads();
  }
}

// Quiet of one thread covers what the whole block has put, in every form.
__global__ void quiet(Heap h, const uint64_t *source, uint64_t *back, unsigned long long *wrong) {
  const int right = (d::my_pe() + 1) % d::n_pes(), t = threadIdx.x;
  d::put_nbi(h.data + 16 * t, source + 16 * t, 8, right);
  d::put_nbi(h.data + 16 * t + 8, source + 16 * t + 8, 2, right);
  d::iput(h.data + 16 * t + 10, source + 16 * t + 10, 2, 1, 3, right);
  __syncthreads();
  if (t == 0) d::quiet();
  __syncthreads();
  d::get_nbi(back + 16 * t, h.data + 16 * t, 10, right);
  d::iget(back + 16 * t + 10, h.data + 16 * t + 10, 1, 2, 3, right);
  __syncthreads();
  if (t == 1) d::quiet();
  __syncthreads();
  for (int i = 0; i < 13; i++)
    if (back[16 * t + i] != source[16 * t + i]) atomicAdd(wrong, 1ull);
  if (d::g(h.data + 16 * t + 12, right) != source[16 * t + 11]) atomicAdd(wrong, 1ull);
}

// Each old value is given once: the ticket's counter on PE 0 says who got it how often.
__global__ void tickets(Heap h) {
  const uint64_t old = d::atomic_fetch_add(h.signals + 8, (uint64_t)1, 0);
  d::atomic_add(h.seen + old, (uint64_t)1, 0);
  // A word of four bytes, next to another.
  d::atomic_inc((unsigned *)(h.ints + 2 + threadIdx.x % 2), 0);
  // All contend for one word: not too many of them.
  while (threadIdx.x % 32 == 0) {
    const int before = d::atomic_fetch(h.ints + 4, 0);
    if (d::atomic_compare_swap(h.ints + 4, before, before + 1, 0) == before) break;
  }
}

// More requests than there are slots, of which nobody waits for any.
__global__ void flood(Heap h, int each) {
  const int right = (d::my_pe() + 1) % d::n_pes();
  for (int i = 0; i < each; i++) d::atomic_add(h.signals + 16 + threadIdx.x % 8, (uint64_t)1, right);
  d::quiet();
}

// Queue pairs: what was put on one is complete after its own quiet, whatever the other one does.
__global__ void contexts(Heap h, uint64_t *back, unsigned long long *wrong) {
  const int right = (d::my_pe() + 1) % d::n_pes(), t = threadIdx.x;
  const d::context mine = {2 + t % 3}, all = {INT32_MAX};
  for (int i = 0; i < 8; i++) d::p(mine, h.data + 8 * t + i, uint64_t(t * 8 + i), right);
  d::quiet(mine);
  d::get(back + 8 * t, h.data + 8 * t, 8, right);
  for (int i = 0; i < 8; i++)
    if (back[8 * t + i] != uint64_t(t * 8 + i)) atomicAdd(wrong, 1ull);
  d::p(mine, h.data + 8 * t, uint64_t(t), right);
  __syncthreads();
  if (t == 0) d::quiet(all);
  __syncthreads();
  if (d::g(h.data + 8 * t, right) != uint64_t(t)) atomicAdd(wrong, 1ull);
}

// Sizes and alignments of all kinds: inline, from a thread's own memory, by block.
__global__ void sizes(char *far, const char *source, char *back, unsigned long long *wrong) {
  const int right = (d::my_pe() + 1) % d::n_pes();
  for (int bytes = 0; bytes <= 40; bytes++) {
    const int shift = bytes % 5;
    char own[48];
    for (int i = 0; i < bytes; i++) own[shift + i] = char(bytes * 3 + i + threadIdx.x);
    char *there = far + 64 * threadIdx.x + bytes % 7;
    d::put(there, own + shift, bytes, right);
    d::quiet();
    char copy[48] = {};
    d::get(copy + shift, there, bytes, right);
    for (int i = 0; i < bytes; i++)
      if (copy[shift + i] != own[shift + i]) atomicAdd(wrong, 1ull);
  }
  __syncthreads();
  d::put<d::scope::block>(far, source, 30001, right);
  d::quiet<d::scope::block>();
  d::get<d::scope::block>(back, far, 30001, right);
  for (int i = threadIdx.x; i < 30001; i += blockDim.x)
    if (back[i] != source[i]) atomicAdd(wrong, 1ull);
}

__global__ void post(uint32_t op, uint32_t flags, uint32_t small, int ctx, int pe, uint64_t a, uint64_t b, uint64_t c,
                     uint64_t e) {
  if (blockIdx.x == 1 && threadIdx.x == 5) px::post(px::make(op, flags, small, ctx, pe, a, b, c, e, 1));
}

__global__ void for_ever(Heap h) {
  const int right = (d::my_pe() + 1) % d::n_pes();
  for (;;) {
    d::atomic_add(h.signals, (uint64_t)1, right);
    if (d::atomic_fetch(h.signals + 1, right) != 0) break;
  }
}

__global__ void fetches(Heap h, int count) {
  for (int i = 0; i < count; i++) d::atomic_fetch_add(h.signals + 8, (uint64_t)1, (d::my_pe() + 1) % d::n_pes());
}
__global__ void puts(Heap h, const uint64_t *source, int count, size_t words) {
  for (int i = 0; i < count; i++) d::put(h.data, source, words, (d::my_pe() + 1) % d::n_pes());
  d::quiet();
}

static void settle(cudaStream_t stream, const char *part = nullptr) {
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  dushmem_barrier_all();
  if (part != nullptr) parts::over(part);
}

static Heap allocate(int n) {
  Heap h;
  h.data = (uint64_t *)dushmem_calloc(4096, 8);
  h.signals = (uint64_t *)dushmem_calloc(64, 8);
  h.ints = (int *)dushmem_calloc(64, 4);
  h.seen = (uint64_t *)dushmem_calloc(size_t(n) * 4 * 256, 8);
  return h;
}

static void run_all(cudaStream_t stream) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  Heap h = allocate(n);
  uint64_t *source = (uint64_t *)dushmem_malloc(32768), *back = (uint64_t *)dushmem_calloc(4096, 8);
  unsigned long long *wrong = (unsigned long long *)dushmem_calloc(8, 8);
  std::vector<uint64_t> words(4096);
  for (int i = 0; i < 4096; i++) words[i] = (uint64_t)me << 32 | (uint64_t)(i * 7 + 1);
  copy_now(source, words.data(), 32768);
  dushmem_barrier_all();

  parts::begin();
  order<<<1, 48, 0, stream>>>(h, 8, wrong);
  settle(stream, "order");
  CHECK(look(wrong) == 0);

  quiet<<<1, 64, 0, stream>>>(h, source, back, wrong + 1);
  settle(stream, "quiet");
  CHECK(look(wrong + 1) == 0);

  tickets<<<4, 256, 0, stream>>>(h);
  settle(stream, "tickets");
  if (me == 0) {
    CHECK(look(h.signals + 8) == (uint64_t)n * 1024);
    int bad = 0;
    for (uint64_t times : look(h.seen, (size_t)n * 1024)) bad += times != 1;
    CHECK(bad == 0);
    const std::vector<int> ints = look(h.ints, 5);
    CHECK(ints[2] == n * 512 && ints[3] == n * 512 && ints[4] == n * 32);
  }

  // Only where a request costs little: the loopback keeps at most 512, and looks at each.
  const int each = n > 4 ? 10 : 100;
  flood<<<4, 256, 0, stream>>>(h, each);
  settle(stream, "flood");
  for (uint64_t count : look(h.signals + 16, 8)) CHECK(count == (uint64_t)each * 128);

  contexts<<<1, 30, 0, stream>>>(h, back, wrong + 2);
  settle(stream, "contexts");
  CHECK(look(wrong + 2) == 0);

  sizes<<<1, 40, 0, stream>>>((char *)h.data, (const char *)source, (char *)back, wrong + 3);
  settle(stream, "sizes");
  CHECK(look(wrong + 3) == 0);

  // The host's barrier covers what a kernel has put without a quiet.
  for (int round = 1; round <= 20; round++) {
    post<<<2, 8, 0, stream>>>(px::op_put_inline, 0, 8, 0, (me + 1) % n, (uint64_t)(h.data + 100), (uint64_t)round, 0, 0);
    settle(stream);
    CHECK(look(h.data + 100) == (uint64_t)round);
    dushmem_barrier_all();
  }
  parts::over("barriers of the host");
}

static void run_again() {
  for (int round = 0; round < 3; round++) {
    if (round > 0) dushmem_init();
    const int me = dushmem_my_pe(), n = dushmem_n_pes();
    Heap h = allocate(n);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream) == cudaSuccess);
    dushmem_barrier_all();
    for (int i = 0; i < 4; i++)
      post<<<2, 8, 0, stream>>>(px::op_amo, 0, px::amo_add | px::amo_wide, 0, (me + 1) % n, (uint64_t)h.signals, 5, 0, 0);
    if (round == 1) {
      // The child has the ring without the proxy: it may neither wait for that nor leave with it.
      const pid_t child = fork();
      if (child == 0) _exit(0);
      int status = -1;
      CHECK(waitpid(child, &status, 0) == child && status == 0);
      const pid_t other = fork();
      if (other == 0) exit(0);
      CHECK(waitpid(other, &status, 0) == other && status == 0);
    }
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    dushmem_barrier_all();
    CHECK(look(h.signals) == 20);
    cudaStreamDestroy(stream);
    const int last = me == 0 && round == 2;
    if (last) std::printf(failures == 0 ? "all right\n" : "failures\n");
    dushmem_finalize();
  }
}

static void run_speed(cudaStream_t stream) {
  Heap h = allocate(dushmem_n_pes());
  uint64_t *source = (uint64_t *)dushmem_malloc(32768);
  if (dushmem_my_pe() != 0) return dushmem_barrier_all();
  auto time = [&](const char *what, int count, auto launch) {
    launch();
    cudaStreamSynchronize(stream);
    const auto start = std::chrono::steady_clock::now();
    launch();
    cudaStreamSynchronize(stream);
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    std::printf("%s: %.2f us each, %.2f million a second\n", what, ns / count / 1e3, count / ns * 1e3);
  };
  time("atomic fetch, one thread, one after another", 20000, [&] { fetches<<<1, 1, 0, stream>>>(h, 20000); });
  time("put of 1 KiB, one thread, one after another", 20000, [&] { puts<<<1, 1, 0, stream>>>(h, source, 20000, 128); });
  time("put of 8 bytes, one thread", 200000, [&] { puts<<<1, 1, 0, stream>>>(h, source, 200000, 1); });
  time("put of 8 bytes, 256 threads", 256 * 1000, [&] { puts<<<1, 256, 0, stream>>>(h, source, 1000, 1); });
  time("atomic fetch, 256 threads", 256 * 200, [&] { fetches<<<1, 256, 0, stream>>>(h, 200); });
  dushmem_barrier_all();
}

static void run_bad(const char *what, cudaStream_t stream) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  Heap h = allocate(n);
  static uint64_t outside[8];
  const uint64_t heap = (uint64_t)h.data, word = (uint64_t)h.signals, off = (uint64_t)outside;
  if (me == n - 1) {
    auto bad = [&](const char *name, uint32_t op, uint32_t flags, uint32_t small, int ctx, int pe, uint64_t a,
                   uint64_t b, uint64_t c, uint64_t e) {
      if (!std::strcmp(what, name)) post<<<3, 8, 0, stream>>>(op, flags, small, ctx, pe, a, b, c, e);
    };
    bad("bad-pe", px::op_put, 0, 0, 0, n + 4, heap, heap, 64, 0);
    bad("bad-dest", px::op_put, 0, 0, 0, 0, off, heap, 64, 0);
    bad("bad-source", px::op_put, px::flag_nbi, 0, 0, 0, heap, 0, 64, 0);
    bad("bad-scalar", px::op_put_inline, px::flag_scalar, 8, 0, 0, off, 1, 0, 0);
    bad("bad-get", px::op_get, 0, 0, 0, 0, heap, off, 64, 0);
    bad("bad-word", px::op_amo, 0, px::amo_add | px::amo_wide, 0, 0, word + 4, 1, 0, 0);
    bad("bad-signal", px::op_signal, 0, 0, 0, 0, word, 1, 12345, 0);
    bad("bad-stride", px::op_iput, 0, 8, 0, 0, heap, heap, 0, 1);
    bad("bad-context", px::op_quiet, 0, 0, -3, -1, 0, 0, 0, 0);
    bad("bad-internal", px::op_put, px::flag_internal, 0, 0, 0, off, heap, 64, 0);
    bad("bad-request", 99, 0, 0, 0, 0, 0, 0, 0, 0);
    bad("exit", px::op_exit, 0, 0, 0, -1, 7, 0, 0, 0);
    cudaStreamSynchronize(stream);
  }
  dushmem_barrier_all();
}

int main(int argc, char **argv) {
  if (argc < 2) return 98;
  dushmem_init();
  if (!std::strcmp(argv[1], "again")) {
    run_again();
    return failures != 0;
  }
  const int me = dushmem_my_pe();
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  const bool in_parts = !std::strcmp(argv[1], "parts");
  if (in_parts || !std::strcmp(argv[1], "all")) {
    parts::shown = in_parts;
    run_all(stream);
  } else if (!std::strcmp(argv[1], "speed")) {
    run_speed(stream);
  } else if (!std::strcmp(argv[1], "busy")) {
    Heap h = allocate(dushmem_n_pes());
    for_ever<<<2, 16, 0, stream>>>(h);
    usleep(100000);
    if (me == dushmem_n_pes() - 1) kill(getpid(), SIGKILL);
    cudaStreamSynchronize(stream);
  } else {
    run_bad(argv[1], stream);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
  dushmem_barrier_all();
  if (me == 0 && std::strcmp(argv[1], "speed")) std::printf(failures == 0 ? "all right\n" : "failures\n");
  dushmem_finalize();
  return failures != 0;
}
