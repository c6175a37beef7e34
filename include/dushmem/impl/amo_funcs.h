/* Bodies of amo.h. */
#ifndef DUSHMEM_IMPL_AMO_FUNCS_H
#define DUSHMEM_IMPL_AMO_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

#ifdef DUSHMEM_EMU
/* The library's functions, by the width of the word. */
#define DUSHMEM_IMPL_BY_WIDTH(NAME)                                                                           \
  DUSHMEM_IMPL_FN unsigned remote_##NAME(unsigned *word, unsigned value, int pe) {                            \
    return dushmem_host_uint32_atomic_##NAME(word, value, pe);                                                \
  }                                                                                                           \
  DUSHMEM_IMPL_FN unsigned long long remote_##NAME(unsigned long long *word, unsigned long long value, int pe) { \
    return dushmem_host_ulonglong_atomic_##NAME(word, value, pe);                                             \
  }
DUSHMEM_IMPL_BY_WIDTH(fetch_add)
DUSHMEM_IMPL_BY_WIDTH(fetch_and)
DUSHMEM_IMPL_BY_WIDTH(fetch_or)
DUSHMEM_IMPL_BY_WIDTH(fetch_xor)
DUSHMEM_IMPL_BY_WIDTH(swap)
#undef DUSHMEM_IMPL_BY_WIDTH
DUSHMEM_IMPL_FN unsigned remote_fetch(const unsigned *word, int pe) {
  return dushmem_host_uint32_atomic_fetch(word, pe);
}
DUSHMEM_IMPL_FN unsigned long long remote_fetch(const unsigned long long *word, int pe) {
  return dushmem_host_ulonglong_atomic_fetch(word, pe);
}
DUSHMEM_IMPL_FN void remote_set(unsigned *word, unsigned value, int pe) {
  dushmem_host_uint32_atomic_set(word, value, pe);
}
DUSHMEM_IMPL_FN void remote_set(unsigned long long *word, unsigned long long value, int pe) {
  dushmem_host_ulonglong_atomic_set(word, value, pe);
}
DUSHMEM_IMPL_FN unsigned remote_compare_swap(unsigned *word, unsigned cond, unsigned value, int pe) {
  return dushmem_host_uint32_atomic_compare_swap(word, cond, value, pe);
}
DUSHMEM_IMPL_FN unsigned long long remote_compare_swap(unsigned long long *word, unsigned long long cond,
                                                       unsigned long long value, int pe) {
  return dushmem_host_ulonglong_atomic_compare_swap(word, cond, value, pe);
}
#else
template <class U> DUSHMEM_IMPL_FN U remote_fetch(const U *word, int pe) { return load_relaxed(peer(word, pe)); }
template <class U> DUSHMEM_IMPL_FN void remote_set(U *word, U value, int pe) { store_relaxed(peer(word, pe), value); }
template <class U> DUSHMEM_IMPL_FN U remote_swap(U *word, U value, int pe) { return exchange(peer(word, pe), value); }
template <class U> DUSHMEM_IMPL_FN U remote_fetch_add(U *word, U value, int pe) { return add(peer(word, pe), value); }
template <class U> DUSHMEM_IMPL_FN U remote_fetch_and(U *word, U value, int pe) {
  return bit_and(peer(word, pe), value);
}
template <class U> DUSHMEM_IMPL_FN U remote_fetch_or(U *word, U value, int pe) { return bit_or(peer(word, pe), value); }
template <class U> DUSHMEM_IMPL_FN U remote_fetch_xor(U *word, U value, int pe) {
  return bit_xor(peer(word, pe), value);
}
template <class U> DUSHMEM_IMPL_FN U remote_compare_swap(U *word, U cond, U value, int pe) {
  return compare_exchange(peer(word, pe), cond, value);
}
#endif

} // namespace impl

template <class T> DUSHMEM_IMPL_FN T atomic_fetch(const T *word, int pe) {
  return impl::bits<T>(impl::remote_fetch((const impl::word<T> *)word, pe));
}
template <class T> DUSHMEM_IMPL_FN void atomic_set(T *word, T value, int pe) {
  impl::remote_set((impl::word<T> *)word, impl::bits<impl::word<T>>(value), pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_swap(T *word, T value, int pe) {
  return impl::bits<T>(impl::remote_swap((impl::word<T> *)word, impl::bits<impl::word<T>>(value), pe));
}
template <class T> DUSHMEM_IMPL_FN T atomic_compare_swap(T *word, T cond, T value, int pe) {
  typedef impl::word<T> U;
  return (T)impl::remote_compare_swap((U *)word, (U)cond, (U)value, pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_add(T *word, T value, int pe) {
  return (T)impl::remote_fetch_add((impl::word<T> *)word, (impl::word<T>)value, pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_and(T *word, T value, int pe) {
  return (T)impl::remote_fetch_and((impl::word<T> *)word, (impl::word<T>)value, pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_or(T *word, T value, int pe) {
  return (T)impl::remote_fetch_or((impl::word<T> *)word, (impl::word<T>)value, pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_xor(T *word, T value, int pe) {
  return (T)impl::remote_fetch_xor((impl::word<T> *)word, (impl::word<T>)value, pe);
}

} // namespace device
} // namespace dushmem
#endif
