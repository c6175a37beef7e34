/* Barrier and sync. */
#ifndef DUSHMEM_IMPL_COLL_SYNC_H
#define DUSHMEM_IMPL_COLL_SYNC_H

namespace dushmem {
namespace device {
namespace impl {

/* Members that one tells in one round. In each round a member that knows of the `known` members before it, itself
 * included, tells those at distances known, 2 * known, ... (radix - 1) * known, and hears of as many. Up to radix
 * members need one round, 64 need two. Distances in a synchronisation are all different, so one word for each pair
 * suffices. */
constexpr int radix = 8;

/* The number of the call, for all threads of the scope: they have it before the first synchronisation of the scope,
 * and one of them notes it after that. */
DUSHMEM_IMPL_FN uint64_t next_call(const members &team) { return own_count(team.calls()) + 1; }

/* The member so many behind; distance < n. */
DUSHMEM_IMPL_FN int behind(const members &team, int distance) {
  const int rank = team.me + distance;
  return rank < team.n ? rank : rank - team.n;
}

/* All members have made call `number`. Begins and ends with a synchronisation of the scope. One fence a round, by those
 * that tell others: it is for the stores of all threads of the scope. `completes`: it is a quiet, too. */
template <class S>
DUSHMEM_IMPL_APART void meet(const members &team, uint64_t number, const char *call, S s, bool completes = false) {
  sync(s);
  if (leads(s)) own_count(team.calls(), number);
  for (int known = 1; known < team.n; known = known < team.n / radix + 1 ? known * radix : team.n) {
    const int left = (team.n + known - 1) / known, most = left < radix ? left : radix;
    const int first = 1 + (int)rank(s), step = (int)size(s);
    if (first < most) completes ? fence_system() : fence_release();
    for (int j = first; j < most; j += step)
      tell(own_word(team, words::sync), number, team.pe(behind(team, j * known)), call);
    for (int j = first; j < most; j += step)
      wait_word(team.at(words::sync, team.pe(behind(team, team.n - j * known))), DUSHMEM_CMP_GE, number, call);
    sync(s);
  }
  if (team.n == 1) sync(s);
}

} // namespace impl

template <class S> DUSHMEM_IMPL_FN int sync(int32_t handle) {
  impl::members team;
  if (!impl::open<S>(handle, team, "sync")) return 1;
  impl::meet(team, impl::next_call(team), "sync", S{});
  return 0;
}
template <class S> DUSHMEM_IMPL_FN void sync_all() { sync<S>(0); }

template <class S> DUSHMEM_IMPL_FN int barrier(int32_t handle) {
  impl::members team;
  if (!impl::open<S>(handle, team, "barrier")) return 1;
  if (team.n == 1 || impl::state().remote != 0) quiet<S>();
  impl::meet(team, impl::next_call(team), "barrier", S{}, true);
  return 0;
}
template <class S> DUSHMEM_IMPL_FN void barrier_all() { barrier<S>(0); }

} // namespace device
} // namespace dushmem
#endif
