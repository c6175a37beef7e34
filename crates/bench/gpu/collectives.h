/* Collectives on streams, for all libraries alike: what they are called, of which sizes, what they have to leave. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H
#include "beside.h"

/* Puts a collective of all PEs into the stream: `count` floats, of each PE, or from each PE to each. */
struct Collectives {
  std::function<void(size_t count)> sum_reduce, broadcast, fcollect, alltoall;
};

static inline void graph(const std::string &name, int length, const std::function<void()> &operation) {
  cudaGraph_t captured;
  cudaGraphExec_t exec;
  settle();
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < length; i++) operation();
  CUDA(cudaStreamEndCapture(stream, &captured));
  CUDA(cudaGraphInstantiate(&exec, captured, nullptr, nullptr, 0));
  CUDA(cudaGraphUpload(exec, stream));
  settle();
  std::vector<double> all;
  for (int i = -2; i < 2 * samples; i++) {
    settle();
    const double from = now_us();
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (i >= 0) all.push_back((now_us() - from) / length);
  }
  settle();
  row(name, all, length);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(captured));
}

/* One collective: sources with `count` floats; what the last call leaves in the first `checked` of dest is compared. */
struct Collective {
  std::string name;
  size_t count, checked;
  std::function<void()> operation;
  std::function<float(size_t)> wanted;
};

static inline void run_collective(float *dest, float *source, const Collective &is, int in_a_graph) {
  settle();
  fill(source, is.count);
  clear(dest, is.checked * sizeof(float));
  settle();
  const std::string name = is.name + (in_a_graph ? " in a graph of " + std::to_string(in_a_graph) : "");
  if (in_a_graph) graph(name, in_a_graph, is.operation);
  else
    measure(name, 200, [&](long k) {
      for (long i = 0; i < k; i++) is.operation();
      CUDA(cudaStreamSynchronize(stream));
    });
  compare(name, dest, is.checked, is.wanted);
  settle();
}

static inline Collective sum_reduce_of(const Collectives &by, size_t bytes) {
  const size_t count = bytes / sizeof(float);
  return Collective{"on stream float_sum_reduce " + size_name(bytes), count, count, [=] { by.sum_reduce(count); },
                    [](size_t i) { return 1000.f * (float)(n * (n - 1) / 2) + (float)(n * (int)(i % 997)); }};
}
static inline Collective fcollect_of(const Collectives &by, size_t bytes) {
  const size_t count = bytes / sizeof(float);
  return Collective{"on stream fcollect " + size_name(bytes) + " a PE", count, count * (size_t)n,
                    [=] { by.fcollect(count); }, [=](size_t i) { return value((int)(i / count), i % count); }};
}
static inline Collective alltoall_of(const Collectives &by, size_t bytes) {
  const size_t count = bytes / sizeof(float), all = count * (size_t)n;
  return Collective{"on stream alltoall " + size_name(bytes) + " a PE", all, all, [=] { by.alltoall(count); },
                    [=](size_t i) { return value((int)(i / count), (size_t)me * count + i % count); }};
}
static inline Collective broadcast_of(const Collectives &by, size_t bytes) {
  const size_t count = bytes / sizeof(float);
  return Collective{"on stream broadcast " + size_name(bytes), count, count, [=] { by.broadcast(count); },
                    [](size_t i) { return value(0, i); }};
}

/* `room`: bytes that dest and source have. */
static inline void collective_rows(float *dest, float *source, size_t room, const Collectives &by) {
  const size_t KIB = 1024, MIB = 1024 * KIB;
  for (size_t bytes : {(size_t)4, 4 * KIB, 64 * KIB, 256 * KIB, 4 * MIB, 64 * MIB})
    run_collective(dest, source, sum_reduce_of(by, bytes), 0);
  const std::vector<size_t> blocks =
      on_each ? std::vector<size_t>{KIB, 64 * KIB, MIB, 4 * MIB, 64 * MIB} : std::vector<size_t>{KIB, MIB};
  for (size_t bytes : blocks) {
    if (bytes * (size_t)n > room) continue;
    run_collective(dest, source, broadcast_of(by, bytes), 0);
    run_collective(dest, source, fcollect_of(by, bytes), 0);
    run_collective(dest, source, alltoall_of(by, bytes), 0);
  }
}

/* Where a launch from the host costs more than what it does. */
static inline void graph_rows(float *dest, float *source, const Collectives &by) {
  const size_t KIB = 1024, MIB = 1024 * KIB;
  for (size_t bytes : {(size_t)4, 4 * KIB, 64 * KIB, 4 * MIB}) run_collective(dest, source, sum_reduce_of(by, bytes), 20);
  for (size_t bytes : {KIB, 64 * KIB, 4 * MIB}) {
    run_collective(dest, source, fcollect_of(by, bytes), 20);
    run_collective(dest, source, alltoall_of(by, bytes), 20);
  }
}
#endif
