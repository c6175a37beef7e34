/* Bodies of signal.h. */
#ifndef DUSHMEM_IMPL_SIGNAL_FUNCS_H
#define DUSHMEM_IMPL_SIGNAL_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

DUSHMEM_IMPL_FN void check_sig_op(int op, const char *call) {
  if (!DUSHMEM_IMPL_IS(op == DUSHMEM_SIGNAL_SET || op == DUSHMEM_SIGNAL_ADD))
    fault(call, "sig_op", op, "no signal operator; there are SIGNAL_SET and SIGNAL_ADD");
}

/* The own word, and PE pe's copy of it. After: what the thread has written, and what others have before it met them, is there
 * for who sees the signal. */
template <bool After> DUSHMEM_IMPL_FN void update_signal(context ctx, uint64_t *own, uint64_t *word, uint64_t value, int op, int pe) {
  typedef unsigned long long U;
  if (op == DUSHMEM_SIGNAL_SET) {
    After ? store_ordered((U *)word, (U)value) : store_relaxed((U *)word, (U)value);
  } else if (!atomic_by_proxy(own)) {
    After ? add_ordered((U *)word, (U)value) : add_only((U *)word, (U)value);
  } else {
    if (After) fence_release();
    return remote_signal(ctx, own, value, op, pe);
  }
  ring(pe);
}

/* Where a word is that has been found: to keep that over a copy takes registers from the copy, of which a block's needs fewer;
 * there the signal would wait for it. */
template <class S> DUSHMEM_IMPL_FN uint64_t *again(S, uint64_t *, uint64_t *signal, int pe, const char *call) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t delta = first_delta(pe);
  const void *const own = computed_now(signal);
  if (DUSHMEM_IMPL_IS((delta != 0) & ((uint64_t)(uintptr_t)own - s.heap < s.heap_len))) return (uint64_t *)moved_by(own, delta);
  return (uint64_t *)peer_otherwise(signal, sizeof *signal, sizeof *signal, pe, call, "sig_addr");
}

DUSHMEM_IMPL_FN uint64_t *again(scope::block, uint64_t *word, uint64_t *, int, const char *) { return word; }

template <class S, class Scratch = no_scratch>
DUSHMEM_IMPL_FN void put_signal_any(context ctx, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                    uint64_t value, int op, int pe, bool nbi, const char *call,
                                    Scratch scratch = Scratch()) {
  const S s{};
  check_sig_op(op, call);
  uint64_t *word;
  char *to;
  if (!(finds_word(word, signal, pe, sizeof *signal) && finds_for_copy(to, in_each_call(s, dest), source, bytes, pe))) {
    word = (uint64_t *)peer_otherwise(signal, sizeof *signal, sizeof *signal, pe, call, "sig_addr");
    to = peer_of_copy_otherwise(dest, source, bytes, pe, call, "dest", "source");
    if (word == nullptr || to == nullptr)
      return by_first(s, [=] { remote_put_signal(ctx, dest, source, bytes, signal, value, op, pe, nbi); });
  }
  together(s, [=](auto part) {
    if (bytes == 0 || !scratch.copies(to, (const char *)source, bytes, part, call))
      copy_to(to, (const char *)source, bytes, part);
    publish(part);
    if (!leads(part)) return;
    update_signal<true>(ctx, signal, again(part, word, signal, pe, call), value, op, pe);
  });
}

} // namespace impl

DUSHMEM_IMPL_FN void signal_op(context ctx, uint64_t *signal, uint64_t value, int op, int pe) {
  impl::check_sig_op(op, "signal_op");
  uint64_t *word;
  if (!impl::finds_word(word, signal, pe, sizeof *signal)) {
    word = (uint64_t *)impl::peer_otherwise(signal, sizeof *signal, sizeof *signal, pe, "signal_op", "sig_addr");
    if (word == nullptr) return impl::remote_signal(ctx, signal, value, op, pe);
  }
  impl::update_signal<false>(ctx, signal, word, value, op, pe);
}
DUSHMEM_IMPL_FN void signal_op(uint64_t *signal, uint64_t value, int op, int pe) {
  signal_op(context{0}, signal, value, op, pe);
}

template <class S, class T>
DUSHMEM_IMPL_FN void put_signal(context ctx, T *dest, const T *source, size_t nelems, uint64_t *signal,
                                uint64_t value, int op, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("put_signal", "dest, source, nelems, sig_addr, signal, sig_op, pe", dest, source, nelems, signal, value, op,
                            pe);
  const size_t bytes = impl::bytes_of(nelems, sizeof(T), "put_signal");
  impl::put_signal_any<S>(ctx, dest, source, bytes, signal, value, op, pe, false, "put_signal");
}
template <class S, class T>
DUSHMEM_IMPL_FN void put_signal_nbi(context ctx, T *dest, const T *source, size_t nelems, uint64_t *signal,
                                    uint64_t value, int op, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("put_signal_nbi", "dest, source, nelems, sig_addr, signal, sig_op, pe", dest, source, nelems, signal, value, op,
                            pe);
  const size_t bytes = impl::bytes_of(nelems, sizeof(T), "put_signal_nbi");
  impl::put_signal_any<S>(ctx, dest, source, bytes, signal, value, op, pe, true, "put_signal_nbi");
}
template <class S, class T>
DUSHMEM_IMPL_FN void put_signal_scratch(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                        int pe, void *scratch, size_t scratch_bytes) {
  DUSHMEM_IMPL_IN_CALL_WITH("put_signal_scratch", "dest, source, nelems, sig_addr, signal, sig_op, pe, scratch, scratch_bytes", dest, source, nelems, signal, value, op,
                            pe, scratch, scratch_bytes);
  const size_t bytes = impl::bytes_of(nelems, sizeof(T), "put_signal_scratch");
  impl::put_signal_any<S>(context{0}, dest, source, bytes, signal, value, op, pe, false, "put_signal_scratch",
                          impl::some_scratch{scratch, scratch_bytes});
}
template <class S, class T>
DUSHMEM_IMPL_FN void put_signal(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                int pe) {
  put_signal<S>(context{0}, dest, source, nelems, signal, value, op, pe);
}
template <class S, class T>
DUSHMEM_IMPL_FN void put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value, int op,
                                    int pe) {
  put_signal_nbi<S>(context{0}, dest, source, nelems, signal, value, op, pe);
}

DUSHMEM_IMPL_FN uint64_t signal_fetch(const uint64_t *signal) {
  impl::check_own(signal, sizeof *signal, sizeof *signal, "signal_fetch", "sig_addr");
  return impl::load_acquire((const unsigned long long *)signal);
}
template <class S> DUSHMEM_IMPL_FN uint64_t signal_wait_until(const uint64_t *signal, int cmp, uint64_t value) {
  return impl::wait_for_word<S>(signal, cmp, value, "signal_wait_until", "sig_addr");
}

} // namespace device
} // namespace dushmem
#endif
