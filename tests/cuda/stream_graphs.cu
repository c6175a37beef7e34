// Calls on streams captured into graphs and launched again and again: what each launch moves is new, launches follow each
// other without the host, two graphs and eager calls alternate, and a branch of a graph has calls of its own.
#include "patterns.h"

static const size_t SMALL = 24, LARGE = 200001;

// The round is counted in memory, since arguments are those of the capture.
__global__ void next_round(long *round) { ++*round; }
__global__ void make(const long *round, long *words, size_t count, int pe) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
    words[i] = *round * 1000 + pe * 10 + (long)(i % 7);
}

struct Buffers {
  long *round, *mine, *put_there, *sums, *cast, *gathered, *exchanged;
  uint64_t *signal;
  explicit Buffers(size_t count)
      : round(zeroed<long>(1)), mine(zeroed<long>(count * (size_t)n)), put_there(zeroed<long>(count)), sums(zeroed<long>(count)),
        cast(zeroed<long>(count)), gathered(zeroed<long>(count * (size_t)n)),
        exchanged(zeroed<long>(count * (size_t)n)), signal(zeroed<uint64_t>(2)) {}
};

// What both the graph and the eager rounds do.
static void enqueue(const Buffers &b, size_t count, cudaStream_t on) {
  next_round<<<1, 1, 0, on>>>(b.round);
  make<<<8, 64, 0, on>>>(b.round, b.mine, count * (size_t)n, me);
  dushmemx_long_put_signal_on_stream(b.put_there, b.mine, count, b.signal, 1, DUSHMEM_SIGNAL_SET, right_of(me), on);
  dushmemx_signal_wait_until_on_stream(b.signal, DUSHMEM_CMP_EQ, 1, on);
  // The word is free for the next round before anybody begins it.
  dushmemx_uint64_p_on_stream(b.signal, 0, me, on);
  expect_host("sum", dushmemx_long_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, b.sums, b.mine, count, on), 0);
  expect_host("broadcast", dushmemx_long_broadcast_on_stream(DUSHMEM_TEAM_WORLD, b.cast, b.mine, count, n - 1, on), 0);
  expect_host("fcollect", dushmemx_long_fcollect_on_stream(DUSHMEM_TEAM_WORLD, b.gathered, b.mine, count, on), 0);
  expect_host("alltoall", dushmemx_long_alltoall_on_stream(DUSHMEM_TEAM_WORLD, b.exchanged, b.mine, count, on), 0);
  dushmemx_barrier_all_on_stream(on);
}

static std::vector<long> made(int pe, long round, size_t count, size_t first = 0) {
  std::vector<long> words(count);
  for (size_t i = 0; i < count; i++) words[i] = round * 1000 + pe * 10 + (long)((first + i) % 7);
  return words;
}

static void check(const Buffers &b, size_t count, long round) {
  const std::string what = "in round " + std::to_string(round) + " of " + std::to_string(count);
  expect_host("the round", look(b.round), round);
  compare_values("put " + what, b.put_there, made(left_of(me), round, count));
  std::vector<long> sums(count, 0), gathered, exchanged;
  for (int pe = 0; pe < n; pe++) {
    const std::vector<long> theirs = made(pe, round, count), part = made(pe, round, count, count * (size_t)me);
    for (size_t i = 0; i < count; i++) sums[i] += theirs[i];
    gathered.insert(gathered.end(), theirs.begin(), theirs.end());
    exchanged.insert(exchanged.end(), part.begin(), part.end());
  }
  compare_values("sum " + what, b.sums, sums);
  compare_values("broadcast " + what, b.cast, made(n - 1, round, count));
  compare_values("fcollect " + what, b.gathered, gathered);
  compare_values("alltoall " + what, b.exchanged, exchanged);
}

static cudaGraphExec_t capture(const Buffers &b, size_t count, cudaStream_t on) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal));
  enqueue(b, count, on);
  CUDA(cudaStreamEndCapture(on, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CUDA(cudaGraphDestroy(graph));
  return exec;
}

static void alternate() {
  const Buffers small(SMALL), large(LARGE);
  cudaStream_t on;
  CUDA(cudaStreamCreateWithFlags(&on, cudaStreamNonBlocking));
  dushmem_barrier_all();
  // A capture changes nothing, and needs no peer.
  cudaGraphExec_t graphs[2] = {capture(small, SMALL, on), capture(large, LARGE, on)};
  expect_host("the round after a capture", look(small.round), 0);
  long rounds[2] = {0, 0};
  dushmem_barrier_all();
  for (int launch = 0; launch < 24; launch++) {
    const int which = launch / 2 % 2;
    const Buffers &b = which ? large : small;
    if (launch % 6 == 5) enqueue(b, which ? LARGE : SMALL, on);
    else CUDA(cudaGraphLaunch(graphs[which], on));
    ++rounds[which];
    // Some follow each other without the host's waiting.
    if (launch % 4 == 1 || launch % 5 == 2) continue;
    CUDA(cudaStreamSynchronize(on));
    check(b, which ? LARGE : SMALL, rounds[which]);
    // Peers' next round writes what is compared here.
    dushmem_barrier_all();
  }
  CUDA(cudaStreamSynchronize(on));
  check(small, SMALL, rounds[0]);
  check(large, LARGE, rounds[1]);
  for (cudaGraphExec_t exec : graphs) CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaStreamDestroy(on));
  dushmem_barrier_all();
}

// Branches: one puts, the other waits for the neighbour's put.
static void branches() {
  uint64_t *words = zeroed<uint64_t>(3);
  cudaStream_t a, b;
  cudaEvent_t forked, joined;
  CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  CUDA(cudaEventRecord(forked, a));
  CUDA(cudaStreamWaitEvent(b, forked, 0));
  dushmemx_uint64_wait_until_on_stream(words, DUSHMEM_CMP_EQ, 3, a);
  for (int i = 0; i < 3; i++) dushmemx_signal_op_on_stream(words, 1, DUSHMEM_SIGNAL_ADD, right_of(me), b);
  CUDA(cudaEventRecord(joined, b));
  CUDA(cudaStreamWaitEvent(a, joined, 0));
  dushmemx_uint64_p_on_stream(words, 0, me, a);
  dushmemx_signal_op_on_stream(words + 1, 1, DUSHMEM_SIGNAL_ADD, right_of(me), a);
  dushmemx_barrier_all_on_stream(a);
  CUDA(cudaStreamEndCapture(a, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  dushmem_barrier_all();
  for (int launch = 1; launch <= 15; launch++) {
    CUDA(cudaGraphLaunch(exec, a));
    if (launch % 3) continue;
    CUDA(cudaStreamSynchronize(a));
    expect_host("launches that were counted", (long long)look(words + 1), launch);
    dushmem_barrier_all();
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaEventDestroy(joined));
  CUDA(cudaEventDestroy(forked));
  CUDA(cudaStreamDestroy(b));
  CUDA(cudaStreamDestroy(a));
  dushmem_barrier_all();
  dushmem_free(words);
}

int main() {
  begin();
  alternate();
  branches();
  return verdict();
}
