// Order in streams and between them; many streams; a process that ends while a stream runs.
#include "check.h"
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

__global__ void append(int *log, int *length, int what) { log[atomicAdd(length, 1)] = what; }

__global__ void spin_until(const volatile int *flag, int value) {
  while (*flag != value) {
  }
}

__global__ void add(int *sum, int n) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) atomicAdd(sum, i);
}

#define LAUNCH(kernel, grid, block, stream, ...)                                                              \
  (::dushmem::emu::launch(#kernel, ::dushmem::emu::config{grid, block, 0, stream},                            \
                          [=](auto... a) { kernel(a...); }, __VA_ARGS__))

int main(int argc, char **argv) {
  int *flag, *log, *length;
  ok(cudaMallocManaged(&flag, sizeof(int)));
  ok(cudaMallocManaged(&log, 4096 * sizeof(int)));
  ok(cudaMallocManaged(&length, sizeof(int)));
  *flag = *length = 0;

  if (argc > 1 && std::strcmp(argv[1], "leave") == 0) {
    // Nobody ever sets the flag. The process ends all the same.
    LAUNCH(spin_until, 1, 1, nullptr, flag, 1);
    LAUNCH(spin_until, 3, 1, nullptr, flag, 1);
    return done();
  }

  cudaStream_t a, b, apart;
  ok(cudaStreamCreate(&a));
  ok(cudaStreamCreate(&b));
  ok(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  unsigned flags = 9;
  ok(cudaStreamGetFlags(apart, &flags));
  same(flags, cudaStreamNonBlocking);

  // In one stream: in order.
  for (int i = 0; i < 100; i++) LAUNCH(append, 1, 1, a, log, length, i);
  ok(cudaStreamSynchronize(a));
  for (int i = 0; i < 100; i++) same(log[i], i);

  // The default stream waits for a, and b for the default stream; a stream apart waits for nobody.
  *length = *flag = 0;
  LAUNCH(spin_until, 1, 1, a, flag, 1);
  LAUNCH(append, 1, 1, a, log, length, 1);
  LAUNCH(append, 1, 1, nullptr, log, length, 2);
  LAUNCH(append, 1, 1, b, log, length, 3);
  LAUNCH(append, 1, 1, apart, log, length, 4);
  ok(cudaStreamSynchronize(apart));
  same(*length, 1);
  fails(cudaErrorNotReady, cudaStreamQuery(b));
  fails(cudaErrorNotReady, cudaStreamQuery(nullptr));
  *(volatile int *)flag = 1;
  ok(cudaDeviceSynchronize());
  same(log[0], 4);
  same(log[1], 1);
  same(log[2], 2);
  same(log[3], 3);

  // An event makes one stream wait for another; recorded again, the waiters keep the old recording.
  *length = *flag = 0;
  cudaEvent_t event;
  ok(cudaEventCreate(&event));
  LAUNCH(spin_until, 1, 1, a, flag, 1);
  LAUNCH(append, 1, 1, a, log, length, 1);
  ok(cudaEventRecord(event, a));
  ok(cudaStreamWaitEvent(apart, event));
  LAUNCH(append, 1, 1, apart, log, length, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  fails(cudaErrorNotReady, cudaStreamQuery(apart));
  *(volatile int *)flag = 1;
  ok(cudaStreamSynchronize(apart));
  same(log[0], 1);
  same(log[1], 2);
  ok(cudaEventDestroy(event));

  // Callbacks run in order too.
  *length = 0;
  struct both {
    int *log, *length;
  } pair{log, length};
  LAUNCH(append, 1, 1, a, log, length, 5);
  ok(cudaStreamAddCallback(a, [](cudaStream_t, cudaError_t status, void *p) {
    auto *two = static_cast<both *>(p);
    two->log[(*two->length)++] = 6 + int(status);
  }, &pair, 0));
  LAUNCH(append, 1, 1, a, log, length, 7);
  ok(cudaStreamSynchronize(a));
  for (int i = 0; i < 3; i++) same(log[i], 5 + i);

  // Many streams from several host threads.
  int *sums;
  const int streams = 60, n = 1000;
  ok(cudaMallocManaged(&sums, streams * sizeof(int)));
  std::memset(sums, 0, streams * sizeof(int));
  std::vector<std::thread> hosts;
  for (int h = 0; h < 4; h++)
    hosts.emplace_back([=] {
      for (int s = h; s < streams; s += 4) {
        cudaStream_t stream;
        ok(cudaStreamCreate(&stream));
        for (int repeat = 0; repeat < 5; repeat++) LAUNCH(add, (n + 63) / 64, 64, stream, sums + s, n);
        if (s % 3 == 0) ok(cudaStreamSynchronize(stream));
        ok(cudaStreamDestroy(stream));
      }
    });
  for (auto &host : hosts) host.join();
  ok(cudaDeviceSynchronize());
  // Those of destroyed streams included.
  for (int s = 0; s < streams; s++) same(sums[s], 5 * n * (n - 1) / 2);
  ok(cudaStreamDestroy(a));
  ok(cudaStreamDestroy(b));
  return done();
}
