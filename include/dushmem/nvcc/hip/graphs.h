/* HIP's names of capture, graphs and occupancy, for programs that nvcc compiles: part of hip_runtime.h. */
#ifndef DUSHMEM_NVCC_HIP_GRAPHS_H
#define DUSHMEM_NVCC_HIP_GRAPHS_H

#include <cuda_runtime.h>
#include <string.h>

#define hipErrorCapturedEvent cudaErrorCapturedEvent
#define hipErrorGraphExecUpdateFailure cudaErrorGraphExecUpdateFailure
#define hipErrorIllegalState cudaErrorIllegalState
#define hipErrorStreamCaptureImplicit cudaErrorStreamCaptureImplicit
#define hipErrorStreamCaptureInvalidated cudaErrorStreamCaptureInvalidated
#define hipErrorStreamCaptureIsolation cudaErrorStreamCaptureIsolation
#define hipErrorStreamCaptureMerge cudaErrorStreamCaptureMerge
#define hipErrorStreamCaptureUnjoined cudaErrorStreamCaptureUnjoined
#define hipErrorStreamCaptureUnmatched cudaErrorStreamCaptureUnmatched
#define hipErrorStreamCaptureUnsupported cudaErrorStreamCaptureUnsupported
#define hipErrorStreamCaptureWrongThread cudaErrorStreamCaptureWrongThread
#define hipEventRecordDefault cudaEventRecordDefault
#define hipEventRecordExternal cudaEventRecordExternal
#define hipEventRecordWithFlags cudaEventRecordWithFlags
#define hipEventWaitDefault cudaEventWaitDefault
#define hipEventWaitExternal cudaEventWaitExternal
#define hipGraphAddChildGraphNode cudaGraphAddChildGraphNode
#define hipGraphAddEmptyNode cudaGraphAddEmptyNode
#define hipGraphAddEventRecordNode cudaGraphAddEventRecordNode
#define hipGraphAddEventWaitNode cudaGraphAddEventWaitNode
#define hipGraphAddHostNode cudaGraphAddHostNode
#define hipGraphAddKernelNode cudaGraphAddKernelNode
#define hipGraphAddMemcpyNode cudaGraphAddMemcpyNode
#define hipGraphAddMemcpyNode1D cudaGraphAddMemcpyNode1D
#define hipGraphAddMemsetNode cudaGraphAddMemsetNode
#define hipGraphChildGraphNodeGetGraph cudaGraphChildGraphNodeGetGraph
#define hipGraphClone cudaGraphClone
#define hipGraphCreate cudaGraphCreate
#define hipGraphDestroy cudaGraphDestroy
#define hipGraphDestroyNode cudaGraphDestroyNode
#define hipGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeGetEvent
#define hipGraphEventRecordNodeSetEvent cudaGraphEventRecordNodeSetEvent
#define hipGraphEventWaitNodeGetEvent cudaGraphEventWaitNodeGetEvent
#define hipGraphEventWaitNodeSetEvent cudaGraphEventWaitNodeSetEvent
#define hipGraphExecDestroy cudaGraphExecDestroy
#define hipGraphExecEventRecordNodeSetEvent cudaGraphExecEventRecordNodeSetEvent
#define hipGraphExecEventWaitNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
#define hipGraphExecHostNodeSetParams cudaGraphExecHostNodeSetParams
#define hipGraphExecKernelNodeSetParams cudaGraphExecKernelNodeSetParams
#define hipGraphExecMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams
#define hipGraphExecMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParams1D
#define hipGraphExecMemsetNodeSetParams cudaGraphExecMemsetNodeSetParams
#define hipGraphExecUpdateError cudaGraphExecUpdateError
#define hipGraphExecUpdateErrorFunctionChanged cudaGraphExecUpdateErrorFunctionChanged
#define hipGraphExecUpdateErrorNodeTypeChanged cudaGraphExecUpdateErrorNodeTypeChanged
#define hipGraphExecUpdateErrorNotSupported cudaGraphExecUpdateErrorNotSupported
#define hipGraphExecUpdateErrorParametersChanged cudaGraphExecUpdateErrorParametersChanged
#define hipGraphExecUpdateErrorTopologyChanged cudaGraphExecUpdateErrorTopologyChanged
#define hipGraphExecUpdateErrorUnsupportedFunctionChange cudaGraphExecUpdateErrorUnsupportedFunctionChange
#define hipGraphExecUpdateResult cudaGraphExecUpdateResult
#define hipGraphExecUpdateResultInfo cudaGraphExecUpdateResultInfo
#define hipGraphExecUpdateSuccess cudaGraphExecUpdateSuccess
#define hipGraphExec_t cudaGraphExec_t
#define hipGraphGetNodes cudaGraphGetNodes
#define hipGraphGetRootNodes cudaGraphGetRootNodes
#define hipGraphHostNodeGetParams cudaGraphHostNodeGetParams
#define hipGraphHostNodeSetParams cudaGraphHostNodeSetParams
#define hipGraphInstantiateFlagAutoFreeOnLaunch cudaGraphInstantiateFlagAutoFreeOnLaunch
#define hipGraphInstantiateFlagDeviceLaunch cudaGraphInstantiateFlagDeviceLaunch
#define hipGraphInstantiateFlagUpload cudaGraphInstantiateFlagUpload
#define hipGraphInstantiateFlagUseNodePriority cudaGraphInstantiateFlagUseNodePriority
#define hipGraphInstantiateWithFlags cudaGraphInstantiateWithFlags
#define hipGraphKernelNodeGetParams cudaGraphKernelNodeGetParams
#define hipGraphKernelNodeSetParams cudaGraphKernelNodeSetParams
#define hipGraphLaunch cudaGraphLaunch
#define hipGraphMemcpyNodeGetParams cudaGraphMemcpyNodeGetParams
#define hipGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams
#define hipGraphMemcpyNodeSetParams1D cudaGraphMemcpyNodeSetParams1D
#define hipGraphMemsetNodeGetParams cudaGraphMemsetNodeGetParams
#define hipGraphMemsetNodeSetParams cudaGraphMemsetNodeSetParams
#define hipGraphNodeFindInClone cudaGraphNodeFindInClone
#define hipGraphNodeGetType cudaGraphNodeGetType
#define hipGraphNodeType cudaGraphNodeType
#define hipGraphNodeTypeCount cudaGraphNodeTypeCount
#define hipGraphNodeTypeEmpty cudaGraphNodeTypeEmpty
#define hipGraphNodeTypeEventRecord cudaGraphNodeTypeEventRecord
#define hipGraphNodeTypeGraph cudaGraphNodeTypeGraph
#define hipGraphNodeTypeHost cudaGraphNodeTypeHost
#define hipGraphNodeTypeKernel cudaGraphNodeTypeKernel
#define hipGraphNodeTypeMemAlloc cudaGraphNodeTypeMemAlloc
#define hipGraphNodeTypeMemFree cudaGraphNodeTypeMemFree
#define hipGraphNodeTypeMemcpy cudaGraphNodeTypeMemcpy
#define hipGraphNodeTypeMemset cudaGraphNodeTypeMemset
#define hipGraphNodeTypeWaitEvent cudaGraphNodeTypeWaitEvent
#define hipGraphNode_t cudaGraphNode_t
#define hipGraphUpload cudaGraphUpload
#define hipGraph_t cudaGraph_t
#define hipHostNodeParams cudaHostNodeParams
#define hipMemcpy3DParms cudaMemcpy3DParms
#define hipMemsetParams cudaMemsetParams
#define hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipOccupancyMaxPotentialBlockSizeVariableSMem cudaOccupancyMaxPotentialBlockSizeVariableSMem
#define hipStreamAddCaptureDependencies cudaStreamAddCaptureDependencies
#define hipStreamBeginCapture cudaStreamBeginCapture
#define hipStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph
#define hipStreamCallback_t cudaStreamCallback_t
#define hipStreamCaptureMode cudaStreamCaptureMode
#define hipStreamCaptureModeGlobal cudaStreamCaptureModeGlobal
#define hipStreamCaptureModeRelaxed cudaStreamCaptureModeRelaxed
#define hipStreamCaptureModeThreadLocal cudaStreamCaptureModeThreadLocal
#define hipStreamCaptureStatus cudaStreamCaptureStatus
#define hipStreamCaptureStatusActive cudaStreamCaptureStatusActive
#define hipStreamCaptureStatusInvalidated cudaStreamCaptureStatusInvalidated
#define hipStreamCaptureStatusNone cudaStreamCaptureStatusNone
#define hipStreamEndCapture cudaStreamEndCapture
#define hipStreamGetDevice cudaStreamGetDevice
#define hipStreamIsCapturing cudaStreamIsCapturing
#define hipStreamSetCaptureDependencies cudaStreamSetCaptureDependencies
#define hipStreamUpdateCaptureDependenciesFlags cudaStreamUpdateCaptureDependenciesFlags
#define hipThreadExchangeStreamCaptureMode cudaThreadExchangeStreamCaptureMode
#define hipKernelNodeParams cudaKernelNodeParams

