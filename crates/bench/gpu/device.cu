// Rows whose time a kernel measures itself: words, atomics, signals, barriers and reductions.
#include "beside.h"

// The near and the far half of a GPU's cache differ by half the time of an atomic, and which one a word lies in is chance: words
// are taken in turn from many places.
template <class T> static __device__ T *place(T *words, long i) { return words + (i % PLACES) * (PLACE_BYTES / sizeof(T)); }

__global__ void p_quiet(int *to, int peer, long times, double *out) {
  const uint64_t from = device_clock();
  for (long i = 0; i < times; i++) {
    nvshmem_int_p(place(to, i), (int)i, peer);
    nvshmem_quiet();
  }
  *out = (double)(device_clock() - from) / (double)times;
}
__global__ void p_rate(int *to, int peer, long times, double *out) {
  const uint64_t from = device_clock();
  for (long i = 0; i < times; i++) nvshmem_int_p(to + (i & 63), (int)i, peer);
  nvshmem_quiet();
  *out = (double)(device_clock() - from) / (double)times;
}
__global__ void g_latency(const int *at, int peer, long times, double *out) {
  const uint64_t from = device_clock();
  int sum = 0;
  for (long i = 0; i < times; i++) sum += nvshmem_int_g(place(at, i) + (sum & 1), peer);
  *out = (double)(device_clock() - from) / (double)times;
  out[1] = sum;
}
__global__ void p_all(int *to, const int *from, size_t count, int peer) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
    nvshmem_int_p(to + i, from[i], peer);
}

enum { FETCH_ADD, ADD, COMPARE_SWAP };
template <int WHICH> __global__ void atomic(unsigned long long *at, int peer, long times, double *out) {
  unsigned long long seen = 0;
  const uint64_t from = device_clock();
  for (long i = 0; i < times; i++) {
    if (WHICH == FETCH_ADD) seen += nvshmem_ulonglong_atomic_fetch_add(place(at, i), 1 + (seen & 1), peer);
    if (WHICH == ADD) nvshmem_ulonglong_atomic_add(place(at, i), 1, peer);
    if (WHICH == COMPARE_SWAP) seen += nvshmem_ulonglong_atomic_compare_swap(place(at, i), seen, seen + 1, peer);
  }
  if (WHICH == ADD) nvshmem_quiet();
  *out = (double)(device_clock() - from) / (double)times;
  out[1] = (double)seen;
}
__global__ void add_all(unsigned long long *at, int peer, long times, size_t stride) {
  const size_t thread = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (long i = 0; i < times; i++) nvshmem_ulonglong_atomic_add(at + thread * stride, 1, peer);
}

__global__ void signal_ping_pong(uint64_t *signals, int me, uint64_t first, long times, double *out) {
  const uint64_t from = device_clock();
  for (long i = 0; i < times; i++) {
    uint64_t *const signal = place(signals, i);
    if (me == 0) nvshmemx_signal_op(signal, first + i, NVSHMEM_SIGNAL_SET, 1);
    nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, first + i);
    if (me == 1) nvshmemx_signal_op(signal, first + i, NVSHMEM_SIGNAL_SET, 0);
  }
  *out = (double)(device_clock() - from) / (double)times;
}

template <bool BLOCK>
__global__ void __launch_bounds__(1024)
    data_ping_pong(float *to, const float *from, size_t count, uint64_t *signals, int me, uint64_t first, long times, double *out) {
  const uint64_t begun = device_clock();
  const auto send = [&](uint64_t *signal, uint64_t value) {
    if (BLOCK) nvshmemx_float_put_signal_block(to, from, count, signal, value, NVSHMEM_SIGNAL_SET, 1 - me);
    else nvshmem_float_put_signal(to, from, count, signal, value, NVSHMEM_SIGNAL_SET, 1 - me);
  };
  for (long i = 0; i < times; i++) {
    uint64_t *const signal = place(signals, i);
    if (me == 0) send(signal, first + i);
    if (threadIdx.x == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, first + i);
    __syncthreads();
    if (me == 1) send(signal, first + i);
  }
  if (threadIdx.x == 0) *out = (double)(device_clock() - begun) / (double)times;
}

enum { BARRIER_THREAD, BARRIER_BLOCK, SYNC_BLOCK };
template <int WHICH> __global__ void barriers(long times, double *out) {
  const uint64_t from = device_clock();
  for (long i = 0; i < times; i++) {
    if (WHICH == BARRIER_THREAD) nvshmem_barrier_all();
    if (WHICH == BARRIER_BLOCK) nvshmemx_barrier_all_block();
    if (WHICH == SYNC_BLOCK) nvshmemx_sync_all_block();
  }
  if (threadIdx.x == 0) *out = (double)(device_clock() - from) / (double)times;
}
__global__ void __launch_bounds__(512) reduces(float *to, const float *from, size_t count, long times, double *out) {
  const uint64_t begun = device_clock();
  for (long i = 0; i < times; i++) nvshmemx_float_sum_reduce_block(NVSHMEM_TEAM_WORLD, to, from, count);
  if (threadIdx.x == 0) *out = (double)(device_clock() - begun) / (double)times;
}

// By one thread of PE 0, to PE 1.
template <class... Kinds, class... Arguments>
static void alone(const std::string &name, void (*kernel)(Kinds...), Arguments... first) {
  measure_kernel(name, 20000, [=](long times) {
    if (me != 0) return;
    kernel<<<1, 1, 0, stream>>>(first..., times, result);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
  });
}

