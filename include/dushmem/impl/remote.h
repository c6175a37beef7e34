/* Operations on PEs that kernels can't load from and store to: requests to the proxy. Made by one thread each; PE
 * and symmetric addresses have been checked. */
#ifndef DUSHMEM_IMPL_REMOTE_H
#define DUSHMEM_IMPL_REMOTE_H

#include "reach.h"

#include "proxy.h"

namespace dushmem {
namespace device {
namespace impl {

/* Atomic operations, numbered as in the requests. */
enum class amo { fetch, set, swap, compare_swap, add, bit_and, bit_or, bit_xor };

DUSHMEM_IMPL_FN uint32_t remote_flags(const void *far, bool nbi) {
  return (nbi ? (uint32_t)proxy::flag_nbi : 0u) | (is_internal(far) ? (uint32_t)proxy::flag_internal : 0u);
}

DUSHMEM_IMPL_COLD void remote_put(context ctx, void *dest, const void *source, size_t bytes, int pe, bool nbi) {
  proxy::put(ctx.handle, dest, source, bytes, pe, remote_flags(dest, nbi));
}
DUSHMEM_IMPL_COLD void remote_get(context ctx, void *dest, const void *source, size_t bytes, int pe, bool nbi) {
  proxy::get(ctx.handle, dest, source, bytes, pe, remote_flags(source, nbi));
}
DUSHMEM_IMPL_COLD void remote_strided(context ctx, bool put, char *dest, const char *source, ptrdiff_t dst,
                                    ptrdiff_t sst, size_t elem, size_t nelems, int pe) {
  if (put)
    proxy::iput(ctx.handle, dest, source, dst, sst, nelems, elem, pe);
  else
    proxy::iget(ctx.handle, dest, source, dst, sst, nelems, elem, pe);
}
DUSHMEM_IMPL_COLD void remote_signal(context ctx, uint64_t *signal, uint64_t value, int op, int pe) {
  proxy::signal_op(ctx.handle, signal, value, op, pe, remote_flags(signal, false));
}
DUSHMEM_IMPL_COLD void remote_put_signal(context ctx, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                       uint64_t value, int op, int pe, bool nbi) {
  proxy::put_signal(ctx.handle, dest, source, bytes, signal, value, op, pe, remote_flags(dest, nbi));
}

/* The old value if `fetches`; without, it returns before the operation is done. */
template <class U> DUSHMEM_IMPL_COLD U remote_amo(context ctx, amo kind, U *word, U value, U cond, int pe, bool fetches) {
  const bool wide = sizeof(U) == 8;
  if (fetches) return (U)proxy::amo(ctx.handle, (uint32_t)kind, wide, word, value, cond, pe);
  proxy::amo_post(ctx.handle, (uint32_t)kind, wide, word, value, pe, remote_flags(word, false));
  return 0;
}

DUSHMEM_IMPL_COLD void remote_fence(context ctx) { proxy::fence(ctx.handle); }
DUSHMEM_IMPL_COLD void remote_quiet(context ctx) { proxy::quiet(ctx.handle); }
DUSHMEM_IMPL_COLD void remote_settle() { proxy::settle(); }

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
