/* Who makes a call together, and in which order of operations. Callable in kernels. */
#ifndef DUSHMEM_SCOPE_H
#define DUSHMEM_SCOPE_H

#include <stdint.h>

namespace dushmem {
namespace device {

/* The threads that make a call together. All threads of the scope make it, with equal arguments; they share the
 * work. The call synchronises them at its end, and at its begin where it reads what others of them may have
 * written: no __syncthreads is needed between filling a buffer and a put of it.
 *
 * Threads are numbered as in threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z). Those of a
 * warp are warpSize consecutive ones; the last warp of a block may have fewer. A warp group is four warps. It
 * synchronises by hardware barriers 8 to 15 of the block, and on AMD GPUs only where the block has no more warps. */
struct scope {
  struct thread {};
  struct warp {};
  struct warpgroup {};
  struct block {};
};

/* An ordered stream of operations of its own: fence and quiet on a context concern its operations. A queue pair
 * of nvshmemx_qp_create is the context with its number; 0 is the default, that of calls without a context. */
struct context {
  int32_t handle;
};

} // namespace device
} // namespace dushmem
#endif
