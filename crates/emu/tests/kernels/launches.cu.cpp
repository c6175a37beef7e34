// Launches: their limits by kernel, occupancy, cooperative ones; streams of several devices, priorities, the default
// streams, host functions.
#include "check.h"
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

__global__ void nothing() {}
__global__ void other() {}
__global__ void one(int *p) { *p += 1; }
template <class T> __global__ void any(T *p) { *p += 1; }
__global__ void overloaded(int *p) { *p += 1; }
__global__ void overloaded(float *p) { *p += 1; }
__global__ void big(char *p) {
  auto *shared = ::dushmem::emu::dynamic_shared_pointer<char>();
  shared[threadIdx.x] = 1;
  p[threadIdx.x] = shared[threadIdx.x];
}
// All blocks wait for each other.
__global__ void meet(unsigned *count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < gridDim.x) __nanosleep(100);
  }
  __syncthreads();
}
__global__ void wait_for(int *flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) __nanosleep(100);
}
__global__ void append(int *log, int *length, int what) { log[atomicAdd(length, 1)] = what; }

// Counts its blocks, and notes how many of the other launch's had ended when its first and its last began.
__global__ void slow(int *mine, int *other, int *first, int *last) {
  if (first != nullptr) {
    atomicMin(first, atomicAdd(other, 0));
    atomicMax(last, atomicAdd(other, 0));
  }
  const long long end = clock64() + 100000;
  while (clock64() < end) {
  }
  atomicAdd(mine, 1);
}

static const ::dushmem::emu::registration registered_meet{meet}, registered_nothing{nothing};

#define LAUNCH(kernel, how, ...)                                                                              \
  (::dushmem::emu::launcher(#kernel, [=](auto f) -> decltype(f(kernel)) { return f(kernel); },                \
                            [=](auto... a) { kernel(a...); }, ::dushmem::emu::config how)(__VA_ARGS__),       \
   cudaGetLastError())

static bool says(int code, const char *part) {
  const std::string text = cudaGetErrorString(cudaError_t(code));
  if (text.find(part) != std::string::npos) return true;
  std::printf("the message is: %s\n", text.c_str());
  return false;
}

static void limits() {
  int *word;
  float *real;
  char *bytes;
  ok(cudaMallocManaged(&word, sizeof *word));
  ok(cudaMallocManaged(&real, sizeof *real));
  ok(cudaMalloc(&bytes, 64));
  *word = 0;
  *real = 0;
  const size_t much = 100 << 10;
  // The attribute of one kernel is no other's.
  ok(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, int(much)));
  ok(LAUNCH(nothing, (1, 1, much)));
  fails(cudaErrorInvalidValue, LAUNCH(nothing, (1, 1, much + 1)));
  fails(cudaErrorInvalidValue, LAUNCH(other, (1, 1, much)));
  truth(says(cudaErrorInvalidValue, "other: 102400 bytes"));
  fails(cudaErrorInvalidValue, LAUNCH(any<int>, (1, 1, much), word));
  ok(cudaFuncSetAttribute(any<int>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(much)));
  ok(LAUNCH(any<int>, (1, 1, much), word));
  ok(LAUNCH(any, (1, 1, much), word));
  fails(cudaErrorInvalidValue, LAUNCH(any, (1, 1, much), real));
  ok(cudaFuncSetAttribute((void (*)(float *))overloaded, cudaFuncAttributeMaxDynamicSharedMemorySize, int(much)));
  ok(LAUNCH(overloaded, (1, 1, much), real));
  fails(cudaErrorInvalidValue, LAUNCH(overloaded, (1, 1, much), word));
  auto *local = big;
  fails(cudaErrorInvalidValue, LAUNCH(local, (1, 32, much), bytes));
  ok(cudaFuncSetAttribute((const void *)big, cudaFuncAttributeMaxDynamicSharedMemorySize, int(much)));
  ok(LAUNCH(local, (1, 32, much), bytes));
  cudaFuncAttributes attributes;
  ok(cudaFuncGetAttributes(&attributes, big));
  same(attributes.maxDynamicSharedSizeBytes, much);
  ok(cudaFuncGetAttributes(&attributes, other));
  same(attributes.maxDynamicSharedSizeBytes, 48 << 10);
  // It can be lowered again.
  ok(cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
  fails(cudaErrorInvalidValue, LAUNCH(big, (1, 32, much), bytes));
  fails(cudaErrorInvalidValue, cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
  fails(cudaErrorInvalidValue, cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10));
  fails(cudaErrorInvalidValue, LAUNCH(nothing, (1, 1, -1)));
  fails(cudaErrorInvalidConfiguration, LAUNCH(nothing, (unsigned(-1), 1)));
  // A null pointer to a kernel.
  void (*none)(int *) = nullptr;
  fails(cudaErrorInvalidDeviceFunction, LAUNCH(none, (1, 1), word));
  truth(says(cudaErrorInvalidDeviceFunction, "none: the kernel is a null pointer"));
  // Sizes that don't fit into the address space.
  fails(cudaErrorInvalidValue, cudaMemcpy(bytes + 8, bytes, size_t(-1), cudaMemcpyDeviceToDevice));
  fails(cudaErrorInvalidValue, cudaMemset(bytes + 8, 0, size_t(-4)));
  ok(cudaDeviceSynchronize());
  same(*word, 2);
  same(*real, 1);
  ok(cudaFree(word));
  ok(cudaFree(real));
  ok(cudaFree(bytes));
}

