// Every operation of the device API at every scope, with checked results, on any number of PEs: copies of all
// alignments, strides, put with signal, waits and tests of sets, fence and quiet with their scope, contexts.
// Arguments: parts prints a line for each part; device has memory that is not symmetric from cudaMalloc, not managed.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <string>
#include "parts.h"

using namespace dushmem::device;

static int failures;
#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(bool good, const char *what, int line) {
  if (good) return;
  failures++;
  std::printf("PE %d: line %d: %s\n", dushmem_my_pe(), line, what);
}
#define OK(call) check((call) == cudaSuccess, #call, __LINE__)

// In kernels: the first failures of a PE are printed.
#define EXPECT(condition)                                                                             \
  do {                                                                                                \
    if (!(condition) && atomicAdd(wrong, 1) < 5)                                                      \
      printf("PE %d: line %d: %s (block %u, thread %u)\n", my_pe(), __LINE__, #condition, (unsigned)blockIdx.x, \
             (unsigned)threadIdx.x);                                                                  \
  } while (0)

// The group of threads that make a call together: its number in the grid, the caller's number in it, its size.
struct group {
  int number, rank, size;
};
__device__ group who(scope::thread) { return {int(blockIdx.x * blockDim.x + threadIdx.x), 0, 1}; }
__device__ group who(scope::block) { return {int(blockIdx.x), int(threadIdx.x), int(blockDim.x)}; }
__device__ group part(int width) {
  const int first = int(threadIdx.x) / width * width, left = int(blockDim.x) - first;
  const int parts = (int(blockDim.x) + width - 1) / width;
  return {int(blockIdx.x) * parts + int(threadIdx.x) / width, int(threadIdx.x) - first, left < width ? left : width};
}
__device__ group who(scope::warp) { return part(int(warpSize)); }
__device__ group who(scope::warpgroup) { return part(4 * int(warpSize)); }

constexpr int groups = 8, room = 1 << 14;

struct Heap {
  char *bytes;       // groups * room
  long long *words;  // groups * 64
  uint64_t *signals; // groups * 8
  char *local;       // groups * room, not symmetric
};

__device__ char pattern(int seed, int i) { return char(seed * 31 + i * 7 + (i >> 8)); }

// Copies of n bytes between addresses of all alignments; what lies around stays as it is.
template <class S, class T> __device__ void copies_of(Heap h, int *wrong, int seed) {
  const group me = who(S{});
  const int right = (my_pe() + 1) % n_pes();
  char *const far = h.bytes + me.number * room, *const mine = h.local + me.number * room;
  const int counts[] = {0, 1, 2, 7, 16, 40, 333};
  const int offsets[] = {0, 1, 3, 4, 6};
  for (int count : counts)
    for (int to : offsets)
      for (int from : offsets) {
        T *const dest = (T *)(far + 64) + to, *const back = (T *)(mine + room / 2) + from;
        T *const source = (T *)mine + from;
        const int bytes = count * int(sizeof(T));
        seed++;
        // No synchronisation between filling and the put: the call does it.
        for (int i = me.rank; i < bytes; i += me.size) ((char *)source)[i] = pattern(seed, i);
        for (int i = me.rank; i < bytes + 32; i += me.size) ((char *)back)[i - 16] = 99;
        if (seed % 2)
          put<S>(dest, source, size_t(count), right);
        else
          put_nbi<S>(context{int(seed % 3)}, dest, source, size_t(count), right);
        seed % 2 ? quiet<S>() : quiet<S>(context{int(seed % 3)});
        if (seed % 2) {
          get<S>(back, dest, size_t(count), right);
        } else {
          get_nbi<S>(back, dest, size_t(count), right);
          quiet<S>();
        }
        for (int i = me.rank; i < bytes + 32; i += me.size) {
          const char want = i < 16 || i >= bytes + 16 ? char(99) : pattern(seed, i - 16);
          EXPECT(((char *)back)[i - 16] == want);
        }
        impl::sync(S{});
      }
}

template <class S> __global__ __launch_bounds__(512) void copies(Heap h, int *wrong) {
  copies_of<S, char>(h, wrong, 1);
  copies_of<S, short>(h, wrong, 2);
  copies_of<S, int>(h, wrong, 3);
  copies_of<S, double>(h, wrong, 4);
  copies_of<S, int4>(h, wrong, 5);
  copies_of<S, uchar3>(h, wrong, 6);
}