static void words(float *dest, float *source, uint64_t *signals) {
  int *to = (int *)dest, peer = 1;
  unsigned long long *word = (unsigned long long *)(signals + PLACE_BYTES / sizeof(uint64_t) / 2);
  alone("device int_p + quiet", p_quiet, to, peer);
  alone("device int_p, one thread after another word", p_rate, to, peer);
  alone("device int_g", g_latency, (const int *)to, peer);
  const size_t count = (64 << 20) / sizeof(int);
  fill(source, count);
  clear(dest, count * sizeof(int));
  for (unsigned blocks : {1u, 32u, 132u, 528u}) {
    const std::string name = "device int_p, coalesced, " + std::to_string(blocks) + " blocks, 64 MiB";
    measure_launch(name, 50, [=](long times) {
      for (long i = 0; i < times; i++) p_all<<<blocks, 256, 0, stream>>>(to, (const int *)source, count, peer);
    });
    if (me == 1) compare(name, dest, count, [](size_t i) { return value(0, i); });
    settle();
  }
  alone("device atomic_fetch_add", atomic<FETCH_ADD>, word, peer);
  alone("device atomic_add", atomic<ADD>, word, peer);
  alone("device atomic_compare_swap", atomic<COMPARE_SWAP>, word, peer);
  clear(dest, 64 << 20);
  CUDA(cudaMemset(dest, 0, 64 << 20));
  CUDA(cudaDeviceSynchronize());
  for (size_t stride : {(size_t)4, (size_t)0}) {
    const long each = stride ? 64 : 8;
    measure_launch(stride ? "device atomic_add by 132 x 256 threads, 64 words each" : "device atomic_add by 132 x 256 threads, 8 times the same word",
                   100, [=](long times) {
                     for (long i = 0; i < times; i++)
                       add_all<<<132, 256, 0, stream>>>((unsigned long long *)dest, peer, each, stride);
                   });
  }
}

static void ping_pongs(float *dest, float *source, uint64_t *signals) {
  static uint64_t next = 100;
  const auto pair = [&](const std::string &name, const std::function<void(long, uint64_t)> &launch) {
    measure_kernel(name, 20000, [=](long times) {
      const uint64_t first = next;
      next += (uint64_t)times;
      if (me < 2) launch(times, first);
      CUDA(cudaGetLastError());
      CUDA(cudaStreamSynchronize(stream));
    });
  };
  pair("device signal ping-pong", [=](long times, uint64_t first) {
    signal_ping_pong<<<1, 1, 0, stream>>>(signals, me, first, times, result);
  });
  for (size_t bytes : {(size_t)8, (size_t)1024, (size_t)16384, (size_t)1 << 20}) {
    const size_t count = bytes / sizeof(float);
    fill(source, count);
    clear(dest, bytes);
    const auto check = [&](const std::string &name) {
      settle();
      if (me < 2) compare(name, dest, count, [](size_t i) { return value(1 - me, i); });
      clear(dest, bytes);
      settle();
    };
    if (bytes < (1 << 20)) {
      const std::string name = "device put_signal ping-pong, thread, " + size_name(bytes);
      pair(name, [=](long times, uint64_t first) {
        data_ping_pong<false><<<1, 1, 0, stream>>>(dest, source, count, signals, me, first, times, result);
      });
      check(name);
    }
    if (bytes > 8) {
      const std::string name = "device put_signal ping-pong, block of 1024, " + size_name(bytes);
      pair(name, [=](long times, uint64_t first) {
        data_ping_pong<true><<<1, 1024, 0, stream>>>(dest, source, count, signals, me, first, times, result);
      });
      check(name);
    }
  }
}

static void meetings(float *dest, float *source) {
  const auto together = [](const std::string &name, void (*kernel)(long, double *), unsigned threads) {
    measure_kernel(name, 20000, [=](long times) {
      double *out = result;
      void *arguments[] = {&times, &out};
      launch_together(kernel, dim3(1), dim3(threads), arguments);
      CUDA(cudaStreamSynchronize(stream));
    });
  };
  together("device barrier_all, thread", barriers<BARRIER_THREAD>, 1);
  together("device barrier_all, block of 32", barriers<BARRIER_BLOCK>, 32);
  together("device sync_all, block of 32", barriers<SYNC_BLOCK>, 32);
  for (size_t count : {(size_t)1, (size_t)1024, (size_t)16384}) {
    const std::string name = "device float_sum_reduce, block of 512, " + size_name(count * sizeof(float));
    fill(source, count);
    clear(dest, count * sizeof(float));
    settle();
    measure_kernel(name, 5000, [=](long times) {
      float *to = dest;
      const float *from = source;
      size_t many = count;
      double *out = result;
      void *arguments[] = {&to, &from, &many, &times, &out};
      launch_together(reduces, dim3(1), dim3(512), arguments);
      CUDA(cudaStreamSynchronize(stream));
    });
    compare(name, dest, count, [](size_t i) { return 1000.f * (float)(n * (n - 1) / 2) + (float)(n * (int)(i % 997)); });
    settle();
  }
}

void device_rows(float *dest, float *source, uint64_t *signals) {
  meetings(dest, source);
  // Of a pair: what more PEs do meanwhile is nothing.
  if (n > 2) return;
  words(dest, source, signals);
  ping_pongs(dest, source, signals);
}
