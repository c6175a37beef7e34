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
  default: return left >= right;
  }
}

DUSHMEM_IMPL_FN void check_cmp(int cmp, const char *call) {
  if (!DUSHMEM_IMPL_IS(cmp >= DUSHMEM_CMP_EQ && cmp <= DUSHMEM_CMP_GE))
    fault(call, "cmp", cmp, "no comparison; use the constants CMP_EQ to CMP_GE");
}

/* At a word that is waited for; in the end awaited() makes visible what was written before it. */
template <class T> DUSHMEM_IMPL_FN T look(const T *at) { return (T)load_awaited((const word<T> *)at); }

/* Until the word compares; what it was then. */
template <class T> struct until_word {
  const T *at;
  int cmp;
  T value;
  T *seen;
  DUSHMEM_IMPL_MEMBER bool operator()() const { return compares<T>(*seen = look(at), cmp, value); }
};

/* Waits for an own word, internal or symmetric. Made by one thread. */
template <class T> DUSHMEM_IMPL_FN T wait_for(const T *at, int cmp, T value, const char *call) {
  T seen = 0;
  wait(call, at, (uint64_t)value, until_word<T>{at, cmp, value, &seen});
  awaited();
  return seen;
}

/* For collectives: waits until an own word of the internals compares. */
DUSHMEM_IMPL_FN void wait_word(const uint64_t *at, int cmp, uint64_t value, const char *call) {
  wait_for(at, cmp, value, call);
}

template <class S, class T>
DUSHMEM_IMPL_FN T wait_for_word(const T *at, int cmp, T value, const char *call, const char *arg) {
  DUSHMEM_IMPL_IN_CALL(call);
  const S s{};
  check_cmp(cmp, call);
  check_own(at, sizeof(T), sizeof(T), call, arg);
  T seen = 0;
  if (leads(s)) seen = wait_for(at, cmp, value, call);
  return (T)share(s, (uint64_t)seen);
}

/* ---- Sets ---- */

template <class T> struct one {
  T value;
  DUSHMEM_IMPL_MEMBER T operator[](size_t) const { return value; }
};

template <class T, class Values> struct set {
  const T *words;
  size_t n;
  const int *status;
  int cmp;
  Values values;

  DUSHMEM_IMPL_MEMBER bool includes(size_t i) const { return status == nullptr || status[i] == 0; }
  DUSHMEM_IMPL_MEMBER bool holds(size_t i) const { return compares<T>(look(words + i), cmp, values[i]); }
  DUSHMEM_IMPL_MEMBER bool is_empty() const {
    for (size_t i = 0; i < n; i++)
      if (includes(i)) return false;
    return true;
  }
  DUSHMEM_IMPL_MEMBER bool all() const {
    for (size_t i = 0; i < n; i++)
      if (includes(i) && !holds(i)) return false;
    return true;
  }
  /* The first from `from` on and around that compares, or SIZE_MAX. */
  DUSHMEM_IMPL_MEMBER size_t any(size_t from) const {
    for (size_t k = 0, i = from; k < n; k++, i = i + 1 == n ? 0 : i + 1)
      if (includes(i) && holds(i)) return i;
    return SIZE_MAX;
  }
  DUSHMEM_IMPL_MEMBER size_t some(size_t *indices) const {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
      if (includes(i) && holds(i)) indices[found++] = i;
    return found;
  }
};

template <class Set> struct until_all {
  const Set *words;
  DUSHMEM_IMPL_MEMBER bool operator()() const { return words->all(); }
};
template <class Set> struct until_any {
  const Set *words;
  size_t from, *found;
  DUSHMEM_IMPL_MEMBER bool operator()() const { return (*found = words->any(from)) != SIZE_MAX; }
};
template <class Set> struct until_some {
  const Set *words;
  size_t *indices, *found;
  DUSHMEM_IMPL_MEMBER bool operator()() const { return (*found = words->some(indices)) != 0; }
};

