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
DUSHMEM_IMPL_APART void combine(const members &team, T *dest, const T *own, size_t count, S s) {
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
#ifdef DUSHMEM_EMU
  for (; i < count; i += lanes) {
    T all = operand(team, 0, own)[i];
    for (int r = 1; r < team.n; r++) all = Op::apply(all, operand(team, r, own)[i]);
    dest[i] = all;
  }
#else
  /* The fewer that are left, at the same time too: one after the other each waits for its loads. */
  if (i >= count) return;
  T all[at_once] = {};
  DUSHMEM_IMPL_ROLLED
  for (int r = 0; r < team.n; r++) {
    const T *const from = operand(team, r, own) + i;
    T next[at_once] = {};
    for (size_t k = 0; k < at_once; k++)
      if (i + k * lanes < count) next[k] = from[k * lanes];
    for (size_t k = 0; k < at_once; k++)
      if (i + k * lanes < count) all[k] = r == 0 ? next[k] : Op::apply(all[k], next[k]);
  }
  for (size_t k = 0; k < at_once; k++)
    if (i + k * lanes < count) dest[i + k * lanes] = all[k];
#endif
}

/* The prefix of each rank takes the place of its operand; the own one goes to dest. */
template <class Op, class T, class S>
DUSHMEM_IMPL_APART void combine_prefixes(const members &team, T *dest, const T *own, size_t count, bool inclusive, S s) {
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
DUSHMEM_IMPL_APART void combine_prefix(const members &team, T *dest, const T *own, size_t count, bool inclusive, S s) {
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

/* What a vector is combined into. */
enum class result { all, own_block, inclusive, exclusive };

/* How it is divided, in bytes: block r is the part of member r. Blocks and buffers are multiples of 64 bytes, elements
 * have sizes that divide 64. */
struct division {
  size_t block, total;
};

DUSHMEM_IMPL_FN division divided(const members &team, size_t bytes, result kind) {
  const size_t n = (size_t)team.n;
  if (kind == result::own_block) return division{bytes, bytes * n};
  return division{((bytes + n - 1) / n + 63) / 64 * 64, bytes};
}

/* All results of which each element is the same for those that get it. */
template <class Op, class T, class S>
DUSHMEM_IMPL_APART void reduce_by_messages(const members &team, T *dest, const T *source, size_t bytes, result kind,
                                           const char *call, S s) {
  const char *const from = (const char *)source;
  sync(s);
  if (one_shot(team, bytes)) {
    const size_t step = kind == result::own_block ? bytes : 0;
    mail(team, load{from, bytes, step, step ? bytes * (size_t)team.n : bytes, 0, bytes}, call, s);
    await_all_mail(team, call, s);
    combine<Op>(team, dest, (const T *)(from + (size_t)team.me * step), bytes / sizeof(T), s);
    sync(s);
    done_with_all(team, call, s);
    sync(s);
    return;
  }
  const division d = divided(team, bytes, kind);
  const size_t most = team.cell;
  const uint64_t number = next_call(team);
  load what{from, d.block, d.block, d.total, 0, most};
  mail(team, what, call, s);
  for (size_t at = 0; at < d.block; at += most) {
    what.at = at + most;
    if (what.at < d.block) mail(team, what, call, s);
    await_all_mail(team, call, s);
    what.at = at;
    const size_t count = what.bytes(team.me);
    char *const to = (char *)dest + (kind == result::own_block ? at : (size_t)team.me * d.block + at);
    if (count != 0) combine<Op>(team, (T *)to, (const T *)what.from(team.me), count / sizeof(T), s);
    if (kind == result::all && count != 0) {
      sync(s);
      put_all<S>(team, to, to, count, call);
    }
    publish(s);
    done_with_all(team, call, s);
  }
  if (kind == result::all) {
    note_all(team, number, 1, call, s);
    await_all_notes(team, number, 1, call, s);
    sync(s);
    if (leads(s)) own_count(team.calls(), number);
  }
  sync(s);
}

template <class Op, class T, class S>
DUSHMEM_IMPL_FN void reduce_vector(members team, T *dest, const T *source, size_t bytes, result kind, const char *call,
                                   S s) {
  if (goes_flagged(team, bytes))
    reduce_flagged<Op, T, S, const members &>(team, dest, source, bytes, kind == result::own_block ? bytes : 0, call, s);
  else
    reduce_by_messages<Op>(team, dest, source, bytes, kind, call, s);
}

template <class Op, class T, class S>
DUSHMEM_IMPL_APART void scan_vector(const members &team, T *dest, const T *source, size_t bytes, bool inclusive,
                                    const char *call, S s) {
  const char *const from = (const char *)source;
  sync(s);
  if (one_shot(team, bytes)) {
    mail(team, load{from, bytes, 0, bytes, 0, bytes}, call, s);
    await_all_mail(team, call, s);
    combine_prefix<Op>(team, dest, source, bytes / sizeof(T), inclusive, s);
    sync(s);
    done_with_all(team, call, s);
    sync(s);
    return;
  }
  const division d = divided(team, bytes, result::inclusive);
  const size_t most = team.cell;
  const uint64_t number = next_call(team);
  load what{from, d.block, d.block, d.total, 0, most};
  mail(team, what, call, s);
  for (size_t at = 0; at < d.block; at += most) {
    what.at = at + most;
    if (what.at < d.block) mail(team, what, call, s);
    await_all_mail(team, call, s);
    what.at = at;
    if (const size_t count = what.bytes(team.me)) {
      char *const to = (char *)dest + ((size_t)team.me * d.block + at);
      combine_prefixes<Op>(team, (T *)to, (const T *)what.from(team.me), count / sizeof(T), inclusive, s);
      sync(s);
      for (others o = each(); o.more(team); o.next())
        put_apart<S>(to, message(team, o.rank(team)), count, team.pe(o.rank(team)), call);
    }
    publish(s);
    done_with_all(team, call, s);
  }
  note_all(team, number, 1, call, s);
  await_all_notes(team, number, 1, call, s);
  sync(s);
  if (leads(s)) own_count(team.calls(), number);
  sync(s);
}

/* On GPUs types with the same arithmetic share one function: fewer to compile. */
#ifdef DUSHMEM_EMU
template <class Op, class T> struct computed_as {
  typedef T type;
};
#else
template <size_t Bytes, bool Signed> struct integer_of;
template <> struct integer_of<1, false> {
  typedef unsigned char type;
};
template <> struct integer_of<2, false> {
  typedef unsigned short type;
};
template <> struct integer_of<4, false> {
  typedef unsigned int type;
};
template <> struct integer_of<8, false> {
  typedef unsigned long long type;
};
template <> struct integer_of<1, true> {
  typedef signed char type;
};
template <> struct integer_of<2, true> {
  typedef short type;
};
template <> struct integer_of<4, true> {
  typedef int type;
};
template <> struct integer_of<8, true> {
  typedef long long type;
};
template <class Op, class T, bool Integer = std::is_integral<T>::value> struct computed_as {
  typedef T type;
};
template <class Op, class T> struct computed_as<Op, T, true> {
  static constexpr bool ordered = std::is_same<Op, op_max>::value || std::is_same<Op, op_min>::value;
  typedef typename integer_of<sizeof(T), ordered && std::is_signed<T>::value>::type type;
};
#endif

/* Bytes of a vector of which there are so many blocks, and the checks of both buffers. */
template <class T>
DUSHMEM_IMPL_FN size_t checked(const T *dest, const T *source, size_t n, int blocks, const char *arg, const char *call) {
  static_assert(sizeof(T) <= 64 && (sizeof(T) & (sizeof(T) - 1)) == 0, "elements of 1, 2, 4, ... 64 bytes");
  const size_t bytes = bytes_of(n, sizeof(T), call, arg);
  if (!DUSHMEM_IMPL_IS(bytes <= SIZE_MAX / 2 / (size_t)blocks))
    fault(call, arg, (int64_t)n, "more than the address space; was the number negative?");
  if (n != 0) {
    check_own(dest, bytes, alignof(T), call, "dest");
    check_local(source, call, "source");
    check_apart(dest, bytes, source, bytes * (size_t)blocks, true, call);
  }
  return bytes;
}

template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reduce_as(int32_t handle, T *dest, const T *source, size_t n, result kind, const char *call) {
  DUSHMEM_IMPL_IN_CALL(call);
  members team;
  const bool world = is_world(handle);
  if (world) {
    team = world_team();
  } else {
    members found;
    if (!open_by_table<S>(handle, found, call)) return 1;
    team = found;
  }
  DUSHMEM_IMPL_ANNOUNCE(team, call, n, sizeof(T), (reduces<Op, T>()));
  const size_t bytes = checked(dest, source, n, kind == result::own_block ? team.n : 1, "nreduce", call);
  typedef typename computed_as<Op, T>::type C;
  if (n == 0) return 0;
  if (goes_flagged(team, bytes) && world)
    reduce_flagged<Op>(the_world{}, (C *)dest, (const C *)source, bytes, kind == result::own_block ? bytes : 0, call, S{});
  else
    reduce_vector<Op>(team, (C *)dest, (const C *)source, bytes, kind, call, S{});
  return 0;
}

template <class S, class Op, class T>
DUSHMEM_IMPL_FN int scan_as(int32_t handle, T *dest, const T *source, size_t n, result kind, const char *call) {
  DUSHMEM_IMPL_IN_CALL(call);
  static_assert(std::is_same<Op, op_sum>::value, "scans are sums");
  members team;
  if (!open<S>(handle, team, call)) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, call, n, sizeof(T), (reduces<Op, T>()));
  const size_t bytes = checked(dest, source, n, 1, "nelems", call);
  typedef typename computed_as<Op, T>::type C;
  if (n != 0) scan_vector<Op>(team, (C *)dest, (const C *)source, bytes, kind == result::inclusive, call, S{});
  return 0;
}

} // namespace impl

template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reduce(int32_t team, T *dest, const T *source, size_t nreduce) {
  return impl::reduce_as<S, Op>(team, dest, source, nreduce, impl::result::all, "reduce");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reducescatter(int32_t team, T *dest, const T *source, size_t nreduce) {
  return impl::reduce_as<S, Op>(team, dest, source, nreduce, impl::result::own_block, "reducescatter");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int inscan(int32_t team, T *dest, const T *source, size_t nelems) {
  return impl::scan_as<S, Op>(team, dest, source, nelems, impl::result::inclusive, "inscan");
}
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int exscan(int32_t team, T *dest, const T *source, size_t nelems) {
  return impl::scan_as<S, Op>(team, dest, source, nelems, impl::result::exclusive, "exscan");
}

} // namespace device
} // namespace dushmem
#endif
