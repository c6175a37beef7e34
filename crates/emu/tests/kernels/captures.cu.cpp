// What can't be captured.
#include "graphs.h"

static int ended(cudaStream_t stream, int code) {
  cudaGraph_t graph = (cudaGraph_t)1;
  const int got = cudaStreamEndCapture(stream, &graph);
  truth((got == 0) == (graph != nullptr));
  if (got == 0) ok(cudaGraphDestroy(graph));
  same(got, code);
  cudaGetLastError();
  return got;
}

// What can't be captured, and what becomes of the capture.
static void refused() {
  cudaGraph_t graph;
  cudaEvent_t event;
  ok(cudaEventCreate(&event));
  void *memory;
  int local = 0;
  fails(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
  truth(says(cudaErrorStreamCaptureUnsupported, "legacy default stream"));
  fails(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal));
  fails(cudaErrorInvalidValue, cudaStreamBeginCapture(a, cudaStreamCaptureMode(7)));
  fails(cudaErrorIllegalState, cudaStreamEndCapture(a, &graph));
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  fails(cudaErrorIllegalState, cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  fails(cudaErrorInvalidValue, cudaStreamEndCapture(a, nullptr));
  ended(a, 0);

  // Calls that wait: the capture is spoilt, everything in it fails, and it ends with that.
  for (int what = 0; what < 14; what++) {
    ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    LAUNCH(add, 1, 1, a, words, 1);
    int want = cudaErrorStreamCaptureUnsupported, got = 0;
    switch (what) {
    case 0: got = cudaStreamSynchronize(a); break;
    case 1: got = cudaStreamQuery(a); break;
    case 2: got = cudaDeviceSynchronize(); break;
    case 3: got = cudaMalloc(&memory, 64); break;
    case 4: got = cudaFree(words); break;
    case 5: got = cudaStreamDestroy(a); break;
    case 6: got = cudaStreamAddCallback(a, [](cudaStream_t, cudaError_t, void *) {}, nullptr, 0); break;
    case 7: got = cudaMallocHost(&memory, 64); break;
    // The legacy stream would wait for the captured one.
    case 8: got = cudaMemcpy(words, &local, sizeof local, cudaMemcpyHostToDevice), want = 906; break;
    case 9: got = cudaMemset(words, 0, 4), want = 906; break;
    case 10:
      LAUNCH(add, 1, 1, nullptr, words, 1);
      got = cudaGetLastError(), want = 906;
      break;
    case 11: got = cudaMemcpyAsync(words, &local, 4, cudaMemcpyHostToDevice, nullptr), want = 906; break;
    case 12: got = cudaEventRecord(event, nullptr), want = 906; break;
    case 13: got = cudaStreamSynchronize(nullptr), want = 906; break;
    }
    if (got != want) std::printf("call %d\n", what);
    same(got, want);
    cudaStreamCaptureStatus status;
    ok(cudaStreamIsCapturing(a, &status));
    same(status, cudaStreamCaptureStatusInvalidated);
    fails(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(words, 0, 4, a));
    LAUNCH(add, 1, 1, a, words, 1);
    fails(cudaErrorStreamCaptureInvalidated, cudaGetLastError());
    ended(a, cudaErrorStreamCaptureInvalidated);
  }
  // A stream apart from the default stream leaves that usable, but calls that wait are still refused.
  ok(cudaStreamBeginCapture(c, cudaStreamCaptureModeGlobal));
  LAUNCH(add, 1, 1, nullptr, words, 0);
  ok(cudaGetLastError());
  fails(cudaErrorStreamCaptureUnsupported, cudaMemcpy(words, &local, sizeof local, cudaMemcpyHostToDevice));
  ended(c, cudaErrorStreamCaptureInvalidated);
  // Modes: thread-local forbids it to this thread only, relaxed to nobody; a thread can relax itself.
  for (int mode = 0; mode < 3; mode++) {
    ok(cudaStreamBeginCapture(c, cudaStreamCaptureMode(mode)));
    int elsewhere = -1;
    std::thread([&] {
      void *p = nullptr;
      elsewhere = cudaMalloc(&p, 64);
      if (!p) return;
      cudaStreamCaptureMode mine = cudaStreamCaptureModeRelaxed;
      ok(cudaThreadExchangeStreamCaptureMode(&mine));
      same(mine, cudaStreamCaptureModeGlobal);
      ok(cudaFree(p));
    }).join();
    same(elsewhere, mode == 0 ? int(cudaErrorStreamCaptureUnsupported) : 0);
    if (mode == 0) {
      ended(c, cudaErrorStreamCaptureInvalidated);
      continue;
    }
    const int here = cudaMalloc(&memory, 64);
    same(here, mode == 1 ? int(cudaErrorStreamCaptureUnsupported) : 0);
    ended(c, mode == 1 ? int(cudaErrorStreamCaptureInvalidated) : 0);
    if (mode == 2) ok(cudaFree(memory));
  }
  // The wrong thread, unless relaxed.
  for (auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    ok(cudaStreamBeginCapture(a, mode));
    const int want = mode == cudaStreamCaptureModeRelaxed ? 0 : int(cudaErrorStreamCaptureWrongThread);
    std::thread([=] { ended(a, want); }).join();
    if (want != 0) ended(a, 0);
  }
  // The wrong stream; a fork without join.
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  LAUNCH(add, 1, 1, a, words, 1);
  ok(cudaEventRecord(event, a));
  ok(cudaStreamWaitEvent(b, event, 0));
  LAUNCH(add, 1, 1, b, words, 1);
  ended(b, cudaErrorStreamCaptureUnmatched);
  const int unjoined = cudaStreamEndCapture(a, &graph);
  same(unjoined, cudaErrorStreamCaptureUnjoined);
  truth(says(cudaErrorStreamCaptureUnjoined, "last: kernel add"));
  cudaStreamCaptureStatus status;
  ok(cudaStreamIsCapturing(b, &status));
  same(status, cudaStreamCaptureStatusNone);
  // An event of a capture is no point in time, during and after it; recorded again it is.
  fails(cudaErrorCapturedEvent, cudaEventQuery(event));
  fails(cudaErrorCapturedEvent, cudaEventSynchronize(event));
  fails(cudaErrorCapturedEvent, cudaStreamWaitEvent(b, event, 0));
  ok(cudaEventRecord(event, b));
  ok(cudaEventSynchronize(event));
  // An event from outside, a second capture, the default stream.
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  fails(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, event, 0));
  ended(a, cudaErrorStreamCaptureInvalidated);
  ok(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  ok(cudaStreamBeginCapture(b, cudaStreamCaptureModeGlobal));
  ok(cudaEventRecord(event, a));
  fails(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(b, event, 0));
  ended(a, cudaErrorStreamCaptureInvalidated);
  ended(b, cudaErrorStreamCaptureInvalidated);
  ok(cudaStreamBeginCapture(c, cudaStreamCaptureModeGlobal));
  ok(cudaEventRecord(event, c));
  fails(cudaErrorStreamCaptureImplicit, cudaStreamWaitEvent(nullptr, event, 0));
  ended(c, cudaErrorStreamCaptureInvalidated);
  // Names and texts of both families.
  truth(std::strcmp(cudaGetErrorName(cudaErrorStreamCaptureUnjoined), "cudaErrorStreamCaptureUnjoined") == 0);
  truth(std::strcmp(hipGetErrorName(hipErrorCapturedEvent), "hipErrorCapturedEvent") == 0);
  truth(says(cudaErrorStreamCaptureWrongThread, "thread-local capture sequence"));
  ok(cudaEventDestroy(event));
}

int main() {
  make_streams();
  refused();
  return done();
}
