/* CUDA's names for programs that hipcc compiles: each is HIP's. Add -I PREFIX/include/dushmem/hipcc to hipcc's
 * options. */
#ifndef DUSHMEM_HIPCC_CUDA_RUNTIME_H
#define DUSHMEM_HIPCC_CUDA_RUNTIME_H

#include <hip/hip_runtime.h>


/* Errors */
#define cudaError_t hipError_t
#define cudaSuccess hipSuccess
#define cudaErrorInvalidValue hipErrorInvalidValue
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaErrorInitializationError hipErrorNotInitialized
#define cudaErrorInvalidConfiguration hipErrorInvalidConfiguration
#define cudaErrorInvalidMemcpyDirection hipErrorInvalidMemcpyDirection
#define cudaErrorInvalidDeviceFunction hipErrorInvalidDeviceFunction
#define cudaErrorNoDevice hipErrorNoDevice
#define cudaErrorInvalidDevice hipErrorInvalidDevice
#define cudaErrorInvalidResourceHandle hipErrorInvalidHandle
#define cudaErrorNotReady hipErrorNotReady
#define cudaErrorIllegalAddress hipErrorIllegalAddress
#define cudaErrorLaunchOutOfResources hipErrorLaunchOutOfResources
#define cudaErrorPeerAccessAlreadyEnabled hipErrorPeerAccessAlreadyEnabled
#define cudaErrorPeerAccessNotEnabled hipErrorPeerAccessNotEnabled
#define cudaErrorLaunchFailure hipErrorLaunchFailure
#define cudaErrorCooperativeLaunchTooLarge hipErrorCooperativeLaunchTooLarge
#define cudaErrorNotSupported hipErrorNotSupported
#define cudaErrorUnknown hipErrorUnknown
#define cudaGetLastError hipGetLastError
#define cudaPeekAtLastError hipPeekAtLastError
#define cudaGetErrorString hipGetErrorString
#define cudaGetErrorName hipGetErrorName

/* Devices */
#define cudaDeviceProp hipDeviceProp_t
#define cudaDeviceAttr hipDeviceAttribute_t
#define cudaDevAttrMaxThreadsPerBlock hipDeviceAttributeMaxThreadsPerBlock
#define cudaDevAttrMaxSharedMemoryPerBlock hipDeviceAttributeMaxSharedMemoryPerBlock
#define cudaDevAttrWarpSize hipDeviceAttributeWarpSize
#define cudaDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount
#define cudaDevAttrComputeCapabilityMajor hipDeviceAttributeComputeCapabilityMajor
#define cudaDevAttrComputeCapabilityMinor hipDeviceAttributeComputeCapabilityMinor
#define cudaDevAttrManagedMemory hipDeviceAttributeManagedMemory
#define cudaDevAttrCooperativeLaunch hipDeviceAttributeCooperativeLaunch
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDevice hipGetDevice
#define cudaSetDevice hipSetDevice
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaDeviceGetAttribute hipDeviceGetAttribute
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaDeviceReset hipDeviceReset
#define cudaDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cudaDeviceEnablePeerAccess hipDeviceEnablePeerAccess
#define cudaDeviceGetStreamPriorityRange hipDeviceGetStreamPriorityRange
#define cudaSetDeviceFlags hipSetDeviceFlags
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaDriverGetVersion hipDriverGetVersion

/* Memory */
#define cudaMalloc hipMalloc
#define cudaMallocAsync hipMallocAsync
#define cudaMallocManaged hipMallocManaged
#define cudaMallocPitch hipMallocPitch
#define cudaFree hipFree
#define cudaFreeAsync hipFreeAsync
#define cudaFreeHost hipHostFree
#define cudaHostAllocDefault hipHostMallocDefault
#define cudaHostAllocPortable hipHostMallocPortable
#define cudaHostAllocMapped hipHostMallocMapped
#define cudaHostGetDevicePointer hipHostGetDevicePointer
#define cudaMemAttachGlobal hipMemAttachGlobal
#define cudaMemAttachHost hipMemAttachHost
#define cudaMemGetInfo hipMemGetInfo
#define cudaPointerAttributes hipPointerAttribute_t
#define cudaPointerGetAttributes hipPointerGetAttributes

