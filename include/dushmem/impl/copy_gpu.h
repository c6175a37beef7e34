/* Copies on a GPU between addresses of its global memory: see copy.h.
 *
 * A copy is bound by how long a load takes, so each thread has several of 16 bytes under way, as many as its scope
 * needs to keep the memory busy and as leave the caller enough registers (64 for blocks of 1024 threads). All stores
 * but those at the two edges are of 16 aligned bytes. Where source and destination are not aligned alike, a store
 * takes its bytes from two aligned loads; of whole warps each lane gets the second one from its neighbour.
 *
 * Nothing behind the source is read: memory checkers would complain. What lies before it within 16 bytes may be. */
#ifndef DUSHMEM_IMPL_COPY_GPU_H
#define DUSHMEM_IMPL_COPY_GPU_H

#include "reach.h"

namespace dushmem {
namespace device {
namespace impl {

/* How a source is read: own data by ordinary loads; a PE's past the caches of the multiprocessor, so that a program
 * that reads again and again sees what changes. */
struct own_source {
  static DUSHMEM_IMPL_MEMBER chunk load(const chunk *at) { return load_chunk(at); }
  template <class U> static DUSHMEM_IMPL_MEMBER U load(const U *at) { return *at; }
};
struct far_source {
  static DUSHMEM_IMPL_MEMBER chunk load(const chunk *at) { return load_chunk_fresh(at); }
  template <class U> static DUSHMEM_IMPL_MEMBER U load(const U *at) { return load_fresh(at); }
};

/* Loads that a thread has under way: of a thread alone twice so many. */
constexpr unsigned depth_of_thread = 5, depth_of_warp = 8, depth_of_block = 4;
constexpr unsigned depth_of_shift = 5, depth_of_shift_by_warps = 3;
constexpr unsigned width_of_warp = 32;

/* ---- Aligned alike ---- */

template <unsigned Count, class Source> DUSHMEM_IMPL_FN void load_chunks(chunk *held, const chunk *from) {
    DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k < Count; k++) held[k] = Source::load(from + k);
}
template <unsigned Count> DUSHMEM_IMPL_FN void store_chunks(chunk *to, const chunk *held) {
    DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k < Count; k++) store_chunk(to + k, held[k]);
}

/* A thread's stores take time, too: while one half of the chunks is stored, the other half is on its way. */
template <unsigned Half, class Source> DUSHMEM_IMPL_FN void move_by_thread(chunk *to, const chunk *from, size_t count) {
  if (count >= 2 * Half) {
    chunk a[Half], b[Half];
    load_chunks<Half, Source>(a, from);
    load_chunks<Half, Source>(b, from + Half);
  DUSHMEM_IMPL_ROLLED
    for (; count >= 4 * Half; count -= 2 * Half, to += 2 * Half, from += 2 * Half) {
      store_chunks<Half>(to, a);
      load_chunks<Half, Source>(a, from + 2 * Half);
      store_chunks<Half>(to + Half, b);
      load_chunks<Half, Source>(b, from + 3 * Half);
    }
    store_chunks<Half>(to, a);
    store_chunks<Half>(to + Half, b);
    count -= 2 * Half, to += 2 * Half, from += 2 * Half;
  }
  const unsigned few = (unsigned)count;
  /* Variables of their own, with a value: what is loaded under a condition is live from where it was set before, which
   * may be the last call, and takes registers, or local memory, all that way. */
  chunk rest[2 * Half - 1] = {};
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < 2 * Half; k++)
    if (k < few) rest[k] = Source::load(from + k);
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < 2 * Half; k++)
    if (k < few) store_chunk(to + k, rest[k]);
}

/* Whole warps. A warp takes Depth times 32 chunks that follow each other, so that one address serves all its loads. */
template <unsigned Depth, class Source>
DUSHMEM_IMPL_FN void move_by_warps(chunk *to, const chunk *from, size_t count, unsigned warp, unsigned warps, unsigned lane) {
  constexpr unsigned piece = Depth * width_of_warp;
  const size_t first = (size_t)warp * piece + lane, step = (size_t)warps * piece;
  to += first;
  from += first;
  /* What is left for this lane, where it stands. */
  int64_t left = (int64_t)(count - first);
  DUSHMEM_IMPL_ROLLED
  for (; left > (int64_t)(piece - width_of_warp); left -= (int64_t)step, to += step, from += step) {
    chunk held[Depth];
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) held[k] = Source::load(from + k * width_of_warp);
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) store_chunk(to + k * width_of_warp, held[k]);
  }
  if (left <= 0) return;
  const int few = (int)left;
  chunk rest[Depth - 1] = {};
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < Depth; k++)
    if ((int)(k * width_of_warp) < few) rest[k] = Source::load(from + k * width_of_warp);
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < Depth; k++)
    if ((int)(k * width_of_warp) < few) store_chunk(to + k * width_of_warp, rest[k]);
}

