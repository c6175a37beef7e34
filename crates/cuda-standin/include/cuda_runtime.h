/* The part of the runtime API that the suites of tests/cuda use, over the driver API: for programs that the host's
 * compiler makes and that run on the stand-in. Kernels without the device API work, too, where their launches are
 * spelled `standin_launch(kernel, grid, block, shared, stream)(arguments)`: as functions of the host in their stream,
 * which need CUDA_STANDIN_HOST_ACCESS=1. */
#ifndef CUDA_STANDIN_RUNTIME_H
#define CUDA_STANDIN_RUNTIME_H
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __shared__ static

extern "C" {
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
unsigned cuInit(unsigned);
unsigned cuDeviceGetAttribute(int *, unsigned, int);
unsigned cuDeviceGetCount(int *);
unsigned cuDevicePrimaryCtxRetain(void **, int);
unsigned cuCtxGetCurrent(void **);
unsigned cuCtxSetCurrent(void *);
unsigned cuCtxGetDevice(int *);
unsigned cuCtxSynchronize();
unsigned cuGetErrorString(unsigned, const char **);
unsigned cuMemAlloc_v2(void **, size_t);
unsigned cuMemFree_v2(void *);
unsigned cuMemHostAlloc(void **, size_t, unsigned);
unsigned cuMemFreeHost(void *);
unsigned cuPointerGetAttribute(void *, unsigned, const void *);
unsigned cuMemcpyAsync(void *, const void *, size_t, cudaStream_t);
unsigned cuMemcpy(void *, const void *, size_t);
unsigned cuMemsetD8Async(void *, unsigned char, size_t, cudaStream_t);
unsigned cuStreamCreateWithPriority(cudaStream_t *, unsigned, int);
unsigned cuStreamDestroy_v2(cudaStream_t);
unsigned cuStreamSynchronize(cudaStream_t);
unsigned cuStreamQuery(cudaStream_t);
unsigned cuStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
unsigned cuStreamBeginCapture_v2(cudaStream_t, unsigned);
unsigned cuStreamEndCapture(cudaStream_t, cudaGraph_t *);
unsigned cuGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
unsigned cuGraphLaunch(cudaGraphExec_t, cudaStream_t);
unsigned cuGraphExecDestroy(cudaGraphExec_t);
unsigned cuGraphDestroy(cudaGraph_t);
unsigned cuEventCreate(cudaEvent_t *, unsigned);
unsigned cuEventRecord(cudaEvent_t, cudaStream_t);
unsigned cuEventSynchronize(cudaEvent_t);
unsigned cuEventQuery(cudaEvent_t);
unsigned cuEventDestroy_v2(cudaEvent_t);
unsigned cuLaunchHostFunc(cudaStream_t, void (*)(void *), void *);
}

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
                   cudaErrorInvalidDeviceFunction = 98, cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600,
                   cudaErrorCooperativeLaunchTooLarge = 720 };
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxThreadsPerMultiProcessor = 39,
                      cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81, cudaDevAttrMaxBlocksPerMultiprocessor = 106 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
};
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };

namespace cuda_standin {

inline thread_local unsigned last = 0;

/* The thread has a context: that of device 0 where none was chosen. */
inline unsigned use(int device) {
  void *context = nullptr;
  unsigned error = cuInit(0);
  if (error == 0) error = cuCtxGetCurrent(&context);
  if (error != 0 || (context != nullptr && device < 0)) return error;
  error = cuDevicePrimaryCtxRetain(&context, device < 0 ? 0 : device);
  return error != 0 ? error : cuCtxSetCurrent(context);
}

template <class Call> cudaError_t call(Call what) {
  unsigned error = use(-1);
  if (error == 0) error = what();
  if (error != 0 && error != cudaErrorNotReady) last = error;
  return (cudaError_t)error;
}

} // namespace cuda_standin

#define CUDA_STANDIN_CALL(...) return cuda_standin::call([&] { return __VA_ARGS__; })