/* These have other parameters than CUDA's. */
static inline cudaError_t hipGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                                              char *log, size_t log_bytes) {
  const cudaError_t error = cudaGraphInstantiateWithFlags(exec, graph, 0);
  if (error_node != NULL) *error_node = NULL;
  if (log != NULL && log_bytes != 0) {
    log[0] = 0;
    if (error != cudaSuccess) strncat(log, cudaGetErrorString(error), log_bytes - 1);
  }
  return error;
}
static inline cudaError_t hipGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                                             cudaGraphExecUpdateResult *result) {
  cudaGraphExecUpdateResultInfo info;
  memset(&info, 0, sizeof info);
  const cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
  if (error_node != NULL) *error_node = info.errorNode;
  if (result != NULL) *result = info.result;
  return error;
}
static inline cudaError_t hipStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                                  unsigned long long *id) {
  return cudaStreamGetCaptureInfo(stream, status, id);
}

/* CUDA 13 has parameters for edges of other kinds. */
#if CUDART_VERSION >= 13000
#define DUSHMEM_NVCC_EDGES NULL,
#else
#define DUSHMEM_NVCC_EDGES
#endif
static inline cudaError_t hipGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                  const cudaGraphNode_t *to, size_t count) {
  return cudaGraphAddDependencies(graph, from, to, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                     const cudaGraphNode_t *to, size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                           size_t *count) {
  return cudaGraphGetEdges(graph, from, to, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
  return cudaGraphNodeGetDependencies(node, nodes, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
  return cudaGraphNodeGetDependentNodes(node, nodes, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus *status,
                                                     unsigned long long *id, cudaGraph_t *graph,
                                                     const cudaGraphNode_t **nodes, size_t *count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, DUSHMEM_NVCC_EDGES count);
}
static inline cudaError_t hipStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes,
                                                             size_t count, unsigned flags) {
  return cudaStreamUpdateCaptureDependencies(stream, nodes, DUSHMEM_NVCC_EDGES count, flags);
}
#undef DUSHMEM_NVCC_EDGES
#endif
