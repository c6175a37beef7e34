/* Order, completion, and waiting for own symmetric words. Callable in kernels.
 *
 * Calls with a scope S are made by all its threads, with equal arguments: see scope.h. They give all of them the
 * same result. A word that is not symmetric, and a cmp that is no comparison, ends the job with a line that names
 * call, argument, block and thread. */
#ifndef DUSHMEM_SYNC_H
#define DUSHMEM_SYNC_H

#include "amo.h"

namespace dushmem {
namespace device {

/* Orders the puts, atomics and signals of all threads of the scope, to each PE: earlier ones before later ones
 * of any of them. */
template <class S = scope::thread> DUSHMEM_IMPL_FN void fence();
template <class S = scope::thread> DUSHMEM_IMPL_FN void fence(context ctx);

/* Completes them: when it returns, every PE sees them. */
template <class S = scope::thread> DUSHMEM_IMPL_FN void quiet();
template <class S = scope::thread> DUSHMEM_IMPL_FN void quiet(context ctx);

/* Waits until the word compares, and returns what it was then. What its writer ordered before the write is
 * visible afterwards. T is an integer of 2, 4 or 8 bytes; comparisons: DUSHMEM_CMP_EQ to DUSHMEM_CMP_GE. */
template <class S = scope::thread, class T> DUSHMEM_IMPL_FN T wait_until(const T *word, int cmp, impl::same_t<T> value);

/* The same without waiting: true if the word compares. */
template <class S = scope::thread, class T> DUSHMEM_IMPL_FN bool test(const T *word, int cmp, impl::same_t<T> value);

/* Sets of words. Words whose status is not 0 are left out; status may be null. The value is one for all,
 * or, in the forms with a pointer, one for each. all: true at once where none is in the set. any: index of one
 * that compares, SIZE_MAX at once where none is in the set; the search begins at another word each time. some:
 * stores the indices of all that compare and returns how many, 0 at once where none is in the set; indices
 * has room for nelems. */
#define DUSHMEM_IMPL_SETS(VALUES)                                                                              \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN void wait_until_all(const T *words, size_t nelems, const int *status, int cmp, VALUES);      \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN size_t wait_until_any(const T *words, size_t nelems, const int *status, int cmp, VALUES);    \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN size_t wait_until_some(const T *words, size_t nelems, size_t *indices, const int *status,    \
                                         int cmp, VALUES);                                                     \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN bool test_all(const T *words, size_t nelems, const int *status, int cmp, VALUES);            \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN size_t test_any(const T *words, size_t nelems, const int *status, int cmp, VALUES);          \
  template <class S = scope::thread, class T>                                                                  \
  DUSHMEM_IMPL_FN size_t test_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp, \
                                   VALUES);
DUSHMEM_IMPL_SETS(T value)
DUSHMEM_IMPL_SETS(const T *values)
#undef DUSHMEM_IMPL_SETS

} // namespace device
} // namespace dushmem

#include "impl/sync_funcs.h"
#endif
