/* Signals: words that tell a PE that data has arrived. Callable in kernels. */
#ifndef DUSHMEM_SIGNAL_H
#define DUSHMEM_SIGNAL_H

#include "amo.h"
#include "rma.h"

namespace dushmem {
namespace device {

/* Sets (operator DUSHMEM_SIGNAL_SET) the signal word at PE pe, or adds to it (DUSHMEM_SIGNAL_ADD). Earlier
 * puts are not ordered before it: put a fence between. */
DUSHMEM_IMPL_FN void signal_op(uint64_t *signal, uint64_t value, int op, int pe);
DUSHMEM_IMPL_FN void signal_op(context ctx, uint64_t *signal, uint64_t value, int op, int pe);

/* A put, and then the signal: who sees the signal sees these elements, those that all threads of the scope have
 * put. With no elements the signal alone. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_signal(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_signal(context ctx, T *dest, const T *source, size_t nelems, uint64_t *signal,
                                uint64_t value, int op, int pe);

/* The same, but source is in use until the next quiet. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                    int pe);
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_signal_nbi(context ctx, T *dest, const T *source, size_t nelems, uint64_t *signal,
                                    uint64_t value, int op, int pe);

/* A put as put_scratch (rma.h), and then the signal. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN void put_signal_scratch(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                        int pe, void *scratch, size_t scratch_bytes);

/* The own signal word. */
DUSHMEM_IMPL_FN uint64_t signal_fetch(const uint64_t *signal);

/* Waits until the own signal word compares; returns what it was then, the same to all threads of the scope.
 * Comparisons: DUSHMEM_CMP_... */
template <class S = scope::thread>
DUSHMEM_IMPL_FN uint64_t signal_wait_until(const uint64_t *signal, int cmp, uint64_t value);

} // namespace device
} // namespace dushmem

#include "sync.h"

#include "impl/signal_funcs.h"
#endif