/* Any number of threads. */
template <class Source>
DUSHMEM_IMPL_FN void move_by_lanes(chunk *to, const chunk *from, size_t count, unsigned rank, unsigned size) {
  size_t i = rank;
  DUSHMEM_IMPL_ROLLED
  for (; i + size < count; i += 2 * (size_t)size) {
    const chunk a = Source::load(from + i), b = Source::load(from + i + size);
    store_chunk(to + i, a);
    store_chunk(to + i + size, b);
  }
  if (i < count) store_chunk(to + i, Source::load(from + i));
}

/* ---- Aligned differently ---- */

/* The 16 bytes that begin `by` bytes, 1 to 15, after the begin of low. */
DUSHMEM_IMPL_FN chunk shifted(chunk low, chunk high, unsigned by) {
  const bool half = by >= 8, word = (by & 4) != 0;
  const unsigned long long a = half ? low.high : low.low, b = half ? high.low : low.high, c = half ? high.high : high.low;
  const unsigned w0 = (unsigned)a, w1 = (unsigned)(a >> 32), w2 = (unsigned)b, w3 = (unsigned)(b >> 32), w4 = (unsigned)c,
                 w5 = (unsigned)(c >> 32);
  const unsigned v0 = word ? w1 : w0, v1 = word ? w2 : w1, v2 = word ? w3 : w2, v3 = word ? w4 : w3, v4 = word ? w5 : w4;
  const unsigned bits = by % 4 * 8;
  chunk result;
  result.low = (unsigned long long)funnel(v1, v2, bits) << 32 | funnel(v0, v1, bits);
  result.high = (unsigned long long)funnel(v3, v4, bits) << 32 | funnel(v2, v3, bits);
  return result;
}

/* from: aligned, with count + 1 chunks. One thread loads each of them once. */
template <unsigned Depth, class Source>
DUSHMEM_IMPL_FN void shift_by_thread(chunk *to, const chunk *from, size_t count, unsigned by) {
  chunk last = Source::load(from++);
  DUSHMEM_IMPL_ROLLED
  for (; count >= Depth; count -= Depth, to += Depth, from += Depth) {
    chunk held[Depth];
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) held[k] = Source::load(from + k);
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) {
      store_chunk(to + k, shifted(last, held[k], by));
      last = held[k];
    }
  }
  const unsigned few = (unsigned)count;
  chunk rest[Depth - 1] = {};
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < Depth; k++)
    if (k < few) rest[k] = Source::load(from + k);
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k + 1 < Depth; k++)
    if (k < few) {
      store_chunk(to + k, shifted(last, rest[k], by));
      last = rest[k];
    }
}

/* Whole warps, as for chunks that are aligned alike. All lanes make all steps. */
template <unsigned Depth, class Source>
DUSHMEM_IMPL_FN void shift_by_warps(chunk *to, const chunk *from, size_t count, unsigned by, unsigned warp,
                                    unsigned warps, unsigned lane) {
  constexpr unsigned piece = Depth * width_of_warp;
  const size_t first = (size_t)warp * piece, step = (size_t)warps * piece;
  to += first + lane;
  from += first + lane;
  DUSHMEM_IMPL_ROLLED
  for (int64_t left = (int64_t)(count - first); left > 0; left -= (int64_t)step, to += step, from += step) {
    /* Chunks are loaded up to number `count`, and stored up to the one before. */
    const int64_t mine = left - (int64_t)lane;
    chunk held[Depth + 1] = {};
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++)
      if ((int64_t)(k * width_of_warp) <= mine) held[k] = Source::load(from + k * width_of_warp);
    /* What follows the last lane's last chunk. */
    if (lane == 0 && (int64_t)piece <= mine) held[Depth] = Source::load(from + piece);
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) {
      const chunk given = lane == 0 ? held[k + 1] : held[k];
      chunk next;
      next.low = lane_value(given.low, (lane + 1) % width_of_warp);
      next.high = lane_value(given.high, (lane + 1) % width_of_warp);
      if ((int64_t)(k * width_of_warp) < mine) store_chunk(to + k * width_of_warp, shifted(held[k], next, by));
    }
  }
}

