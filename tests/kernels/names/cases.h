// What the generated sources of this folder run each name with: a case calls it in a kernel and checks what it
// did. All PEs run the same cases in the same order; there may be 1 to 8 of them.
//
// Each name has its own part of symmetric memory, zero at first, so that PEs need not wait for each other
// between cases.
#pragma once
#include <hip/hip_runtime.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

constexpr int MOST_PES = 8;
// A part: one slot for each PE that writes, then as much for what is local.
constexpr int SLOT = 64, LOCAL = MOST_PES * SLOT, PART = 2 * LOCAL;
// Threads of the block: four warps, or two of 64 lanes.
constexpr int THREADS = 128;

namespace api = dushmem::device;
using everybody = api::scope::block;

struct State {
  int me, n, right, left;
  char *parts;                  // symmetric
  const unsigned char *pattern; // symmetric; of each PE its own, see pattern()
  unsigned *results;            // by name: 1 is set by its end, 2 by a failed check
  const int *pairs;             // two queue pairs
};

// Everything that a call can take, and what it returned.
struct Args {
  void *dest;
  const void *source;
  size_t n;
  int pe;
  ptrdiff_t dst, sst;
  uint64_t *sig;
  uint64_t sig_value;
  int sig_op;
  int qp;
  const int *qps;
  void *word, *words;
  int cmp;
  const int *status;
  size_t *indices;
  const void *values;
  unsigned char value[16], cond[16], out[16];
  int team, root;

  template <class T> __device__ T load(const unsigned char (&from)[16]) const {
    T to;
    memcpy(&to, from, sizeof to);
    return to;
  }
  template <class T> __device__ void returned(const T &result) { memcpy(out, &result, sizeof result); }
};

using Call = void (*)(Args &);

enum Kind { INTEGER, REAL, HALF, BFLOAT };
enum Scope { THREAD, WARP, WARPGROUP, BLOCK };

// One name: its number, how many threads call it, bytes and kind of its elements.
struct Name {
  int index;
  Scope scope;
  int bytes;
  Kind kind;
  Call call;
};

// Byte i of PE pe's pattern.
__host__ __device__ inline unsigned char pattern(int pe, int i) { return (unsigned char)(pe * 37 + i * 11 + 5); }
constexpr int PATTERN = 128;

// A small whole number as an element.
[[maybe_unused]] static __device__ __noinline__ void encode(Kind kind, int bytes, int number, void *to) {
  int64_t bits = number;
  if (kind != INTEGER) {
    float single = (float)number;
    double twice = number;
    uint32_t word = 0;
    memcpy(&word, &single, 4);
    bits = word;
    if (bytes == 8) memcpy(&bits, &twice, 8);
    if (kind == BFLOAT) bits = word >> 16;
    // The numbers here have at most 11 significant bits.
    if (kind == HALF)
      bits = number == 0 ? 0 : (word >> 16 & 0x8000) | ((((word >> 23 & 0xff) - 127 + 15) << 10) | (word >> 13 & 0x3ff));
  }
  memcpy(to, &bits, (size_t)bytes);
}

// memcmp, which device compilers don't have.
__device__ inline bool same(const void *one, const void *other, int bytes) {
  for (int i = 0; i < bytes; i++)
    if (((const unsigned char *)one)[i] != ((const unsigned char *)other)[i]) return false;
  return true;
}

// The calling thread's view of a case.
struct Case {
  const State &s;
  const Name &name;
  Args a;
  char *part; // own address of the name's part

  __device__ Case(const State &state, const Name &what) : s(state), name(what), a() {
    part = s.parts + (size_t)name.index * PART;
    a.pe = s.right;
    a.n = 3;
    a.qp = s.pairs[name.index % 2];
    a.qps = s.pairs;
    a.dest = slot(s.me);
    a.source = s.pattern;
  }
  __device__ char *slot(int pe) const { return part + pe * SLOT; }
  __device__ char *local() const { return part + LOCAL; }
  __device__ bool first() const { return threadIdx.x == 0; }
  __device__ bool calls() const {
    switch (name.scope) {
    case THREAD: return threadIdx.x == 0;
    case WARP: return threadIdx.x < (unsigned)warpSize;
    case WARPGROUP: return threadIdx.x < 128;
    default: return true;
    }
  }
  // The threads of the scope call it.
  __device__ void call() {
    __syncthreads();
    if (calls()) name.call(a);
    __syncthreads();
  }
  __device__ void check(bool right) const {
    if (!right) atomicOr(&s.results[name.index], 2u);
  }
  __device__ void end() const {
    __syncthreads();
    if (first()) atomicOr(&s.results[name.index], 1u);
  }
  // Everything that anybody has begun is complete.
  __device__ void complete() const { api::quiet<everybody>(api::context{INT_MAX}); }
  // Bytes of a PE's copy, by the plainest call there is; one thread.
  __device__ void fetch(void *to, const void *from, int bytes, int pe) const {
    api::get((char *)to, (const char *)from, (size_t)bytes, pe);
  }
  // Element i of `at` is this number.
  __device__ bool is(const void *at, int i, int number) const {
    unsigned char wanted[16];
    encode(name.kind, name.bytes, number, wanted);
    return same((const char *)at + i * name.bytes, wanted, name.bytes);
  }
  __device__ void put_number(void *at, int i, int number) const {
    encode(name.kind, name.bytes, number, (char *)at + i * name.bytes);
  }
  // What a call returned, as an int or a size_t.
  __device__ int status() const { return a.load<int>(a.out); }
  __device__ size_t size() const { return a.load<size_t>(a.out); }
};

#define CASE(NAME) [[maybe_unused]] static __device__ __noinline__ void NAME(const State &s, const Name &name)

// Runs a case for the call of one name.
#define RUN(INDEX, CASE, SCOPE, BYTES, KIND, ...) \
  cases::CASE(s, Name{INDEX, SCOPE, BYTES, KIND, []([[maybe_unused]] Args &a) { __VA_ARGS__; }});