inline const char *cudaGetErrorString(cudaError_t error) {
  const char *words = nullptr;
  return cuGetErrorString(error, &words) == 0 ? words : "unknown error";
}
inline cudaError_t cudaGetLastError() {
  const unsigned error = cuda_standin::last;
  cuda_standin::last = 0;
  return (cudaError_t)error;
}
inline cudaError_t cudaGetDeviceCount(int *count) { CUDA_STANDIN_CALL(cuDeviceGetCount(count)); }
inline cudaError_t cudaSetDevice(int device) { return (cudaError_t)cuda_standin::use(device); }
inline cudaError_t cudaGetDevice(int *device) { CUDA_STANDIN_CALL(cuCtxGetDevice(device)); }
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  CUDA_STANDIN_CALL(cuDeviceGetAttribute(value, attribute, device));
}
inline cudaError_t cudaDeviceSynchronize() { CUDA_STANDIN_CALL(cuCtxSynchronize()); }
inline cudaError_t cudaMalloc(void **at, size_t bytes) { CUDA_STANDIN_CALL(cuMemAlloc_v2(at, bytes)); }
inline cudaError_t cudaFree(void *at) { CUDA_STANDIN_CALL(cuMemFree_v2(at)); }
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *of, const void *at) {
  unsigned type = 0;
  CUDA_STANDIN_CALL(cuPointerGetAttribute(&type, 2, at) != 0
                        ? (*of = {cudaMemoryTypeUnregistered, -2}, 0u)
                        : (of->type = type == 2 ? cudaMemoryTypeDevice : cudaMemoryTypeHost, cuPointerGetAttribute(&of->device, 9, at)));
}
inline cudaError_t cudaMallocHost(void **at, size_t bytes) { CUDA_STANDIN_CALL(cuMemHostAlloc(at, bytes, 1)); }
inline cudaError_t cudaMallocManaged(void **at, size_t bytes) { return cudaMallocHost(at, bytes); }
template <class T> cudaError_t cudaMallocManaged(T **at, size_t bytes) { return cudaMallocManaged((void **)at, bytes); }
inline cudaError_t cudaFreeHost(void *at) { CUDA_STANDIN_CALL(cuMemFreeHost(at)); }
inline cudaError_t cudaMemcpy(void *dest, const void *source, size_t bytes, cudaMemcpyKind) {
  CUDA_STANDIN_CALL(cuMemcpy(dest, source, bytes));
}
inline cudaError_t cudaMemcpyAsync(void *dest, const void *source, size_t bytes, cudaMemcpyKind, cudaStream_t stream = nullptr) {
  CUDA_STANDIN_CALL(cuMemcpyAsync(dest, source, bytes, stream));
}
inline cudaError_t cudaMemsetAsync(void *dest, int value, size_t bytes, cudaStream_t stream = nullptr) {
  CUDA_STANDIN_CALL(cuMemsetD8Async(dest, (unsigned char)value, bytes, stream));
}
inline cudaError_t cudaMemset(void *dest, int value, size_t bytes) { return cudaMemsetAsync(dest, value, bytes); }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  CUDA_STANDIN_CALL(cuStreamCreateWithPriority(stream, flags, 0));
}
inline cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, 0); }
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) { CUDA_STANDIN_CALL(cuStreamDestroy_v2(stream)); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) { CUDA_STANDIN_CALL(cuStreamSynchronize(stream)); }
inline cudaError_t cudaStreamQuery(cudaStream_t stream) { CUDA_STANDIN_CALL(cuStreamQuery(stream)); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0) {
  CUDA_STANDIN_CALL(cuStreamWaitEvent(stream, event, flags));
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  CUDA_STANDIN_CALL(cuStreamBeginCapture_v2(stream, mode));
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  CUDA_STANDIN_CALL(cuStreamEndCapture(stream, graph));
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags = 0) {
  CUDA_STANDIN_CALL(cuGraphInstantiateWithFlags(exec, graph, flags));
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, void *, char *, size_t) {
  return cudaGraphInstantiate(exec, graph);
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { CUDA_STANDIN_CALL(cuGraphLaunch(exec, stream)); }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { CUDA_STANDIN_CALL(cuGraphExecDestroy(exec)); }
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) { CUDA_STANDIN_CALL(cuGraphDestroy(graph)); }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { CUDA_STANDIN_CALL(cuEventCreate(event, flags)); }
inline cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr) { CUDA_STANDIN_CALL(cuEventRecord(event, stream)); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) { CUDA_STANDIN_CALL(cuEventSynchronize(event)); }
inline cudaError_t cudaEventQuery(cudaEvent_t event) { CUDA_STANDIN_CALL(cuEventQuery(event)); }
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { CUDA_STANDIN_CALL(cuEventDestroy_v2(event)); }