/* Copies */
#define cudaMemcpyKind hipMemcpyKind
#define cudaMemcpyHostToHost hipMemcpyHostToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaMemcpy hipMemcpy
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpy2D hipMemcpy2D
#define cudaMemcpy2DAsync hipMemcpy2DAsync
#define cudaMemcpyPeer hipMemcpyPeer
#define cudaMemcpyPeerAsync hipMemcpyPeerAsync
#define cudaMemset hipMemset
#define cudaMemsetAsync hipMemsetAsync
#define cudaMemset2D hipMemset2D
#define cudaMemset2DAsync hipMemset2DAsync

/* Streams and events */
#define cudaStream_t hipStream_t
#define cudaStreamDefault hipStreamDefault
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaStreamPerThread hipStreamPerThread
#define cudaStreamCreate hipStreamCreate
#define cudaStreamCreateWithFlags hipStreamCreateWithFlags
#define cudaStreamCreateWithPriority hipStreamCreateWithPriority
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamQuery hipStreamQuery
#define cudaStreamGetFlags hipStreamGetFlags
#define cudaStreamGetPriority hipStreamGetPriority
#define cudaStreamAddCallback hipStreamAddCallback
#define cudaLaunchHostFunc hipLaunchHostFunc
#define cudaHostFn_t hipHostFn_t
#define cudaEvent_t hipEvent_t
#define cudaEventDefault hipEventDefault
#define cudaEventBlockingSync hipEventBlockingSync
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaEventCreate hipEventCreate
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaEventQuery hipEventQuery
#define cudaEventElapsedTime hipEventElapsedTime

/* Kernels */
#define cudaFuncAttributes hipFuncAttributes
#define cudaFuncGetAttributes hipFuncGetAttributes
#define cudaFuncSetAttribute hipFuncSetAttribute
#define cudaFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define cudaFuncSetCacheConfig hipFuncSetCacheConfig
#define cudaFuncCachePreferNone hipFuncCachePreferNone
#define cudaFuncCachePreferShared hipFuncCachePreferShared
#define cudaFuncCachePreferL1 hipFuncCachePreferL1
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor
#define cudaLaunchKernel hipLaunchKernel
#define cudaLaunchCooperativeKernel hipLaunchCooperativeKernel

/* What differs by more than its name */
#define cudaMallocHost(ptr, bytes) hipHostMalloc((void **)(ptr), (bytes), hipHostMallocDefault)
#define cudaHostAlloc(ptr, bytes, flags) hipHostMalloc((void **)(ptr), (bytes), (flags))
#define cudaMemcpyToSymbol(symbol, ...) hipMemcpyToSymbol(HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyToSymbolAsync(symbol, ...) hipMemcpyToSymbolAsync(HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyFromSymbol(to, symbol, ...) hipMemcpyFromSymbol(to, HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaGetSymbolAddress(address, symbol) hipGetSymbolAddress(address, HIP_SYMBOL(symbol))
#define cudaGetSymbolSize(bytes, symbol) hipGetSymbolSize(bytes, HIP_SYMBOL(symbol))
static inline hipError_t cudaStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0) {
  return hipStreamWaitEvent(stream, event, flags);
}
static inline hipError_t cudaGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph, unsigned long long flags = 0) {
  return flags == 0 ? hipGraphInstantiate(exec, graph, nullptr, nullptr, 0)
                    : hipGraphInstantiateWithFlags(exec, graph, flags);
}

/* Atomics of a block: those of the device do as well. HIP 5 has none. */
#define DUSHMEM_HIPCC_BLOCK(NAME) \
  template <class T, class V> static inline __device__ T NAME##_block(T *address, V value) { \
    return NAME(address, (T)value); \
  }
