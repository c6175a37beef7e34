// Capture of streams into graphs, graphs made by hand, their launches.
#include "graphs.h"

__global__ void scale(int *words, int n, int by) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) words[i] *= by;
}
static const ::dushmem::emu::registration registered_scale{scale};

static void host_add(void *word) { ++*static_cast<int *>(word); }

// What is captured runs at the launch, each time; arguments are those of the capture.
static void linear() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int pageable[4] = {1, 2, 3, 4}, back = 0, calls = 0;
  int by = 10;
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  ok(cudaStreamIsCapturing(a, &status));
  same(status, cudaStreamCaptureStatusActive);
  ok(cudaStreamGetCaptureInfo(a, &status, &id));
  truth(id != 0);
  ok(cudaStreamIsCapturing(b, &status));
  same(status, cudaStreamCaptureStatusNone);
  ok(cudaMemsetAsync(words, 0, 64 * sizeof(int), a));
  ok(cudaMemcpyAsync(words, pageable, sizeof pageable, cudaMemcpyHostToDevice, a));
  LAUNCH(scale, 2, 32, a, words, 64, by);
  by = 1000;
  ok(cudaMemcpyAsync(&back, words + 3, sizeof back, cudaMemcpyDeviceToHost, a));
  ok(cudaLaunchHostFunc(a, host_add, &calls));
  ok(cudaStreamEndCapture(a, &graph));
  ok(cudaStreamIsCapturing(a, &status));
  same(status, cudaStreamCaptureStatusNone);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  same(calls, 0);
  ok(cudaGraphInstantiate(&exec, graph, 0));
  size_t count = 0;
  ok(cudaGraphGetNodes(graph, nullptr, &count));
  same(count, 5);
  std::vector<cudaGraphNode_t> nodes(8, nullptr);
  count = 8;
  ok(cudaGraphGetNodes(graph, nodes.data(), &count));
  same(count, 5);
  truth(nodes[5] == nullptr);
  const int types[5] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeKernel,
                        cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost};
  for (int i = 0; i < 5; i++) {
    cudaGraphNodeType type;
    ok(cudaGraphNodeGetType(nodes[i], &type));
    same(type, types[i]);
  }
  ok(cudaGraphDestroy(graph));
  for (int round = 1; round <= 5; round++) {
    pageable[3] = round;
    ok(cudaGraphLaunch(exec, a));
    ok(cudaStreamSynchronize(a));
    same(back, round * 10);
    same(calls, round);
  }
  // Back to back, in two streams: one after the other, in the order in which they were launched.
  for (int i = 0; i < 20; i++) ok(cudaGraphLaunch(exec, i % 2 ? a : b));
  // Under way it goes on after this.
  ok(cudaGraphExecDestroy(exec));
  ok(cudaDeviceSynchronize());
  same(calls, 25);
  fails(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
  fails(cudaErrorInvalidValue, cudaGraphLaunch(exec, a));
  truth(says(cudaErrorInvalidValue, "graphExec = "));
}

// A fork over two streams and a join; branches wait for each other; one is in a stream without default.
static void branches() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  *flag = 0;
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
  ok(cudaMemsetAsync(words, 0, 4 * sizeof(int), a));
  ok(cudaEventRecord(fork_event, a));
  ok(cudaStreamWaitEvent(b, fork_event, 0));
  ok(cudaStreamWaitEvent(c, fork_event, 0));
  cudaStreamCaptureStatus status;
  ok(cudaStreamIsCapturing(c, &status));
  same(status, cudaStreamCaptureStatusActive);
  // The first waits for the third, the third for the second.
  LAUNCH(wait_for, 1, 1, a, flag, 2);
  LAUNCH(add, 8, 8, a, words, 1);
  LAUNCH(set, 1, 1, b, flag, 1);
  LAUNCH(add, 8, 8, b, words + 1, 2);
  LAUNCH(wait_for, 1, 1, c, flag, 1);
  LAUNCH(add, 8, 8, c, words + 2, 3);
  LAUNCH(set, 1, 1, c, flag, 2);
  ok(cudaEventRecord(join_event, b));
  ok(cudaStreamWaitEvent(c, join_event, 0));
  ok(cudaEventRecord(join_event, c));
  ok(cudaStreamWaitEvent(a, join_event, 0));
  LAUNCH(set, 1, 1, a, flag, 0);
  ok(cudaStreamEndCapture(a, &graph));
  size_t roots = 0, edges = 0;
  ok(cudaGraphGetRootNodes(graph, nullptr, &roots));
  same(roots, 1);
  ok(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
  same(edges, 10);
  ok(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int round = 0; round < 10; round++) {
    ok(cudaGraphLaunch(exec, a));
    ok(cudaStreamSynchronize(a));
    for (int i = 0; i < 3; i++) same(words[i], (i + 1) * 64);
  }
  // Streams of the capture are ordinary ones again.
  LAUNCH(add, 1, 1, b, words, 1);
  ok(cudaStreamSynchronize(b));
  same(words[0], 65);
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));
}

