/* Copies between the own memory and that of a PE of the world. Callable in kernels.
 *
 * Symmetric arguments are own addresses of an own symmetric object. Calls with a scope S are made by all its
 * threads: see scope.h; the default is the calling thread alone. Zero elements are legal with any pointers.
 * With a context as first argument the call belongs to that context. A PE or an address that is bad ends the
 * job with a line that names call, argument, block and thread. */
#ifndef DUSHMEM_RMA_H
#define DUSHMEM_RMA_H

#include "impl/bulk.h"
#include "impl/remote.h"

namespace dushmem {
namespace device {

/* Writes nelems elements from source (local) to dest (symmetric) at PE pe. When it returns, source can be
 * changed; the elements have arrived after a quiet, or before a later signal that follows a fence. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put(T *dest, const T *source, size_t nelems, int pe);

/* Reads nelems elements from source (symmetric) at PE pe to dest (local). They are there on return. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void get(T *dest, const T *source, size_t nelems, int pe);

/* The same, but source of a put, or dest of a get, is in use until the next quiet. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_nbi(T *dest, const T *source, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void get_nbi(T *dest, const T *source, size_t nelems, int pe);

/* Writes one value to dest at PE pe. */
template <class T> DUSHMEM_IMPL_FN void p(T *dest, impl::same_t<T> value, int pe);

/* Reads one value from source at PE pe. */
template <class T> DUSHMEM_IMPL_FN T g(const T *source, int pe);

/* As put and get, for every dst-th element of dest and every sst-th of source; strides are at least 1. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

/* The same, by way of shared memory that the caller gives and nobody uses meanwhile: scratch_bytes from scratch on, a
 * part of the block's for each thread, warp, or block that makes the call. On GPUs with a copy engine in each
 * multiprocessor (sm_90 and newer) a single thread then copies as fast as a whole block; 32 KiB are worth it, 96 KiB
 * reach all of it. Elsewhere, and where the copy is short or source and dest are not aligned alike to 16 bytes, the call is
 * that without scratch. An element is written as a whole only once the copy is complete. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_scratch(T *dest, const T *source, size_t nelems, int pe, void *scratch, size_t scratch_bytes);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void get_scratch(T *dest, const T *source, size_t nelems, int pe, void *scratch, size_t scratch_bytes);

template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put(context ctx, T *dest, const T *source, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void get(context ctx, T *dest, const T *source, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_nbi(context ctx, T *dest, const T *source, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void get_nbi(context ctx, T *dest, const T *source, size_t nelems, int pe);
template <class T> DUSHMEM_IMPL_FN void p(context ctx, T *dest, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T g(context ctx, const T *source, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void iput(context ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void iget(context ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

} // namespace device
} // namespace dushmem

#include "impl/rma_funcs.h"
#endif
