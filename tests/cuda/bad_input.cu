// What goes wrong with a GPU, told in one line each. Argument: none, memory, pointer, capture, spin or leaves.
#include "patterns.h"
#include <unistd.h>

__global__ void wait_for(uint64_t *word, uint64_t value) { dushmem_uint64_wait_until(word, DUSHMEM_CMP_GE, value); }
__global__ void answer(uint64_t *word, int pe, uint64_t rounds) {
  for (uint64_t r = 1; r <= rounds; r++) {
    dushmem_uint64_p(word, r, pe);
    dushmem_uint64_wait_until(word, DUSHMEM_CMP_GE, r);
  }
}

// More than the GPU has, from a heap that may be that large.
static int memory() {
  begin();
  for (int i = 0; i < 4096; i++)
    if (dushmem_malloc((size_t)1 << 30) == nullptr) {
      int *word = (int *)dushmem_calloc(1, sizeof(int));
      if (word == nullptr && me == 0) std::printf("nothing is left for a word\n");
      return 9;
    }
  return verdict();
}

// Addresses that are not symmetric: a line that names argument and value.
static int pointer() {
  begin();
  static int host;
  int *device;
  CUDA(cudaMalloc((void **)&device, sizeof(int)));
  if (me == 0) dushmem_int_p(device, 1, right_of(me));
  if (me == 0) dushmem_int_p(&host, 1, right_of(me));
  return verdict();
}

// In a capture: what can't be captured is refused, and the job goes on.
static int in_a_capture() {
  begin();
  int *word = zeroed<int>(2);
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  dushmemx_int_p_on_stream(word, 5, me, stream);
  // The heap may have to grow here, which is no work of this stream.
  int *late = (int *)dushmem_calloc(100 << 20, 1);
  CUDA(cudaStreamEndCapture(stream, &graph));
  expect_host("malloc beside a capture", late != nullptr, 1);
  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  CUDA(cudaGraphLaunch(exec, stream));
  CUDA(cudaStreamSynchronize(stream));
  expect_host("the captured p", look(word), 5);
  return verdict();
}

// Kernels that wait for each other's: where PEs take turns that is slow, told once, and an error if asked for.
static int spin() {
  begin();
  uint64_t *word = zeroed<uint64_t>(1);
  answer<<<1, 1, 0, stream>>>(word, me ^ 1, 20);
  CUDA(cudaStreamSynchronize(stream));
  return verdict();
}

// A PE ends while a peer's kernel waits for it: the job ends.
static int leaves() {
  begin();
  uint64_t *word = zeroed<uint64_t>(1);
  dushmem_barrier_all();
  if (me == n - 1) {
    usleep(300000);
    _exit(3);
  }
  wait_for<<<1, 1, 0, stream>>>(word, 1);
  CUDA(cudaStreamSynchronize(stream));
  return 9;
}

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "memory") return memory();
  if (what == "pointer") return pointer();
  if (what == "capture") return in_a_capture();
  if (what == "spin") return spin();
  if (what == "leaves") return leaves();
  if (what != "none") return 98;
  // No GPU: init, or the first call that needs one, says so.
  dushmem_init();
  int *word = (int *)dushmem_malloc(sizeof(int));
  std::printf("went on with %p\n", (void *)word);
  dushmem_finalize();
  return 9;
}