// A graph made by hand, with HIP's names; parameters are read and changed, in the graph and in what was made.
static void by_hand() {
  hipGraph_t graph;
  hipGraphNode_t zero, kernel, copy, host, end;
  hipGraphExec_t exec;
  int calls = 0, out[2] = {};
  ok(hipGraphCreate(&graph, 0));
  hipMemsetParams fill = {};
  fill.dst = words;
  fill.elementSize = 4;
  fill.value = 7;
  fill.width = 16;
  fill.height = 1;
  ok(hipGraphAddMemsetNode(&zero, graph, nullptr, 0, &fill));
  int n = 16, by = 3;
  void *args[] = {&words, &n, &by};
  hipKernelNodeParams params = {};
  params.func = (void *)scale;
  params.gridDim = dim3(2);
  params.blockDim = dim3(8);
  params.kernelParams = args;
  ok(hipGraphAddKernelNode(&kernel, graph, &zero, 1, &params));
  ok(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, out, words + 14, sizeof out, hipMemcpyDeviceToHost));
  ok(hipGraphAddDependencies(graph, &kernel, &copy, 1));
  fails(hipErrorInvalidValue, hipGraphAddDependencies(graph, &kernel, &copy, 1));
  hipHostNodeParams call = {host_add, &calls};
  ok(hipGraphAddHostNode(&host, graph, &zero, 1, &call));
  hipGraphNode_t both[2] = {copy, host};
  ok(hipGraphAddEmptyNode(&end, graph, both, 2));
  by = 100;
  ok(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  ok(hipGraphLaunch(exec, a));
  ok(hipStreamSynchronize(a));
  same(out[0], 21);
  same(out[1], 21);
  same(calls, 1);

  // Back out of the node: address, shape, arguments.
  hipKernelNodeParams found = {};
  ok(hipGraphKernelNodeGetParams(kernel, &found));
  truth(found.func == (void *)scale && found.gridDim.x == 2 && found.blockDim.x == 8);
  same(*static_cast<int *>(found.kernelParams[2]), 3);
  // In what was instantiated only.
  by = 5;
  ok(hipGraphExecKernelNodeSetParams(exec, kernel, &params));
  fill.value = 2;
  ok(hipGraphExecMemsetNodeSetParams(exec, zero, &fill));
  ok(hipGraphLaunch(exec, a));
  ok(hipStreamSynchronize(a));
  same(out[1], 10);
  ok(hipGraphKernelNodeGetParams(kernel, &found));
  same(*static_cast<int *>(found.kernelParams[2]), 3);
  // In a copy of the graph, which then updates what was instantiated.
  hipGraph_t clone;
  hipGraphNode_t other;
  ok(hipGraphClone(&clone, graph));
  ok(hipGraphNodeFindInClone(&other, kernel, clone));
  truth(other != kernel);
  by = 9;
  ok(hipGraphKernelNodeSetParams(other, &params));
  hipGraphExecUpdateResult result;
  hipGraphNode_t where;
  ok(hipGraphExecUpdate(exec, clone, &where, &result));
  same(result, hipGraphExecUpdateSuccess);
  ok(hipGraphLaunch(exec, a));
  ok(hipStreamSynchronize(a));
  same(out[0], 63);
  // Another shape can't.
  hipGraphNode_t extra;
  ok(hipGraphAddEmptyNode(&extra, clone, nullptr, 0));
  fails(hipErrorGraphExecUpdateFailure, hipGraphExecUpdate(exec, clone, &where, &result));
  same(result, hipGraphExecUpdateErrorTopologyChanged);
  ok(hipGraphDestroyNode(extra));
  ok(hipGraphExecUpdate(exec, clone, &where, &result));

  // Nodes in a circle.
  hipGraphNode_t first;
  ok(hipGraphNodeFindInClone(&first, zero, clone));
  ok(hipGraphAddDependencies(clone, &other, &first, 1));
  hipGraphExec_t none = nullptr;
  fails(hipErrorInvalidValue, hipGraphInstantiate(&none, clone, nullptr, nullptr, 0));
  truth(says(hipErrorInvalidValue, "circle"));

  // Bad input.
  fails(hipErrorInvalidValue, hipGraphAddDependencies(graph, &kernel, &kernel, 1));
  fails(hipErrorInvalidValue, hipGraphAddDependencies(graph, &other, &kernel, 1));
  fails(hipErrorInvalidValue, hipGraphAddEmptyNode(&extra, graph, &other, 1));
  truth(says(hipErrorInvalidValue, "not a node of graph"));
  fails(hipErrorInvalidValue, hipGraphAddEmptyNode(nullptr, graph, nullptr, 0));
  fails(hipErrorInvalidValue, hipGraphAddMemcpyNode1D(&extra, graph, nullptr, 0, out, words + 60, 1 << 20,
                                                      hipMemcpyDeviceToHost));
  params.func = nullptr;
  fails(hipErrorInvalidDeviceFunction, hipGraphAddKernelNode(&extra, graph, nullptr, 0, &params));
  params.func = (void *)scale;
  params.blockDim = dim3(2000);
  fails(hipErrorInvalidConfiguration, hipGraphAddKernelNode(&extra, graph, nullptr, 0, &params));
  fails(hipErrorInvalidValue, hipGraphMemsetNodeSetParams(kernel, &fill));
  fill.elementSize = 3;
  fails(hipErrorInvalidValue, hipGraphMemsetNodeSetParams(zero, &fill));
  ok(hipGraphDestroy(clone));
  fails(hipErrorInvalidValue, hipGraphDestroy(clone));
  fails(hipErrorInvalidValue, hipGraphGetNodes(clone, nullptr, nullptr));

  // A child graph runs between what stands before and behind it.
  hipGraph_t parent, inside;
  hipGraphNode_t before, child, behind;
  ok(hipGraphCreate(&parent, 0));
  int order[3] = {}, at = 0;
  struct mark {
    int *order, *at;
  } marks{order, &at};
  auto note = [](void *p) {
    auto *m = static_cast<mark *>(p);
    m->order[(*m->at)++] = 1;
  };
  call = {note, &marks};
  ok(hipGraphAddHostNode(&before, parent, nullptr, 0, &call));
  ok(hipGraphAddChildGraphNode(&child, parent, &before, 1, graph));
  call = {[](void *p) {
            auto *m = static_cast<mark *>(p);
            m->order[(*m->at)++] = 2;
          },
          &marks};
  ok(hipGraphAddHostNode(&behind, parent, &child, 1, &call));
  ok(hipGraphChildGraphNodeGetGraph(child, &inside));
  size_t count = 0;
  ok(hipGraphGetNodes(inside, nullptr, &count));
  same(count, 5);
  fails(hipErrorInvalidValue, hipGraphDestroy(inside));
  hipGraphExec_t whole;
  ok(hipGraphInstantiateWithFlags(&whole, parent, 0));
  calls = 0;
  ok(hipGraphLaunch(whole, b));
  ok(hipStreamSynchronize(b));
  same(calls, 1);
  same(out[0], 21);
  same(order[0], 1);
  same(order[1], 2);
  ok(hipGraphExecDestroy(whole));
  ok(hipGraphDestroy(parent));
  ok(hipGraphExecDestroy(exec));
  ok(hipGraphDestroy(graph));
}