static void cooperative() {
  cudaDeviceProp p;
  ok(cudaGetDeviceProperties(&p, 0));
  unsigned *count;
  ok(cudaMallocManaged(&count, sizeof *count));
  for (int threads : {33, 256, 1024}) {
    for (size_t shared : {size_t(0), size_t(40) << 10}) {
      int per = 0;
      ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, meet, threads, shared));
      const int warps = (threads + 31) / 32 * 32;
      int expect = p.maxThreadsPerMultiProcessor / warps;
      if (shared != 0 && expect > 5) expect = 5;
      if (expect > p.maxBlocksPerMultiProcessor) expect = p.maxBlocksPerMultiProcessor;
      same(per, expect);
      // As many as that can wait for each other, one more is refused. Twice, since nothing may be used up.
      const unsigned most = unsigned(per * p.multiProcessorCount);
      void *args[] = {&count};
      for (int round = 0; round < 2; round++) {
        if (round == 1 && threads != 1024) continue;
        *count = 0;
        ok(cudaLaunchCooperativeKernel(meet, dim3(most), dim3(threads), args, shared, nullptr));
        ok(cudaDeviceSynchronize());
        same(*count, most);
      }
      fails(cudaErrorCooperativeLaunchTooLarge,
            cudaLaunchCooperativeKernel((const void *)meet, dim3(most + 1), dim3(threads), args, shared, nullptr));
      const std::string limit = "at most " + std::to_string(most) + " are resident";
      truth(says(cudaErrorCooperativeLaunchTooLarge, limit.c_str()));
    }
  }
  // Two at once that don't fit both: one after the other.
  cudaStream_t streams[2];
  unsigned *counts;
  ok(cudaMallocManaged(&counts, 2 * sizeof *counts));
  counts[0] = counts[1] = 0;
  for (int i = 0; i < 2; i++) {
    unsigned *mine = counts + i;
    void *args[] = {&mine};
    ok(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    ok(cudaLaunchCooperativeKernel(meet, dim3(unsigned(p.multiProcessorCount)), dim3(1024), args, 0, streams[i]));
  }
  for (int i = 0; i < 2; i++) {
    ok(cudaStreamSynchronize(streams[i]));
    ok(cudaStreamDestroy(streams[i]));
    same(counts[i], p.multiProcessorCount);
  }
  // By attribute.
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = -2;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(p.multiProcessorCount));
  config.blockDim = dim3(1024);
  config.attrs = attributes;
  config.numAttrs = 2;
  *count = 0;
  ok(cudaLaunchKernelEx(&config, meet, count));
  ok(cudaDeviceSynchronize());
  same(*count, p.multiProcessorCount);
  *count = 0;
  void *counted[] = {&count};
  ok(cudaLaunchKernelExC(&config, (const void *)meet, counted));
  ok(cudaDeviceSynchronize());
  same(*count, p.multiProcessorCount);
  config.gridDim.x++;
  fails(cudaErrorCooperativeLaunchTooLarge, cudaLaunchKernelEx(&config, meet, count));
  attributes[1].val.priority = 1;
  fails(cudaErrorInvalidValue, cudaLaunchKernelEx(&config, meet, count));
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {2, 1, 1};
  fails(cudaErrorNotSupported, cudaLaunchKernelEx(&config, meet, count));
  fails(cudaErrorInvalidValue, cudaLaunchKernelEx(nullptr, meet, count));
  int grid = 0, block = 0;
  ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, meet, 0, 0));
  same(grid * block, p.multiProcessorCount * p.maxThreadsPerMultiProcessor);
  ok(cudaOccupancyMaxPotentialBlockSize(&grid, &block, meet, 0, 100));
  same(block, 96);
  same(grid, 16 * p.multiProcessorCount);
  ok(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, meet, [](int threads) { return threads * 100; }));
  truth(grid * block > 0 && block * 100 <= 227 << 10);
  int per = 7;
  fails(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, meet, 0, 0));
  fails(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, meet, 32, 0));
  fails(cudaErrorInvalidDeviceFunction, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, (const void *)nullptr, 32, 0));
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, meet, 2048, 0));
  same(per, 0);
  ok(cudaFree(count));
  ok(cudaFree(counts));
}

