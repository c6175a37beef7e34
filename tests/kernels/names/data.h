// Cases of calls that move data: each PE writes to its own slot of its right neighbour's part, or reads what the
// neighbour has.
#pragma once
#include "cases.h"

namespace cases {

// What lies in the slot of this PE at the neighbour is elements of the own pattern, `step` apart, and nothing else.
static __device__ void check_slot(const Case &c, const void *at, int count, int to_step, int from_step) {
  unsigned char found[SLOT];
  c.fetch(found, at, SLOT, c.s.right);
  const int bytes = c.name.bytes;
  for (int i = 0; i < SLOT; i++) {
    const int element = i / bytes / to_step;
    const bool written = i / bytes % to_step == 0 && element < count;
    const int wanted = written ? pattern(c.s.me, element * from_step * bytes + i % bytes) : 0;
    c.check(found[i] == wanted);
  }
}

CASE(put) {
  Case c(s, name);
  c.call();
  c.complete();
  if (c.first()) check_slot(c, c.a.dest, 3, 1, 1);
  c.end();
}

CASE(iput) {
  Case c(s, name);
  c.a.n = 2;
  c.a.dst = 2;
  c.a.sst = 3;
  c.call();
  c.complete();
  if (c.first()) check_slot(c, c.a.dest, 2, 2, 3);
  c.end();
}

CASE(p) {
  Case c(s, name);
  memcpy(c.a.value, s.pattern, sizeof c.a.value);
  c.call();
  c.complete();
  if (c.first()) check_slot(c, c.a.dest, 1, 1, 1);
  c.end();
}

CASE(get) {
  Case c(s, name);
  c.a.dest = c.local();
  c.call();
  c.complete();
  for (int i = 0; i < SLOT; i++)
    c.check((unsigned char)c.local()[i] == (i < 3 * name.bytes ? pattern(s.right, i) : 0));
  c.end();
}

CASE(iget) {
  Case c(s, name);
  c.a.dest = c.local();
  c.a.n = 2;
  c.a.dst = 2;
  c.a.sst = 3;
  c.call();
  c.complete();
  for (int i = 0; i < SLOT; i++) {
    const int element = i / name.bytes / 2;
    const bool written = i / name.bytes % 2 == 0 && element < 2;
    c.check((unsigned char)c.local()[i] ==
            (written ? pattern(s.right, element * 3 * name.bytes + i % name.bytes) : 0));
  }
  c.end();
}

CASE(g) {
  Case c(s, name);
  c.call();
  if (c.first())
    for (int i = 0; i < name.bytes; i++) c.check(c.a.out[i] == pattern(s.right, i));
  c.end();
}

// The signal word is in the part's second half, which nothing else uses at the neighbour.
static __device__ uint64_t *signal_of(const Case &c, int pe) { return (uint64_t *)c.local() + pe; }

static __device__ void check_signal(const Case &c, uint64_t wanted) {
  uint64_t found = 0;
  c.fetch(&found, c.a.sig, sizeof found, c.s.right);
  c.check(found == wanted);
}

// Both operators: 5 is set, and 3 added where the name's number is odd.
CASE(put_signal) {
  Case c(s, name);
  c.a.sig = signal_of(c, s.me);
  c.a.sig_op = DUSHMEM_SIGNAL_SET;
  c.a.sig_value = 5;
  c.call();
  // On a context of a queue pair nothing else orders the two.
  c.complete();
  if (name.index % 2 == 1) {
    c.a.sig_op = DUSHMEM_SIGNAL_ADD;
    c.a.sig_value = 3;
    c.call();
  }
  // The neighbour on the left sees the data once it sees the signal.
  if (c.first()) {
    api::signal_wait_until(signal_of(c, s.left), DUSHMEM_CMP_GE, name.index % 2 == 1 ? 8 : 5);
    for (int i = 0; i < SLOT; i++)
      c.check(((volatile unsigned char *)c.slot(s.left))[i] == (i < 3 * name.bytes ? pattern(s.left, i) : 0));
  }
  c.complete();
  if (c.first()) {
    check_slot(c, c.a.dest, 3, 1, 1);
    check_signal(c, name.index % 2 == 1 ? 8 : 5);
  }
  c.end();
}

CASE(signal_op) {
  Case c(s, name);
  c.a.sig = signal_of(c, s.me);
  c.a.sig_op = DUSHMEM_SIGNAL_SET;
  c.a.sig_value = 5;
  c.call();
  c.complete();
  c.a.sig_op = DUSHMEM_SIGNAL_ADD;
  c.a.sig_value = 3;
  c.call();
  c.complete();
  if (c.first()) check_signal(c, 8);
  c.end();
}

CASE(signal_fetch) {
  Case c(s, name);
  c.a.sig = signal_of(c, s.left);
  if (c.first()) {
    api::signal_op(signal_of(c, s.me), (uint64_t)(70 + s.me), DUSHMEM_SIGNAL_SET, s.right);
    api::signal_wait_until(c.a.sig, DUSHMEM_CMP_NE, 0);
  }
  c.call();
  if (c.calls()) c.check(c.a.load<uint64_t>(c.a.out) == (uint64_t)(70 + s.left));
  c.end();
}

// After it has returned, everything before has arrived at the neighbour.
CASE(quiet) {
  Case c(s, name);
  if (c.first()) api::put_nbi(c.slot(s.me), (const char *)s.pattern, 8, s.right);
  c.call();
  if (c.first()) {
    unsigned char found[8];
    c.fetch(found, c.slot(s.me), 8, s.right);
    for (int i = 0; i < 8; i++) c.check(found[i] == pattern(s.me, i));
  }
  c.end();
}

// Everything before arrives before everything after.
CASE(fence) {
  Case c(s, name);
  if (c.first()) api::put(c.slot(s.me), (const char *)s.pattern, 8, s.right);
  c.call();
  if (c.first()) {
    api::signal_op(signal_of(c, s.me), 1, DUSHMEM_SIGNAL_SET, s.right);
    api::signal_wait_until(signal_of(c, s.left), DUSHMEM_CMP_EQ, 1);
    for (int i = 0; i < 8; i++)
      c.check(((volatile unsigned char *)c.slot(s.left))[i] == pattern(s.left, i));
  }
  c.end();
}

CASE(qp_quiet) {
  Case c(s, name);
  const api::context one{s.pairs[0]}, other{s.pairs[1]};
  if (c.first()) {
    api::put_nbi(one, c.slot(s.me), (const char *)s.pattern, 8, s.right);
    api::put_nbi(other, c.slot(s.me) + 8, (const char *)s.pattern + 8, 8, s.right);
  }
  c.call();
  if (c.first()) {
    unsigned char found[16];
    c.fetch(found, c.slot(s.me), 16, s.right);
    for (int i = 0; i < 16; i++) c.check(found[i] == pattern(s.me, i));
  }
  c.end();
}

CASE(qp_fence) {
  Case c(s, name);
  const api::context one{s.pairs[0]}, other{s.pairs[1]};
  if (c.first()) {
    api::put(one, c.slot(s.me), (const char *)s.pattern, 8, s.right);
    api::put(other, c.slot(s.me) + 8, (const char *)s.pattern + 8, 8, s.right);
  }
  c.call();
  if (c.first()) {
    // One signal a queue pair: each follows the put on its own.
    api::signal_op(one, signal_of(c, s.me), 1, DUSHMEM_SIGNAL_ADD, s.right);
    api::signal_op(other, signal_of(c, s.me), 1, DUSHMEM_SIGNAL_ADD, s.right);
    api::signal_wait_until(signal_of(c, s.left), DUSHMEM_CMP_EQ, 2);
    for (int i = 0; i < 16; i++)
      c.check(((volatile unsigned char *)c.slot(s.left))[i] == pattern(s.left, i));
  }
  c.end();
}

} // namespace cases
