// What the larger programs of this folder share: settings from the command line, checks of the runtime's calls,
// symmetric memory, random numbers that do not depend on the number of PEs, and the verdict.
//
// The programs have HIP's names. dushcc compiles them for the CPU and hipcc for AMD GPUs as they are, and nvcc
// with the folder include/dushmem/nvcc of the installation, in which HIP's names lead to CUDA's.
#ifndef PROGRAM_H
#define PROGRAM_H
#include <hip/hip_runtime.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dushmem.h>
#include <dushmemx.h>
#include <vector>

#define CHECK(call) check(call, #call)

// A number that the user can set. The first setting can also be given without its name.
struct Setting {
  const char *name;
  uint64_t *value, least, most;
  const char *meaning;
};

static const char *program;
static int me, n;          // this PE, and how many there are
static hipStream_t stream; // where everything runs
static uint64_t errors;    // what `wrong` has counted on this PE

// Ends the job with the call that failed and the reason.
static inline void check(hipError_t error, const char *call) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: PE %d: %s: %s\n", program, me, call, hipGetErrorString(error));
  dushmem_global_exit(1);
}

// The library's calls return 0, or have said what is wrong.
static inline void check(int status, const char *call) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: PE %d: %s: status %d\n", program, me, call, status);
  dushmem_global_exit(1);
}

[[noreturn]] static inline void leave(int code) {
  dushmem_finalize();
  std::exit(code);
}

template <size_t Count> static inline void usage(const char *about, const Setting (&settings)[Count]) {
  std::printf("%s: %s\n\nusage: dushrun -n PES ./%s [%s] [--NAME NUMBER ...]\n", program, about, program,
              settings->name);
  for (const Setting &one : settings)
    std::printf("  --%-8s %s; %" PRIu64 " to %" PRIu64 ", %" PRIu64 " if not given\n", one.name, one.meaning, one.least,
                one.most, *one.value);
}

// Joins the job, takes a device, and reads the command line. A wrong word ends the job with code 2 and one line.
template <size_t Count>
static inline void start(int argc, char **argv, const char *name, const char *about, const Setting (&settings)[Count]) {
  dushmem_init();
  program = name;
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--help") == 0) {
      if (me == 0) usage(about, settings);
      leave(0);
    }
    const bool named = std::strncmp(argv[i], "--", 2) == 0;
    size_t at = 0;
    while (named && at < Count && std::strcmp(argv[i] + 2, settings[at].name) != 0) at++;
    if (at == Count) {
      if (me == 0) std::fprintf(stderr, "%s: there is no option %s; see --help\n", program, argv[i]);
      leave(2);
    }
    const Setting &setting = settings[at];
    const char *word = named ? (i + 1 < argc ? argv[++i] : "nothing") : argv[i];
    char *end;
    errno = 0;
    const uint64_t value = std::strtoull(word, &end, 10);
    if (!std::isdigit((unsigned char)*word) || *end != '\0' || errno != 0 || value < setting.least ||
        value > setting.most) {
      if (me == 0)
        std::fprintf(stderr, "%s: --%s takes a number from %" PRIu64 " to %" PRIu64 ", not %s\n", program,
                     setting.name, setting.least, setting.most, word);
      leave(2);
    }
    *setting.value = value;
  }
  // PEs of one machine share its devices.
  int devices = 0;
  CHECK(hipGetDeviceCount(&devices));
  CHECK(hipSetDevice(dushmem_team_my_pe(DUSHMEMX_TEAM_NODE) % devices));
  CHECK(hipStreamCreate(&stream));
}

// Zeroed symmetric memory of the device, as much on every PE; finalize gives it back. Where there is no room the
// library has said so, and all PEs get null.
template <class T> static inline T *symmetric(uint64_t count) {
  T *block = static_cast<T *>(dushmem_calloc(count ? count : 1, sizeof(T)));
  if (block == nullptr) leave(1);
  return block;
}

// Between the memory of the device, which the host can't touch on a GPU, and that of the host.
template <class T> static inline void to_device(T *device, const std::vector<T> &host) {
  CHECK(hipMemcpyAsync(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
}
template <class T> static inline std::vector<T> to_host(const T *device, uint64_t count) {
  std::vector<T> host(count);
  CHECK(hipMemcpyAsync(host.data(), device, count * sizeof(T), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  return host;
}

// Random number i of a stream: a function of its number, so it does not matter which PE asks for it.
__host__ __device__ static inline uint64_t random_at(uint64_t of, uint64_t i) {
  uint64_t x = (of << 56) + (i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// A whole number from -most to most: sums and products of these are exact in a float, in any order, as long as
// they stay below 2^24.
__host__ __device__ static inline float small_number(uint64_t of, uint64_t i, int most) {
  return (float)((int)((random_at(of, i) >> 32) * (uint64_t)(2 * most + 1) >> 32) - most);
}

// The first of `all` items that part `part` of `parts` has; those of the next part begin where it ends.
__host__ __device__ static inline uint64_t first_of(uint64_t part, uint64_t parts, uint64_t all) {
  return part * (all / parts) + part * (all % parts) / parts;
}

// In a loop that looks for something: leaves the processor to others for a moment.
__device__ static inline void idle() {
#if defined(__HIP_PLATFORM_AMD__) && !defined(DUSHMEM_EMU)
  __builtin_amdgcn_s_sleep(16);
#else
  __nanosleep(500);
#endif
}

// Notes that something is not as it should be. The first three are shown.
__attribute__((format(printf, 1, 2))) static inline void wrong(const char *format, ...) {
  if (errors++ >= 3) return;
  char line[200];
  va_list words;
  va_start(words, format);
  std::vsnprintf(line, sizeof line, format, words);
  va_end(words);
  std::fprintf(stderr, "%s: PE %d: %s\n", program, me, line);
}

// Seconds that this PE took for `work`, which all begin together.
template <class Work> static inline double timed(Work work) {
  dushmemx_barrier_all_on_stream(stream);
  CHECK(hipStreamSynchronize(stream));
  const auto began = std::chrono::steady_clock::now();
  work();
  CHECK(hipGetLastError());
  CHECK(hipStreamSynchronize(stream));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// The largest of the PEs' numbers, and their sum: the PE that took longest tells how long it took.
static inline double largest(double value) {
  static double *word = symmetric<double>(2);
  to_device(word, std::vector<double>{value});
  dushmemx_double_max_reduce_on_stream(DUSHMEM_TEAM_WORLD, word + 1, word, 1, stream);
  return to_host(word + 1, 1)[0];
}
static inline uint64_t sum(uint64_t value) {
  static uint64_t *word = symmetric<uint64_t>(2);
  to_device(word, std::vector<uint64_t>{value});
  dushmemx_uint64_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, word + 1, word, 1, stream);
  return to_host(word + 1, 1)[0];
}

// The last line, and the exit code: what was computed, how long that took, and whether it is right.
__attribute__((format(printf, 2, 3))) static inline int finish(double seconds, const char *format, ...) {
  const uint64_t all = sum(errors);
  const double longest = largest(seconds);
  if (me == 0) {
    char line[300];
    va_list words;
    va_start(words, format);
    std::vsnprintf(line, sizeof line, format, words);
    va_end(words);
    std::printf("%s: %d PE%s, %s, %.3g ms: ", program, n, n == 1 ? "" : "s", line, 1e3 * longest);
    if (all) std::printf("%" PRIu64 " error%s\n", all, all == 1 ? "" : "s");
    else std::printf("correct\n");
  }
  CHECK(hipStreamDestroy(stream));
  dushmem_finalize();
  return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
#endif
