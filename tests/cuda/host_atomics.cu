// Atomics of hosts on words that may lie on the device: what each gives back, and many callers at once.
#include "patterns.h"

template <class T> struct Ops {
  T (*fetch)(const T *, int);
  void (*set)(T *, T, int);
  T (*swap)(T *, T, int);
  T (*compare_swap)(T *, T, T, int);
  T (*fetch_add)(T *, T, int);
  void (*add)(T *, T, int);
  T (*fetch_inc)(T *, int);
  void (*inc)(T *, int);
};

template <class T> static void arithmetic(const char *type, const Ops<T> &op) {
  T *word = zeroed<T>(3);
  const int to = right_of(me);
  op.set(word, (T)5, to);
  expect_host(type, (long long)op.fetch(word, to), 5, 1);
  expect_host(type, (long long)op.swap(word, (T)8, to), 5, 2);
  expect_host(type, (long long)op.compare_swap(word, (T)9, (T)1, to), 8, 3);
  expect_host(type, (long long)op.compare_swap(word, (T)8, (T)-2, to), 8, 4);
  expect_host(type, (long long)op.fetch_add(word, (T)10, to), (long long)(T)-2, 5);
  op.add(word, (T)-3, to);
  expect_host(type, (long long)op.fetch_inc(word, to), 5, 6);
  op.inc(word, to);
  dushmem_quiet();
  expect_host(type, (long long)op.fetch(word, to), 7, 7);
  dushmem_barrier_all();
  expect_host(type, (long long)look(word), 7, 8);
  // All at once on PE 0: no update is lost, and each old value comes once.
  enum { EACH = 50 };
  uint64_t *seen = zeroed<uint64_t>((size_t)n * EACH);
  dushmem_barrier_all();
  for (int i = 0; i < EACH; i++) {
    const T old = op.fetch_add(word + 1, (T)1, 0);
    dushmem_uint64_atomic_inc(seen + (size_t)old, 0);
    op.inc(word + 2, 0);
  }
  dushmem_barrier_all();
  if (me == 0) {
    expect_host(type, (long long)look(word + 1), n * EACH, 9);
    expect_host(type, (long long)look(word + 2), n * EACH, 10);
    for (uint64_t times : look(seen, (size_t)n * EACH)) expect_host(type, (long long)times, 1, 11);
  }
  dushmem_barrier_all();
  dushmem_free(seen);
  dushmem_free(word);
}
#define ARITHMETIC(NAME, TYPE)                                                                                 \
  arithmetic<TYPE>(#NAME, {[](const TYPE *w, int pe) { return dushmem_##NAME##_atomic_fetch(w, pe); },         \
                           [](TYPE *w, TYPE v, int pe) { dushmem_##NAME##_atomic_set(w, v, pe); },             \
                           [](TYPE *w, TYPE v, int pe) { return dushmem_##NAME##_atomic_swap(w, v, pe); },     \
                           [](TYPE *w, TYPE c, TYPE v, int pe) {                                               \
                             return dushmem_##NAME##_atomic_compare_swap(w, c, v, pe);                         \
                           },                                                                                  \
                           [](TYPE *w, TYPE v, int pe) { return dushmem_##NAME##_atomic_fetch_add(w, v, pe); }, \
                           [](TYPE *w, TYPE v, int pe) { dushmem_##NAME##_atomic_add(w, v, pe); },             \
                           [](TYPE *w, int pe) { return dushmem_##NAME##_atomic_fetch_inc(w, pe); },           \
                           [](TYPE *w, int pe) { dushmem_##NAME##_atomic_inc(w, pe); }})

static void bits() {
  uint64_t *wide = zeroed<uint64_t>(1);
  unsigned *word = zeroed<unsigned>(2); // the second shares its 8 bytes with the first
  const int to = right_of(me);
  dushmem_uint64_atomic_set(wide, 0xff00ff00ff00ull, to);
  expect_host("fetch_and", (long long)dushmem_uint64_atomic_fetch_and(wide, 0xffff0000ffffull, to), 0xff00ff00ff00ll, 1);
  expect_host("fetch_or", (long long)dushmem_uint64_atomic_fetch_or(wide, 0xffull, to), 0xff000000ff00ll, 2);
  expect_host("fetch_xor", (long long)dushmem_uint64_atomic_fetch_xor(wide, 0xf0full, to), 0xff000000ffffll, 3);
  expect_host("xor", (long long)dushmem_uint64_atomic_fetch(wide, to), 0xff000000f0f0ll, 4);
  dushmem_uint_atomic_or(word, 1u << me, 0);
  dushmem_uint_atomic_xor(word + 1, 3u << (2 * me), 0);
  dushmem_barrier_all();
  if (me == 0) expect_host("or of all", look(word), (1 << n) - 1, 5);
  if (me == 0) expect_host("xor of all", look(word + 1), (1 << 2 * n) - 1, 6);
  dushmem_barrier_all();
  dushmem_uint_atomic_and(word, ~(1u << me), 0);
  dushmem_barrier_all();
  if (me == 0) expect_host("and of all", look(word), 0, 7);
  dushmem_barrier_all();
  dushmem_free(word);
  dushmem_free(wide);
}

static void reals() {
  float *real = zeroed<float>(1);
  double *wide = zeroed<double>(1);
  dushmem_float_atomic_set(real, -2.5f, right_of(me));
  dushmem_double_atomic_set(wide, 1e300, right_of(me));
  dushmem_barrier_all();
  expect_host("float", look(real) == -2.5f, 1);
  expect_host("swap of float", dushmem_float_atomic_swap(real, 3.25f, me) == -2.5f, 1);
  expect_host("swap of double", dushmem_double_atomic_swap(wide, -0.0, me) == 1e300, 1);
  expect_host("fetch of double", 1 / dushmem_double_atomic_fetch(wide, me) < 0, 1);
  dushmem_barrier_all();
  dushmem_free(wide);
  dushmem_free(real);
}

int main() {
  begin();
  ARITHMETIC(int, int);
  ARITHMETIC(long, long);
  ARITHMETIC(uint, unsigned);
  ARITHMETIC(uint64, uint64_t);
  bits();
  reals();
  return verdict();
}
