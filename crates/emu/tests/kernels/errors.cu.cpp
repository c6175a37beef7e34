// What fails must give its code, and a message that names the argument.
#include "check.h"
#include <cstring>
#include <string>

__global__ void nothing() {}
__global__ void one(int *p) { *p = 1; }
template <class T> __global__ void any(T *) {}

static const ::dushmem::emu::registration registered_one{one};

__device__ int variable[4];
__constant__ float table[8];

static int launched(const ::dushmem::emu::config &how) {
  (::dushmem::emu::launch("nothing", how, [=](auto... a) { nothing(a...); }));
  return cudaGetLastError();
}

static bool says(int code, const char *part) {
  const std::string text = cudaGetErrorString(cudaError_t(code));
  if (text.find(part) != std::string::npos) return true;
  std::printf("the message is: %s\n", text.c_str());
  return false;
}

int main() {
  // Launches
  same(launched({1, 1}), 0);
  same(launched({0, 1}), cudaErrorInvalidConfiguration);
  truth(says(cudaErrorInvalidConfiguration, "nothing: grid (0, 1, 1): x is 0"));
  same(launched({1, 0}), cudaErrorInvalidConfiguration);
  same(launched({1, 1024}), 0);
  same(launched({1, 1025}), cudaErrorInvalidConfiguration);
  same(launched({1, dim3(32, 32, 2)}), cudaErrorInvalidConfiguration);
  truth(says(cudaErrorInvalidConfiguration, "2048 threads"));
  same(launched({1, dim3(1, 1, 65)}), cudaErrorInvalidConfiguration);
  same(launched({dim3(1, 65536), 1}), cudaErrorInvalidConfiguration);
  same(launched({1, 1, 48 << 10}), 0);
  same(launched({1, 1, (48 << 10) + 1}), cudaErrorInvalidValue);
  truth(says(cudaErrorInvalidValue, "49153 bytes"));
  ok(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
  same(launched({1, 1, 100 << 10}), 0);
  fails(cudaErrorInvalidValue, cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  same(launched({1, 1, 0, (cudaStream_t)0x1230}), cudaErrorInvalidResourceHandle);

  // By name
  int *word;
  ok(cudaMalloc(&word, sizeof(int)));
  void *args[] = {&word};
  ok(cudaLaunchKernel((const void *)one, dim3(1), dim3(1), args, 0, nullptr));
  ok(cudaDeviceSynchronize());
  same(*word, 1);
  fails(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), args));
  fails(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void (*)(int *)) nullptr, dim3(1), dim3(1), args));
  fails(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)any<int>, dim3(1), dim3(1), args));
  ok(cudaLaunchKernel(any<int>, dim3(1), dim3(1), args));
  fails(cudaErrorInvalidValue, cudaLaunchKernel(one, dim3(1), dim3(1), (void **)nullptr));
  fails(cudaErrorInvalidConfiguration, hipLaunchKernel((const void *)one, dim3(0), dim3(1), args, 0, nullptr));

  // The last error stays until it is taken; a success doesn't clear it. The text outlives it.
  fails(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
  ok(cudaDeviceSynchronize());
  fails(cudaErrorInvalidConfiguration, cudaGetLastError());
  ok(cudaGetLastError());
  truth(std::strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
  truth(std::strcmp(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory") == 0);
  truth(says(12345, "unrecognized"));

  // Memory
  int local[16] = {}, *heap = new int[16], *pinned, *device, *freed;
  ok(cudaMallocHost(&pinned, sizeof local));
  ok(cudaMalloc(&device, sizeof local));
  ok(cudaMalloc(&freed, sizeof local));
  ok(cudaFree(freed));
  fails(cudaErrorInvalidValue, cudaFree(freed));
  fails(cudaErrorInvalidValue, cudaFree(device + 1));
  truth(says(cudaErrorInvalidValue, "inside an allocation"));
  fails(cudaErrorInvalidValue, cudaFree(heap));
  fails(cudaErrorInvalidValue, cudaFree(local));
  fails(cudaErrorInvalidValue, cudaFree(pinned));
  fails(cudaErrorInvalidValue, cudaFreeHost(device));
  ok(cudaFree(nullptr));
  ok(cudaFreeHost(nullptr));
  fails(cudaErrorMemoryAllocation, cudaMalloc(&freed, size_t(1) << 60));
  fails(cudaErrorMemoryAllocation, cudaMalloc(&freed, ~size_t(0)));
  fails(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 4));
  void *empty = &local;
  ok(cudaMalloc(&empty, 0));
  truth(empty == nullptr);

  // Copies: every direction, right and wrong
  for (int i = 0; i < 16; i++) local[i] = i;
  ok(cudaMemcpy(device, local, sizeof local, cudaMemcpyHostToDevice));
  ok(cudaMemcpy(heap, device, sizeof local, cudaMemcpyDeviceToHost));
  ok(cudaMemcpy(pinned, heap, sizeof local, cudaMemcpyHostToHost));
  ok(cudaMemcpy(word, device + 5, sizeof(int), cudaMemcpyDeviceToDevice));
  ok(cudaMemcpy(pinned + 1, word, sizeof(int), cudaMemcpyDefault));
  same(pinned[1], 5);
  same(pinned[15], 15);
  fails(cudaErrorInvalidValue, cudaMemcpy(local, heap, 4, cudaMemcpyHostToDevice));
  fails(cudaErrorInvalidValue, cudaMemcpy(local, heap, 4, cudaMemcpyDeviceToHost));
  fails(cudaErrorInvalidValue, cudaMemcpy(device, device, 4, cudaMemcpyHostToDevice));
  fails(cudaErrorInvalidValue, cudaMemcpy(device + 8, local, sizeof local, cudaMemcpyHostToDevice));
  truth(says(cudaErrorInvalidValue, "end after the allocation of 64 bytes"));
  fails(cudaErrorInvalidValue, cudaMemcpy(nullptr, local, 4, cudaMemcpyHostToDevice));
  fails(cudaErrorInvalidValue, cudaMemcpy(freed, local, 4, cudaMemcpyHostToDevice));
  ok(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  fails(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, local, 4, cudaMemcpyKind(9)));
  fails(cudaErrorInvalidValue, cudaMemset(local, 0, 4));
  fails(cudaErrorInvalidValue, cudaMemset(device, 0, sizeof local + 1));
  fails(cudaErrorInvalidValue, cudaMemcpy2D(device, 4, local, 8, 8, 2, cudaMemcpyHostToDevice));
  ok(cudaMemset(device, 0xff, sizeof local));
  ok(cudaMemcpy2D(device, 16, local, 8, 4, 4, cudaMemcpyHostToDevice));
  ok(cudaMemcpy(heap, device, sizeof local, cudaMemcpyDeviceToHost));
  same(heap[4], 2);
  same(heap[5], -1);
  same(heap[12], 6);

  // Host memory that isn't pinned can change as soon as an asynchronous copy has been asked for.
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  local[0] = 77;
  ok(cudaLaunchHostFunc(stream, [](void *) { struct timespec t = {0, 20000000}; nanosleep(&t, nullptr); }, nullptr));
  ok(cudaMemcpyAsync(device, local, sizeof local, cudaMemcpyHostToDevice, stream));
  local[0] = 78;
  ok(cudaMemcpyAsync(pinned, device, sizeof local, cudaMemcpyDeviceToHost, stream));
  int *later;
  ok(cudaMallocAsync(&later, 64, stream));
  ok(cudaFreeAsync(later, stream));
  fails(cudaErrorInvalidValue, cudaFreeAsync(later, stream));
  ok(cudaStreamSynchronize(stream));
  same(pinned[0], 77);

  // Device variables
  const int four[4] = {4, 5, 6, 7};
  int back[4] = {};
  const float eighths[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ok(cudaMemcpyToSymbol(variable, four, sizeof four));
  ok(cudaMemcpyFromSymbol(back, variable, sizeof back));
  same(back[3], 7);
  ok(hipMemcpyToSymbol(table, eighths, sizeof eighths));
  same(table[7], 8);
  ok(cudaMemcpy(variable, four + 1, 4, cudaMemcpyHostToDevice));
  same(variable[0], 5);
  fails(cudaErrorInvalidValue, cudaMemcpyToSymbol(variable, four, sizeof four, 4));

  // Devices
  int count = 0, current = -1, threads = 0;
  ok(hipGetDeviceCount(&count));
  truth(count >= 1);
  fails(hipErrorInvalidDevice, hipSetDevice(count));
  fails(hipErrorInvalidDevice, hipSetDevice(-1));
  ok(hipSetDevice(count - 1));
  ok(hipGetDevice(&current));
  same(current, count - 1);
  ok(hipSetDevice(0));
  hipDeviceProp_t properties;
  ok(hipGetDeviceProperties(&properties, 0));
  same(properties.maxThreadsPerBlock, 1024);
  truth(properties.totalGlobalMem > 0 && properties.name[0] != 0);
  ok(hipDeviceGetAttribute(&threads, hipDeviceAttributeMaxThreadsPerBlock, 0));
  same(threads, 1024);
  fails(hipErrorInvalidDevice, hipGetDeviceProperties(&properties, 1000000));
  size_t left, total;
  ok(cudaMemGetInfo(&left, &total));
  truth(left <= total && total > 0);

  // Events
  cudaEvent_t start, end, untimed;
  ok(cudaEventCreate(&start));
  ok(cudaEventCreate(&end));
  ok(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float ms = -1;
  fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
  ok(cudaEventQuery(start));
  ok(cudaEventRecord(start, stream));
  ok(cudaLaunchHostFunc(stream, [](void *) { struct timespec t = {0, 30000000}; nanosleep(&t, nullptr); }, nullptr));
  ok(cudaEventRecord(end, stream));
  ok(cudaEventRecord(untimed, stream));
  fails(cudaErrorNotReady, cudaEventQuery(end));
  fails(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
  ok(cudaEventSynchronize(end));
  ok(cudaEventElapsedTime(&ms, start, end));
  truth(ms >= 30 && ms < 3000);
  fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
  ok(cudaEventDestroy(start));
  fails(cudaErrorInvalidResourceHandle, cudaEventRecord(start, stream));
  fails(cudaErrorInvalidResourceHandle, cudaEventDestroy(start));

  // Pointers
  cudaPointerAttributes attributes;
  ok(cudaPointerGetAttributes(&attributes, device));
  same(attributes.type, cudaMemoryTypeDevice);
  ok(cudaPointerGetAttributes(&attributes, pinned));
  same(attributes.type, cudaMemoryTypeHost);
  ok(cudaPointerGetAttributes(&attributes, local));
  same(attributes.type, cudaMemoryTypeUnregistered);

  ok(cudaStreamDestroy(stream));
  fails(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
  fails(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
  ok(cudaFreeHost(pinned));
  ok(cudaFree(device));
  ok(cudaFree(word));
  delete[] heap;
  return done();
}
