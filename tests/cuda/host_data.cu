// Host calls on symmetric memory that may lie on the device: put, get, p, g, strides, signals, waits, with the local
// side in pageable, pinned and device memory, of all sizes and alignments.
#include "patterns.h"

// Every size to 70, and sizes around those where the way of copying may change; two alignments each.
static void sizes() {
  std::vector<size_t> all;
  for (size_t size = 0; size <= 70; size++) all.push_back(size);
  for (size_t size : {127, 128, 129, 1000, 4095, 4097, 65535, 65537, (1 << 20) + 3, 5 << 20}) all.push_back(size);
  const size_t room = (5 << 20) + 64;
  unsigned char *area = zeroed<unsigned char>(room);
  Local local(room);
  unsigned round = 0;
  for (int kind = 0; kind < 3; kind++)
    for (size_t size : all) {
      const size_t to = 1 + round % 17, from = round % 3 * 5;
      const std::string what = "of " + std::to_string(size) + " bytes with " + Local::name(kind);
      round++;
      const Bytes gap(1, 0xc5);
      fill(area + to - 1, gap);
      fill(area + to + size, gap);
      fill(local.at(kind) + from, pattern(me, size, round));
      dushmem_barrier_all();
      if (round % 4 == 0) {
        dushmem_putmem_nbi(area + to, local.at(kind) + from, size, right_of(me));
        dushmem_quiet();
      } else {
        dushmem_putmem(area + to, local.at(kind) + from, size, right_of(me));
        // The source belongs to the caller again.
        if (size) fill(local.at(kind) + from, Bytes(size, 0));
      }
      dushmem_barrier_all();
      compare("put " + what, area + to, pattern(left_of(me), size, round));
      compare("before a put " + what, area + to - 1, gap);
      compare("behind a put " + what, area + to + size, gap);
      if (round % 4 == 1) {
        dushmem_getmem_nbi(local.at(kind) + from, area + to, size, right_of(me));
        dushmem_quiet();
      } else {
        dushmem_getmem(local.at(kind) + from, area + to, size, right_of(me));
      }
      compare("get " + what, local.at(kind) + from, pattern(me, size, round));
      dushmem_barrier_all();
    }
  dushmem_free(area);
}

// Between two symmetric objects, and within the own copy.
static void symmetric_sources() {
  const size_t size = 300001;
  unsigned char *a = zeroed<unsigned char>(size), *b = zeroed<unsigned char>(size);
  for (int pe = 0; pe < n; pe++) {
    fill(a, pattern(me, size, 9));
    dushmem_barrier_all();
    if (me == pe || n == 1) dushmem_putmem(b, a, size, right_of(pe));
    dushmem_barrier_all();
    if (me == right_of(pe)) compare("put of a symmetric object", b, pattern(pe, size, 9));
    if (me == right_of(pe)) dushmem_getmem(a, a, size, pe);
    if (me == right_of(pe)) compare("get into a symmetric object", a, pattern(pe, size, 9));
    dushmem_barrier_all();
  }
  dushmem_free(b);
  dushmem_free(a);
}

template <class T> struct Calls {
  void (*p)(T *, T, int);
  T (*g)(const T *, int);
  void (*iput)(T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int);
  void (*iget)(T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int);
};

