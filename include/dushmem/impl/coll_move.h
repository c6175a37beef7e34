/* Broadcast, fcollect, collect and alltoall.
 *
 * Short data travel through the buffers of the slots, in one step. Long data are put into the destinations, after a
 * synchronisation, or after a message of the receiver, that says that it has made the call too. */
#ifndef DUSHMEM_IMPL_COLL_MOVE_H
#define DUSHMEM_IMPL_COLL_MOVE_H

namespace dushmem {
namespace device {
namespace impl {

/* Up to so many bytes a block travels through a buffer, if it fits: a copy more, a step less. */
constexpr size_t buffered_bytes = 4096;
/* From so many bytes for each member on, a broadcast is scattered over the members, who pass their parts on: each
 * link carries the data twice, and not the root's once for each member. */
constexpr size_t scattered_bytes = 4096;

DUSHMEM_IMPL_FN bool buffered(const members &team, size_t bytes) {
  return bytes <= least(team.cell, buffered_bytes);
}

/* Bytes of n elements of each of the members; a number that is too large is the program's error. */
DUSHMEM_IMPL_FN size_t block_bytes(size_t nelems, size_t size, int blocks, const char *call) {
  const size_t bytes = bytes_of(nelems, size, call);
  if (!DUSHMEM_IMPL_IS(bytes <= SIZE_MAX / 2 / (size_t)blocks))
    fault(call, "nelems", (int64_t)nelems, "more than the address space; was the number negative?");
  return bytes;
}

/* What others still read would be overwritten. */
DUSHMEM_IMPL_FN void check_apart(const void *dest, size_t to, const void *source, size_t from, bool in_place,
                                 const char *call) {
  const uintptr_t d = (uintptr_t)dest, f = (uintptr_t)source;
  if (DUSHMEM_IMPL_IS((d > f ? d : f) >= (d + to < f + from ? d + to : f + from) || (in_place && dest == source))) return;
#ifdef DUSHMEM_EMU
  dushmem_emu_overlap(call, dest, to, source, from, in_place);
#else
  fault(call, "source", (int64_t)f,
        in_place ? "overlaps dest; pass the same address for both, or separate buffers"
                 : "overlaps dest; this collective needs separate buffers");
#endif
}

/* Non-empty data of the caller's. */
DUSHMEM_IMPL_FN void check_buffers(const void *dest, size_t to, const void *source, size_t from, bool in_place,
                                   const char *call) {
  if (to != 0) check_own(dest, to, 1, call, "dest");
  if (from != 0) check_local(source, call, "source");
  check_apart(dest, to, source, from, in_place, call);
}

template <class S>
DUSHMEM_IMPL_APART void broadcast_bytes(const members &team, char *dest, const char *source, size_t bytes, int root, S s) {
  const char *const call = "broadcast";
  const bool is_root = team.me == root;
  const int from = team.pe(root);
  if (goes_flagged(team, bytes)) return broadcast_flagged(team, dest, source, bytes, root, call, s);
  if (buffered(team, bytes)) {
    sync(s);
    if (is_root) {
      mail(team, load{source, bytes, 0, bytes, 0, bytes}, call, s);
      copy_own(dest, source, bytes, s);
    } else {
      if (leads(s)) await_mail(team, from, call);
      sync(s);
      copy_own(dest, message(team, root), bytes, s);
      sync(s);
      if (leads(s)) {
        fence_release();
        done_with(team, from, call);
      }
    }
    sync(s);
    return;
  }
  const uint64_t number = next_call(team);
  meet(team, number, call, s);
  if (team.n == 2 || bytes / (size_t)team.n < scattered_bytes) {
    if (is_root) {
      put_all<S>(team, dest, source, bytes, call);
      copy_own(dest, source, bytes, s);
      publish(s);
      note_all(team, number, 1, call, s);
    } else if (leads(s)) {
      wait_word(team.at(words::note, from), DUSHMEM_CMP_GE, note_of(number, 1), call);
    }
    sync(s);
    return;
  }
  /* Part r goes to the member r, and from there to all but the root, which has it. */
  const size_t part = (bytes / (size_t)team.n + 64) / 64 * 64;
  if (is_root) {
    for (others o = each(); o.more(team); o.next()) {
      const size_t at = (size_t)o.rank(team) * part;
      if (const size_t count = rest(bytes, at, part)) put_apart<S>(dest + at, source + at, count, team.pe(o.rank(team)), call);
    }
    publish(s);
    note_all(team, number, 1, call, s);
  } else {
    if (leads(s)) wait_word(team.at(words::note, from), DUSHMEM_CMP_GE, note_of(number, 1), call);
    sync(s);
  }
  const size_t at = (size_t)team.me * part, count = rest(bytes, at, part);
  for (others o = each(); o.more(team); o.next())
    if (o.rank(team) != root && count != 0)
      put_apart<S>(dest + at, (is_root ? source : dest) + at, count, team.pe(o.rank(team)), call);
  if (is_root) copy_own(dest, source, bytes, s);
  publish(s);
  before_telling(team, s);
  for (others o = mine(s); o.more(team); o.next())
    if (o.rank(team) != root)
      tell(own_word(team, words::note), note_of(number, 2), team.pe(o.rank(team)), call);
  if (!is_root) await_all_notes(team, number, 2, call, s);
  sync(s);
}

/* Block j of each member becomes block `me` of the member j; with `step` 0 all blocks are the same one. */
template <class S>
DUSHMEM_IMPL_APART void exchange_blocks(const members &team, char *dest, const char *source, size_t bytes, size_t step,
                                     const char *call, S s) {
  if (goes_flagged(team, bytes)) return exchange_flagged(team, dest, source, bytes, step, call, s);
  char *const own_block = dest + (size_t)team.me * bytes;
  const char *const own_source = source + (size_t)team.me * step;
  const size_t total = step == 0 ? bytes : bytes * (size_t)team.n;
  if (buffered(team, bytes) || (dest == source && step != 0)) {
    sync(s);
    /* In place, a piece of a block is overwritten when that piece of all blocks has been sent. */
    for (size_t at = 0; at < bytes; at += team.cell) {
      const size_t count = least(bytes - at, team.cell);
      mail(team, load{source, bytes, step, total, at, team.cell}, call, s);
      if (at == 0) copy_own(own_block, own_source, bytes, s);
      await_all_mail(team, call, s);
      for (others o = each(); o.more(team); o.next())
        copy_own(dest + (size_t)o.rank(team) * bytes + at, message(team, o.rank(team)), count, s);
      sync(s);
      done_with_all(team, call, s);
    }
    sync(s);
    return;
  }
  const uint64_t number = next_call(team);
  meet(team, number, call, s);
  for (others o = each(); o.more(team); o.next())
    put_apart<S>(own_block, source + (size_t)o.rank(team) * step, bytes, team.pe(o.rank(team)), call);
  copy_own(own_block, own_source, bytes, s);
  publish(s);
  note_all(team, number, 1, call, s);
  await_all_notes(team, number, 1, call, s);
  sync(s);
}

/* What a message of collect begins with. */
constexpr size_t collect_head = 64;

template <class S>
DUSHMEM_IMPL_APART void collect_bytes(const members &team, char *dest, const char *source, size_t bytes, S s) {
  const char *const call = "collect";
  const uint64_t length = bytes, number = next_call(team);
  /* All know all lengths after the first message, so all agree who puts directly. */
  const size_t inlined = least(team.cell - collect_head, buffered_bytes);
  sync(s);
  for (others o = mine(s); o.more(team); o.next()) {
    const int pe = team.pe(o.rank(team));
    await_room(team, pe, call);
    put_apart<scope::thread>(team.buffer(own_count(team.at(words::sent, pe)), team.me), &length, sizeof length, pe, call);
  }
  sync(s);
  if (bytes <= inlined)
    for (others o = each(); o.more(team); o.next()) {
      const int pe = team.pe(o.rank(team));
      put_apart<S>(team.buffer(own_count(team.at(words::sent, pe)), team.me) + collect_head, source, bytes, pe, call);
    }
  publish(s);
  before_telling(team, s);
  for (others o = mine(s); o.more(team); o.next()) post(team, team.pe(o.rank(team)), call);
  await_all_mail(team, call, s);
  size_t at = 0, own_at = 0;
  bool direct = false;
  for (int rank = 0; rank < team.n; rank++) {
    const size_t count = rank == team.me ? bytes : (size_t)own_count((const uint64_t *)message(team, rank));
    if (rank == team.me) own_at = at;
    direct = direct || count > inlined;
    at += count;
  }
  if (at != 0) check_own(dest, at, 1, call, "dest");
  check_apart(dest, at, source, bytes, false, call);
  at = 0;
  for (int rank = 0; rank < team.n; rank++) {
    const size_t count = rank == team.me ? bytes : (size_t)own_count((const uint64_t *)message(team, rank));
    if (rank == team.me)
      copy_own(dest + at, source, count, s);
    else if (count <= inlined)
      copy_own(dest + at, message(team, rank) + collect_head, count, s);
    at += count;
  }
  if (direct) {
    if (bytes > inlined) {
      put_all<S>(team, dest + own_at, source, bytes, call);
      publish(s);
      note_all(team, number, 1, call, s);
    }
    for (others o = mine(s); o.more(team); o.next())
      if ((size_t)own_count((const uint64_t *)message(team, o.rank(team))) > inlined)
        wait_word(team.at(words::note, team.pe(o.rank(team))), DUSHMEM_CMP_GE, note_of(number, 1), call);
  }
  sync(s);
  if (direct && leads(s)) own_count(team.calls(), number);
  done_with_all(team, call, s);
  sync(s);
}

} // namespace impl

template <class S, class T>
DUSHMEM_IMPL_FN int broadcast(int32_t handle, T *dest, const T *source, size_t nelems, int root) {
  DUSHMEM_IMPL_IN_CALL("broadcast");
  impl::members team;
  if (!impl::open<S>(handle, team, "broadcast")) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, "broadcast", nelems, sizeof(T), (uint64_t)root);
  if (!DUSHMEM_IMPL_IS((unsigned)root < (unsigned)team.n)) {
    if (impl::leads(S{})) DUSHMEM_IMPL_NO_ROOT("broadcast", root, team.n);
    return 1;
  }
  const size_t bytes = impl::block_bytes(nelems, sizeof(T), 1, "broadcast");
  impl::check_buffers(dest, bytes, source, team.me == root ? bytes : 0, true, "broadcast");
  if (bytes != 0) impl::broadcast_bytes(team, (char *)dest, (const char *)source, bytes, root, S{});
  return 0;
}

template <class S, class T> DUSHMEM_IMPL_FN int fcollect(int32_t handle, T *dest, const T *source, size_t nelems) {
  DUSHMEM_IMPL_IN_CALL("fcollect");
  impl::members team;
  if (!impl::open<S>(handle, team, "fcollect")) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, "fcollect", nelems, sizeof(T), 0);
  const size_t bytes = impl::block_bytes(nelems, sizeof(T), team.n, "fcollect");
  impl::check_buffers(dest, bytes * (size_t)team.n, source, bytes, false, "fcollect");
  if (bytes != 0) impl::exchange_blocks(team, (char *)dest, (const char *)source, bytes, 0, "fcollect", S{});
  return 0;
}