// A copy of planes, by itself and as a node.
static void planes() {
  int host[4 * 4 * 4], *device, back[2 * 2 * 2] = {};
  for (int i = 0; i < 64; i++) host[i] = i;
  ok(cudaMalloc(&device, sizeof host));
  cudaMemcpy3DParms in = {};
  in.srcPtr = make_cudaPitchedPtr(host, 16, 16, 4);
  in.dstPtr = make_cudaPitchedPtr(device, 16, 16, 4);
  in.extent = make_cudaExtent(16, 4, 4);
  in.kind = cudaMemcpyHostToDevice;
  ok(cudaMemcpy3D(&in));
  cudaMemcpy3DParms out = {};
  out.srcPtr = make_cudaPitchedPtr(device, 16, 16, 4);
  out.srcPos = make_cudaPos(4, 1, 2);
  out.dstPtr = make_cudaPitchedPtr(back, 8, 8, 2);
  out.extent = make_cudaExtent(8, 2, 2);
  out.kind = cudaMemcpyDeviceToHost;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  ok(cudaGraphCreate(&graph, 0));
  ok(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &out));
  ok(cudaGraphInstantiate(&exec, graph));
  ok(cudaGraphLaunch(exec, a));
  ok(cudaStreamSynchronize(a));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 2; y++)
      for (int x = 0; x < 2; x++) same(back[z * 4 + y * 2 + x], (z + 2) * 16 + (y + 1) * 4 + x + 1);
  in.extent.depth = 5;
  fails(cudaErrorInvalidValue, cudaMemcpy3D(&in));
  // Memory that is gone at the launch is found.
  ok(cudaFree(device));
  fails(cudaErrorInvalidValue, cudaGraphLaunch(exec, a));
  truth(says(cudaErrorInvalidValue, "memcpy: src"));
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));
}