template <class T> static void values(const char *name, const Calls<T> &call) {
  const std::string type = name;
  T *area = zeroed<T>(400);
  for (int i = 0; i < 40; i++) call.p(area + i, (T)((me * 40 + i) % 100), right_of(me));
  dushmem_barrier_all();
  for (int pe = 0; pe < n; pe++)
    for (int i = 0; i < 40; i += 13)
      expect_host(("g of " + type).c_str(), (long long)call.g(area + i, pe), (left_of(pe) * 40 + i) % 100, i);
  compare("p of " + type, area, as_bytes([] {
            std::vector<T> all;
            for (int i = 0; i < 40; i++) all.push_back((T)((left_of(me) * 40 + i) % 100));
            return all;
          }()));
  dushmem_barrier_all();
  // Strides: the gaps stay.
  const std::vector<T> source = numbers<T>(me, 100, 1);
  fill(area, as_bytes(std::vector<T>(400, (T)77)));
  dushmem_barrier_all();
  call.iput(area + 1, source.data(), 3, 2, 45, right_of(me));
  dushmem_barrier_all();
  std::vector<T> wanted(400, (T)77), theirs = numbers<T>(left_of(me), 100, 1);
  for (size_t i = 0; i < 45; i++) wanted[1 + 3 * i] = theirs[2 * i];
  compare("iput of " + type, area, as_bytes(wanted));
  std::vector<T> back(200, (T)55), mine(200, (T)55);
  call.iget(back.data(), area + 1, 4, 3, 45, right_of(me));
  for (size_t i = 0; i < 45; i++) mine[4 * i] = source[2 * i];
  compare("iget of " + type, back.data(), as_bytes(mine));
  dushmem_barrier_all();
  dushmem_free(area);
}
#define VALUES(NAME, TYPE)                                                                                     \
  values<TYPE>(#NAME, {[](TYPE *to, TYPE v, int pe) { dushmem_##NAME##_p(to, v, pe); },                        \
                       [](const TYPE *at, int pe) { return dushmem_##NAME##_g(at, pe); },                      \
                       [](TYPE *d, const TYPE *s, ptrdiff_t a, ptrdiff_t b, size_t k, int pe) {                \
                         dushmem_##NAME##_iput(d, s, a, b, k, pe);                                             \
                       },                                                                                      \
                       [](TYPE *d, const TYPE *s, ptrdiff_t a, ptrdiff_t b, size_t k, int pe) {                \
                         dushmem_##NAME##_iget(d, s, a, b, k, pe);                                             \
                       }})

// Data, then the word that tells of it; the receiver looks only at the word.
static void orders() {
  enum { ROUNDS = 60, SIZE = 5000 };
  unsigned char *data = zeroed<unsigned char>(SIZE);
  uint64_t *flags = zeroed<uint64_t>(2);
  long *word = zeroed<long>(2);
  for (unsigned r = 1; r <= ROUNDS; r++) {
    const Bytes mine = pattern(me, SIZE, r);
    const int to = right_of(me);
    if (r % 4 == 0) {
      dushmem_putmem_signal(data, mine.data(), SIZE, flags, r, DUSHMEM_SIGNAL_SET, to);
    } else if (r % 4 == 1) {
      dushmem_putmem(data, mine.data(), SIZE, to);
      dushmem_fence();
      dushmemx_signal_op(flags, r, DUSHMEM_SIGNAL_SET, to);
    } else if (r % 4 == 2) {
      dushmem_putmem_nbi(data, mine.data(), SIZE, to);
      dushmem_fence();
      dushmem_uint64_p(flags, r, to);
      dushmem_quiet();
    } else {
      dushmem_putmem_signal_nbi(data, mine.data(), SIZE, flags, 1, DUSHMEM_SIGNAL_ADD, to);
      dushmem_quiet();
    }
    if (r % 3 == 0) {
      dushmem_uint64_wait_until(flags, DUSHMEM_CMP_GE, r);
    } else if (r % 3 == 1) {
      expect_host("the signal", (long long)dushmem_signal_wait_until(flags, DUSHMEM_CMP_EQ, r), r, r);
    } else {
      while (!dushmem_uint64_test(flags, DUSHMEM_CMP_EQ, r)) continue;
    }
    expect_host("signal_fetch", (long long)dushmem_signal_fetch(flags), r, r);
    compare("data before its word", data, pattern(left_of(me), SIZE, r));
    // The answer, by an atomic.
    dushmem_long_atomic_set(word, (long)r, left_of(me));
    dushmem_long_wait_until(word, DUSHMEM_CMP_EQ, (long)r);
    dushmem_barrier_all();
  }
  dushmem_free(word);
  dushmem_free(flags);
  dushmem_free(data);
}

// Addresses for kernels and copies: the own one is what it is, a peer's is mapped here.
static void addresses() {
  int *word = zeroed<int>(1);
  put_here(word, me + 1);
  dushmem_barrier_all();
  for (int pe = 0; pe < n; pe++) {
    int *there = (int *)dushmem_ptr(word, pe);
    if (there) expect_host("what ptr gives", look(there), pe + 1, pe);
    expect_host("the own address", pe != me || there == word, 1, pe);
  }
  dushmem_barrier_all();
  dushmem_free(word);
}

int main() {
  begin();
  sizes();
  symmetric_sources();
  VALUES(char, char);
  VALUES(short, short);
  VALUES(int, int);
  VALUES(long, long);
  VALUES(uint64, uint64_t);
  VALUES(float, float);
  VALUES(double, double);
  orders();
  addresses();
  return verdict();
}
