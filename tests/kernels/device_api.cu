// What kernels do with the device API, with checked results, on any number of PEs. Each check is a line of
// its own number in the output when it fails.
#include <cstdio>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include "memory.h"

static int failures;
#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(bool good, const char *what, int line) {
  if (good) return;
  failures++;
  std::printf("PE %d: line %d: %s\n", dushmem_my_pe(), line, what);
}
#define OK(call) check((call) == cudaSuccess, #call, __LINE__)

struct Heap {
  int *ints;          // 4096
  double *doubles;    // 4096
  long long *words;   // 64, zero between tests
  uint64_t *signals;  // 64, zero between tests
  float *floats;      // 64
};

__global__ void copies(Heap h, const int *source, int *back, int n) {
  const int me = dushmem_my_pe(), npes = dushmem_n_pes();
  const int right = (me + 1) % npes;
  const int t = int(blockIdx.x * blockDim.x + threadIdx.x);
  // Each thread its own piece, one element by p, the rest by put.
  if (t < n) {
    dushmem_int_p(h.ints + t * 16, source[t * 16], right);
    nvshmem_int_put(h.ints + t * 16 + 1, source + t * 16 + 1, 7, right);
    dushmem_putmem(h.ints + t * 16 + 8, source + t * 16 + 8, 4 * sizeof(int), right);
    dushmem_put32_nbi(h.ints + t * 16 + 12, source + t * 16 + 12, 4, right);
    dushmem_quiet();
    back[t * 16] = nvshmem_int_g(h.ints + t * 16, right);
    dushmem_int_get(back + t * 16 + 1, h.ints + t * 16 + 1, 15, right);
  }
}

__global__ void strided(Heap h, int *back) {
  const int me = dushmem_my_pe(), right = (me + 1) % dushmem_n_pes();
  int mine[10];
  for (int i = 0; i < 10; i++) mine[i] = me * 100 + i;
  dushmem_int_iput(h.ints, mine, 3, 2, 5, right);
  dushmem_quiet();
  nvshmem_int_iget(back, h.ints, 2, 3, 5, right);
}

__global__ void by_block(Heap h, const double *source, double *back, int n) {
  using namespace dushmem::device;
  const int right = (my_pe() + 1) % n_pes();
  put<scope::block>(h.doubles, source, size_t(n), right);
  if (threadIdx.x == 0) quiet();
  __syncthreads();
  get<scope::block>(back, h.doubles, size_t(n), right);
}

// Every thread of every PE adds to PE 0.
__global__ void atomics(Heap h, long long *out) {
  const int me = dushmem_my_pe(), npes = dushmem_n_pes();
  dushmem_longlong_atomic_add(h.words, 3, 0);
  nvshmem_longlong_atomic_inc(h.words + 1, 0);
  const int bit = int((unsigned(me) * 64 + threadIdx.x) % 63);
  dushmem_uint64_atomic_or((uint64_t *)h.words + 2, uint64_t(1) << bit, 0);
  // A lock made of compare_swap protects a counter.
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    const int left = (me + npes - 1) % npes;
    out[0] = dushmem_longlong_atomic_swap(h.words + 8, me + 1, left);
    out[1] = dushmem_longlong_atomic_compare_swap(h.words + 8, me + 1, 77, left);
    out[2] = dushmem_longlong_atomic_fetch(h.words + 8, left);
    dushmem_float_atomic_set(h.floats, 2.5f + float(me), left);
    dushmem_fence();
    out[3] = (long long)(2 * dushmem_float_atomic_swap(h.floats, -1.0f, left));
    out[4] = dushmem_int_atomic_fetch_xor((int *)(h.words + 9), 5, left);
    out[5] = dushmem_int_atomic_fetch_and((int *)(h.words + 9), 4, left);
    out[6] = dushmem_int_atomic_fetch_or((int *)(h.words + 9), 2, left);
    out[7] = nvshmem_int_atomic_fetch_inc((int *)(h.words + 9), left);
  }
}

// The data has to be there when the signal is.
__global__ void signals(Heap h, const int *source, int *wrong, int rounds) {
  const int me = nvshmem_my_pe(), npes = nvshmem_n_pes();
  const int right = (me + 1) % npes, left = (me + npes - 1) % npes;
  for (int round = 1; round <= rounds; round++) {
    // A credit from the right: it has read the last round.
    dushmem_signal_wait_until(h.signals + 1, DUSHMEM_CMP_GE, uint64_t(round - 1));
    for (int i = 0; i < 8; i++) h.ints[2048 + i] = source[i] + me * 1000 + round;
    nvshmem_int_put_signal(h.ints, h.ints + 2048, 8, h.signals, uint64_t(round), NVSHMEM_SIGNAL_SET, right);
    nvshmem_signal_wait_until(h.signals, NVSHMEM_CMP_GE, uint64_t(round));
    for (int i = 0; i < 8; i++)
      if (h.ints[i] != source[i] - me + left + left * 1000 + round) atomicAdd(wrong, 1);
    dushmemx_signal_op(h.signals + 1, 1, DUSHMEM_SIGNAL_ADD, left);
  }
}