// Events as nodes, memory of a graph, a launch of a graph that is captured itself.
static void others() {
  cudaGraph_t graph, outer;
  cudaGraphExec_t exec, twice;
  cudaEvent_t inside, before;
  ok(cudaEventCreate(&inside));
  ok(cudaEventCreate(&before));
  int *piece, back = 0;
  *flag = 0;
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
  ok(cudaStreamWaitEvent(a, before, cudaEventWaitExternal));
  ok(cudaMallocAsync(&piece, 256, a));
  ok(cudaMemsetAsync(piece, 0, 256, a));
  LAUNCH(add, 4, 16, a, piece, 1);
  ok(cudaEventRecordWithFlags(inside, a, cudaEventRecordExternal));
  ok(cudaMemcpyAsync(&back, piece, sizeof back, cudaMemcpyDeviceToHost, a));
  fails(cudaErrorInvalidValue, cudaFreeAsync(words, a));
  ok(cudaFreeAsync(piece, a));
  ok(cudaStreamEndCapture(a, &graph));
  ok(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  // Held up by the event that another stream reaches.
  LAUNCH(wait_for, 1, 1, c, flag, 1);
  ok(cudaEventRecord(before, c));
  ok(cudaGraphLaunch(exec, a));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  fails(cudaErrorNotReady, cudaEventQuery(inside));
  same(back, 0);
  *(volatile int *)flag = 1;
  ok(cudaEventSynchronize(inside));
  ok(cudaStreamSynchronize(a));
  same(back, 64);
  ok(cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed));
  LAUNCH(set, 1, 1, b, words, 5);
  ok(cudaGraphLaunch(exec, b));
  ok(cudaGraphLaunch(exec, b));
  LAUNCH(add, 1, 1, b, words, 1);
  ok(cudaStreamEndCapture(b, &outer));
  ok(cudaGraphInstantiate(&twice, outer, 0));
  back = 0;
  ok(cudaGraphLaunch(twice, b));
  ok(cudaStreamSynchronize(b));
  same(words[0], 6);
  same(back, 64);
  fails(cudaErrorNotSupported, cudaGraphInstantiate(&exec, outer, cudaGraphInstantiateFlagDeviceLaunch));
  for (cudaGraphExec_t e : {exec, twice}) ok(cudaGraphExecDestroy(e));
  for (cudaGraph_t g : {graph, outer}) ok(cudaGraphDestroy(g));
  fails(cudaErrorInvalidValue, cudaMemset(piece, 0, 256));
  ok(cudaEventDestroy(inside));
  ok(cudaEventDestroy(before));
  // Into a graph that is there.
  ok(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t empty;
  ok(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
  ok(cudaStreamBeginCaptureToGraph(a, graph, &empty, nullptr, 1, cudaStreamCaptureModeRelaxed));
  LAUNCH(set, 1, 1, a, words, 1);
  cudaGraph_t same_graph;
  ok(cudaStreamEndCapture(a, &same_graph));
  truth(same_graph == graph);
  size_t edges = 0;
  ok(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
  same(edges, 1);
  ok(cudaGraphDestroy(graph));
}

// Wide graphs: more branches than run at once, all of which the launch waits for.
static void wide() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ok(cudaGraphCreate(&graph, 0));
  int one = 1;
  void *args[] = {&words, &one};
  cudaKernelNodeParams params = {};
  params.func = (void *)add;
  params.gridDim = 4;
  params.blockDim = 8;
  params.kernelParams = args;
  std::vector<cudaGraphNode_t> layer;
  cudaGraphNode_t node;
  for (int i = 0; i < 200; i++) {
    ok(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    layer.push_back(node);
  }
  ok(cudaGraphAddEmptyNode(&node, graph, layer.data(), layer.size()));
  for (int i = 0; i < 20; i++) {
    cudaGraphNode_t next;
    ok(cudaGraphAddKernelNode(&next, graph, &node, 1, &params));
  }
  ok(cudaGraphInstantiate(&exec, graph, 0));
  *words = 0;
  for (int round = 1; round <= 3; round++) {
    ok(cudaGraphLaunch(exec, a));
    ok(cudaStreamSynchronize(a));
    same(*words, round * 220 * 32);
  }
  ok(cudaGraphExecDestroy(exec));
  ok(cudaGraphDestroy(graph));
}

// Several threads capture, launch, change and destroy at the same time, and share one graph.
static void threads() {
  int *shared;
  ok(cudaMallocManaged(&shared, sizeof *shared));
  *shared = 0;
  cudaGraph_t common;
  cudaGraphExec_t common_exec;
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
  LAUNCH(add, 3, 5, a, shared, 1);
  ok(cudaStreamEndCapture(a, &common));
  ok(cudaGraphInstantiate(&common_exec, common, 0));
  const int hosts = 4, rounds = 25;
  std::vector<std::thread> all;
  for (int host = 0; host < hosts; host++)
    all.emplace_back([=] {
      cudaStream_t one, two;
      cudaEvent_t there, back;
      int *mine;
      ok(cudaMallocManaged(&mine, sizeof *mine));
      *mine = 0;
      ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
      ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
      ok(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
      ok(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
      for (int round = 0; round < rounds; round++) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
        LAUNCH(add, 2, 8, one, mine, 1);
        ok(cudaEventRecord(there, one));
        ok(cudaStreamWaitEvent(two, there, 0));
        LAUNCH(add, 2, 8, two, mine, 2);
        LAUNCH(add, 2, 8, one, mine, 3);
        ok(cudaEventRecord(back, two));
        ok(cudaStreamWaitEvent(one, back, 0));
        ok(cudaStreamEndCapture(one, &graph));
        ok(cudaGraphInstantiate(&exec, graph, 0));
        ok(cudaGraphDestroy(graph));
        for (int i = 0; i < 4; i++) ok(cudaGraphLaunch(exec, i % 2 ? two : one));
        ok(cudaGraphLaunch(common_exec, one));
        ok(cudaGraphExecDestroy(exec));
        ok(cudaStreamSynchronize(one));
        ok(cudaStreamSynchronize(two));
        same(*mine, (round + 1) * 4 * 16 * 6);
      }
      ok(cudaStreamDestroy(one));
      ok(cudaStreamDestroy(two));
      ok(cudaEventDestroy(there));
      ok(cudaEventDestroy(back));
      ok(cudaFree(mine));
    });
  for (auto &host : all) host.join();
  same(*shared, hosts * rounds * 15);
  ok(cudaGraphExecDestroy(common_exec));
  ok(cudaGraphDestroy(common));
  ok(cudaFree(shared));
}

int main() {
  make_streams();
  linear();
  branches();
  by_hand();
  planes();
  others();
  wide();
  threads();
  return done();
}
