/* What the device headers need of HIP, for host compilers: programs with kernels that use the device API then run on the
 * stand-in, by the code for GPUs. A launch is a function of the host, of one thread at a time, so kernels neither
 * synchronise blocks nor wait for other threads of their grid. Compile with -D__HIPCC__; needs CUDA_STANDIN_HOST_ACCESS=1.
 *
 * Atomic operations are those of a GPU without native atomics on memory of the host: on what the program has there they are
 * a read and a write, with time for others in between. What the driver has allocated there only kernels change so. */
#ifndef CUDA_STANDIN_HIP_H
#define CUDA_STANDIN_HIP_H
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sched.h>

#define __constant__
#define __launch_bounds__(...)
#define ext_vector_type(n) vector_size(4 * (n))
#define __HIP_MEMORY_SCOPE_SYSTEM 0

struct alignas(16) double2 {
  double x, y;
};
typedef cudaStream_t hipStream_t;
typedef cudaError_t hipError_t;
#define hipSuccess cudaSuccess
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipErrorInvalidHandle cudaErrorInvalidResourceHandle
#define hipErrorInvalidDeviceFunction cudaErrorInvalidDeviceFunction
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipGetDevice cudaGetDevice
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipFuncAttributes cudaFuncAttributes
#define hipFuncGetAttributes cudaFuncGetAttributes
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define HIP_SYMBOL(variable) (&(variable))
enum { hipMemcpyHostToDevice };

extern "C" bool standin_is_registered(size_t address);

namespace cuda_standin {

/* The variable of a unit, which kernels may be reading. */
inline hipError_t set_variable(void *variable, const void *source, size_t bytes) {
  const uint64_t *from = (const uint64_t *)source;
  for (size_t i = 0; i < bytes / 8; i++) __atomic_store_n((uint64_t *)variable + i, from[i], __ATOMIC_SEQ_CST);
  return hipSuccess;
}

template <class T, class Change> T change(T *at, Change what) {
  if (!standin_is_registered((size_t)at)) {
    T old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(at, &old, what(old), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
    return old;
  }
  const T old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
  sched_yield();
  const T made = what(old);
  if (made != old) __atomic_store_n(at, made, __ATOMIC_SEQ_CST);
  return old;
}
template <class T> bool compare_exchange(T *at, T *expected, T value) {
  const T cond = *expected, old = change(at, [=](T found) { return found == cond ? value : found; });
  *expected = old;
  return old == cond;
}

} // namespace cuda_standin

#define hipMemcpyToSymbolAsync(symbol, source, bytes, offset, kind, stream) \
  ((void)(stream), cuda_standin::set_variable((void *)(symbol), source, bytes))
#define __hip_atomic_load(at, order, scope) __atomic_load_n(at, order)
#define __hip_atomic_store(at, value, order, scope) __atomic_store_n(at, value, order)
#define __hip_atomic_fetch_add(at, value, order, scope) cuda_standin::change(at, [=](U old) { return (U)(old + (value)); })
#define __hip_atomic_fetch_and(at, value, order, scope) cuda_standin::change(at, [=](U old) { return (U)(old & (value)); })
#define __hip_atomic_fetch_or(at, value, order, scope) cuda_standin::change(at, [=](U old) { return (U)(old | (value)); })
#define __hip_atomic_fetch_xor(at, value, order, scope) cuda_standin::change(at, [=](U old) { return (U)(old ^ (value)); })
#define __hip_atomic_fetch_max(at, value, order, scope) \
  cuda_standin::change(at, [=](uint64_t old) { return old < (value) ? (uint64_t)(value) : old; })
#define __hip_atomic_exchange(at, value, order, scope) cuda_standin::change(at, [=](U) { return (U)(value); })
#define __hip_atomic_compare_exchange_strong(at, cond, value, done, failed, scope) \
  cuda_standin::compare_exchange(at, cond, value)

#define __builtin_amdgcn_fence(order, scope) __atomic_thread_fence(order)
#define __builtin_amdgcn_wave_barrier() ((void)0)
#define __builtin_amdgcn_s_sleep(cycles) ((void)sched_yield())
#define __builtin_trap() (fflush(stdout), abort())
#define __threadfence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
inline void __syncthreads() {}
static const int warpSize = 64;
inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
#endif
