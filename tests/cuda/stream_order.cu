// Calls on streams happen in the stream's order, without the host: data, then words, to waits of other streams. Kernels
// are in between, and none of them waits, so that PEs may take turns on a GPU.
#include "patterns.h"

__global__ void make(unsigned char *at, size_t bytes, int round) {
  const int me = dushmem_my_pe();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < bytes; i += (size_t)gridDim.x * blockDim.x)
    at[i] = (unsigned char)(i * 31 + (size_t)(me * 7 + round * 3));
}
__global__ void look_at(const unsigned char *at, size_t bytes, int from, int round, unsigned long long *bad) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < bytes; i += (size_t)gridDim.x * blockDim.x)
    expect(bad, "a byte that came", at[i], (unsigned char)(i * 31 + (size_t)(from * 7 + round * 3)), (long long)i);
}

// Each round: a kernel's data goes right with a signal; the receiver's stream waits, a kernel looks, an answer goes back.
static void rounds(size_t bytes, int kind) {
  unsigned char *source = zeroed<unsigned char>(bytes), *dest = zeroed<unsigned char>(bytes);
  uint64_t *came = zeroed<uint64_t>(2), *free_again = zeroed<uint64_t>(1);
  const int right = right_of(me), left = left_of(me);
  dushmem_barrier_all();
  for (int r = 1; r <= 12; r++) {
    make<<<4, 64, 0, stream>>>(source, bytes, r);
    const uint64_t value = (uint64_t)r;
    switch ((kind + r) % 5) {
    case 0: dushmemx_putmem_signal_on_stream(dest, source, bytes, came, value, DUSHMEM_SIGNAL_SET, right, stream); break;
    case 1: dushmemx_putmem_signal_nbi_on_stream(dest, source, bytes, came, 1, DUSHMEM_SIGNAL_ADD, right, stream); break;
    case 2:
      dushmemx_putmem_on_stream(dest, source, bytes, right, stream);
      dushmemx_signal_op_on_stream(came, value, DUSHMEM_SIGNAL_SET, right, stream);
      break;
    case 3:
      dushmemx_putmem_nbi_on_stream(dest, source, bytes, right, stream);
      dushmemx_quiet_on_stream(stream);
      dushmemx_uint64_p_on_stream(came, value, right, stream);
      break;
    default:
      dushmemx_putmem_nbi_on_stream(dest, source, bytes, right, stream);
      dushmemx_quiet_on_stream(stream);
      dushmemx_signal_op_on_stream(came, 1, DUSHMEM_SIGNAL_ADD, right, stream);
    }
    if (r % 3 == 0) dushmemx_uint64_wait_until_on_stream(came, DUSHMEM_CMP_EQ, value, stream);
    else if (r % 3 == 1) dushmemx_signal_wait_until_on_stream(came, DUSHMEM_CMP_GE, value, stream);
    else dushmemx_uint64_wait_until_on_stream(came, DUSHMEM_CMP_GT, value - 1, stream);
    look_at<<<4, 64, 0, stream>>>(dest, bytes, left, r, bad);
    CUDA(cudaGetLastError());
    dushmemx_uint64_p_on_stream(free_again, value, left, stream);
    dushmemx_uint64_wait_until_on_stream(free_again, DUSHMEM_CMP_EQ, value, stream);
  }
  finish_kernels();
  dushmem_free(free_again);
  dushmem_free(came);
  dushmem_free(dest);
  dushmem_free(source);
}

// A stream waits for what another stream, and what the host, does later.
static void across() {
  uint64_t *words = zeroed<uint64_t>(3);
  int *narrow = zeroed<int>(2);
  cudaStream_t other;
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  dushmemx_uint64_wait_until_on_stream(&words[0], DUSHMEM_CMP_EQ, 4, stream);
  dushmemx_int_wait_until_on_stream(&narrow[0], DUSHMEM_CMP_LT, 0, stream);
  dushmemx_uint64_wait_until_on_stream(&words[1], DUSHMEM_CMP_NE, 0, stream);
  dushmemx_uint64_p_on_stream(&words[2], 11, me, stream);
  expect_host("a stream that waits", cudaStreamQuery(stream), cudaErrorNotReady);
  (void)cudaGetLastError();
  for (int i = 0; i < 4; i++) dushmemx_signal_op_on_stream(&words[0], 1, DUSHMEM_SIGNAL_ADD, me, other);
  dushmemx_int_p_on_stream(&narrow[0], -1, me, other);
  CUDA(cudaStreamSynchronize(other));
  dushmem_uint64_p(&words[1], 1, me);
  dushmem_quiet();
  CUDA(cudaStreamSynchronize(stream));
  expect_host("a word behind the waits", (long long)look(&words[2]), 11);
  CUDA(cudaStreamDestroy(other));
  dushmem_barrier_all();
  dushmem_free(narrow);
  dushmem_free(words);
}

