/* Operations on PEs that kernels can't load from and store to. */
#ifndef DUSHMEM_IMPL_REMOTE_H
#define DUSHMEM_IMPL_REMOTE_H

#include "reach.h"

namespace dushmem {
namespace device {
namespace impl {

/* Atomic operations, numbered as in the requests. */
enum class amo { fetch, set, swap, compare_swap, add, bit_and, bit_or, bit_xor };

#ifdef DUSHMEM_EMU
/* Until the proxy is there: the host's functions. */
DUSHMEM_IMPL_FN void remote_put(context, void *dest, const void *source, size_t bytes, int pe, bool) {
  dushmem_host_putmem(dest, source, bytes, pe);
}
DUSHMEM_IMPL_FN void remote_get(context, void *dest, const void *source, size_t bytes, int pe, bool) {
  dushmem_host_getmem(dest, source, bytes, pe);
}
DUSHMEM_IMPL_FN void remote_put_signal(context, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                       uint64_t value, int op, int pe, bool) {
  dushmem_host_putmem_signal(dest, source, bytes, signal, value, op, pe);
}
DUSHMEM_IMPL_FN void remote_signal(context, uint64_t *signal, uint64_t value, int op, int pe) {
  dushmemx_host_signal_op(signal, value, op, pe);
}
DUSHMEM_IMPL_FN void remote_strided(context ctx, bool put, char *dest, const char *source, ptrdiff_t dst,
                                    ptrdiff_t sst, size_t elem, size_t nelems, int pe) {
  for (size_t i = 0; i < nelems; i++) {
    char *to = dest + (ptrdiff_t)(i * elem) * dst;
    const char *from = source + (ptrdiff_t)(i * elem) * sst;
    if (put)
      remote_put(ctx, to, from, elem, pe, false);
    else
      remote_get(ctx, to, from, elem, pe, false);
  }
}
template <class U> DUSHMEM_IMPL_FN U remote_amo(context, amo kind, U *word, U value, U cond, int pe, bool) {
  unsigned long long *wide = (unsigned long long *)word;
  uint32_t *narrow = (uint32_t *)word;
#define DUSHMEM_IMPL_BOTH_WIDTHS(name)                                             \
  (sizeof(U) == 8 ? (U)dushmem_host_ulonglong_atomic_##name(wide, value, pe)       \
                  : (U)dushmem_host_uint32_atomic_##name(narrow, (uint32_t)value, pe))
  switch (kind) {
  case amo::fetch:
    return sizeof(U) == 8 ? (U)dushmem_host_ulonglong_atomic_fetch(wide, pe)
                          : (U)dushmem_host_uint32_atomic_fetch(narrow, pe);
  case amo::set: return DUSHMEM_IMPL_BOTH_WIDTHS(swap);
  case amo::swap: return DUSHMEM_IMPL_BOTH_WIDTHS(swap);
  case amo::compare_swap:
    return sizeof(U) == 8 ? (U)dushmem_host_ulonglong_atomic_compare_swap(wide, cond, value, pe)
                          : (U)dushmem_host_uint32_atomic_compare_swap(narrow, (uint32_t)cond, (uint32_t)value, pe);
  case amo::add: return DUSHMEM_IMPL_BOTH_WIDTHS(fetch_add);
  case amo::bit_and: return DUSHMEM_IMPL_BOTH_WIDTHS(fetch_and);
  case amo::bit_or: return DUSHMEM_IMPL_BOTH_WIDTHS(fetch_or);
  case amo::bit_xor: return DUSHMEM_IMPL_BOTH_WIDTHS(fetch_xor);
  }
#undef DUSHMEM_IMPL_BOTH_WIDTHS
  return 0;
}
DUSHMEM_IMPL_FN void remote_fence(context) { dushmem_host_fence(); }
DUSHMEM_IMPL_FN void remote_quiet(context) { dushmem_host_quiet(); }
#else
DUSHMEM_IMPL_COLD void no_way(int pe) { fault("put or get", "pe", pe, "this PE's memory is out of the kernel's reach"); }
DUSHMEM_IMPL_FN void remote_put(context, void *, const void *, size_t, int pe, bool) { no_way(pe); }
DUSHMEM_IMPL_FN void remote_get(context, void *, const void *, size_t, int pe, bool) { no_way(pe); }
DUSHMEM_IMPL_FN void remote_put_signal(context, void *, const void *, size_t, uint64_t *, uint64_t, int, int pe, bool) {
  no_way(pe);
}
DUSHMEM_IMPL_FN void remote_signal(context, uint64_t *, uint64_t, int, int pe) { no_way(pe); }
DUSHMEM_IMPL_FN void remote_strided(context, bool, char *, const char *, ptrdiff_t, ptrdiff_t, size_t, size_t, int pe) {
  no_way(pe);
}
template <class U> DUSHMEM_IMPL_FN U remote_amo(context, amo, U *, U, U, int pe, bool) {
  no_way(pe);
  return 0;
}
DUSHMEM_IMPL_FN void remote_fence(context) {}
DUSHMEM_IMPL_FN void remote_quiet(context) {}
#endif

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