static void devices() {
  cudaStream_t here, there;
  cudaEvent_t event, event_there;
  int *word, length = 0, device = -1;
  ok(cudaMallocManaged(&word, sizeof *word));
  *word = 0;
  ok(cudaStreamCreate(&here));
  ok(cudaEventCreate(&event));
  ok(cudaSetDevice(1));
  ok(cudaStreamCreate(&there));
  ok(cudaEventCreate(&event_there));
  ok(cudaStreamGetDevice(there, &device));
  same(device, 1);
  // Kernels and recordings are bound to the device, copies and waits are not.
  fails(cudaErrorInvalidResourceHandle, LAUNCH(one, (1, 1, 0, here), word));
  truth(says(cudaErrorInvalidResourceHandle, "a stream of device 0, but the calling thread's device is 1"));
  ok(LAUNCH(one, (1, 1, 0, there), word));
  ok(cudaStreamSynchronize(there));
  same(*word, 1);
  fails(cudaErrorInvalidResourceHandle, cudaEventRecord(event, there));
  fails(cudaErrorInvalidResourceHandle, cudaEventRecord(event_there, here));
  ok(cudaEventRecord(event, here));
  ok(cudaEventRecord(event_there, there));
  ok(cudaStreamWaitEvent(here, event_there, 0));
  ok(cudaMemcpyAsync(&length, word, sizeof length, cudaMemcpyDeviceToHost, here));
  ok(cudaStreamSynchronize(here));
  same(length, 1);
  float ms;
  fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, event_there));
  ok(cudaSetDevice(0));
  fails(cudaErrorInvalidResourceHandle, LAUNCH(one, (1, 1, 0, there), word));
  ok(cudaStreamDestroy(here));
  fails(cudaErrorInvalidResourceHandle, LAUNCH(one, (1, 1, 0, here), word));
  truth(says(cudaErrorInvalidResourceHandle, "not a stream, or destroyed"));
  fails(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(here));
  ok(cudaStreamDestroy(there));
  cudaGetLastError();
  // Each device has a default stream of its own: one that is held up doesn't hold up the other.
  int *flag;
  ok(cudaMallocManaged(&flag, sizeof *flag));
  *flag = 0;
  ok(LAUNCH(wait_for, (1, 1), flag, 1));
  ok(cudaSetDevice(1));
  ok(LAUNCH(one, (1, 1), word));
  ok(cudaDeviceSynchronize());
  same(*word, 2);
  ok(cudaSetDevice(0));
  *(volatile int *)flag = 1;
  ok(cudaDeviceSynchronize());
  for (cudaEvent_t e : {event, event_there}) ok(cudaEventDestroy(e));
  fails(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
  fails(cudaErrorNotSupported, cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  fails(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 64));
  cudaGetLastError();
  ok(cudaFree(word));
  ok(cudaFree(flag));
}