// Within the own memory source and dest may overlap.
template <class S> __global__ __launch_bounds__(512) void overlaps(Heap h, int *wrong) {
  const group me = who(S{});
  char *const at = h.bytes + me.number * room + 128;
  const int shifts[] = {-64, -5, -1, 1, 3, 64}, counts[] = {2, 33, 64, 333};
  int seed = 0;
  for (int count : counts)
    for (int shift : shifts) {
      seed++;
      for (int i = me.rank; i < count + 256; i += me.size) at[i - 128] = pattern(seed, i);
      if (seed % 2)
        put<S>(at + shift, at, size_t(count), my_pe());
      else
        get<S>(at + shift, at, size_t(count), my_pe());
      quiet<S>();
      for (int i = me.rank; i < count; i += me.size) EXPECT(at[shift + i] == pattern(seed, i + 128));
      impl::sync(S{});
    }
}

template <class S, class T> __device__ void strided_of(Heap h, int *wrong) {
  const group me = who(S{});
  const int right = (my_pe() + 1) % n_pes(), n = 45;
  T *const far = (T *)(h.bytes + me.number * room), *const mine = (T *)(h.local + me.number * room);
  T *const back = mine + n * 3;
  const T zero = T(), one = T(1);
  // Elements between those that are copied keep their value.
  for (int i = me.rank; i < n * 2; i += me.size) mine[i] = zero;
  put<S>(far, mine, size_t(n) * 2, right);
  for (int i = me.rank; i < n * 3; i += me.size) mine[i] = T(i), back[i] = one;
  quiet<S>();
  iput<S>(far, mine, 2, 3, size_t(n), right);
  quiet<S>();
  iget<S>(back + 1, far, 3, 1, size_t(n) - 1, right);
  for (int i = me.rank; i < 3 * (n - 1); i += me.size) {
    const int k = (i - 1) / 3;
    const T want = i % 3 != 1 ? one : k % 2 != 0 ? zero : T(k / 2 * 3);
    EXPECT(back[i] == want);
  }
  iput<S>(context{4}, (T *)nullptr, (const T *)nullptr, 1, 1, 0, right);
  impl::sync(S{});
}
template <class S> __global__ __launch_bounds__(512) void strided(Heap h, int *wrong) {
  strided_of<S, unsigned char>(h, wrong);
  strided_of<S, short>(h, wrong);
  strided_of<S, float>(h, wrong);
  strided_of<S, long long>(h, wrong);
}

// Who sees the signal sees what all threads of the scope have put. Credits come back.
template <class S> __global__ __launch_bounds__(512) void signals(Heap h, int *wrong) {
  const group me = who(S{});
  const int pe = my_pe(), npes = n_pes(), right = (pe + 1) % npes, left = (pe + npes - 1) % npes;
  uint64_t *const arrived = h.signals + me.number * 8, *const credit = arrived + 1, *const sum = arrived + 2;
  int *const far = (int *)(h.bytes + me.number * room), *const mine = (int *)(h.local + me.number * room);
  const int n = 501;
  uint64_t total = 0;
  for (int round = 1; round <= 8; round++) {
    EXPECT(signal_wait_until<S>(credit, DUSHMEM_CMP_GE, uint64_t(round - 1)) >= uint64_t(round - 1));
    for (int i = me.rank; i < n; i += me.size) mine[i] = pe * 1000 + round + i;
    if (round % 2) {
      put_signal<S>(far, mine, n, arrived, uint64_t(round), DUSHMEM_SIGNAL_SET, right);
    } else {
      put_signal_nbi<S>(context{2}, far, mine, n, arrived, uint64_t(round), DUSHMEM_SIGNAL_SET, right);
      quiet<S>(context{2});
    }
    EXPECT(signal_wait_until<S>(arrived, DUSHMEM_CMP_EQ, uint64_t(round)) == uint64_t(round));
    for (int i = me.rank; i < n; i += me.size) EXPECT(far[i] == left * 1000 + round + i);
    // A signal without data, once for the scope.
    put_signal<S>((int *)nullptr, (const int *)nullptr, 0, sum, 5, DUSHMEM_SIGNAL_ADD, right);
    total += 5;
    EXPECT(signal_wait_until<S>(sum, DUSHMEM_CMP_GE, total) >= total);
    impl::sync(S{});
    if (me.rank == 0) signal_op(credit, 1, DUSHMEM_SIGNAL_ADD, left);
  }
  EXPECT(signal_fetch(arrived) == 8);
}