/* Any number of threads: two loads a store. */
template <class Source>
DUSHMEM_IMPL_FN void shift_by_lanes(chunk *to, const chunk *from, size_t count, unsigned by, unsigned rank, unsigned size) {
  DUSHMEM_IMPL_ROLLED
  for (size_t i = rank; i < count; i += size) {
    const chunk low = Source::load(from + i), high = Source::load(from + i + 1);
    store_chunk(to + i, shifted(low, high, by));
  }
}

/* ---- What lies before the first and behind the last aligned 16 bytes of the destination ---- */

template <size_t Unit, class Source> DUSHMEM_IMPL_FN void move_unit(char *to, const char *from) {
  typedef typename unit_of<Unit>::type U;
  store_far((U *)to, (U)Source::load((const U *)from));
}

/* The `head` bytes before, and the `tail` bytes from `tail_at` on, where the destination is aligned to what they need.
 * No element is larger than the unit, or it would not be aligned on both sides. */
template <size_t Unit, unsigned Depth, class Source>
DUSHMEM_IMPL_FN void move_edges(char *dest, const char *source, unsigned head, size_t tail_at, unsigned tail,
                                unsigned rank, unsigned size) {
  typedef typename unit_of<Unit>::type U;
  const unsigned skip = head % Unit, in_head = head / Unit, all = in_head + tail / Unit;
  DUSHMEM_IMPL_ROLLED
  for (unsigned i = rank; i < all; i += Depth * size) {
    U held[Depth] = {};
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) {
      const unsigned j = i + k * size;
      if (j < all) held[k] = Source::load((const U *)(source + (j < in_head ? skip + j * Unit : tail_at + (j - in_head) * Unit)));
    }
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < Depth; k++) {
      const unsigned j = i + k * size;
      if (j < all) store_far((U *)(dest + (j < in_head ? skip + j * Unit : tail_at + (j - in_head) * Unit)), held[k]);
    }
  }
  if (Unit == 1 || rank != 0) return;
  /* Smaller ones, which get larger towards the aligned place, and smaller behind it. */
  if (head & 1) move_unit<1, Source>(dest, source);
  if (Unit > 2 && (head & 2)) move_unit<2, Source>(dest + (head & 1), source + (head & 1));
  if (Unit > 4 && (head & 4)) move_unit<4, Source>(dest + (head & 3), source + (head & 3));
  const size_t end = tail_at + tail;
  if (Unit > 4 && (tail & 4)) move_unit<4, Source>(dest + end - (tail & 7), source + end - (tail & 7));
  if (Unit > 2 && (tail & 2)) move_unit<2, Source>(dest + end - (tail & 3), source + end - (tail & 3));
  if (tail & 1) move_unit<1, Source>(dest + end - 1, source + end - 1);
}

/* ---- By scope ---- */

template <class Source> DUSHMEM_IMPL_FN void move_all(chunk *to, const chunk *from, size_t count, scope::thread) {
  move_by_thread<depth_of_thread, Source>(to, from, count);
}
template <class Source>
DUSHMEM_IMPL_FN void shift_all(chunk *to, const chunk *from, size_t count, unsigned by, scope::thread) {
  shift_by_thread<depth_of_shift, Source>(to, from, count, by);
}
template <class Source> DUSHMEM_IMPL_FN void move_all(chunk *to, const chunk *from, size_t count, scope::warp s) {
  if (size(s) == width_of_warp)
    move_by_warps<depth_of_warp, Source>(to, from, count, 0, 1, rank(s));
  else
    move_by_lanes<Source>(to, from, count, rank(s), size(s));
}
template <class Source>
DUSHMEM_IMPL_FN void shift_all(chunk *to, const chunk *from, size_t count, unsigned by, scope::warp s) {
  if (size(s) == width_of_warp)
    shift_by_warps<depth_of_shift_by_warps, Source>(to, from, count, by, 0, 1, rank(s));
  else
    shift_by_lanes<Source>(to, from, count, by, rank(s), size(s));
}
template <class Source, class S> DUSHMEM_IMPL_FN void move_all(chunk *to, const chunk *from, size_t count, S s) {
  const unsigned threads = size(s), r = rank(s);
  const bool whole = threads % width_of_warp == 0 && warp_size() == width_of_warp;
  if (!whole || count <= 2 * threads)
    move_by_lanes<Source>(to, from, count, r, threads);
  else if (threads <= 256)
    move_by_warps<depth_of_warp, Source>(to, from, count, r / width_of_warp, threads / width_of_warp, r % width_of_warp);
  else
    move_by_warps<depth_of_block, Source>(to, from, count, r / width_of_warp, threads / width_of_warp, r % width_of_warp);
}
template <class Source, class S>
DUSHMEM_IMPL_FN void shift_all(chunk *to, const chunk *from, size_t count, unsigned by, S s) {
  const unsigned threads = size(s), r = rank(s);
  const bool whole = threads % width_of_warp == 0 && warp_size() == width_of_warp;
  if (!whole || count <= threads)
    shift_by_lanes<Source>(to, from, count, by, r, threads);
  else
    shift_by_warps<depth_of_shift_by_warps, Source>(to, from, count, by, r / width_of_warp, threads / width_of_warp, r % width_of_warp);
}