/* Another place to begin at each time, so that every word that compares is found in the end. Scattered: a clock
 * that goes in steps, or calls in turn with others, must not hit the same words again and again. */
DUSHMEM_IMPL_FN size_t turn(size_t n) {
  return n == 0 ? 0 : (size_t)(((ticks() + thread_number()) * 0x9e3779b97f4a7c15ull) >> 32) % n;
}

/* A program that polls must let those run that it waits for. */
template <class R> DUSHMEM_IMPL_FN R tested(R result, bool held) {
#ifdef DUSHMEM_EMU
  if (!held) pause();
#else
  (void)held;
#endif
  return result;
}

/* Has `act` look at words, if the calling thread leads the scope, and makes visible what was written before them. */
template <class S, class Act> DUSHMEM_IMPL_FN void looks(S s, const Act &act) {
  if (!leads(s)) return;
  act();
  awaited();
}

/* Checked, and made by the first thread of the scope. */
template <class S, class T, class Values> struct set_calls {
  typedef set<T, Values> Set;
  static DUSHMEM_IMPL_MEMBER void check(const Set &words, const char *call) {
    check_cmp(words.cmp, call);
    if (words.n != 0) check_own(words.words, bytes_of(words.n, sizeof(T), call), sizeof(T), call, "ivars");
  }
  static DUSHMEM_IMPL_MEMBER void check(const Set &words, const size_t *indices, const char *call) {
    check(words, call);
    if (indices == nullptr && !words.is_empty()) fault(call, "indices", 0, "NULL; it needs room for nelems indices");
  }
  static DUSHMEM_IMPL_MEMBER void wait_all(const Set &words) {
    DUSHMEM_IMPL_IN_CALL("wait_until_all");
    const S s{};
    check(words, "wait_until_all");
    sync(s);
    looks(s, [&] { wait("wait_until_all", words.words, words.n, until_all<Set>{&words}); });
    sync(s);
  }
  static DUSHMEM_IMPL_MEMBER size_t wait_any(const Set &words) {
    DUSHMEM_IMPL_IN_CALL("wait_until_any");
    const S s{};
    check(words, "wait_until_any");
    sync(s);
    size_t found = SIZE_MAX;
    looks(s, [&] {
      if (!words.is_empty()) wait("wait_until_any", words.words, words.n, until_any<Set>{&words, turn(words.n), &found});
    });
    return (size_t)share(s, found);
  }
  static DUSHMEM_IMPL_MEMBER size_t wait_some(const Set &words, size_t *indices) {
    DUSHMEM_IMPL_IN_CALL("wait_until_some");
    const S s{};
    check(words, indices, "wait_until_some");
    sync(s);
    size_t found = 0;
    looks(s, [&] {
      if (!words.is_empty()) wait("wait_until_some", words.words, words.n, until_some<Set>{&words, indices, &found});
    });
    return (size_t)share(s, found);
  }
  static DUSHMEM_IMPL_MEMBER bool test_all(const Set &words) {
    DUSHMEM_IMPL_IN_CALL("test_all");
    const S s{};
    check(words, "test_all");
    sync(s);
    bool held = false;
    looks(s, [&] { held = words.all(); });
    held = share(s, held) != 0;
    return tested(held, held);
  }
  static DUSHMEM_IMPL_MEMBER size_t test_any(const Set &words) {
    DUSHMEM_IMPL_IN_CALL("test_any");
    const S s{};
    check(words, "test_any");
    sync(s);
    size_t found = SIZE_MAX;
    looks(s, [&] { found = words.any(turn(words.n)); });
    found = (size_t)share(s, found);
    return tested(found, found != SIZE_MAX);
  }
  static DUSHMEM_IMPL_MEMBER size_t test_some(const Set &words, size_t *indices) {
    DUSHMEM_IMPL_IN_CALL("test_some");
    const S s{};
    check(words, indices, "test_some");
    sync(s);
    size_t found = 0;
    looks(s, [&] { found = words.some(indices); });
    found = (size_t)share(s, found);
    return tested(found, found != 0);
  }
};