// One word after another comes; all threads of a scope hear the same.
template <class S, class T> __device__ void sets_of(Heap h, int *wrong, T *words) {
  const group me = who(S{});
  const int right = (my_pe() + 1) % n_pes(), n = 12;
  size_t *const at = (size_t *)(h.local + me.number * room), *const heard = at + 64;
  int *const status = (int *)(at + 32);
  T *const values = (T *)(at + 48);
  for (int i = me.rank; i < n; i += me.size) status[i] = i % 4 == 3, values[i] = T(100 + i);
  // Sets without a word in them, of whatever length.
  int *const out = status + 16;
  for (int i = me.rank; i < n; i += me.size) out[i] = 1;
  impl::sync(S{});
  EXPECT(wait_until_any<S>(words, n, out, DUSHMEM_CMP_EQ, T(1)) == SIZE_MAX);
  EXPECT(wait_until_some<S>(words, n, at, out, DUSHMEM_CMP_EQ, T(1)) == 0);
  wait_until_all<S>(words, n, out, DUSHMEM_CMP_EQ, T(1));
  EXPECT(test_any<S>(words, n, out, DUSHMEM_CMP_EQ, T(0)) == SIZE_MAX);
  EXPECT(test_some<S>(words, n, at, out, DUSHMEM_CMP_EQ, T(0)) == 0);
  EXPECT(test_all<S>(words, n, out, DUSHMEM_CMP_EQ, T(1)));
  EXPECT(wait_until_any<S>((T *)nullptr, 0, nullptr, DUSHMEM_CMP_EQ, T(1)) == SIZE_MAX);
  EXPECT(wait_until_some<S>((T *)nullptr, 0, nullptr, nullptr, DUSHMEM_CMP_EQ, T(1)) == 0);
  EXPECT(test_all<S>((T *)nullptr, 0, nullptr, DUSHMEM_CMP_EQ, (const T *)nullptr));
  // The left PE may be ahead by one round: words only ever change from 0 to their value.
  for (int i = me.rank; i < n; i += me.size) atomic_set(words + i, T(100 + i), right);
  const size_t first = wait_until_any<S>(words, n, status, DUSHMEM_CMP_GE, T(100));
  EXPECT(first < size_t(n) && first % 4 != 3);
  wait_until_all<S>(words, n, nullptr, DUSHMEM_CMP_EQ, values);
  // Fair: words that hold already don't keep the others out.
  size_t seen = 0;
  for (int rounds = 0; seen != 0x777 && rounds < 2000; rounds++) {
    const size_t i = rounds % 2 ? wait_until_any<S>(words, n, status, DUSHMEM_CMP_GE, T(100))
                                : test_any<S>(words, n, status, DUSHMEM_CMP_EQ, values);
    EXPECT(i < size_t(n) && i % 4 != 3);
    seen |= size_t(1) << (i % 64);
  }
  EXPECT(seen == 0x777);
  EXPECT(wait_until_some<S>(words, n, at, status, DUSHMEM_CMP_LT, T(106)) == 5);
  EXPECT(at[0] == 0 && at[1] == 1 && at[2] == 2 && at[3] == 4 && at[4] == 5);
  impl::sync(S{});
  EXPECT(test_some<S>(words, n, at, nullptr, DUSHMEM_CMP_GT, T(109)) == 2 && at[0] == 10 && at[1] == 11);
  impl::sync(S{});
  EXPECT(test_all<S>(words, n, nullptr, DUSHMEM_CMP_EQ, values) && !test_all<S>(words, n, status, DUSHMEM_CMP_NE, T(105)));
  EXPECT(test_any<S>(words, n, status, DUSHMEM_CMP_LE, T(100)) == 0);
  EXPECT(test_any<S>(words, n, nullptr, DUSHMEM_CMP_GT, T(111)) == SIZE_MAX);
  EXPECT(wait_until<S>(words + 3, DUSHMEM_CMP_NE, T(0)) == T(103));
  EXPECT(test<S>(words + 4, DUSHMEM_CMP_EQ, T(104)) && !test<S>(words + 4, DUSHMEM_CMP_LT, T(104)));
  // Which of several holds is chosen anew each time, but for all threads of the scope alike.
  const size_t any = test_any<S>(words, n, nullptr, DUSHMEM_CMP_GE, T(0));
  if (me.rank == 0) heard[0] = any;
  impl::sync(S{});
  EXPECT(heard[0] == any && any < size_t(n));
  impl::sync(S{});
}
template <class S> __global__ __launch_bounds__(512) void sets(Heap h, int *wrong) {
  long long *const words = h.words + who(S{}).number * 64;
  sets_of<S, long long>(h, wrong, words);
  sets_of<S, unsigned>(h, wrong, (unsigned *)(words + 16));
}