/* ---- kernels ---- */

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline thread_local dim3 threadIdx(0, 0, 0), blockIdx(0, 0, 0), blockDim, gridDim;
inline void __nanosleep(unsigned) {}
template <class T> T atomicAdd(T *word, T value) { return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST); }

namespace cuda_standin {

template <class... P> struct launcher {
  void (*kernel)(P...);
  dim3 grid, block;
  cudaStream_t stream;
  void operator()(P... arguments) const {
    const auto own = *this;
    /* A graph may run it again, so nobody frees it. */
    auto *const body = new std::function<void()>([own, arguments...] {
      gridDim = own.grid;
      blockDim = own.block;
      for (blockIdx.z = 0; blockIdx.z < gridDim.z; blockIdx.z++)
        for (blockIdx.y = 0; blockIdx.y < gridDim.y; blockIdx.y++)
          for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)
            for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)
              for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
                for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) own.kernel(arguments...);
    });
    call([&] { return cuLaunchHostFunc(stream, [](void *body) { (*(std::function<void()> *)body)(); }, body); });
  }
};

} // namespace cuda_standin

template <class... P>
cuda_standin::launcher<P...> standin_launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t = 0, cudaStream_t stream = nullptr) {
  return {kernel, grid, block, stream};
}

/* ---- cooperative launches ---- */

namespace cuda_standin {

typedef void (*starter)(dim3, dim3, void **, cudaStream_t);
inline std::map<const void *, starter> &kernels() {
  static std::map<const void *, starter> known;
  return known;
}
template <class... P, size_t... I>
void start_array(void (*kernel)(P...), dim3 grid, dim3 block, void **args, cudaStream_t stream, std::index_sequence<I...>) {
  standin_launch(kernel, grid, block, 0, stream)(*(P *)args[I]...);
}
template <auto kernel> struct known;
template <class... P, void (*kernel)(P...)> struct known<kernel> {
  static void start(dim3 grid, dim3 block, void **args, cudaStream_t stream) {
    start_array(kernel, grid, block, args, stream, std::index_sequence_for<P...>());
  }
};

} // namespace cuda_standin

/* Where a program launches by address it names its kernels once. */
#define standin_kernel(kernel) (cuda_standin::kernels()[(const void *)kernel] = cuda_standin::known<kernel>::start)

struct cudaFuncAttributes {
  int maxThreadsPerBlock, maxDynamicSharedSizeBytes;
};
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *limits, const void *) {
  limits->maxDynamicSharedSizeBytes = 48 << 10;
  return cudaDeviceGetAttribute(&limits->maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock, 0);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel, int threads, size_t shared) {
  int all = 0, most_threads = 0, most_shared = 0, most = 0;
  cudaDeviceGetAttribute(&all, cudaDevAttrMaxBlocksPerMultiprocessor, 0);
  cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0);
  cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
  const cudaError_t error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, 0);
  if (error != cudaSuccess) return error;
  *blocks = threads > most ? 0 : most_threads / threads < all ? most_threads / threads : all;
  /* 1 KiB of a block's is the device's own. */
  if ((size_t)most_shared / (shared + 1024) < (size_t)*blocks) *blocks = (int)((size_t)most_shared / (shared + 1024));
  return cudaSuccess;
}
inline cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                               cudaStream_t stream) {
  const auto found = cuda_standin::kernels().find(kernel);
  if (found == cuda_standin::kernels().end()) return cudaErrorInvalidDeviceFunction;
  int blocks = 0, processors = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)(block.x * block.y * block.z), shared);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  if (grid.x * grid.y * grid.z > (unsigned)(blocks * processors)) return cudaErrorCooperativeLaunchTooLarge;
  found->second(grid, block, args, stream);
  return cudaSuccess;
}
#endif