template <class S, bool Completes> DUSHMEM_IMPL_FN void order(context ctx) {
  DUSHMEM_IMPL_IN_CALL(Completes ? "quiet" : "fence");
  const S s{};
  /* Each thread its own stores; then the first one, for all of them, what goes through the proxy. */
  if (Completes)
    fence_system();
  else
    fence_release();
  sync(s);
  const bool words = words_by_proxy();
  if (state().remote != 0 || words) {
    if (leads(s)) {
      if (state().remote != 0) Completes || words ? remote_quiet(ctx) : remote_fence(ctx);
      /* Words that the proxy changes are those of PEs to which this kernel stores itself. */
      else remote_settle();
    }
    sync(s);
  }
}

} // namespace impl

template <class S> DUSHMEM_IMPL_FN void fence(context ctx) { impl::order<S, false>(ctx); }
template <class S> DUSHMEM_IMPL_FN void fence() { impl::order<S, false>(context{0}); }
template <class S> DUSHMEM_IMPL_FN void quiet(context ctx) { impl::order<S, true>(ctx); }
template <class S> DUSHMEM_IMPL_FN void quiet() { impl::order<S, true>(context{0}); }

template <class S, class T> DUSHMEM_IMPL_FN T wait_until(const T *word, int cmp, impl::same_t<T> value) {
  return impl::wait_for_word<S>(word, cmp, value, "wait_until", "ivar");
}
template <class S, class T> DUSHMEM_IMPL_FN bool test(const T *word, int cmp, impl::same_t<T> value) {
  DUSHMEM_IMPL_IN_CALL("test");
  const S s{};
  impl::check_cmp(cmp, "test");
  impl::check_own(word, sizeof(T), sizeof(T), "test", "ivar");
  bool held = false;
  impl::looks(s, [&] { held = impl::compares<T>(impl::look(word), cmp, value); });
  held = impl::share(s, held) != 0;
  return impl::tested(held, held);
}

#define DUSHMEM_IMPL_SETS(VALUES, TYPE, MADE)                                                                  \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN void wait_until_all(const T *words, size_t nelems, const int *status, int cmp, VALUES) {     \
    impl::set_calls<S, T, TYPE>::wait_all({words, nelems, status, cmp, MADE});                                 \
  }                                                                                                            \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN size_t wait_until_any(const T *words, size_t nelems, const int *status, int cmp, VALUES) {   \
    return impl::set_calls<S, T, TYPE>::wait_any({words, nelems, status, cmp, MADE});                          \
  }                                                                                                            \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN size_t wait_until_some(const T *words, size_t nelems, size_t *indices, const int *status,    \
                                         int cmp, VALUES) {                                                    \
    return impl::set_calls<S, T, TYPE>::wait_some({words, nelems, status, cmp, MADE}, indices);                \
  }                                                                                                            \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN bool test_all(const T *words, size_t nelems, const int *status, int cmp, VALUES) {           \
    return impl::set_calls<S, T, TYPE>::test_all({words, nelems, status, cmp, MADE});                          \
  }                                                                                                            \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN size_t test_any(const T *words, size_t nelems, const int *status, int cmp, VALUES) {         \
    return impl::set_calls<S, T, TYPE>::test_any({words, nelems, status, cmp, MADE});                          \
  }                                                                                                            \
  template <class S, class T>                                                                                  \
  DUSHMEM_IMPL_FN size_t test_some(const T *words, size_t nelems, size_t *indices, const int *status, int cmp, \
                                   VALUES) {                                                                   \
    return impl::set_calls<S, T, TYPE>::test_some({words, nelems, status, cmp, MADE}, indices);                \
  }
DUSHMEM_IMPL_SETS(T value, impl::one<T>, impl::one<T>{value})
DUSHMEM_IMPL_SETS(const T *values, const T *, values)
#undef DUSHMEM_IMPL_SETS

} // namespace device
} // namespace dushmem
#endif
