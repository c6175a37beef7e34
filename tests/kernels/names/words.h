// Cases of calls on words: atomics, waits and tests; and what a PE knows of itself.
#pragma once
#include "cases.h"

namespace cases {

// The word of this PE at the neighbour becomes 12, then the call works on it with 10.
static __device__ void atomic(Case &c, int wanted, bool returns) {
  c.a.word = c.slot(c.s.me);
  if (c.first()) {
    unsigned char twelve[16];
    encode(c.name.kind, c.name.bytes, 12, twelve);
    api::put((char *)c.a.word, (const char *)twelve, (size_t)c.name.bytes, c.s.right);
    encode(c.name.kind, c.name.bytes, 10, c.a.value);
    encode(c.name.kind, c.name.bytes, 12, c.a.cond);
  }
  c.complete();
  c.call();
  if (c.first() && returns) c.check(c.is(c.a.out, 0, 12));
  c.complete();
  if (c.first()) {
    unsigned char found[16];
    c.fetch(found, c.a.word, c.name.bytes, c.s.right);
    c.check(c.is(found, 0, wanted));
  }
}

#define ATOMIC(NAME, WANTED, RETURNS) \
  CASE(NAME) {                        \
    Case c(s, name);                  \
    atomic(c, WANTED, RETURNS);       \
    c.end();                          \
  }
ATOMIC(atomic_inc, 13, false)
ATOMIC(atomic_fetch_inc, 13, true)
ATOMIC(atomic_add, 22, false)
ATOMIC(atomic_fetch_add, 22, true)
ATOMIC(atomic_set, 10, false)
ATOMIC(atomic_swap, 10, true)
ATOMIC(atomic_fetch, 12, true)
ATOMIC(atomic_and, 12 & 10, false)
ATOMIC(atomic_or, 12 | 10, false)
ATOMIC(atomic_xor, 12 ^ 10, false)
ATOMIC(atomic_fetch_and, 12 & 10, true)
ATOMIC(atomic_fetch_or, 12 | 10, true)
ATOMIC(atomic_fetch_xor, 12 ^ 10, true)
#undef ATOMIC

// It swaps where the word is what was expected, and then no more.
CASE(atomic_compare_swap) {
  Case c(s, name);
  atomic(c, 10, true);
  c.call();
  if (c.first()) {
    c.check(c.is(c.a.out, 0, 10));
    unsigned char found[16];
    c.fetch(found, c.a.word, name.bytes, s.right);
    c.check(c.is(found, 0, 10));
  }
  c.end();
}

// Four words of the own part, two of which the neighbour on the left sets to 5, and a set that leaves out the
// others. With `vector` each is compared with a value of its own. What the call gets lies in the part's first half: all
// threads of a scope give equal arguments.
struct Words {
  int status[4];
  size_t indices[4];
  unsigned char values[64];
};

static __device__ Words &prepare(Case &c, bool vector) {
  Words &w = *(Words *)c.slot(0);
  for (int i = 0; i < 4 && c.first(); i++) {
    w.status[i] = i % 2 == 1 ? 0 : 1;
    w.indices[i] = 99;
    c.put_number(w.values, i, i % 2 == 1 ? 5 : 9);
  }
  __syncthreads();
  c.a.word = c.a.words = c.local();
  c.a.n = 4;
  c.a.status = w.status;
  c.a.indices = w.indices;
  c.put_number(c.a.value, 0, 5);
  c.a.values = vector ? w.values : c.a.value;
  c.a.cmp = DUSHMEM_CMP_EQ;
  return w;
}

// Words are written whole.
static __device__ void set(const Case &c, int i) {
  unsigned char five[16];
  c.put_number(five, 0, 5);
  char *word = c.local() + i * c.name.bytes;
  if (c.name.bytes == 2) {
    uint16_t value;
    memcpy(&value, five, 2);
    api::p((uint16_t *)word, value, c.s.right);
  } else if (c.name.bytes == 4) {
    uint32_t value;
    memcpy(&value, five, 4);
    api::p((uint32_t *)word, value, c.s.right);
  } else {
    uint64_t value;
    memcpy(&value, five, 8);
    api::p((uint64_t *)word, value, c.s.right);
  }
  api::quiet();
}

// Until the neighbour has set both.
static __device__ void wait_for_both(const Case &c) {
  if (c.first())
    for (int i = 1; i < 4; i += 2) {
      char *word = c.local() + i * c.name.bytes;
      if (c.name.bytes == 2) api::wait_until((uint16_t *)word, DUSHMEM_CMP_EQ, 5);
      else if (c.name.bytes == 4) api::wait_until((uint32_t *)word, DUSHMEM_CMP_EQ, 5);
      else api::wait_until((uint64_t *)word, DUSHMEM_CMP_EQ, 5);
    }
  __syncthreads();
}

static __device__ void set_both(const Case &c) {
  if (c.first()) {
    set(c, 1);
    set(c, 3);
  }
}

CASE(wait_until) {
  Case c(s, name);
  prepare(c, false);
  set_both(c);
  c.a.word = c.local() + 3 * name.bytes;
  c.call();
  if (c.calls()) c.check(c.is(c.local(), 3, 5));
  c.end();
}

static __device__ void wait_all(Case &c, bool vector) {
  prepare(c, vector);
  set_both(c);
  c.call();
  if (c.calls()) c.check(c.is(c.local(), 1, 5) && c.is(c.local(), 3, 5) && c.is(c.local(), 0, 0));
}

static __device__ void wait_any(Case &c, bool vector) {
  prepare(c, vector);
  set_both(c);
  c.call();
  if (c.calls()) c.check((c.size() == 1 || c.size() == 3) && c.is(c.local(), (int)c.size(), 5));
}

static __device__ void wait_some(Case &c, bool vector) {
  const Words &w = prepare(c, vector);
  set_both(c);
  c.call();
  if (c.calls()) {
    c.check(c.size() == 1 || c.size() == 2);
    for (size_t i = 0; i < c.size() && i < 4; i++)
      c.check((w.indices[i] == 1 || w.indices[i] == 3) && c.is(c.local(), (int)w.indices[i], 5));
    c.check(c.size() != 2 || w.indices[0] != w.indices[1]);
  }
}

CASE(test) {
  Case c(s, name);
  prepare(c, false);
  set_both(c);
  wait_for_both(c);
  c.call();
  if (c.calls()) c.check(c.status() == 0);
  c.a.word = c.local() + 3 * name.bytes;
  c.call();
  if (c.calls()) c.check(c.status() == 1);
  c.end();
}

// No word is greater than 5, or than its own value.
static __device__ void test_all(Case &c, bool vector) {
  prepare(c, vector);
  set_both(c);
  wait_for_both(c);
  c.a.cmp = DUSHMEM_CMP_GT;
  c.call();
  if (c.calls()) c.check(c.status() == 0);
  c.a.cmp = DUSHMEM_CMP_EQ;
  c.call();
  if (c.calls()) c.check(c.status() == 1);
}

static __device__ void test_any(Case &c, bool vector) {
  prepare(c, vector);
  set_both(c);
  wait_for_both(c);
  c.a.cmp = DUSHMEM_CMP_GT;
  c.call();
  if (c.calls()) c.check(c.size() == SIZE_MAX);
  c.a.cmp = DUSHMEM_CMP_EQ;
  c.call();
  if (c.calls()) c.check(c.size() == 1 || c.size() == 3);
}

static __device__ void test_some(Case &c, bool vector) {
  const Words &w = prepare(c, vector);
  set_both(c);
  wait_for_both(c);
  c.a.cmp = DUSHMEM_CMP_GT;
  c.call();
  if (c.calls()) c.check(c.size() == 0);
  c.a.cmp = DUSHMEM_CMP_EQ;
  c.call();
  if (c.calls()) c.check(c.size() == 2 && w.indices[0] + w.indices[1] == 4 && w.indices[0] % 2 == 1);
}

#define SETS(NAME, DOES)     \
  CASE(NAME) {               \
    Case c(s, name);         \
    DOES(c, false);          \
    c.end();                 \
  }                          \
  CASE(NAME##_vector) {      \
    Case c(s, name);         \
    DOES(c, true);           \
    c.end();                 \
  }
SETS(wait_until_all, wait_all)
SETS(wait_until_any, wait_any)
SETS(wait_until_some, wait_some)
SETS(test_all, test_all)
SETS(test_any, test_any)
SETS(test_some, test_some)
#undef SETS

CASE(signal_wait_until) {
  Case c(s, name);
  c.a.sig = (uint64_t *)c.local();
  c.a.sig_value = 5;
  c.a.cmp = DUSHMEM_CMP_GE;
  if (c.first()) api::signal_op(c.a.sig, 6, DUSHMEM_SIGNAL_SET, s.right);
  c.call();
  if (c.calls()) c.check(c.a.load<uint64_t>(c.a.out) == 6);
  c.end();
}

CASE(my_pe) {
  Case c(s, name);
  c.call();
  if (c.first()) c.check(c.status() == s.me);
  c.end();
}

CASE(n_pes) {
  Case c(s, name);
  c.call();
  if (c.first()) c.check(c.status() == s.n);
  c.end();
}

// The world, and a team that nobody has made.
static __device__ void team(Case &c, int in_world) {
  c.a.team = 0;
  c.call();
  if (c.first()) c.check(c.status() == in_world);
  c.a.team = -1;
  c.call();
  if (c.first()) c.check(c.status() == -1);
}
CASE(team_my_pe) {
  Case c(s, name);
  team(c, s.me);
  c.end();
}
CASE(team_n_pes) {
  Case c(s, name);
  team(c, s.n);
  c.end();
}
CASE(team_translate_pe) {
  Case c(s, name);
  team(c, s.right);
  c.end();
}

// The neighbour's copy where it can be loaded from; nothing elsewhere.
CASE(ptr) {
  Case c(s, name);
  c.a.source = s.pattern;
  c.call();
  if (c.first()) {
    const unsigned char *there = (const unsigned char *)c.a.load<void *>(c.a.out);
    if (there != nullptr)
      for (int i = 0; i < PATTERN; i++) c.check(there[i] == pattern(s.right, i));
    c.check((there != nullptr) == (api::ptr((char *)s.pattern, s.right) != nullptr));
  }
  c.end();
}

CASE(mc_ptr) {
  Case c(s, name);
  c.a.source = s.pattern;
  memset(c.a.out, 1, sizeof c.a.out);
  c.call();
  if (c.first()) c.check(c.a.load<void *>(c.a.out) == nullptr);
  c.end();
}

// The numbers that the call stores follow each other in `values`.
CASE(info_get_version) {
  Case c(s, name);
  int found[2] = {-1, -1};
  c.a.words = found;
  c.call();
  if (c.first()) c.check(found[0] == DUSHMEM_MAJOR_VERSION && found[1] == DUSHMEM_MINOR_VERSION);
  c.end();
}

CASE(vendor_get_version_info) {
  Case c(s, name);
  int found[3] = {-1, -1, -1};
  c.a.words = found;
  c.call();
  if (c.first())
    c.check(found[0] == DUSHMEM_VENDOR_MAJOR_VERSION && found[1] == DUSHMEM_VENDOR_MINOR_VERSION &&
            found[2] == DUSHMEM_VENDOR_PATCH_VERSION);
  c.end();
}

CASE(info_get_name) {
  Case c(s, name);
  char found[DUSHMEM_MAX_NAME_LEN];
  c.a.words = found;
  c.call();
  const char wanted[] = DUSHMEM_VENDOR_STRING;
  if (c.first()) c.check(same(found, wanted, (int)sizeof wanted));
  c.end();
}

} // namespace cases