/* ---- All of it ---- */

/* How a copy is divided: bytes before the first aligned chunk of dest, chunks, bytes behind them. */
struct division_of_copy {
  unsigned head, by;
  size_t chunks;
  DUSHMEM_IMPL_MEMBER division_of_copy(const char *dest, const char *source, size_t bytes) {
    head = (unsigned)(0 - (uintptr_t)dest) & 15u;
    by = ((unsigned)(uintptr_t)source + head) & 15u;
    if (DUSHMEM_IMPL_IS(bytes >= (by == 0 ? head + 16 : 47))) {
      /* The last chunk that is loaded must end within the source. */
      chunks = by == 0 ? (bytes - head) / 16 : (bytes - head + by) / 16 - 1;
      return;
    }
    /* Few bytes: before and behind the most aligned address among them. */
    chunks = 0;
    const unsigned first = (unsigned)(uintptr_t)dest, end = first + (unsigned)bytes;
    unsigned middle = end & ~7u;
    if ((int)(middle - first) < 0) middle = end & ~3u;
    if ((int)(middle - first) < 0) middle = end & ~1u;
    head = middle - first;
  }
};

/* Functions of their own, which call no others: what a caller keeps in registers comes on top of what they use. */
template <class Source, class S> DUSHMEM_IMPL_CALLED void copy_chunks(char *dest, const char *source, size_t bytes, S s) {
  const division_of_copy parts(dest, source, bytes);
  chunk *const to = (chunk *)(dest + parts.head);
  if (parts.by == 0)
    move_all<Source>(to, (const chunk *)(source + parts.head), parts.chunks, s);
  else if (parts.chunks != 0)
    shift_all<Source>(to, (const chunk *)(source + parts.head - parts.by), parts.chunks, parts.by, s);
}

/* Of one thread several are under way; of many each has one. */
template <class S> struct edge_depth {
  static constexpr unsigned value = 1;
};
template <> struct edge_depth<scope::thread> {
  static constexpr unsigned value = 6;
};

template <class Source, class S> DUSHMEM_IMPL_CALLED void copy_edges(char *dest, const char *source, size_t bytes, S s) {
  constexpr unsigned depth = edge_depth<S>::value;
  const division_of_copy parts(dest, source, bytes);
  const size_t tail_at = parts.head + parts.chunks * 16;
  const unsigned tail = (unsigned)(bytes - tail_at);
  const unsigned apart = (unsigned)(uintptr_t)dest ^ (unsigned)(uintptr_t)source, n = size(s);
  /* The last threads have the fewest chunks. */
  const unsigned r = n - 1 - rank(s);
  if (apart % 8 == 0)
    move_edges<8, (depth + 1) / 2, Source>(dest, source, parts.head, tail_at, tail, r, n);
  else if (apart % 4 == 0)
    move_edges<4, depth, Source>(dest, source, parts.head, tail_at, tail, r, n);
  else if (apart % 2 == 0)
    move_edges<2, depth, Source>(dest, source, parts.head, tail_at, tail, r, n);
  else
    move_edges<1, depth, Source>(dest, source, parts.head, tail_at, tail, r, n);
}

/* All threads of the scope; addresses of global memory that don't overlap. */
template <class Source, class S> DUSHMEM_IMPL_FN void copy_global(char *dest, const char *source, size_t bytes, S s) {
  if (DUSHMEM_IMPL_IS(bytes >= 16)) copy_chunks<Source>(dest, source, bytes, s);
  /* Asked now, not before the call, over which the answer would be kept. */
  if ((((unsigned)(uintptr_t)computed_now(dest) | (unsigned)(uintptr_t)source | (unsigned)bytes) & 15u) != 0)
    copy_edges<Source>(dest, source, bytes, s);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
