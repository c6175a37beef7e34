/* What dushmem/launch.h stands on: the runtime's cooperative launch, which is CUDA's or HIP's; the emulator has
 * both. */
#ifndef DUSHMEM_IMPL_COLLECTIVE_LAUNCH_H
#define DUSHMEM_IMPL_COLLECTIVE_LAUNCH_H

#if defined(__HIPCC__) && !defined(DUSHMEM_EMU)
#include <hip/hip_runtime.h>
#define DUSHMEM_IMPL_RT(cuda_name, hip_name) hip_name
#else
#include <cuda_runtime.h>
#define DUSHMEM_IMPL_RT(cuda_name, hip_name) cuda_name
#endif
#include <stdio.h>

extern "C" {
/* PEs whose kernels are on this PE's device at the same time, this one's among them: its blocks are divided by them.
 * With `launches` all PEs make the call, and the first binds their devices; without, before devices are bound, as many
 * as there can be. Negative: an error, whose line has been printed; its number is the ERROR constant's. */
int dushmem_impl_sharing_pes(const char *call, int launches);
}

namespace dushmem {
namespace impl {

typedef DUSHMEM_IMPL_RT(cudaStream_t, hipStream_t) stream_t;
typedef DUSHMEM_IMPL_RT(cudaError_t, hipError_t) runtime_error;

/* Values of the result: those of the families' ERROR constants. */
enum { collective_launch_failed = 6, collective_launch_invalid = 1 };

/* A failed call leaves its code as the thread's last error; these calls report by their result. */
static inline __host__ int launch_failure(const char *call, runtime_error error) {
  fprintf(stderr, "dushmem: %s: %s\n", call, DUSHMEM_IMPL_RT(cudaGetErrorString, hipGetErrorString)(error));
  (void)DUSHMEM_IMPL_RT(cudaGetLastError, hipGetLastError)();
  const bool argument = error == DUSHMEM_IMPL_RT(cudaErrorInvalidValue, hipErrorInvalidValue) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidConfiguration, hipErrorInvalidConfiguration) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidResourceHandle, hipErrorInvalidHandle) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidDeviceFunction, hipErrorInvalidDeviceFunction);
  return argument ? collective_launch_invalid : collective_launch_failed;
}

static inline __host__ int launch_invalid(const char *call, const char *what) {
  fprintf(stderr, "dushmem: %s: %s\n", call, what);
  return collective_launch_invalid;
}

/* Blocks that are resident at once on each of `pes` PEs that launch the same kernel on one device. */
static inline __host__ int resident_blocks(const char *call, const void *func, dim3 block, size_t shared, int pes,
                                           int *size) {
  if (func == NULL) return launch_invalid(call, "func is NULL: pass the address of a kernel");
  if (size == NULL) return launch_invalid(call, "gridsize is NULL");
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (threads == 0 || threads > 0x7fffffffu) {
    fprintf(stderr, "dushmem: %s: block (%u, %u, %u): no side may be 0, and a block has at most 1024 threads\n", call,
            block.x, block.y, block.z);
    return collective_launch_invalid;
  }
  int device = 0, processors = 0, blocks = 0;
  runtime_error error = DUSHMEM_IMPL_RT(cudaGetDevice, hipGetDevice)(&device);
  if (error == DUSHMEM_IMPL_RT(cudaSuccess, hipSuccess))
    error = DUSHMEM_IMPL_RT(cudaDeviceGetAttribute, hipDeviceGetAttribute)(
        &processors, DUSHMEM_IMPL_RT(cudaDevAttrMultiProcessorCount, hipDeviceAttributeMultiprocessorCount), device);
  if (error == DUSHMEM_IMPL_RT(cudaSuccess, hipSuccess))
    error = DUSHMEM_IMPL_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
                            hipOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, func, (int)threads, shared);
  if (error != DUSHMEM_IMPL_RT(cudaSuccess, hipSuccess)) return launch_failure(call, error);
  *size = blocks * processors / pes;
  return 0;
}

static inline __host__ int resident_grid(const char *call, const void *func, dim3 block, size_t shared, int *size) {
  const int pes = dushmem_impl_sharing_pes(call, 0);
  return pes < 0 ? -pes : resident_blocks(call, func, block, shared, pes, size);
}

static inline __host__ int collective_launch(const char *call, const void *func, dim3 grid, dim3 block, void **args,
                                             size_t shared, stream_t stream) {
  /* First, since all PEs take part. */
  const int pes = dushmem_impl_sharing_pes(call, 1);
  if (pes < 0) return -pes;
  int most = 0;
  const int bad = resident_blocks(call, func, block, shared, pes, &most);
  if (bad != 0) return bad;
  if (grid.x == 0 && grid.y == 0 && grid.z == 0) grid = dim3((unsigned)most);
  const unsigned long long blocks = (unsigned long long)grid.x * grid.y * grid.z;
  char sharing[120] = "";
  if (pes > 1)
    snprintf(sharing, sizeof sharing, ", since %d PEs share the device (with fewer PEs on it each has more)", pes);
  if (most == 0) {
    fprintf(stderr,
            "dushmem: %s: no block of %llu threads with %llu bytes of dynamic shared memory fits on the device%s\n", call,
            (unsigned long long)block.x * block.y * block.z, (unsigned long long)shared, sharing);
    return collective_launch_failed;
  }
  if (blocks > (unsigned long long)most) {
    fprintf(stderr,
            "dushmem: %s: grid (%u, %u, %u) has %llu blocks; with %u threads and %llu bytes of dynamic shared memory "
            "each, at most %d are resident at once%s: launch fewer, or a grid of 0, or ask %s_query_gridsize\n",
            call, grid.x, grid.y, grid.z, blocks, block.x * block.y * block.z, (unsigned long long)shared, most, sharing,
            call);
    return collective_launch_failed;
  }
  const runtime_error error = DUSHMEM_IMPL_RT(cudaLaunchCooperativeKernel, hipLaunchCooperativeKernel)(
      func, grid, block, args, (unsigned)shared, stream);
  return error == DUSHMEM_IMPL_RT(cudaSuccess, hipSuccess) ? 0 : launch_failure(call, error);
}

} // namespace impl
} // namespace dushmem
#undef DUSHMEM_IMPL_RT
#endif
