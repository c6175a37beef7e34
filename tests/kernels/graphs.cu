// Streams with communication, captured into a graph and launched many times: kernels that put and wait, operations on
// the stream, branches that wait for each other, on one PE and across PEs. On each launch everything happens anew:
// collectives meet, signals count on.
#include <cstdio>
#include <hip/hip_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include "memory.h"

static int me, n, failures;
static const int N = 256;

#define OK(call)                                                                                               \
  do {                                                                                                         \
    const hipError_t error_ = (call);                                                                         \
    if (error_ != hipSuccess && failures++ < 20)                                                              \
      std::printf("PE %d, line %d: %s: %s\n", me, __LINE__, #call, hipGetErrorString(error_));                \
  } while (0)

static void same(const char *what, long got, long want) {
  if (got != want && failures++ < 20) std::printf("PE %d: %s is %ld, not %ld\n", me, what, got, want);
}

// The round is not an argument, which would be that of the capture: it is counted in memory.
__global__ void begin(long *round, long *mine, int pe) {
  if (threadIdx.x == 0) ++*round;
  __syncthreads();
  mine[threadIdx.x] = *round * 1000 + pe * 10 + (long)threadIdx.x;
}

// Each block sends its part, and the last one's signal tells how many parts there are.
__global__ void send(long *dest, const long *mine, uint64_t *sig, int per, int to) {
  const int at = (int)blockIdx.x * per;
  dushmemx_long_put_signal_block(dest + at, mine + at, (size_t)per, sig, 1, DUSHMEM_SIGNAL_ADD, to);
}

__global__ void receive(uint64_t *sig, const long *round, int parts) {
  dushmem_signal_wait_until(sig, DUSHMEM_CMP_GE, (uint64_t)(*round * parts));
}

__global__ void add_up(const long *values, long *sum) {
  if (threadIdx.x == 0) {
    long all = 0;
    for (int i = 0; i < 256; i++) all += values[i];
    *sum = all;
  }
}

static long expected(int pe, long round) { return 256 * (round * 1000 + pe * 10) + 255 * 128; }

static void count_call(void *calls) { ++*(int *)calls; }

int main() {
  dushmem_init();
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  const int to = (me + 1) % n, from = (me + n - 1) % n;
  long *mine = (long *)dushmem_calloc(N, sizeof(long));
  long *theirs = (long *)dushmem_calloc(N, sizeof(long));
  long *sums = (long *)dushmem_calloc(2, sizeof(long));
  long *gathered = (long *)dushmem_calloc((size_t)n, sizeof(long));
  long *total = (long *)dushmem_calloc(1, sizeof(long));
  uint64_t *sig = (uint64_t *)dushmem_calloc(2, sizeof(uint64_t));
  long *round, *host_sum;
  OK(hipMallocManaged(&round, sizeof(long)));
  OK(hipHostMalloc((void **)&host_sum, 2 * sizeof(long)));
  *round = 0;
  int calls = 0;

  hipStream_t a, b;
  hipEvent_t forked, joined;
  OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
  OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
  OK(hipEventCreateWithFlags(&forked, hipEventDisableTiming));
  OK(hipEventCreateWithFlags(&joined, hipEventDisableTiming));

  hipGraph_t graph;
  hipGraphExec_t exec;
  OK(hipStreamBeginCapture(a, hipStreamCaptureModeGlobal));
  begin<<<1, N, 0, a>>>(round, mine, me);
  OK(hipEventRecord(forked, a));
  OK(hipStreamWaitEvent(b, forked, 0));
  // The receiving branch is put in first: it waits for the sending ones of this and the other PE.
  receive<<<1, 1, 0, a>>>(sig, round, 4);
  add_up<<<1, 32, 0, a>>>(theirs, sums);
  send<<<4, 64, 0, b>>>(theirs, mine, sig, N / 4, to);
  dushmemx_quiet_on_stream((void *)b);
  OK(hipLaunchHostFunc(b, count_call, &calls));
  OK(hipEventRecord(joined, b));
  OK(hipStreamWaitEvent(a, joined, 0));
  // Collectives on the stream: each launch is another one of the team's.
  if (dushmemx_long_fcollect_on_stream(DUSHMEM_TEAM_WORLD, gathered, sums, 1, (void *)a) != 0) failures++;
  if (dushmemx_long_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, total, sums, 1, (void *)a) != 0) failures++;
  OK(hipMemcpyAsync(host_sum, total, sizeof(long), hipMemcpyDeviceToHost, a));
  dushmemx_signal_op_on_stream(sig + 1, 1, DUSHMEM_SIGNAL_ADD, to, (void *)a);
  dushmemx_barrier_all_on_stream((void *)a);
  OK(hipStreamEndCapture(a, &graph));
  same("the count of host calls", calls, 0);
  same("the signal", (long)look(sig), 0);
  // Before that nobody may have launched.
  dushmem_barrier_all();
  OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(hipGraphDestroy(graph));
  for (long launch = 1; launch <= 20; launch++) {
    OK(hipGraphLaunch(exec, a));
    // Some launches follow each other without the host's waiting.
    if (launch % 5 == 2 || launch % 5 == 3) continue;
    OK(hipStreamSynchronize(a));
    same("the round", *round, launch);
    same("the sum of what came", look(sums), expected(from, launch));
    long all = 0;
    for (int pe = 0; pe < n; pe++) {
      same("a gathered sum", look(gathered + pe), expected((pe + n - 1) % n, launch));
      all += expected(pe, launch);
    }
    same("the total", *host_sum, all);
    same("the signal", (long)look(sig + 1), launch);
    same("the count of host calls", calls, (int)launch);
    dushmem_barrier_all();
  }
  OK(hipGraphExecDestroy(exec));
  OK(hipStreamDestroy(a));
  OK(hipStreamDestroy(b));
  OK(hipEventDestroy(forked));
  OK(hipEventDestroy(joined));
  uint64_t *all = (uint64_t *)dushmem_calloc(1, sizeof(uint64_t));
  dushmem_uint64_atomic_add(all, (uint64_t)failures, 0);
  dushmem_barrier_all();
  if (me == 0 && look(all) == 0) std::printf("all right\n");
  dushmem_finalize();
  return failures != 0;
}