template <class S, class T> DUSHMEM_IMPL_FN int collect(int32_t handle, T *dest, const T *source, size_t nelems) {
  DUSHMEM_IMPL_IN_CALL("collect");
  impl::members team;
  if (!impl::open<S>(handle, team, "collect")) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, "collect", 0, 0, 0);
  const size_t bytes = impl::block_bytes(nelems, sizeof(T), 1, "collect");
  impl::check_buffers(dest, 0, source, bytes, false, "collect");
  impl::collect_bytes(team, (char *)dest, (const char *)source, bytes, S{});
  return 0;
}

template <class S, class T> DUSHMEM_IMPL_FN int alltoall(int32_t handle, T *dest, const T *source, size_t nelems) {
  DUSHMEM_IMPL_IN_CALL("alltoall");
  impl::members team;
  if (!impl::open<S>(handle, team, "alltoall")) return 1;
  DUSHMEM_IMPL_ANNOUNCE(team, "alltoall", nelems, sizeof(T), 0);
  const size_t bytes = impl::block_bytes(nelems, sizeof(T), team.n, "alltoall"), total = bytes * (size_t)team.n;
  impl::check_buffers(dest, total, source, total, true, "alltoall");
  if (bytes != 0) impl::exchange_blocks(team, (char *)dest, (const char *)source, bytes, bytes, "alltoall", S{});
  return 0;
}

} // namespace device
} // namespace dushmem
#endif