// Words of two bytes are not updated by atomics: by p, which stores them at once.
template <class S> __global__ __launch_bounds__(512) void narrow(Heap h, int *wrong) {
  const group me = who(S{});
  const int right = (my_pe() + 1) % n_pes();
  short *const words = (short *)(h.words + me.number * 64 + 40);
  if (me.rank == 0) p(words + 1, -7, right);
  EXPECT(wait_until<S>(words + 1, DUSHMEM_CMP_LT, 0) == -7);
  EXPECT(!test<S>(words, DUSHMEM_CMP_NE, 0));
}

// Every thread's own stores are ordered before the flag that one of them sets; quiet completes those of all.
template <class S> __global__ __launch_bounds__(512) void orders(Heap h, int *wrong) {
  const group me = who(S{});
  const int pe = my_pe(), npes = n_pes(), right = (pe + 1) % npes, left = (pe + npes - 1) % npes;
  int *const far = (int *)(h.bytes + me.number * room);
  long long *const flag = h.words + me.number * 64 + 60, *const credit = flag + 1, *const done = flag + 2;
  for (int round = 1; round <= 10; round++) {
    wait_until<S>(credit, DUSHMEM_CMP_GE, round - 1);
    for (int i = me.rank; i < 300; i += me.size) p(far + i, left * 0 + pe * 100 + round + i, right);
    fence<S>();
    if (me.rank == 0) atomic_set(flag, round, right);
    wait_until<S>(flag, DUSHMEM_CMP_GE, round);
    for (int i = me.rank; i < 300; i += me.size) EXPECT(far[i] == left * 100 + round + i);
    impl::sync(S{});
    if (me.rank == 0) atomic_add(credit, 1, left);
  }
  wait_until<S>(credit, DUSHMEM_CMP_GE, 10);
  for (int i = me.rank; i < 300; i += me.size) p(context{3}, far + 400 + i, i * 3 + pe, right);
  quiet<S>(context{3});
  for (int i = me.rank; i < 300; i += me.size) {
    const int other = 299 - i;
    EXPECT(g(far + 400 + other, right) == other * 3 + pe);
  }
  if (me.rank == 0) atomic_inc(done, right);
  wait_until<S>(done, DUSHMEM_CMP_EQ, 1);
}

// Every atomic operation, with and without a context, of both widths and signs.
template <class T> __device__ void atomics_of(T *word, int *wrong, int pe) {
  atomic_set(word, T(40), pe);
  quiet();
  EXPECT(atomic_fetch(word, pe) == T(40));
  EXPECT(atomic_fetch_inc(word, pe) == T(40));
  atomic_inc(word, pe);
  // Contexts know nothing of each other.
  quiet();
  atomic_add(context{2}, word, T(58), pe);
  quiet(context{2});
  EXPECT(atomic_fetch_add(word, T(5), pe) == T(100));
  EXPECT(atomic_swap(word, T(7), pe) == T(105));
  EXPECT(atomic_compare_swap(word, T(8), T(9), pe) == T(7));
  EXPECT(atomic_compare_swap(context{5}, word, T(7), T(12), pe) == T(7));
  EXPECT(atomic_fetch_and(word, T(10), pe) == T(12));
  EXPECT(atomic_fetch_or(word, T(5), pe) == T(8));
  EXPECT(atomic_fetch_xor(word, T(6), pe) == T(13));
  atomic_and(word, T(9), pe);
  fence();
  atomic_or(word, T(16), pe);
  fence();
  atomic_xor(word, T(1), pe);
  quiet();
  EXPECT(atomic_fetch(word, pe) == T(24));
}
__global__ void atomics(Heap h, int *wrong) {
  const int right = (my_pe() + 1) % n_pes();
  long long *const words = h.words + threadIdx.x * 64;
  atomics_of(words, wrong, right);
  atomics_of((unsigned long *)words + 1, wrong, right);
  atomics_of((int *)words + 4, wrong, right);
  atomics_of((unsigned *)words + 5, wrong, right);
  float *const real = (float *)words + 6;
  double *const wide = (double *)words + 4;
  atomic_set(real, -2.5f, right);
  atomic_set(wide, 1e300, right);
  quiet();
  EXPECT(atomic_swap(real, 3.25f, right) == -2.5f && atomic_fetch(real, right) == 3.25f);
  EXPECT(atomic_swap(context{2}, wide, -0.0, right) == 1e300 && 1 / atomic_fetch(wide, right) < 0);
}

