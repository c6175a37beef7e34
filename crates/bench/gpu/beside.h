/* What the measuring program needs beside the library: PEs as children of one process, clocks, and how often a row runs. */
#ifndef BESIDE_H
#define BESIDE_H
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <functional>
#include <sched.h>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>
/* A library without PEs has ranks, and another way to start. */
#ifndef BESIDE_WITHOUT_PES
#include <nvshmem.h>
#include <nvshmemx.h>
#endif

enum { MOST_PES = 16 };

// Places in memory that words are taken from in turn, and how far apart they are.
enum { PLACES = 64, PLACE_BYTES = 34 * 128 };

/* What the PEs share beside the library under test. One for all sources. */
struct Shared {
  std::atomic<int> arrived, round, failed;
  std::atomic<long> chosen;
  double told[MOST_PES];
  char blob[4096];
};
inline Shared *shared;
inline int me, n;
inline cudaStream_t stream;
inline double *result; /* pinned: what a kernel has measured */

#define CUDA(call)                                                                                           \
  do {                                                                                                       \
    const cudaError_t cuda_error = (call);                                                                   \
    if (cuda_error != cudaSuccess) {                                                                         \
      std::printf("error\tPE %d, line %d: %s: %s\n", me, __LINE__, #call, cudaGetErrorString(cuda_error));   \
      std::fflush(stdout);                                                                                   \
      shared->failed = 1;                                                                                    \
      _exit(3);                                                                                              \
    }                                                                                                        \
  } while (0)

static inline double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Whether each PE has a GPU of its own (BESIDE_EACH=1); otherwise all have the first. */
inline bool on_each;

static inline void fail(const std::string &why) {
  std::printf("error\tPE %d: %s\n", me, why.c_str());
  std::fflush(stdout);
  shared->failed = 1;
  _exit(9);
}

/* A meeting of the PEs that costs neither library anything. */
static inline void meet() {
  const int round = shared->round.load();
  if (shared->arrived.fetch_add(1) == n - 1) {
    shared->arrived = 0;
    shared->round.fetch_add(1);
    return;
  }
  for (int spins = 0; shared->round.load() == round; spins++) {
    if (shared->failed.load()) _exit(4);
    if (spins > 2000) sched_yield();
  }
}
/* All PEs are idle, and so is the GPU as far as they use it. */
static inline void settle() {
  CUDA(cudaStreamSynchronize(stream));
  meet();
}

static inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/* A row of the results, by PE 0: microseconds an operation. */
static inline void row(const std::string &name, std::vector<double> samples, long times) {
  if (me != 0) return;
  std::sort(samples.begin(), samples.end());
  std::printf("row\t%s\t%.6g\t%.6g\t%.6g\t%ld\n", name.c_str(), samples[samples.size() / 2], samples.front(), samples.back(), times);
  std::fflush(stdout);
}
static inline void wrong(const std::string &name, const char *what, long long got, long long wanted, long long at) {
  std::printf("wrong\t%s\tPE %d: %s is %lld and not %lld at %lld\n", name.c_str(), me, what, got, wanted, at);
  std::fflush(stdout);
}

inline double budget_us = 15000; /* of a sample */
inline int samples = 5;

/* How often something runs in a sample, if once takes `once` microseconds on PE 0: the same on all PEs. */
static inline long times_for(double once, long most) {
  if (me == 0) shared->chosen = std::max(1l, std::min(most, (long)(budget_us / std::max(once, 0.01))));
  meet();
  const long times = shared->chosen;
  meet();
  return times;
}

/* Runs `many(k)`, which does the operation k times and waits for all of them, on all PEs together; PE 0's time counts. */
static inline void measure(const std::string &name, long most, const std::function<void(long)> &many) {
  settle();
  many(1);
  settle();
  const long few = std::min(most, 3l);
  double from = now_us();
  many(few);
  const double once = (now_us() - from) / (double)few;
  settle();
  const long times = times_for(once, most);
  std::vector<double> all;
  for (int i = 0; i < samples; i++) {
    settle();
    from = now_us();
    many(times);
    all.push_back((now_us() - from) / (double)times);
  }
  settle();
  row(name, all, times);
}

/* The same with the time that a kernel has measured itself, in nanoseconds an operation, in *result. */
static inline void measure_kernel(const std::string &name, long most, const std::function<void(long)> &many) {
  settle();
  *result = 0;
  many(std::min(most, 20l));
  settle();
  const long times = std::max(20l, times_for(*result / 1e3, most));
  std::vector<double> all;
  for (int i = 0; i < samples; i++) {
    many(times);
    settle();
    all.push_back(*result / 1e3);
  }
  row(name, all, times);
}

/* By events around one launch that does the operation k times; PE 0 only, the others wait. */
static inline void measure_launch(const std::string &name, long most, const std::function<void(long)> &launch) {
  static cudaEvent_t from, to;
  if (from == nullptr) {
    CUDA(cudaEventCreate(&from));
    CUDA(cudaEventCreate(&to));
  }
  const auto time = [&](long times) {
    float ms = 0;
    CUDA(cudaEventRecord(from, stream));
    launch(times);
    CUDA(cudaEventRecord(to, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaEventElapsedTime(&ms, from, to));
    return (double)ms * 1e3 / (double)times;
  };
  settle();
  if (me == 0) {
    time(1);
    const double once = time(2);
    const long times = std::max(1l, std::min(most, (long)(budget_us / std::max(once, 0.01))));
    std::vector<double> all;
    for (int i = 0; i < samples; i++) all.push_back(time(times));
    row(name, all, times);
  }
  settle();
}

static inline __device__ uint64_t device_clock() {
#ifdef DUSHMEM_EMU
  return (uint64_t)(now_us() * 1e3);
#else
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
#endif
}

/* Contents: what PE `pe` has at element i. */
static inline float value(int pe, size_t i) { return (float)(pe * 1000 + (int)(i % 997)); }
static inline void fill(float *at, size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; i++) all[i] = value(me, i);
  CUDA(cudaMemcpy(at, all.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  CUDA(cudaDeviceSynchronize()); /* of pageable memory the last part may be under way still */
}
static inline void compare(const std::string &name, const float *at, size_t count, const std::function<float(size_t)> &wanted) {
  std::vector<float> all(count);
  CUDA(cudaMemcpy(all.data(), at, count * sizeof(float), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < count; i++)
    if (all[i] != wanted(i)) return wrong(name, "an element", (long long)all[i], (long long)wanted(i), (long long)i);
}
static inline void clear(void *at, size_t bytes) {
  CUDA(cudaMemset(at, 0xee, bytes));
  CUDA(cudaDeviceSynchronize());
}

#ifndef BESIDE_WITHOUT_PES
template <class Kernel> static inline void launch_together(Kernel kernel, dim3 grid, dim3 block, void **arguments) {
  if (nvshmemx_collective_launch((const void *)kernel, grid, block, arguments, 0, stream) != 0) {
    std::printf("error\tPE %d: collective_launch\n", me);
    std::fflush(stdout);
    shared->failed = 1;
    _exit(5);
  }
}

#endif

static inline std::string size_name(size_t bytes) {
  if (bytes >= (1u << 20)) return std::to_string(bytes >> 20) + " MiB";
  if (bytes >= 1024) return std::to_string(bytes >> 10) + " KiB";
  return std::to_string(bytes) + " B";
}

static inline bool is_wanted(int argc, char **argv, const char *group) {
  for (int i = 2; i < argc; i++)
    if (std::strcmp(argv[i], group) == 0) return true;
  return false;
}

/* The context, the stream, and memory for what kernels measure: before any library. */
static inline void begin_pe() {
  const char *each = std::getenv("BESIDE_EACH");
  on_each = each && *each == '1';
  int devices = 0;
  CUDA(cudaGetDeviceCount(&devices));
  if (on_each && devices < n) fail(std::to_string(n) + " PEs want a GPU each, and there are " + std::to_string(devices));
  CUDA(cudaSetDevice(on_each ? me : 0));
  CUDA(cudaFree(nullptr));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaHostAlloc((void **)&result, 4096, cudaHostAllocMapped));
  meet();
}

/* Runs the body as each PE: children of this process. The first argument is their number. */
static inline int run_pes(int argc, char **argv, void (*body)(int, char **)) {
  n = argc > 1 ? std::atoi(argv[1]) : 0;
  if (n < 2 || n > MOST_PES) {
    std::fprintf(stderr, "usage: %s PES GROUP...\n", argv[0]);
    return 2;
  }
  if (const char *quick = std::getenv("BESIDE_QUICK"); quick && *quick == '1') budget_us = 2000, samples = 3;
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  shared = new (memory) Shared;
  std::vector<pid_t> children;
  for (int pe = 0; pe < n; pe++) {
    const pid_t child = fork();
    if (child == 0) {
      // None outlives this process.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      me = pe;
      body(argc, argv);
      std::fflush(stdout);
      _exit(0);
    }
    children.push_back(child);
  }
  int bad = 0;
  for (int left = n; left > 0; left--) {
    int status = 0;
    const pid_t child = wait(&status);
    if (status == 0) continue;
    const long pe = std::find(children.begin(), children.end(), child) - children.begin();
    std::printf("error\tPE %ld ended with status 0x%x\n", pe, (unsigned)status);
    std::fflush(stdout);
    shared->failed = 1;
    // The others may be in a call of the library.
    if (bad++ == 0) {
      usleep(500000);
      for (pid_t other : children)
        if (other != child) kill(other, SIGKILL);
    }
  }
  if (!bad) std::printf("done\n");
  return bad != 0;
}
#endif
