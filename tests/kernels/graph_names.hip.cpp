// HIP's names of capture and graphs, on all targets: a captured graph, changed by hand, launched, updated.
#include <cstdio>
#include <cstring>
#include <hip/hip_runtime.h>

static int failures;

#define OK(call)                                                                                               \
  do {                                                                                                         \
    const hipError_t error_ = (call);                                                                          \
    if (error_ != hipSuccess && failures++ < 20)                                                               \
      std::printf("line %d: %s: %s\n", __LINE__, #call, hipGetErrorString(error_));                            \
  } while (0)
#define SAME(got, want)                                                                                        \
  do {                                                                                                         \
    const long got_ = (long)(got), want_ = (long)(want);                                                       \
    if (got_ != want_ && failures++ < 20) std::printf("line %d: %s is %ld, not %ld\n", __LINE__, #got, got_, want_); \
  } while (0)

__global__ void add(int *word, int what) { *word += what; }

static void count(void *calls) { ++*(int *)calls; }

int main() {
  hipStream_t stream;
  hipEvent_t event;
  int *word, back = 0, calls = 0, two = 2, five = 5;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  OK(hipMalloc(&word, sizeof(int)));

  hipGraph_t graph, clone;
  hipStreamCaptureStatus status;
  unsigned long long id = 0;
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  OK(hipMemsetAsync(word, 0, sizeof(int), stream));
  add<<<1, 1, 0, stream>>>(word, 1);
  OK(hipGetLastError());
  OK(hipStreamIsCapturing(stream, &status));
  SAME(status, hipStreamCaptureStatusActive);
  OK(hipStreamGetCaptureInfo(stream, &status, &id));
  SAME(id != 0, 1);
  const hipGraphNode_t *after = nullptr;
  size_t nodes = 0;
  OK(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &after, &nodes));
  SAME(nodes, 1);
  OK(hipStreamEndCapture(stream, &graph));

  // The captured nodes, in their order; then one of each type behind them.
  hipGraphNode_t found[8];
  nodes = 8;
  OK(hipGraphGetNodes(graph, found, &nodes));
  SAME(nodes, 2);
  hipGraphNode_t roots[1], behind[1];
  size_t number = 1;
  OK(hipGraphGetRootNodes(graph, roots, &number));
  SAME(number, 1);
  OK(hipGraphNodeGetDependentNodes(roots[0], behind, &number));
  SAME(number, 1);
  hipGraphNodeType type;
  OK(hipGraphNodeGetType(behind[0], &type));
  SAME(type, hipGraphNodeTypeKernel);
  hipGraphNode_t kernel, copy, host, end;
  void *arguments[] = {&word, &two};
  hipKernelNodeParams launch;
  std::memset((void *)&launch, 0, sizeof launch);
  launch.func = (void *)add;
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(1);
  launch.kernelParams = arguments;
  OK(hipGraphAddKernelNode(&kernel, graph, behind, 1, &launch));
  OK(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &back, word, sizeof(int), hipMemcpyDeviceToHost));
  hipHostNodeParams call;
  call.fn = count;
  call.userData = &calls;
  OK(hipGraphAddHostNode(&host, graph, nullptr, 0, &call));
  OK(hipGraphAddDependencies(graph, &copy, &host, 1));
  OK(hipGraphAddEmptyNode(&end, graph, &host, 1));
  number = 0;
  OK(hipGraphGetEdges(graph, nullptr, nullptr, &number));
  SAME(number, 5);

  hipGraphExec_t exec;
  OK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int round = 1; round <= 3; round++) {
    OK(hipGraphLaunch(exec, stream));
    OK(hipStreamSynchronize(stream));
    SAME(back, 3);
    SAME(calls, round);
  }
  arguments[1] = &five;
  OK(hipGraphExecKernelNodeSetParams(exec, kernel, &launch));
  OK(hipGraphLaunch(exec, stream));
  OK(hipStreamSynchronize(stream));
  SAME(back, 6);
  // Back to what the graph, and its copy, say.
  OK(hipGraphClone(&clone, graph));
  hipGraphExecUpdateResult result;
  hipGraphNode_t where;
  OK(hipGraphExecUpdate(exec, clone, &where, &result));
  SAME(result, hipGraphExecUpdateSuccess);
  OK(hipGraphLaunch(exec, stream));
  OK(hipStreamSynchronize(stream));
  SAME(back, 3);
  OK(hipGraphExecDestroy(exec));
  OK(hipGraphDestroy(clone));
  OK(hipGraphDestroy(graph));

  // What can't be captured.
  OK(hipEventRecord(event, stream));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  SAME(hipStreamWaitEvent(stream, event, 0), hipErrorStreamCaptureIsolation);
  SAME(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
  (void)hipGetLastError();
  OK(hipEventDestroy(event));
  OK(hipStreamDestroy(stream));
  OK(hipFree(word));
  if (failures == 0) std::printf("all right\n");
  return failures != 0;
}
