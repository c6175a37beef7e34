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
#include <stdarg.h>
#include <stdio.h>

extern "C" {
/* PEs whose kernels are on this PE's device at the same time, this one's among them: its blocks are divided by them.
 * With `launches` all PEs make the call, and the first binds their devices; without, before devices are bound, as many
 * as there can be. Negative: an error, whose line has been printed; its number is the ERROR constant's. */
int dushmem_impl_sharing_pes(const char *call, int launches);
/* Prints a line with this PE's number and host. */
void dushmem_impl_say(const char *call, const char *text);
}

namespace dushmem {
namespace impl {

typedef DUSHMEM_IMPL_RT(cudaStream_t, hipStream_t) stream_t;
typedef DUSHMEM_IMPL_RT(cudaError_t, hipError_t) runtime_error;

/* Values of the result: those of the families' ERROR constants. */
enum { collective_launch_failed = 6, collective_launch_invalid = 1 };

__attribute__((format(printf, 2, 3))) static inline __host__ void launch_line(const char *call, const char *format, ...) {
  char text[480];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  dushmem_impl_say(call, text);
}

/* A failed call leaves its code as the thread's last error; these calls report by their result. */
static inline __host__ int launch_failure(const char *call, runtime_error error) {
  launch_line(call, "%s", DUSHMEM_IMPL_RT(cudaGetErrorString, hipGetErrorString)(error));
  (void)DUSHMEM_IMPL_RT(cudaGetLastError, hipGetLastError)();
  const bool argument = error == DUSHMEM_IMPL_RT(cudaErrorInvalidValue, hipErrorInvalidValue) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidConfiguration, hipErrorInvalidConfiguration) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidResourceHandle, hipErrorInvalidHandle) ||
                        error == DUSHMEM_IMPL_RT(cudaErrorInvalidDeviceFunction, hipErrorInvalidDeviceFunction);
  return argument ? collective_launch_invalid : collective_launch_failed;
}

static inline __host__ int launch_invalid(const char *call, const char *what) {
  launch_line(call, "%s", what);
  return collective_launch_invalid;
}

#ifdef DUSHMEM_EMU
/* Kernels whose type the program passes are known by their address afterwards. */
template <class... P> const void *kernel_address(void (*func)(P...)) {
  ::dushmem::emu::note_kernel(func);
  return reinterpret_cast<const void *>(func);
}
#else
template <class... P> static inline __host__ const void *kernel_address(void (*func)(P...)) {
  return reinterpret_cast<const void *>(func);
}
#endif

/* 0 if a block of the kernel may have so many threads and so much dynamic shared memory. */
static inline __host__ int block_limits(const char *call, const void *func, dim3 block, size_t shared) {
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  DUSHMEM_IMPL_RT(cudaFuncAttributes, hipFuncAttributes) limits;
  const runtime_error error = DUSHMEM_IMPL_RT(cudaFuncGetAttributes, hipFuncGetAttributes)(&limits, func);
  if (error != DUSHMEM_IMPL_RT(cudaSuccess, hipSuccess)) return launch_failure(call, error);
  if (threads > (unsigned long long)limits.maxThreadsPerBlock) {
    launch_line(call, "block (%u, %u, %u) has %llu threads; a block of this kernel has at most %d: launch smaller ones",
                block.x, block.y, block.z, threads, limits.maxThreadsPerBlock);
    return collective_launch_failed;
  }
  if (shared > (size_t)limits.maxDynamicSharedSizeBytes) {
    launch_line(call,
                "sharedMem = %llu bytes of dynamic shared memory; a block of this kernel gets at most %d: pass fewer, or "
                "raise its MaxDynamicSharedMemorySize attribute before, as far as the device allows",
                (unsigned long long)shared, limits.maxDynamicSharedSizeBytes);
    return collective_launch_failed;
  }
  return 0;
}

/* Blocks that are resident at once on each of `pes` PEs that launch the same kernel on one device. */
static inline __host__ int resident_blocks(const char *call, const void *func, dim3 block, size_t shared, int pes,
                                           int *size) {
  if (func == NULL) return launch_invalid(call, "func is NULL: pass the address of a kernel");
  if (size == NULL) return launch_invalid(call, "gridsize is NULL");
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (threads == 0 || threads > 0x7fffffffu) {
    launch_line(call, "block (%u, %u, %u): no side may be 0, and a block has at most 1024 threads", block.x, block.y,
                block.z);
    return collective_launch_invalid;
  }
#ifdef DUSHMEM_EMU
  if (::dushmem::emu::find_kernel(func) == nullptr)
    return launch_invalid(call, ::dushmem::emu::unknown_kernel_text(func).text);
#endif
  const int bad = block_limits(call, func, block, shared);
  if (bad != 0) return bad;
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
  if (grid.x == 0 && grid.y == 0 && grid.z == 0) {
    grid = dim3((unsigned)most);
  } else if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
    launch_line(call, "grid (%u, %u, %u): no side may be 0; for the largest grid that fits pass dim3(0, 0, 0)", grid.x,
                grid.y, grid.z);
    return collective_launch_invalid;
  }
  const unsigned long long blocks = (unsigned long long)grid.x * grid.y * grid.z;
  char sharing[120] = "";
  if (pes > 1)
    snprintf(sharing, sizeof sharing, ", since %d PEs share the device (with fewer PEs on it each has more)", pes);
  if (most == 0) {
    launch_line(call, "no block of %llu threads with %llu bytes of dynamic shared memory fits on the device%s",
                (unsigned long long)block.x * block.y * block.z, (unsigned long long)shared, sharing);
    return collective_launch_failed;
  }
  if (blocks > (unsigned long long)most) {
    launch_line(call,
                "grid (%u, %u, %u) has %llu blocks; with %u threads and %llu bytes of dynamic shared memory each, at "
                "most %d are resident at once%s: launch fewer, or a grid of dim3(0, 0, 0), or ask %s_query_gridsize",
                grid.x, grid.y, grid.z, blocks, block.x * block.y * block.z, (unsigned long long)shared, most, sharing,
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
