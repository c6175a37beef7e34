/* Bodies of sync.h. */
#ifndef DUSHMEM_IMPL_SYNC_FUNCS_H
#define DUSHMEM_IMPL_SYNC_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

template <class T> DUSHMEM_IMPL_FN bool compares(T left, int cmp, T right) {
  switch (cmp) {
  case DUSHMEM_CMP_EQ: return left == right;
  case DUSHMEM_CMP_NE: return left != right;
  case DUSHMEM_CMP_GT: return left > right;
  case DUSHMEM_CMP_LE: return left <= right;
  case DUSHMEM_CMP_LT: return left < right;
  case DUSHMEM_CMP_GE: return left >= right;
  default: return false;
  }
}

#ifdef DUSHMEM_EMU
template <class T> DUSHMEM_IMPL_FN T look(const T *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
/* The library's waits let the block's other threads run; so does this. */
DUSHMEM_IMPL_FN void pause() { dushmem_emu_yield(); }
#else
template <class T> DUSHMEM_IMPL_FN T look(const T *word_) {
  return (T)load_acquire((const word<T> *)word_);
}
DUSHMEM_IMPL_FN void pause() {}
#endif

template <class T> struct one {
  T value;
  DUSHMEM_IMPL_MEMBER T operator[](size_t) const { return value; }
};

DUSHMEM_IMPL_FN bool included(const int *status, size_t i) {
  return status == nullptr || status[i] == 0;
}

template <class T, class Values>
DUSHMEM_IMPL_FN bool all(const T *words, size_t n, const int *status, int cmp, Values values) {
  for (size_t i = 0; i < n; i++)
    if (included(status, i) && !compares<T>(look(words + i), cmp, values[i])) return false;
  return true;
}

/* The index of one that compares; SIZE_MAX if there is none; `some_in` tells whether any is in the set. */
template <class T, class Values>
DUSHMEM_IMPL_FN size_t any(const T *words, size_t n, const int *status, int cmp, Values values, size_t from,
                           bool *some_in) {
  *some_in = false;
  for (size_t k = 0; k < n; k++) {
    const size_t i = (from + k) % n;
    if (!included(status, i)) continue;
    *some_in = true;
    if (compares<T>(look(words + i), cmp, values[i])) return i;
  }
  return SIZE_MAX;
}

template <class T, class Values>
DUSHMEM_IMPL_FN size_t some(const T *words, size_t n, size_t *indices, const int *status, int cmp, Values values,
                            bool *some_in) {
  size_t found = 0;
  *some_in = false;
  for (size_t i = 0; i < n; i++) {
    if (!included(status, i)) continue;
    *some_in = true;
    if (compares<T>(look(words + i), cmp, values[i])) indices[found++] = i;
  }
  return found;
}

/* Another place to begin at each time, so that every word that compares is found in the end. */
DUSHMEM_IMPL_FN size_t turn(size_t n) {
#ifdef DUSHMEM_EMU
  return n == 0 ? 0 : static_cast<size_t>(clock64()) % n;
#else
  return n == 0 ? 0 : (size_t)clock64() % n;
#endif
}

template <class T, class Values>
DUSHMEM_IMPL_FN void wait_all(const T *words, size_t n, const int *status, int cmp, Values values) {
  while (!all(words, n, status, cmp, values)) pause();
}
template <class T, class Values>
DUSHMEM_IMPL_FN size_t wait_any(const T *words, size_t n, const int *status, int cmp, Values values) {
  for (;;) {
    bool some_in;
    const size_t found = any(words, n, status, cmp, values, turn(n), &some_in);
    if (found != SIZE_MAX || !some_in) return found;
    pause();
  }
}
template <class T, class Values>
DUSHMEM_IMPL_FN size_t wait_some(const T *words, size_t n, size_t *indices, const int *status, int cmp,
                                 Values values) {
  for (;;) {
    bool some_in;
    const size_t found = some(words, n, indices, status, cmp, values, &some_in);
    if (found != 0 || !some_in) return found;
    pause();
  }
}
} // namespace impl

#ifdef DUSHMEM_EMU
DUSHMEM_IMPL_FN void fence() { dushmem_host_fence(); }
DUSHMEM_IMPL_FN void quiet() { dushmem_host_quiet(); }
#else
DUSHMEM_IMPL_FN void fence() { impl::fence_system(); }
DUSHMEM_IMPL_FN void quiet() { impl::fence_system(); }
#endif

template <class T> DUSHMEM_IMPL_FN T wait_until(const T *word, int cmp, T value) {
#ifdef DUSHMEM_EMU
  /* The library's wait leaves a record for hang reports, and sleeps. */
  constexpr bool is_signed = T(-1) < T(0);
  T *ivar = const_cast<T *>(word);
  if constexpr (sizeof(T) == 4 && is_signed)
    dushmem_host_int32_wait_until(reinterpret_cast<int32_t *>(ivar), cmp, value);
  else if constexpr (sizeof(T) == 4)
    dushmem_host_uint32_wait_until(reinterpret_cast<uint32_t *>(ivar), cmp, value);
  else if constexpr (sizeof(T) == 8 && is_signed)
    dushmem_host_int64_wait_until(reinterpret_cast<int64_t *>(ivar), cmp, value);
  else if constexpr (sizeof(T) == 8)
    dushmem_host_uint64_wait_until(reinterpret_cast<uint64_t *>(ivar), cmp, value);
#endif
  for (;;) {
    const T seen = impl::look(word);
    if (impl::compares<T>(seen, cmp, value)) return seen;
    impl::pause();
  }
}
template <class T> DUSHMEM_IMPL_FN bool test(const T *word, int cmp, T value) {
  return impl::compares<T>(impl::look(word), cmp, value);
}

#define DUSHMEM_IMPL_SETS(VALUES, MADE)                                                                       \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN void wait_until_all(const T *words, size_t nelems, const int *status, int cmp, VALUES) {    \
    impl::wait_all(words, nelems, status, cmp, MADE);                                                         \
  }                                                                                                           \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN size_t wait_until_any(const T *words, size_t nelems, const int *status, int cmp, VALUES) {  \
    return impl::wait_any(words, nelems, status, cmp, MADE);                                                  \
  }                                                                                                           \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN size_t wait_until_some(const T *words, size_t nelems, size_t *indices, const int *status,   \
                                         int cmp, VALUES) {                                                   \
    return impl::wait_some(words, nelems, indices, status, cmp, MADE);                                        \
  }                                                                                                           \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN bool test_all(const T *words, size_t nelems, const int *status, int cmp, VALUES) {          \
    return impl::all(words, nelems, status, cmp, MADE);                                                       \
  }                                                                                                           \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN size_t test_any(const T *words, size_t nelems, const int *status, int cmp, VALUES) {        \
    bool some_in;                                                                                             \
    return impl::any(words, nelems, status, cmp, MADE, impl::turn(nelems), &some_in);                         \
  }                                                                                                           \
  template <class T>                                                                                          \
  DUSHMEM_IMPL_FN size_t test_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp, \
                                   VALUES) {                                                                  \
    bool some_in;                                                                                             \
    return impl::some(words, nelems, indices, status, cmp, MADE, &some_in);                                   \
  }
DUSHMEM_IMPL_SETS(T value, impl::one<T>{value})
DUSHMEM_IMPL_SETS(const T *values, values)
#undef DUSHMEM_IMPL_SETS

} // namespace device
} // namespace dushmem
#endif