__global__ void fence_then_flag(Heap h, int *wrong) {
  const int me = dushmem_my_pe(), npes = dushmem_n_pes(), right = (me + 1) % npes;
  for (int round = 1; round <= 50; round++) {
    dushmem_int_p(h.ints + round, round * 7, right);
    dushmem_fence();
    dushmem_longlong_p(h.words, round, right);
    dushmem_longlong_wait_until(h.words, DUSHMEM_CMP_GE, round);
    if (h.ints[round] != round * 7) atomicAdd(wrong, 1);
  }
}

// Each thread sends one word; the first thread of the next PE waits for all of them in several ways.
__global__ void sets(Heap h, long long *out) {
  const int right = (dushmem_my_pe() + 1) % dushmem_n_pes();
  const int i = int(threadIdx.x);
  if (i > 0) dushmem_longlong_atomic_set(h.words + i, i, right);
  if (i == 0) {
    int status[16] = {1};
    long long values[16];
    size_t at[16];
    for (int k = 0; k < 16; k++) values[k] = k;
    out[0] = (long long)dushmem_longlong_wait_until_any(h.words, 16, status, DUSHMEM_CMP_NE, 0);
    out[1] = (long long)dushmem_longlong_wait_until_some(h.words, 16, at, status, DUSHMEM_CMP_GT, 0);
    dushmem_longlong_wait_until_all_vector(h.words, 16, status, DUSHMEM_CMP_EQ, values);
    out[2] = dushmem_longlong_test_all(h.words, 16, status, DUSHMEM_CMP_GE, 1);
    out[3] = (long long)dushmem_longlong_test_some(h.words, 16, at, status, DUSHMEM_CMP_GE, 8);
    out[4] = dushmem_longlong_test(h.words + 5, DUSHMEM_CMP_EQ, 6);
  }
}

// Block b waits for what block b + 1 of the PE on the left sends: later blocks have to run meanwhile.
__global__ void blocks_across(Heap h) {
  const int right = (dushmem_my_pe() + 1) % dushmem_n_pes();
  const unsigned b = blockIdx.x;
  if (b + 1 < gridDim.x) dushmem_signal_wait_until(h.signals + b + 1, DUSHMEM_CMP_EQ, b + 2);
  dushmemx_signal_op(h.signals + b, b + 1, DUSHMEM_SIGNAL_SET, right);
}

__global__ void directly(Heap h, int *out) {
  const int me = dushmem_my_pe(), npes = dushmem_n_pes(), right = (me + 1) % npes;
  int *there = (int *)dushmem_ptr(h.ints, right);
  out[0] = there != nullptr;
  if (there != nullptr)
    *there = me + 5;
  else
    dushmem_int_p(h.ints, me + 5, right);
  out[1] = dushmem_team_my_pe(DUSHMEMX_TEAM_NODE);
  out[2] = nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD);
  out[3] = dushmem_team_translate_pe(DUSHMEM_TEAM_WORLD, right, DUSHMEM_TEAM_SHARED);
  dushmem_info_get_version(out + 4, out + 5);
}

template <class T> static T *symmetric(size_t n) {
  T *made = static_cast<T *>(dushmem_calloc(n, sizeof(T)));
  CHECK(made != nullptr);
  return made;
}

