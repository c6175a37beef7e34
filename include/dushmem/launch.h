/* Collective launch: kernels that synchronise with those of other PEs, or use collectives, need all their blocks
 * on the device at the same time, on every PE. Ordinary launches don't promise that.
 *
 *   int dushmemx_collective_launch(func, grid, block, args, shared, stream)
 *       Puts the kernel into the stream. All PEs call it, with the same kernel and shape. func: address of a
 *       __global__ function, as a void pointer or with its type; args: addresses of its arguments, which are copied;
 *       shared: bytes of dynamic shared memory of a block. A grid of dim3(0, 0, 0) is the largest that is resident at
 *       once, along x. The emulator knows an instance of a template by its address once it has been passed with its
 *       type: kernel<3>, not (const void *)kernel<3>.
 *   int dushmemx_collective_launch_query_gridsize(func, block, args, shared, &gridsize)
 *       That number of blocks, for this kernel and shape on the current device.
 *
 * Where kernels of several PEs run on one device at the same time (under MPS, or with PEs as threads) each PE has its part
 * of the blocks that are resident there. The first launch of a program binds the PEs' devices, as the first allocation
 * does; a query before either takes it that all PEs share one.
 *
 * Both return 0. Otherwise they have printed one line that names what was wrong, nothing was launched, and they
 * return DUSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED, or DUSHMEMX_ERROR_INVALID_VALUE for an argument that can't be
 * right. Whether a grid fits is checked by each PE by itself: a PE that sees a failure should end the job, since
 * the kernels of the others may wait for its own. */
#ifndef DUSHMEM_LAUNCH_H
#define DUSHMEM_LAUNCH_H

#include <dushmem/impl/collective_launch.h>

static inline __host__ int dushmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                                                     size_t sharedMem, int *gridsize) {
  (void)args;
  return ::dushmem::impl::resident_grid("dushmemx_collective_launch_query_gridsize", func, blockDims, sharedMem,
                                        gridsize);
}

static inline __host__ int dushmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                                                      size_t sharedMem, ::dushmem::impl::stream_t stream) {
  return ::dushmem::impl::collective_launch("dushmemx_collective_launch", func, gridDims, blockDims, args, sharedMem,
                                            stream);
}

static inline __host__ int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                                                     size_t sharedMem, int *gridsize) {
  (void)args;
  return ::dushmem::impl::resident_grid("nvshmemx_collective_launch_query_gridsize", func, blockDims, sharedMem,
                                        gridsize);
}

static inline __host__ int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                                                      size_t sharedMem, ::dushmem::impl::stream_t stream) {
  return ::dushmem::impl::collective_launch("nvshmemx_collective_launch", func, gridDims, blockDims, args, sharedMem,
                                            stream);
}

/* The same for a kernel that is passed with its type. */
template <class... P>
static inline __host__ int dushmemx_collective_launch_query_gridsize(void (*func)(P...), dim3 blockDims, void **args,
                                                                     size_t sharedMem, int *gridsize) {
  return dushmemx_collective_launch_query_gridsize(::dushmem::impl::kernel_address(func), blockDims, args, sharedMem,
                                                  gridsize);
}

template <class... P>
static inline __host__ int dushmemx_collective_launch(void (*func)(P...), dim3 gridDims, dim3 blockDims, void **args,
                                                      size_t sharedMem, ::dushmem::impl::stream_t stream) {
  return dushmemx_collective_launch(::dushmem::impl::kernel_address(func), gridDims, blockDims, args, sharedMem, stream);
}

template <class... P>
static inline __host__ int nvshmemx_collective_launch_query_gridsize(void (*func)(P...), dim3 blockDims, void **args,
                                                                     size_t sharedMem, int *gridsize) {
  return nvshmemx_collective_launch_query_gridsize(::dushmem::impl::kernel_address(func), blockDims, args, sharedMem,
                                                  gridsize);
}

template <class... P>
static inline __host__ int nvshmemx_collective_launch(void (*func)(P...), dim3 gridDims, dim3 blockDims, void **args,
                                                      size_t sharedMem, ::dushmem::impl::stream_t stream) {
  return nvshmemx_collective_launch(::dushmem::impl::kernel_address(func), gridDims, blockDims, args, sharedMem, stream);
}
#endif
