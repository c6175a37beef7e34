/* Rows of dushbench about kernels on the CPU.
 *
 * Usage: emu SECTION, under dushrun. Sections: kernels (one PE), put and proxy (two PEs).
 * Prints one line a row: row <name> <PEs> <bytes> <ours> <raw> <ours min> <raw min> <unit>, tab separated;
 * ours and raw are medians, raw is 0 where there is nothing to compare with. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <vector>

static double clock_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}
static double now_ns() { return clock_ns(CLOCK_MONOTONIC); }
/* CPU time of all threads of the process: what a kernel costs wherever its blocks ran. */
static double cpu_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

struct Samples {
  std::vector<double> values;
  void add(double value) { values.push_back(value); }
  double median() {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  double least() { return values.empty() ? 0 : *std::min_element(values.begin(), values.end()); }
};

static void row(const char *name, size_t bytes, Samples ours, Samples raw, const char *unit) {
  const double m = ours.median(), r = raw.median();
  std::printf("row\t%s\t%d\t%zu\t%.3f\t%.3f\t%.3f\t%.3f\t%s\n", name, dushmem_n_pes(), bytes, m, r, ours.least(),
              raw.least(), unit);
  std::fflush(stdout);
}

static void ok(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "emu: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

__global__ void empty() {}

__global__ void number(unsigned *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i & 1023] = i;
}

__global__ void barriers(int rounds) {
  for (int i = 0; i < rounds; i++) __syncthreads();
}

/* A reduction in shared memory: barriers with something between them. */
__global__ void reduce(int *out, int rounds) {
  __shared__ int part[1024];
  const unsigned i = threadIdx.x;
  for (int r = 0; r < rounds; r++) {
    part[i] = int(i) + r;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
      if (i < step) part[i] += part[i + step];
      __syncthreads();
    }
    if (i == 0) out[r & 15] = part[0];
    __syncthreads();
  }
}

static const int REPS = 41;

static void launches(cudaStream_t stream) {
  Samples ours;
  for (int r = 0; r < REPS; r++) {
    const int n = 200;
    const double start = now_ns();
    for (int i = 0; i < n; i++) {
      empty<<<1, 1, 0, stream>>>();
      ok(cudaStreamSynchronize(stream));
    }
    ours.add((now_ns() - start) / n / 1e3);
  }
  row("launch + synchronise", 0, ours, {}, "us");
  Samples queued;
  for (int r = 0; r < REPS; r++) {
    const int n = 1000;
    const double start = now_ns();
    for (int i = 0; i < n; i++) empty<<<1, 1, 0, stream>>>();
    ok(cudaStreamSynchronize(stream));
    queued.add((now_ns() - start) / n / 1e3);
  }
  row("launch in a queue", 0, queued, {}, "us");
}

static void syncs(cudaStream_t stream, int threads, const char *name) {
  Samples ours;
  const int rounds = 1000;
  for (int r = 0; r < REPS; r++) {
    const double start = cpu_ns();
    barriers<<<1, threads, 0, stream>>>(rounds);
    ok(cudaStreamSynchronize(stream));
    ours.add((cpu_ns() - start) / rounds / threads);
  }
  row(name, 0, ours, {}, "ns");
}

static void plain(cudaStream_t stream) {
  unsigned *out;
  ok(cudaMalloc(&out, 1024 * sizeof *out));
  const int threads = 1 << 20;
  for (int block : {256, 32, 1}) {
    Samples ours;
    for (int r = 0; r < REPS; r++) {
      const double start = cpu_ns();
      number<<<threads / block, block, 0, stream>>>(out);
      ok(cudaStreamSynchronize(stream));
      ours.add((cpu_ns() - start) / threads);
    }
    char name[64];
    std::snprintf(name, sizeof name, "thread, blocks of %d", block);
    row(name, 0, ours, {}, "ns");
  }
  ok(cudaFree(out));
}

static void sums(cudaStream_t stream) {
  int *out;
  ok(cudaMalloc(&out, 16 * sizeof *out));
  Samples ours;
  const int rounds = 100, threads = 256;
  for (int r = 0; r < REPS; r++) {
    const double start = cpu_ns();
    reduce<<<1, threads, 0, stream>>>(out, rounds);
    ok(cudaStreamSynchronize(stream));
    ours.add((cpu_ns() - start) / rounds / threads / 10);
  }
  row("barrier of a sum", 0, ours, {}, "ns");
  ok(cudaFree(out));
}

