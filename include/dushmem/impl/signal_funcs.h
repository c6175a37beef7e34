/* Bodies of signal.h. */
#ifndef DUSHMEM_IMPL_SIGNAL_FUNCS_H
#define DUSHMEM_IMPL_SIGNAL_FUNCS_H

namespace dushmem {
namespace device {

#ifdef DUSHMEM_EMU

DUSHMEM_IMPL_FN void signal_op(uint64_t *signal, uint64_t value, int op, int pe) {
  dushmemx_host_signal_op(signal, value, op, pe);
}
template <class Scope, class T>
DUSHMEM_IMPL_FN void put_signal(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                int pe) {
  put<Scope>(dest, source, nelems, pe);
  /* The others' parts are ordered before by the block's synchronisation and this fence. */
  if (impl::rank_in(Scope{}) == 0) {
    dushmem_host_quiet();
    dushmemx_host_signal_op(signal, value, op, pe);
  }
}
DUSHMEM_IMPL_FN uint64_t signal_fetch(const uint64_t *signal) { return dushmem_host_signal_fetch(signal); }
DUSHMEM_IMPL_FN uint64_t signal_wait_until(uint64_t *signal, int cmp, uint64_t value) {
  return dushmem_host_signal_wait_until(signal, cmp, value);
}

#else

DUSHMEM_IMPL_FN void signal_op(uint64_t *signal, uint64_t value, int op, int pe) {
  unsigned long long *word = impl::peer((unsigned long long *)signal, pe);
  if (op == DUSHMEM_SIGNAL_SET)
    impl::exchange(word, (unsigned long long)value);
  else if (op == DUSHMEM_SIGNAL_ADD)
    impl::add(word, (unsigned long long)value);
  else
    impl::fail("sig_op is no signal operator", pe);
}
template <class Scope, class T>
DUSHMEM_IMPL_FN void put_signal(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                int pe) {
  if (nelems != 0) impl::copy((char *)impl::peer(dest, pe), (const char *)source, nelems * sizeof(T), Scope{});
  /* Each thread orders its own stores before the synchronisation. */
  impl::fence_system();
  impl::sync_scope(Scope{});
  if (impl::rank_in(Scope{}) == 0) {
    impl::fence_system();
    signal_op(signal, value, op, pe);
  }
}
DUSHMEM_IMPL_FN uint64_t signal_fetch(const uint64_t *signal) {
  return impl::load_acquire((const unsigned long long *)signal);
}
DUSHMEM_IMPL_FN uint64_t signal_wait_until(uint64_t *signal, int cmp, uint64_t value) {
  return wait_until(signal, cmp, value);
}
#endif

} // namespace device
} // namespace dushmem
#endif
