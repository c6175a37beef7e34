/* What the library's own kernels share. They are built on the device headers, as programs' kernels are, so a module of
 * them gets its state in the same way. Pointers are device addresses, teams handles; all members of a team launch the
 * same kernels with the same grid. `cargo xtask ptx` compiles them for GPUs; tests run them on the CPU, too. */
#ifndef DUSHMEM_KERNELS_LIBRARY_H
#define DUSHMEM_KERNELS_LIBRARY_H

#include <cuda_runtime.h>
#include <dushmem/device.h>

#include <dushmem/impl/coll_grid.h>

/* Threads of a block; two such blocks fit on a multiprocessor. */
#define DUSHMEM_KERNEL_THREADS 512
#ifdef DUSHMEM_EMU
#define DUSHMEM_KERNEL extern "C" __global__ void
#define DUSHMEM_BY_VALUE const
#else
#define DUSHMEM_KERNEL extern "C" __global__ void __launch_bounds__(DUSHMEM_KERNEL_THREADS, 2)
#define DUSHMEM_BY_VALUE const __grid_constant__
#endif

namespace {

using namespace dushmem::device;
using namespace dushmem::device::impl;

/* The team, for all threads of the block; false after a line about it. */
__device__ inline bool opened(int32_t handle, members &team, const char *call) { return open<block_scope>(handle, team, call); }

/* Short data: one block makes the call. */
__device__ inline bool in_one_step(const members &team, size_t bytes) { return gridDim.x == 1 && goes_flagged(team, bytes); }

} // namespace
#endif