int main() {
  dushmem_init();
  const int me = dushmem_my_pe(), n = dushmem_n_pes(), left = (me + n - 1) % n, right = (me + 1) % n;
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  OK(cudaSetDevice(dushmem_team_my_pe(DUSHMEMX_TEAM_NODE) % devices));
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  Heap h = {symmetric<int>(4096), symmetric<double>(4096), symmetric<long long>(64), symmetric<uint64_t>(64),
            symmetric<float>(64)};
  int *source, *back;
  OK(cudaMallocManaged(&source, 4096 * sizeof(int)));
  OK(cudaMallocManaged(&back, 4096 * sizeof(int)));
  long long *out;
  OK(cudaMallocManaged(&out, 64 * sizeof(long long)));
  for (int i = 0; i < 4096; i++) source[i] = i * 3 + me;
  const auto clear = [&] {
    OK(cudaStreamSynchronize(stream));
    dushmem_barrier_all();
    OK(cudaMemset(h.words, 0, 64 * sizeof(long long)));
    OK(cudaMemset(h.signals, 0, 64 * sizeof(uint64_t)));
    OK(cudaMemset(back, 0, 4096 * sizeof(int)));
    OK(cudaMemset(out, 0, 64 * sizeof(long long)));
    // A memset may be under way when its call is over, and the barrier does not wait for it.
    OK(cudaDeviceSynchronize());
    dushmem_barrier_all();
  };

  copies<<<10, 20, 0, stream>>>(h, source, back, 199);
  dushmemx_barrier_all_on_stream(stream);
  OK(cudaStreamSynchronize(stream));
  std::vector<int> ints = look(h.ints, 4096);
  for (int i = 0; i < 199 * 16; i++) {
    CHECK(back[i] == i * 3 + me);
    CHECK(ints[i] == i * 3 + left);
  }
  clear();

  strided<<<1, 1, 0, stream>>>(h, back);
  dushmemx_barrier_all_on_stream(stream);
  OK(cudaStreamSynchronize(stream));
  ints = look(h.ints, 4096);
  for (int i = 0; i < 5; i++) {
    CHECK(ints[3 * i] == left * 100 + 2 * i);
    CHECK(back[2 * i] == me * 100 + 2 * i);
  }
  clear();

  double *from, *to;
  OK(cudaMallocManaged(&from, 4096 * sizeof(double)));
  OK(cudaMallocManaged(&to, 4096 * sizeof(double)));
  for (int i = 0; i < 4096; i++) from[i] = i + me * 0.125;
  by_block<<<1, dim3(8, 8), 0, stream>>>(h, from, to, 4001);
  dushmemx_barrier_all_on_stream(stream);
  OK(cudaStreamSynchronize(stream));
  const std::vector<double> doubles = look(h.doubles, 4001);
  for (int i = 0; i < 4001; i++) CHECK(to[i] == i + me * 0.125 && doubles[i] == i + left * 0.125);
  clear();

  atomics<<<3, 64, 0, stream>>>(h, out);
  dushmemx_barrier_all_on_stream(stream);
  OK(cudaStreamSynchronize(stream));
  const std::vector<long long> words = look(h.words, 64);
  if (me == 0) {
    CHECK(words[0] == 3LL * n * 3 * 64);
    CHECK(words[1] == 1LL * n * 3 * 64);
    CHECK(words[2] == (long long)0x7fffffffffffffff);
  }
  CHECK(out[0] == 0 && out[1] == me + 1 && out[2] == 77 && words[8] == 77);
  CHECK(out[3] == 5 + 2 * me && look(h.floats) == -1.0f);
  CHECK(out[4] == 0 && out[5] == 5 && out[6] == 4 && out[7] == 6 && look((int *)(h.words + 9)) == 7);
  clear();

  signals<<<1, 1, 0, stream>>>(h, source, back, 30);
  OK(cudaStreamSynchronize(stream));
  CHECK(back[0] == 0);
  clear();

  OK(cudaMemset(h.ints, 0, 64 * sizeof(int)));
  OK(cudaDeviceSynchronize());
  dushmem_barrier_all();
  fence_then_flag<<<1, 1, 0, stream>>>(h, back);
  OK(cudaStreamSynchronize(stream));
  CHECK(back[0] == 0);
  clear();

  sets<<<1, 16, 0, stream>>>(h, out);
  OK(cudaStreamSynchronize(stream));
  CHECK(out[0] >= 1 && out[0] < 16 && out[1] >= 1 && out[1] < 16 && out[2] == 1 && out[3] == 8 && out[4] == 0);
  clear();

  blocks_across<<<24, 1, 0, stream>>>(h);
  OK(cudaStreamSynchronize(stream));
  clear();

  directly<<<1, 1, 0, stream>>>(h, back);
  dushmemx_barrier_all_on_stream(stream);
  OK(cudaStreamSynchronize(stream));
  CHECK(look(h.ints) == left + 5);
  CHECK(back[1] == me && back[2] == n && back[4] == DUSHMEM_MAJOR_VERSION);
  clear();

  // On a stream, in its order, without the host.
  put_here(h.ints, me);
  put_here(h.ints + 1, me * 10);
  dushmemx_barrier_all_on_stream(stream);
  dushmemx_int_put_on_stream(h.ints + 2, h.ints, 2, right, stream);
  dushmemx_int_p_on_stream(h.ints + 4, me + 70, right, stream);
  dushmemx_quiet_on_stream(stream);
  dushmemx_int_put_signal_on_stream(h.ints + 5, h.ints + 1, 1, h.signals, 9, DUSHMEM_SIGNAL_SET, right, stream);
  nvshmemx_signal_wait_until_on_stream(h.signals, NVSHMEM_CMP_EQ, 9, stream);
  dushmemx_barrier_all_on_stream(stream);
  dushmemx_int_get_on_stream(h.ints + 6, h.ints + 2, 2, right, stream);
  CHECK(dushmemx_int_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, h.ints + 8, h.ints, 1, stream) == 0);
  CHECK(nvshmemx_int_broadcast_on_stream(NVSHMEM_TEAM_WORLD, h.ints + 9, h.ints + 1, 1, n - 1, stream) == 0);
  CHECK(dushmemx_int_g_on_stream(h.ints + 1, right, stream) == right * 10);
  ints = look(h.ints, 10);
  CHECK(ints[2] == left && ints[3] == left * 10 && ints[4] == left + 70 && ints[5] == left * 10);
  CHECK(ints[6] == me && ints[7] == me * 10);
  CHECK(ints[8] == n * (n - 1) / 2 && ints[9] == (n - 1) * 10);

  OK(cudaGetLastError());
  OK(cudaStreamDestroy(stream));
  dushmem_barrier_all();
  if (me == 0) std::printf(failures == 0 ? "all right\n" : "failures\n");
  dushmem_finalize();
  return failures != 0;
}
