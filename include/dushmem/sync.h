/* Order, completion, and waiting for own symmetric words. Callable in kernels. */
#ifndef DUSHMEM_SYNC_H
#define DUSHMEM_SYNC_H

#include "amo.h"
#include "impl/device_mem.h"

namespace dushmem {
namespace device {

/* Orders the calling thread's puts, atomics and signals to each PE: earlier ones before later ones. */
DUSHMEM_IMPL_FN void fence();

/* Completes them: when it returns, every PE sees them. */
DUSHMEM_IMPL_FN void quiet();

/* Waits until the word compares, and returns what it was then. What its writer ordered before the write is
 * visible afterwards. T is an integer of 2, 4 or 8 bytes; comparisons: DUSHMEM_CMP_EQ to DUSHMEM_CMP_GE. */
template <class T> DUSHMEM_IMPL_FN T wait_until(const T *word, int cmp, T value);

/* The same without waiting: true if the word compares. */
template <class T> DUSHMEM_IMPL_FN bool test(const T *word, int cmp, T value);

/* Sets of words. Words whose status is not 0 are left out; status may be null. The value is one for all,
 * or, in the forms with a pointer, one for each. any: index of one that compares, SIZE_MAX if none is in
 * the set. some: stores the indices of all that compare and returns how many. */
template <class T>
DUSHMEM_IMPL_FN void wait_until_all(const T *words, size_t nelems, const int *status, int cmp, T value);
template <class T>
DUSHMEM_IMPL_FN void wait_until_all(const T *words, size_t nelems, const int *status, int cmp, const T *values);
template <class T>
DUSHMEM_IMPL_FN size_t wait_until_any(const T *words, size_t nelems, const int *status, int cmp, T value);
template <class T>
DUSHMEM_IMPL_FN size_t wait_until_any(const T *words, size_t nelems, const int *status, int cmp, const T *values);
template <class T>
DUSHMEM_IMPL_FN size_t wait_until_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp,
                                       T value);
template <class T>
DUSHMEM_IMPL_FN size_t wait_until_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp,
                                       const T *values);
template <class T> DUSHMEM_IMPL_FN bool test_all(const T *words, size_t nelems, const int *status, int cmp, T value);
template <class T>
DUSHMEM_IMPL_FN bool test_all(const T *words, size_t nelems, const int *status, int cmp, const T *values);
template <class T>
DUSHMEM_IMPL_FN size_t test_any(const T *words, size_t nelems, const int *status, int cmp, T value);
template <class T>
DUSHMEM_IMPL_FN size_t test_any(const T *words, size_t nelems, const int *status, int cmp, const T *values);
template <class T>
DUSHMEM_IMPL_FN size_t test_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp, T value);
template <class T>
DUSHMEM_IMPL_FN size_t test_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp,
                                 const T *values);

} // namespace device
} // namespace dushmem

#include "impl/sync_funcs.h"
#endif
