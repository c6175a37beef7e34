// What the tests of collectives in kernels share: values that depend on PE, element and round, and checks by all
// threads of a scope.
#ifndef COLL_COMMON_H
#define COLL_COMMON_H
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include "memory.h"

namespace d = dushmem::device;
using thread_scope = d::scope::thread;
using warp_scope = d::scope::warp;
using block_scope = d::scope::block;

// Element i of PE pe in a round: integers use all bits, floating-point sums depend on the order.
template <class T> struct value_of {
  static __device__ T get(int pe, size_t i, int round) {
    const unsigned long long mixed = (i * 8 + (unsigned)pe + 1) * 0x9e3779b97f4a7c15ull + (unsigned)round * 0x51ull;
    return (T)(mixed ^ mixed >> 29);
  }
};
template <> struct value_of<float> {
  static __device__ float get(int pe, size_t i, int round) {
    return (float)((int)((i * 13 + (unsigned)pe * 7 + (unsigned)round * 5) % 23) - 11) / 3.0f;
  }
};
template <> struct value_of<double> {
  static __device__ double get(int pe, size_t i, int round) {
    return (double)((int)((i * 13 + (unsigned)pe * 7 + (unsigned)round * 5) % 23) - 11) / 3.0;
  }
};
template <> struct value_of<double2> {
  static __device__ double2 get(int pe, size_t i, int round) {
    return make_double2((double)((i * 5 + (unsigned)pe * (unsigned)(round + 1)) % 3), (double)((i + (unsigned)pe) % 4));
  }
};

template <class T> __device__ bool same_bits(const T &a, const T &b) {
  const unsigned char *left = (const unsigned char *)&a, *right = (const unsigned char *)&b;
  for (size_t i = 0; i < sizeof(T); i++)
    if (left[i] != right[i]) return false;
  return true;
}

// What a kernel is given: two own symmetric buffers, and a count of what was wrong.
struct Space {
  char *dest, *source;
  size_t bytes;
  int *failures;

  template <class T> __device__ T *to() const { return (T *)dest; }
  template <class T> __device__ T *from() const { return (T *)source; }
};

__device__ inline void wrong(const Space &space, const char *what, long a, long b, long c) {
  if (atomicAdd(space.failures, 1) < 5)
    printf("PE %d: %s: %ld, %ld, %ld\n", d::my_pe(), what, a, b, c);
}

template <class S> struct Together {
  static __device__ size_t rank() { return d::impl::rank(S{}); }
  static __device__ size_t size() { return d::impl::size(S{}); }
  static __device__ void sync() { d::impl::sync(S{}); }
};

// A team as a kernel sees it.
struct Members {
  int team, me, n;
  explicit __device__ Members(int handle) : team(handle), me(d::team_my_pe(handle)), n(d::team_n_pes(handle)) {}
  __device__ int pe(int rank) const { return d::team_translate_pe(team, rank, DUSHMEM_TEAM_WORLD); }
};

// Fills with own values of a round, when all threads have looked at what was there.
template <class S, class T> __device__ void fill(T *at, size_t n, int round) {
  Together<S>::sync();
  for (size_t i = Together<S>::rank(); i < n; i += Together<S>::size())
    at[i] = value_of<T>::get(d::my_pe(), i, round);
}
template <class S, class T>
__device__ void expect(const Space &space, const char *what, const T *at, int pe, size_t n, int round,
                       size_t first = 0) {
  for (size_t i = Together<S>::rank(); i < n; i += Together<S>::size())
    if (!same_bits(at[i], value_of<T>::get(pe, first + i, round))) wrong(space, what, (long)i, (long)n, round);
}

static int failures;
#define OK(call) check((call) == cudaSuccess, #call, __LINE__)
#define CHECK(condition) check((condition), #condition, __LINE__)
static inline void check(bool good, const char *what, int line) {
  if (good) return;
  failures++;
  std::printf("PE %d: line %d: %s\n", dushmem_my_pe(), line, what);
}

// With "short" as argument fewer rounds, teams and scopes: for transports where every message takes its time.
static bool in_short;
static inline void look_at_arguments(int argc, char **argv) {
  for (int i = 1; i < argc; i++) in_short = in_short || std::strcmp(argv[i], "short") == 0;
}

static inline Space make_space(size_t bytes) {
  Space space{};
  space.dest = (char *)dushmem_malloc(bytes);
  space.source = (char *)dushmem_malloc(bytes);
  space.bytes = bytes;
  OK(cudaMalloc((void **)&space.failures, sizeof(int)));
  OK(cudaMemset(space.failures, 0, sizeof(int)));
  return space;
}

// Ends the program: "all right" from PE 0 if nothing was wrong on any PE.
static inline int finish(const Space &space) {
  int in_kernels = 0;
  OK(cudaMemcpy(&in_kernels, space.failures, sizeof(int), cudaMemcpyDeviceToHost));
  int *all = (int *)dushmem_malloc(2 * sizeof(int));
  put_here(all, failures + in_kernels);
  dushmem_int_sum_reduce(DUSHMEM_TEAM_WORLD, all + 1, all, 1);
  const int sum = look(all + 1);
  if (dushmem_my_pe() == 0 && sum == 0) std::printf("all right\n");
  dushmem_free(all);
  dushmem_free(space.source);
  dushmem_free(space.dest);
  dushmem_finalize();
  return sum == 0 ? 0 : 1;
}

// All teams that this PE is a member of, of all shapes: predefined, strided, reversed, a list without a pattern.
static inline std::vector<dushmem_team_t> make_teams() {
  std::vector<dushmem_team_t> teams{DUSHMEM_TEAM_WORLD, DUSHMEM_TEAM_SHARED, DUSHMEMX_TEAM_NODE,
                                    DUSHMEMX_TEAM_SAME_MYPE_NODE};
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  const auto add = [&](dushmem_team_t made) {
    if (made != DUSHMEM_TEAM_INVALID) teams.push_back(made);
  };
  dushmem_team_t made, other;
  CHECK(dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &made) == 0);
  add(made);
  if (in_short) return {DUSHMEM_TEAM_WORLD, made};
  CHECK(dushmem_team_split_2d(DUSHMEM_TEAM_WORLD, 2, nullptr, 0, &made, nullptr, 0, &other) == 0);
  add(made);
  add(other);
  // 1, 0, then the others from the last on: no stride.
  if (n >= 4) {
    dushmemx_team_uniqueid_t *id = (dushmemx_team_uniqueid_t *)dushmem_malloc(sizeof *id);
    dushmemx_team_uniqueid_t own{};
    if (me == 0) CHECK(dushmemx_team_get_uniqueid(&own) == 0);
    put_here(id, own);
    dushmem_broadcastmem(DUSHMEM_TEAM_WORLD, id, id, sizeof *id, 0);
    dushmem_team_config_t config = DUSHMEM_TEAM_CONFIG_INITIALIZER;
    config.uniqueid = look(id);
    const int rank = me < 2 ? 1 - me : n + 1 - me;
    CHECK(dushmemx_team_init(&made, &config, DUSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n, rank) == 0);
    add(made);
    dushmem_free(id);
  }
  return teams;
}
#endif
