// Collective launch: the largest grid is resident on every PE at the same time; what doesn't fit is refused.
// With an argument: calls that can't be captured.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hip/hip_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include "memory.h"

static int me, n, failures;

static void same(const char *what, long got, long want) {
  if (got != want && failures++ < 20) std::printf("PE %d: %s is %ld, not %ld\n", me, what, got, want);
}

// Every block of every PE waits for all blocks of all PEs.
__global__ void meet(uint64_t *count, int pes) {
  if (threadIdx.x == 0) {
    for (int pe = 0; pe < pes; pe++) dushmem_uint64_atomic_inc(count, pe);
    dushmem_uint64_wait_until(count, DUSHMEM_CMP_GE, (uint64_t)gridDim.x * (uint64_t)pes);
  }
  __syncthreads();
}

__device__ static void rest() {
#if defined(__HIP_DEVICE_COMPILE__)
  __builtin_amdgcn_s_sleep(10);
#elif !defined(__HIPCC__)
  __nanosleep(200);
#endif
}

// A block of each PE at the barrier, between blocks that wait for it.
__global__ void barrier_inside(int *flag, int *out) {
  if (blockIdx.x == gridDim.x - 1) {
    dushmemx_barrier_all_block();
    if (threadIdx.x == 0) atomicExch(flag, 1);
  } else if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) rest();
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, 1);
}

static int refused(const char *how) {
  hipStream_t stream;
  hipGraph_t graph;
  int *word = (int *)dushmem_calloc(1, sizeof(int));
  if (hipStreamCreate(&stream) != hipSuccess) return 2;
  if (hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed) != hipSuccess) return 3;
  if (std::strcmp(how, "fetch") == 0) {
    // Waits for its stream.
    const int got = dushmemx_int_g_on_stream(word, 0, (void *)stream);
    std::printf("got %d\n", got);
  } else if (std::strcmp(how, "invalid") == 0) {
    if (hipStreamSynchronize(stream) != hipErrorStreamCaptureUnsupported) return 4;
    dushmemx_int_p_on_stream(word, 1, 0, (void *)stream);
  } else if (std::strcmp(how, "ended") == 0) {
    // A graph that outlives the job.
    hipGraphExec_t exec;
    dushmemx_int_p_on_stream(word, 1, 0, (void *)stream);
    if (hipStreamEndCapture(stream, &graph) != hipSuccess) return 5;
    if (hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) != hipSuccess) return 6;
    dushmem_finalize();
    const hipError_t error = hipGraphLaunch(exec, stream);
    std::printf("%s: %s\n", hipGetErrorName(error), hipGetErrorString(error));
    return 0;
  }
  std::printf("went on\n");
  return 1;
}

int main(int argc, char **argv) {
  dushmem_init();
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  if (argc > 1) return refused(argv[1]);
  uint64_t *count = (uint64_t *)dushmem_calloc(1, sizeof(uint64_t));
  hipStream_t stream;
  if (hipStreamCreate(&stream) != hipSuccess) return 2;

  int most = 0, asked = 0;
  void *args[] = {&count, &n};
  const dim3 block(64);
  same("the query", dushmemx_collective_launch_query_gridsize((const void *)meet, block, args, 0, &most), 0);
  same("the other family's query",
       nvshmemx_collective_launch_query_gridsize((const void *)meet, block, args, 0, &asked), 0);
  same("its grid", asked, most);
  if (most < 1) failures++;
  // A grid of 0 is that one.
  for (int round = 0; round < 2; round++) {
    put_here(count, (uint64_t)0);
    dushmem_barrier_all();
    const dim3 grid = round == 0 ? dim3(0, 0, 0) : dim3((unsigned)most);
    same("the launch", dushmemx_collective_launch((const void *)meet, grid, block, args, 0, stream), 0);
    if (hipStreamSynchronize(stream) != hipSuccess) failures++;
    same("the blocks that met", (long)look(count), (long)most * n);
    dushmem_barrier_all();
  }
  same("a grid too large",
       dushmemx_collective_launch((const void *)meet, dim3((unsigned)most + 1), block, args, 0, stream),
       DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
  same("a block too large", nvshmemx_collective_launch((const void *)meet, dim3(1), dim3(4096), args, 0, stream),
       NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
  same("a block of nothing", dushmemx_collective_launch((const void *)meet, dim3(1), dim3(8, 0), args, 0, stream),
       DUSHMEMX_ERROR_INVALID_VALUE);
  same("no kernel", nvshmemx_collective_launch(nullptr, dim3(1), block, args, 0, stream),
       NVSHMEMX_ERROR_INVALID_VALUE);
  same("no grid size", dushmemx_collective_launch_query_gridsize((const void *)meet, block, args, 0, nullptr),
       DUSHMEMX_ERROR_INVALID_VALUE);
  same("the last error", hipGetLastError(), hipSuccess);

  int *flag, *out;
  if (hipMallocManaged(&flag, sizeof(int)) != hipSuccess || hipMallocManaged(&out, sizeof(int)) != hipSuccess)
    return 3;
  *flag = *out = 0;
  void *inside[] = {&flag, &out};
  same("a kernel with a barrier",
       nvshmemx_collective_launch((const void *)barrier_inside, dim3(5), dim3(32), inside, 0, stream), 0);
  if (hipStreamSynchronize(stream) != hipSuccess) failures++;
  same("its blocks", *out, 5);

  put_here(count, (uint64_t)0);
  dushmem_barrier_all();
  dushmem_uint64_atomic_add(count, (uint64_t)failures, 0);
  dushmem_barrier_all();
  if (me == 0 && look(count) == 0) std::printf("all right\n");
  dushmem_finalize();
  return failures != 0;
}