static void priorities() {
  int least = 9, greatest = 9, got = 9;
  cudaStream_t stream;
  ok(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  truth(greatest < least && least == 0);
  for (int asked : {least, greatest, greatest - 3, 4}) {
    ok(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked));
    ok(cudaStreamGetPriority(stream, &got));
    same(got, asked < greatest ? greatest : asked > least ? least : asked);
    ok(cudaStreamDestroy(stream));
  }
  // While a launch of more priority has blocks that haven't begun, others begin none: of two launches under way at
  // the same time the urgent one gets through.
  cudaStream_t low, high;
  ok(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
  ok(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
  int *done;
  ok(cudaMallocManaged(&done, 4 * sizeof *done));
  const int many = 1500, few = 200;
  done[0] = done[1] = done[3] = 0;
  done[2] = many;
  ok(LAUNCH(slow, (many, 1, 0, low), done, done + 1, nullptr, nullptr));
  while (__atomic_load_n(done, __ATOMIC_ACQUIRE) < 20) std::this_thread::yield();
  ok(LAUNCH(slow, (few, 1, 0, high), done + 1, done, done + 2, done + 3));
  ok(cudaStreamSynchronize(high));
  ok(cudaStreamSynchronize(low));
  same(done[0], many);
  same(done[1], few);
  // At equal priority about as many would end as of the urgent launch.
  const int between = done[3] - done[2];
  if (between > few / 4) std::printf("%d blocks of less priority went first\n", between);
  truth(between <= few / 4);
  ok(cudaStreamDestroy(low));
  ok(cudaStreamDestroy(high));
  ok(cudaFree(done));
  fails(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 8));
  fails(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
}

// A host function can't call the runtime: what would hang is an error.
static void host_functions() {
  struct result {
    int sync, launch, copy, event, device;
  } r = {};
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  static cudaStream_t own;
  own = stream;
  ok(cudaLaunchHostFunc(stream, [](void *p) {
    auto *r = static_cast<result *>(p);
    int word = 0;
    r->sync = cudaStreamSynchronize(own);
    r->launch = LAUNCH(nothing, (1, 1, 0, own));
    r->copy = cudaMemcpyAsync(&word, &word, 4, cudaMemcpyHostToHost, own);
    r->device = cudaDeviceSynchronize();
  }, &r));
  ok(cudaStreamSynchronize(stream));
  same(r.sync, cudaErrorNotPermitted);
  same(r.launch, cudaErrorNotPermitted);
  same(r.copy, cudaErrorNotPermitted);
  same(r.device, cudaErrorNotPermitted);
  fails(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, nullptr, nullptr));
  fails(cudaErrorInvalidValue, cudaStreamAddCallback(stream, nullptr, nullptr, 0));
  ok(cudaStreamDestroy(stream));
}

// With the option, the null stream is the calling thread's own: two threads don't wait for each other.
static void own_default_stream() {
  int *flag;
  ok(cudaMallocManaged(&flag, sizeof *flag));
  *flag = 0;
  ok(LAUNCH(wait_for, (1, 1), flag, 1));
  std::thread([=] {
    int *word;
    ok(cudaMallocManaged(&word, sizeof *word));
    *word = 4;
    ok(LAUNCH(one, (1, 1), word));
    ok(cudaMemset(word + 0, 0, 0));
    ok(cudaStreamSynchronize(nullptr));
    same(*word, 5);
    // It can be captured, as any stream but the legacy one.
    cudaGraph_t graph;
    ok(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal));
    ok(LAUNCH(one, (1, 1), word));
    ok(cudaStreamEndCapture(nullptr, &graph));
    ok(cudaGraphDestroy(graph));
    same(*word, 5);
  }).join();
  fails(cudaErrorNotReady, cudaStreamQuery(nullptr));
  *(volatile int *)flag = 1;
  ok(cudaStreamSynchronize(nullptr));
  ok(cudaFree(flag));
}

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "thread") == 0) {
    own_default_stream();
    return done();
  }
  limits();
  cooperative();
  devices();
  priorities();
  host_functions();
  return done();
}
