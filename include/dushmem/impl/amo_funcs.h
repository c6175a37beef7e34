/* Bodies of amo.h. */
#ifndef DUSHMEM_IMPL_AMO_FUNCS_H
#define DUSHMEM_IMPL_AMO_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

/* On a word that is reachable by load and store; the old value, if it is wanted. */
template <amo Kind, bool Fetches> struct amo_on;
template <> struct amo_on<amo::fetch, true> {
  template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U, U) { return load_relaxed(at); }
};
template <> struct amo_on<amo::set, false> {
  template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U value, U) {
    store_relaxed(at, value);
    return 0;
  }
};
template <> struct amo_on<amo::swap, true> {
  template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U value, U) { return exchange(at, value); }
};
template <> struct amo_on<amo::compare_swap, true> {
  template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U value, U cond) {
    return compare_exchange(at, cond, value);
  }
};
#define DUSHMEM_IMPL_AMO_ON(KIND)                                                                       \
  template <> struct amo_on<amo::KIND, true> {                                                          \
    template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U value, U) { return KIND(at, value); }  \
  };                                                                                                    \
  template <> struct amo_on<amo::KIND, false> {                                                         \
    template <class U> static DUSHMEM_IMPL_MEMBER U act(U *at, U value, U) {                            \
      KIND##_only(at, value);                                                                           \
      return 0;                                                                                         \
    }                                                                                                   \
  };
DUSHMEM_IMPL_AMO_ON(add)
DUSHMEM_IMPL_AMO_ON(bit_and)
DUSHMEM_IMPL_AMO_ON(bit_or)
DUSHMEM_IMPL_AMO_ON(bit_xor)
#undef DUSHMEM_IMPL_AMO_ON

/* Loads and stores of a word are atomic anyway. */
DUSHMEM_IMPL_FN bool always_direct(amo kind) { return kind == amo::fetch || kind == amo::set; }

/* On a word that the state alone doesn't lead to, or which the proxy changes. */
template <amo Kind, bool Fetches, class U>
DUSHMEM_IMPL_COLD U atomic_otherwise(context ctx, U *at, U value, U cond, int pe, const char *call, const char *arg) {
  U *const far = (U *)peer_otherwise(at, sizeof(U), sizeof(U), pe, call, arg);
  if (far == nullptr || (!always_direct(Kind) && atomic_by_proxy(at))) return remote_amo(ctx, Kind, at, value, cond, pe, Fetches);
  const U old = amo_on<Kind, Fetches>::act(far, value, cond);
  if (Kind != amo::fetch) ring(pe);
  return old;
}

template <amo Kind, bool Fetches, class T>
DUSHMEM_IMPL_FN T atomic(context ctx, T *at, T value, T cond, int pe, const char *call, const char *arg = "dest") {
  typedef word<T> U;
  U *far;
  /* All in one condition: one thread's operations wait for each other, and for all that stands between them. */
  const int direct = always_direct(Kind) || !heap_by_proxy();
  if (!DUSHMEM_IMPL_IS(finds_word(far, (U *)at, pe, sizeof(U)) & direct))
    return bits<T>(atomic_otherwise<Kind, Fetches>(ctx, (U *)at, bits<U>(value), bits<U>(cond), pe, call, arg));
  const U old = amo_on<Kind, Fetches>::act(far, bits<U>(value), bits<U>(cond));
  if (Kind != amo::fetch) ring(pe);
  return bits<T>(old);
}

} // namespace impl

template <class T> DUSHMEM_IMPL_FN T atomic_fetch(context ctx, const T *word, int pe) {
  return impl::atomic<impl::amo::fetch, true>(ctx, (T *)word, T(), T(), pe, "atomic_fetch", "source");
}
template <class T>
DUSHMEM_IMPL_FN T atomic_compare_swap(context ctx, T *word, impl::same_t<T> cond, impl::same_t<T> value, int pe) {
  return impl::atomic<impl::amo::compare_swap, true>(ctx, word, value, cond, pe, "atomic_compare_swap");
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_inc(context ctx, T *word, int pe) {
  return impl::atomic<impl::amo::add, true>(ctx, word, (T)1, T(), pe, "atomic_fetch_inc");
}
template <class T> DUSHMEM_IMPL_FN void atomic_inc(context ctx, T *word, int pe) {
  impl::atomic<impl::amo::add, false>(ctx, word, (T)1, T(), pe, "atomic_inc");
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch(const T *word, int pe) { return atomic_fetch(context{0}, word, pe); }
template <class T>
DUSHMEM_IMPL_FN T atomic_compare_swap(T *word, impl::same_t<T> cond, impl::same_t<T> value, int pe) {
  return atomic_compare_swap(context{0}, word, cond, value, pe);
}
template <class T> DUSHMEM_IMPL_FN T atomic_fetch_inc(T *word, int pe) { return atomic_fetch_inc(context{0}, word, pe); }
template <class T> DUSHMEM_IMPL_FN void atomic_inc(T *word, int pe) { atomic_inc(context{0}, word, pe); }

#define DUSHMEM_IMPL_AMO_FETCHES(NAME, KIND)                                                         \
  template <class T> DUSHMEM_IMPL_FN T NAME(context ctx, T *word, impl::same_t<T> value, int pe) {   \
    return impl::atomic<impl::amo::KIND, true>(ctx, word, value, T(), pe, #NAME);                    \
  }                                                                                                  \
  template <class T> DUSHMEM_IMPL_FN T NAME(T *word, impl::same_t<T> value, int pe) {                \
    return NAME(context{0}, word, value, pe);                                                        \
  }
#define DUSHMEM_IMPL_AMO_UPDATES(NAME, KIND)                                                         \
  template <class T> DUSHMEM_IMPL_FN void NAME(context ctx, T *word, impl::same_t<T> value, int pe) { \
    impl::atomic<impl::amo::KIND, false>(ctx, word, value, T(), pe, #NAME);                          \
  }                                                                                                  \
  template <class T> DUSHMEM_IMPL_FN void NAME(T *word, impl::same_t<T> value, int pe) {             \
    NAME(context{0}, word, value, pe);                                                               \
  }
DUSHMEM_IMPL_AMO_FETCHES(atomic_swap, swap)
DUSHMEM_IMPL_AMO_FETCHES(atomic_fetch_add, add)
DUSHMEM_IMPL_AMO_FETCHES(atomic_fetch_and, bit_and)
DUSHMEM_IMPL_AMO_FETCHES(atomic_fetch_or, bit_or)
DUSHMEM_IMPL_AMO_FETCHES(atomic_fetch_xor, bit_xor)
DUSHMEM_IMPL_AMO_UPDATES(atomic_set, set)
DUSHMEM_IMPL_AMO_UPDATES(atomic_add, add)
DUSHMEM_IMPL_AMO_UPDATES(atomic_and, bit_and)
DUSHMEM_IMPL_AMO_UPDATES(atomic_or, bit_or)
DUSHMEM_IMPL_AMO_UPDATES(atomic_xor, bit_xor)
#undef DUSHMEM_IMPL_AMO_FETCHES
#undef DUSHMEM_IMPL_AMO_UPDATES

} // namespace device
} // namespace dushmem
#endif
