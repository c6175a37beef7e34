// One PE ends the job, from a kernel or from the host, while the others are in kernels: waiting in the library's calls,
// or computing for ever. Argument: who ends it, kernel, host or abort; or late,
// for a kernel that runs when the program ends.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <unistd.h>

__global__ void quick(int *ran) { *ran = 1; }
static int *last;
static void at_exit() {
  quick<<<1, 1>>>(last);
  std::printf(cudaDeviceSynchronize() == cudaSuccess && *last == 1 ? "ran\n" : "did not run\n");
}

static void goodbye() { std::printf("exit handler\n"); }

__global__ void waits(long *word) { dushmem_long_wait_until(word, DUSHMEM_CMP_NE, 0); }
__global__ void computes(volatile long *word) {
  while (*word == 0) continue;
}
__global__ void ends(int status) {
  if (threadIdx.x == 3) dushmem_global_exit(status);
  __syncthreads();
}

int main(int argc, char **argv) {
  if (argc < 2) return 98;
  if (!std::strcmp(argv[1], "late")) {
    // The main thread's own variables are gone when exit handlers run.
    std::atexit(at_exit);
    if (cudaMallocManaged(&last, sizeof(int)) != cudaSuccess) return 97;
    quick<<<1, 1>>>(last);
    return cudaDeviceSynchronize() != cudaSuccess;
  }
  dushmem_init();
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  long *word = (long *)dushmem_calloc(1, sizeof(long));
  cudaStream_t stream;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 97;
  dushmem_barrier_all();
  if (me == n - 1) {
    usleep(100000);
    std::atexit(goodbye);
    std::printf("half a line, ");
    if (!std::strcmp(argv[1], "kernel")) ends<<<2, 32, 0, stream>>>(5);
    if (!std::strcmp(argv[1], "host")) {
      waits<<<1, 4, 0, stream>>>(word);
      dushmem_global_exit(5);
    }
    if (!std::strcmp(argv[1], "abort")) std::abort();
  } else if (me % 2 == 0) {
    waits<<<2, 8, 0, stream>>>(word);
  } else {
    computes<<<1, 2, 0, stream>>>(word);
  }
  cudaStreamSynchronize(stream);
  std::printf("PE %d went on\n", me);
  return 96;
}