// p, g, strides and gets of every width, with memory of the host on the local side.
template <class T>
static void values(const char *type, void (*p)(T *, T, int, void *), T (*g)(const T *, int, void *),
                   void (*iput)(T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int, void *)) {
  T *area = zeroed<T>(100);
  fill(area, as_bytes(std::vector<T>(100, (T)9)));
  dushmem_barrier_all();
  for (int i = 0; i < 10; i++) p(area + i, (T)(me * 10 + i), right_of(me), stream);
  const std::vector<T> source = numbers<T>(me, 40, 2);
  T *pinned;
  CUDA(cudaMallocHost((void **)&pinned, 40 * sizeof(T)));
  std::memcpy((void *)pinned, (const void *)source.data(), 40 * sizeof(T));
  iput(area + 20, pinned, 3, 2, 20, right_of(me), stream);
  dushmemx_barrier_all_on_stream(stream);
  CUDA(cudaStreamSynchronize(stream));
  std::vector<T> wanted(100, (T)9), theirs = numbers<T>(left_of(me), 40, 2);
  for (int i = 0; i < 10; i++) wanted[(size_t)i] = (T)(left_of(me) * 10 + i);
  for (size_t i = 0; i < 20; i++) wanted[20 + 3 * i] = theirs[2 * i];
  compare_values(std::string("p and iput of ") + type, area, wanted);
  expect_host(type, (long long)g(area + 3, right_of(me), stream), me * 10 + 3, 3);
  CUDA(cudaFreeHost(pinned));
  dushmem_barrier_all();
  dushmem_free(area);
}
#define VALUES(NAME, TYPE)                                                                                     \
  values<TYPE>(#NAME, dushmemx_##NAME##_p_on_stream, dushmemx_##NAME##_g_on_stream, dushmemx_##NAME##_iput_on_stream)

// barrier and sync on the stream of a team, and on many streams one after the other.
static void barriers() {
  int *words = zeroed<int>((size_t)n);
  dushmem_team_t half;
  dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &half);
  cudaStream_t streams[3];
  for (cudaStream_t &one : streams) CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  std::vector<int> seen((size_t)n * 40);
  int *pinned;
  CUDA(cudaMallocHost((void **)&pinned, seen.size() * sizeof(int)));
  for (int round = 0; round < 40; round++) {
    const cudaStream_t on = streams[round / 20 % 3];
    if (round % 20 == 0) {
      CUDA(cudaDeviceSynchronize());
      dushmem_barrier_all();
    }
    for (int pe = 0; pe < n; pe++) dushmemx_int_p_on_stream(words + me, round + 1, pe, on);
    if (round % 2) {
      dushmemx_barrier_all_on_stream(on);
    } else {
      dushmemx_quiet_on_stream(on);
      dushmemx_sync_all_on_stream(on);
    }
    CUDA(cudaMemcpyAsync(pinned + (size_t)round * n, words, n * sizeof(int), cudaMemcpyDefault, on));
    if (half != DUSHMEM_TEAM_INVALID) dushmemx_barrier_on_stream(half, on);
    dushmemx_barrier_on_stream(DUSHMEM_TEAM_WORLD, on);
  }
  CUDA(cudaDeviceSynchronize());
  for (int round = 0; round < 40; round++)
    for (int pe = 0; pe < n; pe++) expect_host("a word before a barrier", pinned[round * n + pe], round + 1, pe);
  for (cudaStream_t one : streams) CUDA(cudaStreamDestroy(one));
  CUDA(cudaFreeHost(pinned));
  dushmem_barrier_all();
  if (half != DUSHMEM_TEAM_INVALID) dushmem_team_destroy(half);
  dushmem_free(words);
}

// What a stream compares with, in memory of the host that changes behind the call.
static void arrays() {
  short *words = zeroed<short>(4);
  int *behind = zeroed<int>(1);
  dushmem_barrier_all();
  for (int round = 1; round <= 20; round++) {
    std::vector<short> wanted{(short)round, (short)(2 * round), 0, (short)-round};
    std::vector<int> left_out{0, 0, 1, 0};
    dushmemx_short_wait_until_all_vector_on_stream(words, 4, left_out.data(), DUSHMEM_CMP_EQ, wanted.data(), stream);
    dushmemx_short_wait_until_all_on_stream(words, 4, left_out.data(), DUSHMEM_CMP_NE, (short)(round - 1), stream);
    dushmemx_int_p_on_stream(behind, round, me, stream);
    wanted.assign(4, 99);
    left_out.assign(4, 0);
    // The left neighbour's words: it goes on when its own have come.
    for (int i : {0, 1, 3}) dushmem_short_p(words + i, (short)(i == 3 ? -round : (i + 1) * round), right_of(me));
    dushmem_quiet();
    CUDA(cudaStreamSynchronize(stream));
    expect_host("behind a wait for arrays", look(behind), round, round);
    dushmem_barrier_all();
  }
  dushmem_free(behind);
  dushmem_free(words);
}

int main(int argc, char **argv) {
  begin();
  // Where kernels of all streams run one after the other, as they do under memcheck, no stream may wait for another's.
  const bool one_stream = argc > 1 && std::string(argv[1]) == "one_stream";
  int kind = 0;
  for (size_t bytes : {1, 8, 100, 4097, 300000, 3 << 20}) rounds(bytes, kind++);
  if (!one_stream) across();
  arrays();
  VALUES(char, char);
  VALUES(short, short);
  VALUES(int, int);
  VALUES(long, long);
  VALUES(float, float);
  VALUES(double, double);
  barriers();
  return verdict();
}