DUSHMEM_HIPCC_BLOCK(atomicAdd)
DUSHMEM_HIPCC_BLOCK(atomicSub)
DUSHMEM_HIPCC_BLOCK(atomicExch)
DUSHMEM_HIPCC_BLOCK(atomicMin)
DUSHMEM_HIPCC_BLOCK(atomicMax)
DUSHMEM_HIPCC_BLOCK(atomicInc)
DUSHMEM_HIPCC_BLOCK(atomicDec)
DUSHMEM_HIPCC_BLOCK(atomicAnd)
DUSHMEM_HIPCC_BLOCK(atomicOr)
DUSHMEM_HIPCC_BLOCK(atomicXor)
#undef DUSHMEM_HIPCC_BLOCK
template <class T, class V> static inline __device__ T atomicCAS_block(T *address, V compare, V value) {
  return atomicCAS(address, (T)compare, (T)value);
}

/* Lanes: all of the warp take part, whatever the mask says. HIP 5 has no masks. */
static inline __device__ void __nanosleep(unsigned) { __builtin_amdgcn_s_sleep(1); }
static inline __device__ void __syncwarp(unsigned long long = ~0ull) { __builtin_amdgcn_wave_barrier(); }
template <class T, class... More> static inline __device__ T __shfl_sync(unsigned long long, T value, More... more) {
  return __shfl(value, more...);
}
template <class T, class... More> static inline __device__ T __shfl_up_sync(unsigned long long, T value, More... more) {
  return __shfl_up(value, more...);
}
template <class T, class... More> static inline __device__ T __shfl_down_sync(unsigned long long, T value, More... more) {
  return __shfl_down(value, more...);
}
template <class T, class... More> static inline __device__ T __shfl_xor_sync(unsigned long long, T value, More... more) {
  return __shfl_xor(value, more...);
}
static inline __device__ unsigned long long __ballot_sync(unsigned long long, int set) { return __ballot(set); }
static inline __device__ int __any_sync(unsigned long long, int set) { return __any(set); }
static inline __device__ int __all_sync(unsigned long long, int set) { return __all(set); }

/* Graphs */
#define cudaGraph_t hipGraph_t
#define cudaGraphNode_t hipGraphNode_t
#define cudaGraphExec_t hipGraphExec_t
#define cudaStreamCaptureStatus hipStreamCaptureStatus
#define cudaStreamCaptureStatusNone hipStreamCaptureStatusNone
#define cudaStreamCaptureStatusActive hipStreamCaptureStatusActive
#define cudaStreamCaptureStatusInvalidated hipStreamCaptureStatusInvalidated
#define cudaStreamCaptureMode hipStreamCaptureMode
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define cudaStreamCaptureModeRelaxed hipStreamCaptureModeRelaxed
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaStreamIsCapturing hipStreamIsCapturing
#define cudaGraphCreate hipGraphCreate
#define cudaGraphDestroy hipGraphDestroy
#define cudaGraphExecDestroy hipGraphExecDestroy
#define cudaGraphLaunch hipGraphLaunch
#define cudaGraphGetNodes hipGraphGetNodes
#define cudaGraphUpload hipGraphUpload
#define cudaErrorStreamCaptureUnsupported hipErrorStreamCaptureUnsupported
#define cudaErrorStreamCaptureInvalidated hipErrorStreamCaptureInvalidated
#define cudaErrorStreamCaptureMerge hipErrorStreamCaptureMerge
#define cudaErrorStreamCaptureUnmatched hipErrorStreamCaptureUnmatched
#define cudaErrorStreamCaptureUnjoined hipErrorStreamCaptureUnjoined
#define cudaErrorStreamCaptureIsolation hipErrorStreamCaptureIsolation
#define cudaErrorStreamCaptureImplicit hipErrorStreamCaptureImplicit
#define cudaErrorCapturedEvent hipErrorCapturedEvent
#define cudaErrorStreamCaptureWrongThread hipErrorStreamCaptureWrongThread
#endif
