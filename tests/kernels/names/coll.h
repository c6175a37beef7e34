// Cases of collectives, on the team of all PEs. Sources are in a part's second half, results in its first: the slots
// are not used otherwise.
#pragma once
#include "cases.h"

namespace cases {

// What PE pe contributes as its i-th element: small enough for one byte, whatever is done with 8 of them.
static __device__ int element(int pe, int i) { return 1 + (pe * 3 + i) % 5; }

static __device__ void sources(Case &c, int count) {
  c.a.team = 0;
  c.a.source = c.local();
  c.a.dest = c.slot(0);
  for (int i = 0; i < count; i++)
    if (c.first()) c.put_number(c.local(), i, element(c.s.me, i));
}

static __device__ void succeeded(Case &c) {
  memset(c.a.out, 0xff, sizeof c.a.out);
  c.call();
  if (c.calls()) c.check(c.status() == 0);
}

// All threads look: the results belong to the scope.
static __device__ void result(const Case &c, int i, int wanted) {
  if (c.calls()) c.check(c.is(c.slot(0), i, wanted));
}

static __device__ void nothing_from(const Case &c, int i) { result(c, i, 0); }

CASE(broadcast) {
  Case c(s, name);
  sources(c, 3);
  c.a.root = s.n - 1;
  succeeded(c);
  for (int i = 0; i < 3; i++) result(c, i, element(s.n - 1, i));
  nothing_from(c, 3);
  c.end();
}

CASE(fcollect) {
  Case c(s, name);
  sources(c, 3);
  succeeded(c);
  for (int pe = 0; pe < s.n; pe++)
    for (int i = 0; i < 3; i++) result(c, pe * 3 + i, element(pe, i));
  nothing_from(c, s.n * 3);
  c.end();
}

// PEs contribute 1, 2, 1, 2, ... elements.
CASE(collect) {
  Case c(s, name);
  sources(c, 2);
  c.a.n = (size_t)(1 + s.me % 2);
  succeeded(c);
  int at = 0;
  for (int pe = 0; pe < s.n; pe++)
    for (int i = 0; i < 1 + pe % 2; i++) result(c, at++, element(pe, i));
  nothing_from(c, at);
  c.end();
}

CASE(alltoall) {
  Case c(s, name);
  sources(c, 2 * s.n);
  c.a.n = 2;
  succeeded(c);
  for (int pe = 0; pe < s.n; pe++)
    for (int i = 0; i < 2; i++) result(c, pe * 2 + i, element(pe, s.me * 2 + i));
  nothing_from(c, s.n * 2);
  c.end();
}

enum Op { AND, OR, XOR, MAX, MIN, SUM, PROD };

static __device__ int operate(Op op, int a, int b) {
  switch (op) {
  case AND: return a & b;
  case OR: return a | b;
  case XOR: return a ^ b;
  case MAX: return a > b ? a : b;
  case MIN: return a < b ? a : b;
  case SUM: return a + b;
  default: return a * b;
  }
}

// Of the i-th elements of the PEs before `end`. A product of 8 would not fit into a byte: only the first two PEs
// contribute more than 1.
static __device__ int contribution(Op op, int pe, int i) { return op == PROD && pe > 1 ? 1 : element(pe, i); }
static __device__ int reduced(Op op, int end, int i) {
  int value = contribution(op, 0, i);
  for (int pe = 1; pe < end; pe++) value = operate(op, value, contribution(op, pe, i));
  return value;
}

static __device__ void contributions(Case &c, Op op, int count) {
  sources(c, 0);
  for (int i = 0; i < count; i++)
    if (c.first()) c.put_number(c.local(), i, contribution(op, c.s.me, i));
}

static __device__ void reduce(Case &c, Op op) {
  contributions(c, op, 3);
  succeeded(c);
  for (int i = 0; i < 3; i++) result(c, i, reduced(op, c.s.n, i));
  nothing_from(c, 3);
}

static __device__ void reducescatter(Case &c, Op op) {
  contributions(c, op, 2 * c.s.n);
  c.a.n = 2;
  succeeded(c);
  for (int i = 0; i < 2; i++) result(c, i, reduced(op, c.s.n, c.s.me * 2 + i));
  nothing_from(c, 2);
}

#define REDUCTIONS(REDUCE, REDUCESCATTER, OP) \
  CASE(REDUCE) {                              \
    Case c(s, name);                          \
    reduce(c, OP);                            \
    c.end();                                  \
  }                                           \
  CASE(REDUCESCATTER) {                       \
    Case c(s, name);                          \
    reducescatter(c, OP);                     \
    c.end();                                  \
  }
REDUCTIONS(and_reduce, and_reducescatter, AND)
REDUCTIONS(or_reduce, or_reducescatter, OR)
REDUCTIONS(xor_reduce, xor_reducescatter, XOR)
REDUCTIONS(max_reduce, max_reducescatter, MAX)
REDUCTIONS(min_reduce, min_reducescatter, MIN)
REDUCTIONS(sum_reduce, sum_reducescatter, SUM)
REDUCTIONS(prod_reduce, prod_reducescatter, PROD)
#undef REDUCTIONS

CASE(sum_inscan) {
  Case c(s, name);
  sources(c, 3);
  succeeded(c);
  for (int i = 0; i < 3; i++) result(c, i, reduced(SUM, s.me + 1, i));
  nothing_from(c, 3);
  c.end();
}

CASE(sum_exscan) {
  Case c(s, name);
  sources(c, 3);
  succeeded(c);
  for (int i = 0; i < 3; i++) result(c, i, s.me == 0 ? 0 : reduced(SUM, s.me, i));
  nothing_from(c, 3);
  c.end();
}

// The greatest value and where it is.
CASE(double2_maxloc_reduce) {
  Case c(s, name);
  c.a.team = 0;
  c.a.source = c.local();
  c.a.dest = c.slot(0);
  c.a.n = 2;
  if (c.first())
    for (int i = 0; i < 2; i++) {
      const double pair[2] = {(double)((s.me + i) % s.n), (double)(100 * i + s.me)};
      memcpy(c.local() + 16 * i, pair, 16);
    }
  succeeded(c);
  for (int i = 0; i < 2; i++) {
    double found[2];
    memcpy(found, c.slot(0) + 16 * i, 16);
    const int where = (s.n - 1 - i % s.n + s.n) % s.n;
    c.check(found[0] == s.n - 1 && found[1] == 100 * i + where);
  }
  c.end();
}

// What a PE has put before is there afterwards. A synchronisation alone completes nothing, so the put is
// completed before.
static __device__ void meets(Case &c, bool completes, bool has_status) {
  c.a.team = 0;
  if (c.first()) {
    api::put_nbi(c.slot(c.s.me), (const char *)c.s.pattern, 8, c.s.right);
    if (!completes) api::quiet();
  }
  if (has_status) succeeded(c);
  else c.call();
  if (c.calls())
    for (int i = 0; i < 8; i++)
      c.check(((volatile unsigned char *)c.slot(c.s.left))[i] == pattern(c.s.left, i));
}
#define MEETING(NAME, COMPLETES, STATUS) \
  CASE(NAME) {                           \
    Case c(s, name);                     \
    meets(c, COMPLETES, STATUS);         \
    c.end();                             \
  }
MEETING(barrier, true, true)
MEETING(barrier_all, true, false)
MEETING(team_sync, false, true)
MEETING(sync_all, false, false)
#undef MEETING

} // namespace cases
