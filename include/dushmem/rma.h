/* Copies between the own memory and that of a PE of the world. Callable in kernels.
 *
 * Symmetric arguments are own addresses of an own symmetric object. The calls are made by one thread, or
 * with scope::block by all threads of the block with the same arguments; those share the work, and the
 * call is a synchronisation of the block. Zero elements are legal with any pointers. */
#ifndef DUSHMEM_RMA_H
#define DUSHMEM_RMA_H

#include "impl/device_mem.h"

namespace dushmem {
namespace device {

/* Who makes a call together. */
struct scope {
  struct thread {};
  struct block {};
};

/* Writes nelems elements from source (local) to dest (symmetric) at PE pe. When it returns, source can be
 * changed; the elements have arrived after a quiet, or before a later signal that follows a fence. */
template <class Scope = scope::thread, class T>
DUSHMEM_IMPL_FN void put(T *dest, const T *source, size_t nelems, int pe);

/* Reads nelems elements from source (symmetric) at PE pe to dest (local). They are there on return. */
template <class Scope = scope::thread, class T>
DUSHMEM_IMPL_FN void get(T *dest, const T *source, size_t nelems, int pe);

/* Writes one value to dest at PE pe. */
template <class T> DUSHMEM_IMPL_FN void p(T *dest, T value, int pe);

/* Reads one value from source at PE pe. */
template <class T> DUSHMEM_IMPL_FN T g(const T *source, int pe);

/* As put and get, for every dst-th element of dest and every sst-th of source; strides are at least 1. */
template <class T>
DUSHMEM_IMPL_FN void iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
template <class T>
DUSHMEM_IMPL_FN void iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);

} // namespace device
} // namespace dushmem

#include "impl/rma_funcs.h"
#endif
