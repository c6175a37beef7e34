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

/* All members have made call `number`. Begins and ends with a synchronisation of the scope. */
template <class S> DUSHMEM_IMPL_APART void meet(const members &team, uint64_t number, const char *call, S s) {
  publish(s);
  if (leads(s)) own_count(team.calls(), number);
  for (int64_t known = 1; known < team.n; known *= radix) {
    for (int64_t j = 1 + (int64_t)rank(s); j < radix && j * known < team.n; j += size(s))
      set_word(own_word(team, words::sync), number, team.pe((int)((team.me + j * known) % team.n)), call);
    for (int64_t j = 1 + (int64_t)rank(s); j < radix && j * known < team.n; j += size(s))
      wait_word(team.at(words::sync, team.pe((int)((team.me + team.n - j * known) % team.n))), DUSHMEM_CMP_GE, number,
                call);
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
  quiet<S>();
  impl::meet(team, impl::next_call(team), "barrier", S{});
  return 0;
}
template <class S> DUSHMEM_IMPL_FN void barrier_all() { barrier<S>(0); }

} // namespace device
} // namespace dushmem
#endif
