/* Reductions, reduce-scatter and prefix sums.
 *
 * Short vectors: each member sends all of its elements to all others, and each combines all. Long ones are divided
 * into a part for each member, and travel in pieces of a buffer: a member gets everybody's piece of its part,
 * combines them, and puts the result into the destinations. Whoever has sent piece k has made the call and no longer
 * needs these elements of its source, so the result may overwrite them: that is all the agreement needed. While piece
 * k is combined, piece k + 1 is on its way. */
#ifndef DUSHMEM_IMPL_COLL_REDUCE_H
#define DUSHMEM_IMPL_COLL_REDUCE_H

namespace dushmem {
namespace device {
namespace impl {

/* A vector is short if no member sends more than this to the others together, and it fits into a buffer. */
constexpr size_t one_shot_bytes = 8192;

DUSHMEM_IMPL_FN bool one_shot(const members &team, size_t bytes) {
  return bytes <= least(team.cell, one_shot_bytes / (size_t)(team.n > 1 ? team.n - 1 : 1));
}

/* Elements that a thread has under way. */
constexpr size_t at_once = 8;

template <class T> DUSHMEM_IMPL_FN const T *operand(const members &team, int rank, const T *own) {
  return rank == team.me ? own : (const T *)message(team, rank);
}

/* dest = the operands of all members, combined by rank. own may be dest. */
template <class Op, class T, class S>
DUSHMEM_IMPL_FN void combine(const members &team, T *dest, const T *own, size_t count, S s) {
  const size_t lanes = size(s);
  size_t i = rank(s);
  for (; i + (at_once - 1) * lanes < count; i += at_once * lanes) {
    T all[at_once];
    for (int r = 0; r < team.n; r++) {
      const T *const from = operand(team, r, own) + i;
      if (r == 0)
        for (size_t k = 0; k < at_once; k++) all[k] = from[k * lanes];
      else
        for (size_t k = 0; k < at_once; k++) all[k] = Op::apply(all[k], from[k * lanes]);
    }
    for (size_t k = 0; k < at_once; k++) dest[i + k * lanes] = all[k];
  }
  for (; i < count; i += lanes) {
    T all = operand(team, 0, own)[i];
    for (int r = 1; r < team.n; r++) all = Op::apply(all, operand(team, r, own)[i]);
    dest[i] = all;
  }
}

/* The prefix of each rank takes the place of its operand; the own one goes to dest. */
template <class Op, class T, class S>
DUSHMEM_IMPL_FN void combine_prefixes(const members &team, T *dest, const T *own, size_t count, bool inclusive, S s) {
  for (size_t i = rank(s); i < count; i += size(s)) {
    T all = T();
    for (int r = 0; r < team.n; r++) {
      T *const to = (r == team.me ? dest : (T *)message(team, r)) + i;
      const T next = operand(team, r, own)[i], before = all;
      all = r == 0 ? next : Op::apply(all, next);
      *to = inclusive ? all : before;
    }
  }
}

/* The prefix of the own rank only. */
template <class Op, class T, class S>
DUSHMEM_IMPL_FN void combine_prefix(const members &team, T *dest, const T *own, size_t count, bool inclusive, S s) {
  const int end = team.me + (inclusive ? 1 : 0);
  for (size_t i = rank(s); i < count; i += size(s)) {
    T all = T();
    for (int r = 0; r < end; r++) {
      const T next = operand(team, r, own)[i];
      all = r == 0 ? next : Op::apply(all, next);
    }
    dest[i] = all;
  }
}

enum class result { all, own_block, inclusive, exclusive };

/* One step: everybody's elements to everybody. */
template <class Op, result Kind, class T, class S>
DUSHMEM_IMPL_FN void combine_short(const members &team, T *dest, const T *source, size_t n, const char *call, S s) {
  const size_t bytes = n * sizeof(T), step = Kind == result::own_block ? bytes : 0;
  sync(s);
  mail(team, bytes, [=](int rank) { return piece{(const char *)source + (size_t)rank * step, bytes}; }, call, s);
  await_all_mail(team, call, s);
  const T *const own = source + (Kind == result::own_block ? (size_t)team.me * n : 0);
  if (Kind == result::all || Kind == result::own_block)
    combine<Op>(team, dest, own, n, s);
  else
    combine_prefix<Op>(team, dest, own, n, Kind == result::inclusive, s);
  sync(s);
  done_with_all(team, call, s);
  sync(s);
}

/* In pieces. The part of rank r are the `each` elements from r * each on, as far as there are. */
template <class Op, result Kind, class T, class S>
DUSHMEM_IMPL_FN void combine_long(const members &team, T *dest, const T *source, size_t n, const char *call, S s) {
  constexpr size_t line = sizeof(T) < 64 ? 64 / sizeof(T) : 1;
  const size_t blocks = (size_t)team.n;
  const size_t each = Kind == result::own_block ? n : ((n + blocks - 1) / blocks + line - 1) / line * line;
  const size_t total = Kind == result::own_block ? n * blocks : n;
  const size_t most = team.cell / sizeof(T), own_at = (size_t)team.me * each;
  const uint64_t number = next_call(team);
  const auto count = [=](int rank, size_t at) {
    const size_t begin = (size_t)rank * each;
    return begin < total ? rest(least(each, total - begin), at, most) : 0;
  };
  const auto send = [=](size_t at) {
    mail(team, least(each - at, most) * sizeof(T),
         [=](int rank) {
           const size_t elements = count(rank, at);
           return piece{(const char *)(source + (elements ? (size_t)rank * each + at : 0)), elements * sizeof(T)};
         },
         call, s);
  };
  sync(s);
  send(0);
  for (size_t at = 0; at < each; at += most) {
    if (at + most < each) send(at + most);
    await_all_mail(team, call, s);
    const size_t elements = count(team.me, at), from = own_at + at;
    T *const to = Kind == result::own_block ? dest + at : dest + from;
    if (elements != 0) {
      if (Kind == result::all || Kind == result::own_block)
        combine<Op>(team, to, source + from, elements, s);
      else
        combine_prefixes<Op>(team, to, source + from, elements, Kind == result::inclusive, s);
    }
    if (Kind != result::own_block && elements != 0) {
      sync(s);
      for (others o = impl::each(); o.more(team); o.next())
        put_bytes<S>(to, Kind == result::all ? (const char *)to : message(team, o.rank(team)), elements * sizeof(T),
                     team.pe(o.rank(team)), call);
    }
    publish(s);
    done_with_all(team, call, s);
  }
  if (Kind != result::own_block) {
    note_all(team, number, 1, call, s);
    await_all_notes(team, number, 1, call, s);
    sync(s);
    if (leads(s)) own_count(team.calls(), number);
  }
  sync(s);
}

template <class S, class Op, result Kind, class T>
DUSHMEM_IMPL_FN int combine_all(int32_t handle, T *dest, const T *source, size_t n, const char *arg, const char *call) {
  static_assert(sizeof(T) <= 64, "elements fit into a buffer");
  members team;
  if (!open<S>(handle, team, call)) return 1;
  const int blocks = Kind == result::own_block ? team.n : 1;
  const size_t bytes = bytes_of(n, sizeof(T));
  if (!DUSHMEM_IMPL_IS(bytes <= SIZE_MAX / 2 / (size_t)blocks))
    fault(call, arg, (int64_t)n, "more than the address space; was the number negative?");
  if (n == 0) return 0;
  check_own(dest, bytes, alignof(T), call, "dest");
  check_local(source, call, "source");
  if (one_shot(team, bytes))
    combine_short<Op, Kind>(team, dest, source, n, call, S{});
  else
    combine_long<Op, Kind>(team, dest, source, n, call, S{});
  return 0;
}

} // namespace impl

template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reduce(int32_t team, T *dest, const T *source, size_t nreduce) {
  return impl::combine_all<S, Op, impl::result::all>(team, dest, source, nreduce, "nreduce", "reduce");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reducescatter(int32_t team, T *dest, const T *source, size_t nreduce) {
  return impl::combine_all<S, Op, impl::result::own_block>(team, dest, source, nreduce, "nreduce", "reducescatter");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int inscan(int32_t team, T *dest, const T *source, size_t nelems) {
  static_assert(std::is_same<Op, op::sum>::value, "scans are sums");
  return impl::combine_all<S, Op, impl::result::inclusive>(team, dest, source, nelems, "nelems", "inscan");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int exscan(int32_t team, T *dest, const T *source, size_t nelems) {
  static_assert(std::is_same<Op, op::sum>::value, "scans are sums");
  return impl::combine_all<S, Op, impl::result::exclusive>(team, dest, source, nelems, "nelems", "exscan");
}

} // namespace device
} // namespace dushmem
#endif
