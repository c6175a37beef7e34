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

template <int step> __global__ void add_step(int *out) {
  if (threadIdx.x == 0) atomicAdd(out, step);
}

__device__ static void stop() {
#if defined(__HIP_DEVICE_COMPILE__)
  __builtin_trap();
#elif !defined(__HIPCC__)
  __trap();
#endif
}

template <int step> __global__ void trap_step(int *out) {
  if (*out >= 0) stop();
}

__global__ void trap_now(int *out) {
  if (*out >= 0) stop();
}

// Instances of a template, with their type and then by their address.
static void instances(int *out, hipStream_t stream) {
  int most = 0;
  void *args[] = {&out};
  const void *address = (const void *)add_step<3>;
  *out = 0;
#ifdef DUSHMEM_EMU
  same("an address that nobody has passed with its type",
       nvshmemx_collective_launch(address, dim3(2), dim3(32), args, 0, stream), NVSHMEMX_ERROR_INVALID_VALUE);
  same("the query of it", nvshmemx_collective_launch_query_gridsize(address, dim3(32), args, 0, &most),
       NVSHMEMX_ERROR_INVALID_VALUE);
  same("a cooperative launch of it", hipLaunchCooperativeKernel(address, dim3(2), dim3(32), args, 0, stream),
       hipErrorInvalidDeviceFunction);
  (void)hipGetLastError();
#endif
  same("an instance's query", dushmemx_collective_launch_query_gridsize(add_step<3>, dim3(32), args, 0, &most), 0);
  same("its blocks", most > 0, 1);
  same("an instance", nvshmemx_collective_launch(add_step<3>, dim3(2), dim3(32), args, 0, stream), 0);
  same("its address", dushmemx_collective_launch(address, dim3(2), dim3(32), args, 0, stream), 0);
  same("another family's", dushmemx_collective_launch(&add_step<4>, dim3(2), dim3(32), args, 0, stream), 0);
  if (hipStreamSynchronize(stream) != hipSuccess) failures++;
  same("what the instances added", *out, 2 * 3 + 2 * 3 + 2 * 4);
}

// What the launch refuses, the query refuses, with the same words.
static void limits(void **args, hipStream_t stream) {
  int most = 0;
  same("a side of 0", dushmemx_collective_launch(trap_now, dim3(0), dim3(32), args, 0, stream),
       DUSHMEMX_ERROR_INVALID_VALUE);
  same("the query of many threads", dushmemx_collective_launch_query_gridsize(trap_now, dim3(2000), args, 0, &most),
       DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
  same("many threads", dushmemx_collective_launch(trap_now, dim3(1), dim3(2000), args, 0, stream),
       DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
#if !defined(__HIPCC__) || defined(DUSHMEM_EMU)
  same("the query of much memory", dushmemx_collective_launch_query_gridsize(trap_now, dim3(32), args, 60000, &most),
       DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
  same("much memory", dushmemx_collective_launch(trap_now, dim3(1), dim3(32), args, 60000, stream),
       DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED);
  if (hipFuncSetAttribute((const void *)trap_now, hipFuncAttributeMaxDynamicSharedMemorySize, 60000) != hipSuccess)
    failures++;
  same("the query of what is allowed", dushmemx_collective_launch_query_gridsize(trap_now, dim3(32), args, 60000, &most),
       0);
  same("the query of no kernel", nvshmemx_collective_launch_query_gridsize((const void *)&failures, dim3(32), args, 0, &most),
       NVSHMEMX_ERROR_INVALID_VALUE);
#endif
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
  } else if (std::strncmp(how, "trap", 4) == 0) {
    // Its error names the kernel.
    hipStream_t other;
    void *args[] = {&word};
    if (hipStreamCreate(&other) != hipSuccess) return 2;
    const bool named = std::strcmp(how, "trap_now") == 0;
    const int code = named ? dushmemx_collective_launch((const void *)trap_now, dim3(1), dim3(1), args, 0, other)
                           : dushmemx_collective_launch(trap_step<1>, dim3(1), dim3(1), args, 0, other);
    if (code != 0) return 7;
    const hipError_t error = hipStreamSynchronize(other);
    std::printf("%s\n", hipGetErrorString(error));
    std::fflush(stdout);
    std::_Exit(0);
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

  instances(out, stream);
  limits(inside, stream);
  same("the last error of all", hipGetLastError(), hipSuccess);

  put_here(count, (uint64_t)0);
  dushmem_barrier_all();
  dushmem_uint64_atomic_add(count, (uint64_t)failures, 0);
  dushmem_barrier_all();
  if (me == 0 && look(count) == 0) std::printf("all right\n");
  dushmem_finalize();
  return failures != 0;
}
