// Barriers, broadcast, fcollect, collect and alltoall in kernels: at thread, warp and block scope, on all shapes of
// teams, with lengths on both sides of every switch between protocols, and calls that follow each other at once.
#include "coll_common.h"

template <class S> __device__ void barriers(const Space &space, const Members &team) {
  uint64_t *words = space.to<uint64_t>();
  // Everybody has looked at what the last kernel left.
  d::sync<S>(team.team);
  for (int round = 1; round <= 20; round++) {
    // What was put before the barrier is there afterwards, from every member.
    for (int r = 0; r < team.n && Together<S>::rank() == 0; r++)
      d::p(words + team.me, (uint64_t)round, team.pe(r));
    Together<S>::sync();
    if (d::barrier<S>(team.team) != 0) wrong(space, "barrier", team.team, 0, 0);
    for (int r = 0; r < team.n; r++)
      if (*(volatile uint64_t *)(words + r) != (uint64_t)round) wrong(space, "after barrier", r, round, (long)words[r]);
    if (d::sync<S>(team.team) != 0) wrong(space, "sync", team.team, 0, 0);
  }
}

template <class S, class T> __device__ void broadcasts(const Space &space, const Members &team, size_t n, int round) {
  T *const to = space.to<T>(), *const from = space.from<T>();
  for (int root = 0; root < team.n; root += 1 + (n > 2000)) {
    fill<S>(from, n, round + root);
    fill<S>(to, n, -1);
    if (d::broadcast<S>(team.team, to, (const T *)from, n, root) != 0) wrong(space, "broadcast", root, (long)n, 0);
    expect<S>(space, "broadcast", to, team.pe(root), n, round + root);
    // In place.
    fill<S>(to, n, round - root);
    d::broadcast<S>(team.team, to, (const T *)to, n, root);
    expect<S>(space, "broadcast in place", to, team.pe(root), n, round - root);
  }
}

template <class S, class T> __device__ void fcollects(const Space &space, const Members &team, size_t n, int round) {
  T *const to = space.to<T>(), *const from = space.from<T>();
  fill<S>(from, n, round);
  d::fcollect<S>(team.team, to, (const T *)from, n);
  for (int r = 0; r < team.n; r++) expect<S>(space, "fcollect", to + (size_t)r * n, team.pe(r), n, round);
}

// Lengths by rank: none, all the same, one long among short ones.
__device__ inline size_t length(int rank, size_t n, int shape) {
  return shape == 0 ? n * (size_t)rank / 2 : shape == 1 ? (rank % 2 ? 0 : n) : rank == 1 ? n * 3 : (size_t)rank;
}

template <class S, class T> __device__ void collects(const Space &space, const Members &team, size_t n, int round) {
  T *const to = space.to<T>(), *const from = space.from<T>();
  for (int shape = 0; shape < 3; shape++) {
    const size_t own = length(team.me, n, shape);
    fill<S>(from, own, round + shape);
    d::collect<S>(team.team, to, own ? (const T *)from : nullptr, own);
    size_t at = 0;
    for (int r = 0; r < team.n; r++) {
      expect<S>(space, "collect", to + at, team.pe(r), length(r, n, shape), round + shape);
      at += length(r, n, shape);
    }
  }
}

template <class S, class T> __device__ void alltoalls(const Space &space, const Members &team, size_t n, int round) {
  T *const to = space.to<T>(), *const from = space.from<T>();
  fill<S>(from, n * (size_t)team.n, round);
  d::alltoall<S>(team.team, to, (const T *)from, n);
  for (int r = 0; r < team.n; r++)
    expect<S>(space, "alltoall", to + (size_t)r * n, team.pe(r), n, round, (size_t)team.me * n);
  fill<S>(to, n * (size_t)team.n, round + 1);
  d::alltoall<S>(team.team, to, (const T *)to, n);
  for (int r = 0; r < team.n; r++)
    expect<S>(space, "alltoall in place", to + (size_t)r * n, team.pe(r), n, round + 1, (size_t)team.me * n);
}

// All of them, without anything between two calls.
template <class S, class T> __device__ void move(const Space &space, const Members &team, size_t n, int round) {
  broadcasts<S, T>(space, team, n, round);
  fcollects<S, T>(space, team, n, round);
  collects<S, T>(space, team, n, round);
  alltoalls<S, T>(space, team, n, round);
}

template <class S> __global__ void moves(Space space, int handle, bool large, int rounds) {
  const Members team(handle);
  barriers<S>(space, team);
  for (size_t n : {size_t(0), size_t(1), size_t(7), size_t(1000)}) move<S, int>(space, team, n, (int)n);
  for (size_t n : {size_t(3), size_t(133)}) move<S, unsigned char>(space, team, n, 5);
  move<S, double2>(space, team, 301, 9);
  for (int round = 0; round < rounds; round++) {
    fcollects<S, int>(space, team, 2, round);
    broadcasts<S, int>(space, team, 5, round);
    alltoalls<S, int>(space, team, round % 7, round);
  }
  if (large)
    for (size_t n : {size_t(9001), size_t(100000)}) move<S, int>(space, team, n, 3);
}

int main(int argc, char **argv) {
  look_at_arguments(argc, argv);
  dushmem_init();
  const int n = dushmem_n_pes();
  const Space space = make_space(((size_t)n * 150000 + 400000) * sizeof(int));
  for (dushmem_team_t team : make_teams()) {
    const bool large = team == DUSHMEM_TEAM_WORLD && !in_short;
    const int rounds = in_short ? 5 : 100;
    moves<block_scope><<<1, 70>>>(space, team, large, rounds);
    if (in_short && team != DUSHMEM_TEAM_WORLD) continue;
    moves<thread_scope><<<1, 1>>>(space, team, large, rounds);
    moves<warp_scope><<<1, 32>>>(space, team, false, rounds);
  }
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  return finish(space);
}
