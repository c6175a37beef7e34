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

/* How a meeting begins. */
enum class begun {
  not_yet,    /* the scope synchronises, and those that tell others make a fence */
  completing, /* the same, and it is a quiet */
  fenced      /* both have happened; the number was read after that, so it is noted at the end */
};

/* All members have made call `number`. Begins and ends with a synchronisation of the scope. One fence a round, by those
 * that tell others: it is for the stores of all threads of the scope. */
template <class S>
DUSHMEM_IMPL_APART void meet(const members &team, uint64_t number, const char *call, S s, begun how = begun::not_yet) {
  if (how != begun::fenced) {
    publish(s);
    if (leads(s)) own_count(team.calls(), number);
  }
  for (int known = 1; known < team.n; known = known < team.n / radix + 1 ? known * radix : team.n) {
    const int left = known == 1 ? team.n : (team.n + known - 1) / known, most = left < radix ? left : radix;
    const int first = 1 + (int)rank(s), step = (int)size(s);
    if (first < most && (known > 1 || how != begun::fenced)) how == begun::completing ? fence_system() : fence_release();
    for (int j = first; j < most; j += step)
      tell(own_word(team, words::sync), number, team.pe(behind(team, j * known)), call);
    for (int j = first; j < most; j += step)
      wait_word(team.at(words::sync, team.pe(behind(team, team.n - j * known))), DUSHMEM_CMP_GE, number, call);
    publish(s);
  }
  if (team.n == 1) sync(s);
  if (how != begun::fenced) return;
  if (leads(s)) own_count(team.calls(), number);
  sync(s);
}

#ifdef DUSHMEM_EMU
template <class S, bool Completes> DUSHMEM_IMPL_FN int meet_all(int32_t handle, const char *call) {
  DUSHMEM_IMPL_IN_CALL(call);
  members team;
  if (!open<S>(handle, team, call)) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, call, 0, 0, 0);
  if (Completes && (team.n == 1 || state().remote != 0)) quiet<S>();
  meet(team, next_call(team), call, S{}, Completes ? begun::completing : begun::not_yet);
  return 0;
}
#else
/* The fence is under way while the team's entry is loaded: together they take as long as one of them. */
template <class S, bool Completes> struct fence_meanwhile {
  DUSHMEM_IMPL_MEMBER void operator()() const {
    const S s{};
    publish(s);
    if (rank(s) < (unsigned)radix) Completes ? fence_system() : fence_release();
  }
};

/* A thread alone looks at all words at the same time. */
struct until_all_told {
  const members &team;
  uint64_t number;
  DUSHMEM_IMPL_MEMBER bool operator()() const {
    unsigned long long seen[radix - 1];
    for (int k = 1; k < radix; k++)
      seen[k - 1] = k < team.n ? load_relaxed((const unsigned long long *)team.at(words::sync, behind(team, k))) : number;
    bool all = true;
    for (int k = 1; k < radix; k++) all = all && seen[k - 1] >= number;
    return all;
  }
};

/* Whether a thread serves all members. */
template <class S> struct alone {
  static constexpr bool value = false;
};
template <> struct alone<scope::thread> {
  static constexpr bool value = true;
};

/* A world of one round, all of it within reach. Where a thread finds the words is known before the fence, during which the
 * count is loaded; after the first synchronisation nobody reads that any more. A function of its own, as it needs few registers. */
template <class S, bool Completes> DUSHMEM_IMPL_APART void meet_in_world(const char *call) {
  constexpr int few = alone<S>::value ? 4 : 2;
  const S s{};
  const members team = world_team();
  const uint64_t before = own_count(team.calls());
  const int first = 1 + (int)rank(s), step = (int)size(s);
  uint64_t *const own = own_word(team, words::sync);
  /* The state has the deltas of so few PEs that are within reach. */
  const auto there = [&](int j) { return (uint64_t *)moved_by(own, first_delta(behind(team, j))); };
  const auto here = [&](int j) { return team.at(words::sync, behind(team, team.n - j)); };
  uint64_t *to[few - 1] = {};
  const uint64_t *from[few - 1] = {};
  if (first < team.n) {
    to[0] = there(first);
    from[0] = here(first);
  }
  const bool all = few > 2 && team.n > 2 && team.n <= few;
  if (all)
    for (int k = 1; k < few - 1; k++) {
      const int j = k + 1 < team.n ? k + 1 : 1;
      to[k] = there(j);
      from[k] = here(j);
    }
  publish(s);
  if (rank(s) < (unsigned)radix) Completes ? fence_system() : fence_release();
  const uint64_t number = before + 1;
  const auto set = [&](uint64_t *word) { store_relaxed((unsigned long long *)word, (unsigned long long)number); };
  if (first < team.n) set(to[0]);
  if (all) {
    for (int k = 1; k < few - 1; k++)
      if (k + 1 < team.n) set(to[k]);
  } else {
    for (int j = first + step; j < team.n; j += step) set(there(j));
  }
  if (leads(s)) own_count(team.calls(), number);
  if (step == 1 && team.n > 4) {
    wait(call, from[0], number, until_all_told{team, number});
    fence_acquire();
  } else if (first < team.n) {
    wait_word(from[0], DUSHMEM_CMP_GE, number, call);
    if (all) {
      for (int k = 1; k < few - 1; k++)
        if (k + 1 < team.n) wait_word(from[k], DUSHMEM_CMP_GE, number, call);
    } else {
      for (int j = first + step; j < team.n; j += step) wait_word(here(j), DUSHMEM_CMP_GE, number, call);
    }
  }
  publish(s);
}

template <class S, bool Completes> DUSHMEM_IMPL_APART int meet_all(int32_t handle, const char *call) {
  constexpr uint32_t by_proxy = DUSHMEM_IMPL_FLAG_HEAP_BY_PROXY | DUSHMEM_IMPL_FLAG_OTHER_BY_PROXY;
  if (is_world(handle) && state().remote == 0 && (state().flags & by_proxy) == 0 && state().world.n_pes <= radix) {
    meet_in_world<S, Completes>(call);
    return 0;
  }
  members team;
  if (!open_while<S>(handle, team, call, fence_meanwhile<S, Completes>{})) return 1;
  if (Completes && (state().remote != 0 || words_by_proxy())) quiet<S>();
  meet(team, next_call(team), call, S{}, begun::fenced);
  return 0;
}
#endif

} // namespace impl

template <class S> DUSHMEM_IMPL_FN int sync(int32_t handle) { return impl::meet_all<S, false>(handle, "sync"); }
template <class S> DUSHMEM_IMPL_FN void sync_all() { sync<S>(0); }

template <class S> DUSHMEM_IMPL_FN int barrier(int32_t handle) { return impl::meet_all<S, true>(handle, "barrier"); }
template <class S> DUSHMEM_IMPL_FN void barrier_all() { barrier<S>(0); }

} // namespace device
} // namespace dushmem
#endif
