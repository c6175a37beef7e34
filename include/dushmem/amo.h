/* Atomic operations on a symmetric word at a PE of the world. Callable in kernels.
 *
 * They are atomic against each other, against those of the host and of other devices, and against signals
 * and waits; they don't order other accesses. T is an integer of 4 or 8 bytes; fetch, set, swap take float
 * and double too. Calls without a result may return before the update is seen; quiet completes them. With a
 * context as first argument the call belongs to that context. A PE or an address that is bad ends the job with a
 * line that names call, argument, block and thread. */
#ifndef DUSHMEM_AMO_H
#define DUSHMEM_AMO_H

#include "impl/remote.h"

namespace dushmem {
namespace device {

/* Each returns the value from before. */
template <class T> DUSHMEM_IMPL_FN T atomic_fetch(const T *word, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_swap(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_compare_swap(T *word, impl::same_t<T> cond, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_inc(T *word, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_add(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_and(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_or(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_xor(T *word, impl::same_t<T> value, int pe);

/* Without a result. */
template <class T> DUSHMEM_IMPL_FN void atomic_set(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN void atomic_inc(T *word, int pe);
template <class T> DUSHMEM_IMPL_FN void atomic_add(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN void atomic_and(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN void atomic_or(T *word, impl::same_t<T> value, int pe);
template <class T> DUSHMEM_IMPL_FN void atomic_xor(T *word, impl::same_t<T> value, int pe);

} // namespace device
} // namespace dushmem

#include "impl/amo_funcs.h"
#endif