static const int PUTS = 10;

__global__ void put_block(char *dest, const char *source, size_t bytes, int pe) {
  for (int i = 0; i < PUTS; i++) dushmemx_putmem_block(dest, source, bytes, pe);
}

static void puts(cudaStream_t stream) {
  const int other = dushmem_my_pe() ^ 1;
  const size_t most = 1 << 20;
  char *dest = static_cast<char *>(dushmem_malloc(most)), *source = static_cast<char *>(dushmem_malloc(most));
  std::memset(source, 1, most);
  dushmem_barrier_all();
  if (dushmem_my_pe() == 0) {
    char *peer = static_cast<char *>(dushmem_ptr(dest, other));
    for (size_t bytes : {most, size_t(4096)}) {
      Samples ours, raw;
      for (int r = 0; r < 2 * REPS + 2; r++) {
        const double start = now_ns();
        put_block<<<1, 256, 0, stream>>>(dest, source, bytes, other);
        ok(cudaStreamSynchronize(stream));
        const double between = now_ns();
        for (int i = 0; i < PUTS; i++) {
          std::memcpy(peer, source, bytes);
          __asm__ volatile("" ::: "memory");
        }
        if (r < 2) continue; // pages, stacks
        ours.add((between - start) / PUTS / 1e3);
        raw.add((now_ns() - between) / PUTS / 1e3);
      }
      row("put by a block", bytes, ours, raw, "us");
    }
  }
  dushmem_barrier_all();
  dushmem_free(source);
  dushmem_free(dest);
}

__global__ void fetch_adds(uint64_t *word, int count, int pe) {
  for (int i = 0; i < count; i++) dushmem::device::atomic_fetch_add(word, uint64_t(1), pe);
}
__global__ void put_each(uint64_t *dest, const uint64_t *source, size_t words, int count, int pe) {
  for (int i = 0; i < count; i++) dushmem::device::put(dest, source, words, pe);
  dushmem::device::quiet();
}

/* A peer that is out of the kernel's reach: what a request to the proxy costs. */
static void requests(cudaStream_t stream) {
  const int other = dushmem_my_pe() ^ 1;
  uint64_t *dest = static_cast<uint64_t *>(dushmem_calloc(128, 8));
  uint64_t *source = static_cast<uint64_t *>(dushmem_calloc(128, 8));
  dushmem_barrier_all();
  const auto measure = [&](const char *name, size_t bytes, int count, auto launch) {
    Samples ours;
    for (int r = 0; r < REPS + 2; r++) {
      const double start = now_ns();
      launch();
      ok(cudaStreamSynchronize(stream));
      if (r >= 2) ours.add((now_ns() - start) / count / 1e3);
    }
    row(name, bytes, ours, {}, "us");
  };
  if (dushmem_my_pe() == 0) {
    measure("fetch_add by request", 8, 500, [&] { fetch_adds<<<1, 1, 0, stream>>>(dest, 500, other); });
    measure("requests, 256 threads", 8, 256 * 10,
            [&] { fetch_adds<<<1, 256, 0, stream>>>(dest, 10, other); });
    measure("put by request", 1024, 500, [&] { put_each<<<1, 1, 0, stream>>>(dest, source, 128, 500, other); });
    measure("put by request", 8, 5000, [&] { put_each<<<1, 1, 0, stream>>>(dest, source, 1, 5000, other); });
  }
  dushmem_barrier_all();
  dushmem_free(source);
  dushmem_free(dest);
}

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "proxy") == 0) setenv("DUSHMEM_EMU_REMOTE", "1", 1);
  dushmem_init();
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  if (argc == 2 && std::strcmp(argv[1], "kernels") == 0) {
    launches(stream);
    syncs(stream, 256, "__syncthreads, 256");
    syncs(stream, 1024, "__syncthreads, 1024");
    sums(stream);
    plain(stream);
  } else if (argc == 2 && std::strcmp(argv[1], "put") == 0) {
    puts(stream);
  } else if (argc == 2 && std::strcmp(argv[1], "proxy") == 0) {
    requests(stream);
  } else {
    std::fprintf(stderr, "usage: emu kernels|put|proxy\n");
    return 2;
  }
  ok(cudaStreamDestroy(stream));
  dushmem_finalize();
  return 0;
}