template <class T> static T *symmetric(size_t n) {
  T *made = static_cast<T *>(dushmem_calloc(n, sizeof(T)));
  CHECK(made != nullptr);
  return made;
}

static cudaStream_t stream;
static Heap heap;
static int *wrong;

static void clear() {
  OK(cudaStreamSynchronize(stream));
  dushmem_barrier_all();
  OK(cudaMemset(heap.words, 0, groups * 64 * sizeof(long long)));
  OK(cudaMemset(heap.signals, 0, groups * 8 * sizeof(uint64_t)));
  OK(cudaMemset(heap.bytes, 0, groups * room));
  OK(cudaDeviceSynchronize());
  dushmem_barrier_all();
}

template <class S> static void at_scope(const char *name, unsigned blocks, unsigned threads) {
  const int before = *wrong;
#define RUN(kernel)                            \
  kernel<S><<<blocks, threads, 0, stream>>>(heap, wrong); \
  clear();                                     \
  parts::over((std::string(#kernel " ") + name).c_str()); \
  if (*wrong != before) failures++, std::printf("PE %d: %s at scope %s\n", dushmem_my_pe(), #kernel, name)
  RUN(copies);
  RUN(overlaps);
  RUN(strided);
  RUN(signals);
  RUN(sets);
  RUN(narrow);
  RUN(orders);
#undef RUN
}

int main(int argc, char **argv) {
  bool managed = true;
  for (int i = 1; i < argc; i++) {
    if (!std::strcmp(argv[i], "parts")) parts::shown = true;
    if (!std::strcmp(argv[i], "device")) managed = false;
  }
  dushmem_init();
  int devices = 0;
  OK(cudaGetDeviceCount(&devices));
  OK(cudaSetDevice(dushmem_team_my_pe(DUSHMEMX_TEAM_NODE) % devices));
  OK(cudaStreamCreate(&stream));
  heap = {symmetric<char>(groups * room), symmetric<long long>(groups * 64), symmetric<uint64_t>(groups * 8), nullptr};
  OK(managed ? cudaMallocManaged(&heap.local, groups * room) : cudaMalloc((void **)&heap.local, groups * room));
  OK(cudaMallocManaged(&wrong, sizeof(int)));
  *wrong = 0;
  clear();
#ifdef DUSHMEM_EMU
  CHECK(dushmem_emu_state->size == sizeof(dushmem_impl_kernel_state) && dushmem_emu_state->abi == DUSHMEM_IMPL_STATE_ABI);
#endif
  parts::begin();
  at_scope<scope::thread>("thread", 1, 3);
  at_scope<scope::warp>("warp", 2, 74);
  at_scope<scope::warpgroup>("warpgroup", 1, 300);
  at_scope<scope::block>("block", 2, 90);
  atomics<<<1, 8, 0, stream>>>(heap, wrong);
  clear();
  parts::over("atomics");
  CHECK(*wrong == 0);
  OK(cudaGetLastError());
  OK(cudaStreamDestroy(stream));
  dushmem_barrier_all();
  if (dushmem_my_pe() == 0) std::printf(failures == 0 ? "all right\n" : "failures\n");
  dushmem_finalize();
  return failures != 0;
}
