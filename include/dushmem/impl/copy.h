/* Copies by a scope: each of its threads moves a part.
 *
 * Elements are never torn: where a copy begins at places that are aligned for elements of 2, 4 or 8 bytes, each of them is
 * stored by one access, so that a reader sees it old or new. */
#ifndef DUSHMEM_IMPL_COPY_H
#define DUSHMEM_IMPL_COPY_H

#include "reach.h"

#ifdef DUSHMEM_IMPL_COPY_AS_ON_GPU
#include "copy_gpu.h"
#endif

namespace dushmem {
namespace device {
namespace impl {

/* count units; several loads are under way before the first store. */
template <size_t Unit, class S>
DUSHMEM_IMPL_FN void copy_units(char *dest, const char *source, size_t count, S s) {
  typedef typename unit_of<Unit>::type U;
  U *to = (U *)dest;
  const U *from = (const U *)source;
  const size_t step = size(s);
  size_t i = rank(s);
  DUSHMEM_IMPL_ROLLED
  for (; i + 3 * step < count; i += 4 * step) {
    const U a = load_fresh(from + i), b = load_fresh(from + i + step), c = load_fresh(from + i + 2 * step),
            d = load_fresh(from + i + 3 * step);
    to[i] = a;
    to[i + step] = b;
    to[i + 2 * step] = c;
    to[i + 3 * step] = d;
  }
  DUSHMEM_IMPL_ROLLED
  for (; i < count; i += step) to[i] = load_fresh(from + i);
}

/* From addresses that are multiples of `unit`, in units that get smaller towards the end. */
template <class S> DUSHMEM_IMPL_FN void copy_rest(char *dest, const char *source, size_t bytes, size_t unit, S s) {
  if (unit >= 8 && bytes >= 8) {
    copy_units<8>(dest, source, bytes / 8, s);
    dest += bytes / 8 * 8, source += bytes / 8 * 8, bytes %= 8;
  }
  if (unit >= 4 && bytes >= 4) {
    copy_units<4>(dest, source, bytes / 4, s);
    dest += bytes / 4 * 4, source += bytes / 4 * 4, bytes %= 4;
  }
  if (unit >= 2 && bytes >= 2) {
    copy_units<2>(dest, source, bytes / 2, s);
    dest += bytes / 2 * 2, source += bytes / 2 * 2, bytes %= 2;
  }
  copy_units<1>(dest, source, bytes, s);
}

#if defined(DUSHMEM_EMU) && !defined(DUSHMEM_IMPL_COPY_AS_ON_GPU)
/* Copies that the CPU's own function does better. */
template <class S> DUSHMEM_IMPL_FN bool goes_in_one(size_t bytes, S s) { return size(s) == 1 || bytes > 2048; }

/* The function copies the last bytes first or in pieces that begin anywhere, so it gets whole elements only, and what is
 * left behind them follows. */
DUSHMEM_IMPL_FN void copy_whole(char *dest, const char *source, size_t bytes, uintptr_t both) {
  const size_t left = bytes & (size_t)((both & (0 - both)) - 1) & 7;
  memmove(dest, source, bytes - left);
  if (DUSHMEM_IMPL_IS(left == 0)) return;
  dest += bytes - left, source += bytes - left;
  if (left & 4) *(volatile unit4 *)dest = *(const volatile unit4 *)source, dest += 4, source += 4;
  if (left & 2) *(volatile unit2 *)dest = *(const volatile unit2 *)source, dest += 2, source += 2;
  if (left & 1) *(volatile unit1 *)dest = *(const volatile unit1 *)source;
}

/* Each fiber a piece in one go, in whole cache lines of the destination. */
template <class S> DUSHMEM_IMPL_FN void copy_in_one(char *dest, const char *source, size_t bytes, S s) {
  const size_t ranks = size(s);
  if (ranks > 1) {
    const size_t line = 64, before = (line - (uintptr_t)dest % line) % line, head = before < bytes ? before : bytes;
    const size_t lines = (bytes - head) / line, mine = rank(s);
    const size_t from = mine == 0 ? 0 : head + lines * mine / ranks * line;
    const size_t to = mine + 1 == ranks ? bytes : head + lines * (mine + 1) / ranks * line;
    if (from >= to) return;
    dest += from;
    source += from;
    bytes = to - from;
  }
  const uintptr_t both = (uintptr_t)dest | (uintptr_t)source;
  if (bytes == 8 && both % 8 == 0)
    *(volatile unit8 *)dest = *(const volatile unit8 *)source;
  else if (bytes == 4 && both % 4 == 0)
    *(volatile unit4 *)dest = *(const volatile unit4 *)source;
  else if (bytes == 2 && both % 2 == 0)
    *(volatile unit2 *)dest = *(const volatile unit2 *)source;
  else
    copy_whole(dest, source, bytes, both);
}
#else
template <class S> DUSHMEM_IMPL_FN bool goes_in_one(size_t, S) { return false; }
template <class S> DUSHMEM_IMPL_FN void copy_in_one(char *, const char *, size_t, S) {}
#endif

/* Within the own memory source and dest may overlap: one thread moves them, as memmove does. */
DUSHMEM_IMPL_FN bool overlap(const char *dest, const char *source, size_t bytes) {
  return dest != source && (size_t)((uintptr_t)dest - (uintptr_t)source + bytes - 1) < 2 * bytes - 1;
}
DUSHMEM_IMPL_FN void move_overlapping(char *dest, const char *source, size_t bytes) {
  if ((uintptr_t)dest < (uintptr_t)source)
    DUSHMEM_IMPL_ROLLED
    for (size_t i = 0; i < bytes; i++) dest[i] = source[i];
  else
    DUSHMEM_IMPL_ROLLED
    for (size_t i = bytes; i-- != 0;) dest[i] = source[i];
}

/* In the widest unit on which both addresses can be aligned by the same number of bytes before. */
template <class S> DUSHMEM_IMPL_FN void copy_anywhere(char *dest, const char *source, size_t bytes, S s) {
  const unsigned apart = (unsigned)((uintptr_t)dest ^ (uintptr_t)source) & 15u;
  const size_t unit = apart == 0 ? 16 : apart % 8 == 0 ? 8 : apart % 4 == 0 ? 4 : apart % 2 == 0 ? 2 : 1;
  size_t head = (size_t)(0 - (uintptr_t)dest) & (unit - 1);
  if (head > bytes) head = bytes;
  if (head != 0) {
    /* In units as small as the address is aligned: no element is larger. */
    const size_t aligned = (size_t)((uintptr_t)dest & (0 - (uintptr_t)dest));
    copy_rest(dest, source, head, aligned < 8 ? aligned : 8, s);
    dest += head, source += head, bytes -= head;
  }
  if (unit == 16) {
    copy_units<16>(dest, source, bytes / 16, s);
    dest += bytes / 16 * 16, source += bytes / 16 * 16, bytes %= 16;
  }
  copy_rest(dest, source, bytes, unit < 8 ? unit : 8, s);
}

/* Called, not inlined in code for GPUs: it is long, and kernels have many copies. */
template <class S> DUSHMEM_IMPL_CALLED void copy_plainly(char *dest, const char *source, size_t bytes, S s) {
  if (bytes == 0) return;
  if (overlap(dest, source, bytes)) {
    if (rank(s) == 0) move_overlapping(dest, source, bytes);
    return;
  }
  if (goes_in_one(bytes, s)) return copy_in_one(dest, source, bytes, s);
  copy_anywhere(dest, source, bytes, s);
}

#ifdef DUSHMEM_IMPL_COPY_AS_ON_GPU
/* What is known of the two sides: a PE's is global memory, the caller's own may be any. */
struct to_far {
  typedef own_source source;
  /* Whether the near cache may serve loads. */
  static constexpr bool near = true;
  static DUSHMEM_IMPL_MEMBER bool are_global(const char *, const char *from) { return is_global(from); }
  template <class U> static DUSHMEM_IMPL_MEMBER U load(const U *at) { return *at; }
  template <class U> static DUSHMEM_IMPL_MEMBER void store(U *at, U value) { store_far(at, value); }
  static DUSHMEM_IMPL_MEMBER void store(chunk *at, chunk value) { store_chunk(at, value); }
};
struct from_far {
  typedef far_source source;
  static constexpr bool near = false;
  static DUSHMEM_IMPL_MEMBER bool are_global(const char *to, const char *) { return is_global(to); }
  template <class U> static DUSHMEM_IMPL_MEMBER U load(const U *at) { return load_far(at); }
  static DUSHMEM_IMPL_MEMBER chunk load(const chunk *at) { return load_chunk_fresh(at); }
  template <class U> static DUSHMEM_IMPL_MEMBER void store(U *at, U value) { *at = value; }
};
struct anywhere {
  typedef own_source source;
  static constexpr bool near = false;
  static DUSHMEM_IMPL_MEMBER bool are_global(const char *to, const char *from) { return is_global(to) && is_global(from); }
  template <class U> static DUSHMEM_IMPL_MEMBER U load(const U *at) { return *at; }
  template <class U> static DUSHMEM_IMPL_MEMBER void store(U *at, U value) { *at = value; }
};

/* What most calls move is moved without a call, which would cost more: whole chunks, aligned on both sides, of which each
 * thread has few. So many loads are under way; a loop takes as many at a time. */
#ifndef DUSHMEM_IMPL_SHORT_DEPTH
#define DUSHMEM_IMPL_SHORT_DEPTH 4
#endif
constexpr unsigned short_depth = DUSHMEM_IMPL_SHORT_DEPTH;

/* Every Apart-th chunk, as long as some are left. */
template <class Ends, unsigned Apart> DUSHMEM_IMPL_FN void move_few(chunk *to, const chunk *from, int left) {
  chunk held[short_depth] = {};
  DUSHMEM_IMPL_UNROLLED
  for (int k = 0; k < (int)short_depth; k++)
    if (k * (int)Apart < left) held[k] = Ends::load(from + k * Apart);
  DUSHMEM_IMPL_UNROLLED
  for (int k = 0; k < (int)short_depth; k++)
    if (k * (int)Apart < left) Ends::store(to + k * Apart, held[k]);
}

template <class Ends> DUSHMEM_IMPL_FN bool are_few(size_t count, scope::thread) { return count <= short_depth; }
template <class Ends> DUSHMEM_IMPL_FN void move_short(chunk *to, const chunk *from, unsigned count, scope::thread) {
  move_few<Ends, 1>(to, from, (int)count);
}

template <class Ends> DUSHMEM_IMPL_FN bool are_few(size_t count, scope::warp s) {
  return count <= short_depth * width_of_warp && size(s) == width_of_warp;
}
template <class Ends> DUSHMEM_IMPL_FN void move_short(chunk *to, const chunk *from, unsigned count, scope::warp s) {
  const unsigned r = rank(s);
  if (count <= width_of_warp)
    Ends::store(to + r, Ends::load(from + r));
  else
    move_few<Ends, width_of_warp>(to + r, from + r, (int)count - (int)r);
}

/* A put's chunks of a thread, one in each round of the block: what is stored and what is loaded have come so far. */
template <class Ends> struct chunks_of_thread {
  chunk *to;
  const chunk *from;
  int left, coming;
  unsigned apart;
  DUSHMEM_IMPL_MEMBER void load(chunk &held) {
    if (coming > 0) held = Ends::load(from);
    from = (const chunk *)computed_now(from + apart), coming -= (int)apart;
  }
  DUSHMEM_IMPL_MEMBER void store(chunk held) {
    if (left > 0) Ends::store(to, held);
    to = (chunk *)computed_now(to + apart), left -= (int)apart;
  }
};
/* Loads that precede the store of chunk k. */
DUSHMEM_IMPL_FN constexpr unsigned loads_before(unsigned k) { return 1 + 2 * k < k + short_depth ? 1 + 2 * k : k + short_depth; }

/* Warps keep step, so in rounds of loads and then of stores a multiprocessor would only load, and then only store, which takes
 * four times as long as loads from the near cache. So each store is followed by the load of what takes its place, at the
 * beginning by two, until so many are under way. */
template <class Ends, class S> DUSHMEM_IMPL_FN void move_overlapped(chunk *to, const chunk *from, unsigned count, S s) {
  const unsigned r = rank(s), threads = size(s);
  const int left = (int)count - (int)r;
  chunk held[short_depth] = {};
  held[0] = Ends::load(from + r);
  chunks_of_thread<Ends> mine = {to + r, from + r + threads, left, left - (int)threads, threads};
  DUSHMEM_IMPL_UNROLLED
  for (unsigned k = 0; k < short_depth; k++) {
    mine.store(held[k]);
    DUSHMEM_IMPL_UNROLLED
    for (unsigned next = loads_before(k); next < loads_before(k + 1); next++) mine.load(held[next % short_depth]);
  }
  DUSHMEM_IMPL_ROLLED
  while (mine.left > 0) {
    DUSHMEM_IMPL_UNROLLED
    for (unsigned k = 0; k < short_depth; k++) {
      mine.store(held[k]);
      mine.load(held[k]);
    }
  }
}
/* Where that pays: fewer chunks a thread are all under way at once, and with more warps some store while others load. */
template <class Ends, class S> DUSHMEM_IMPL_FN bool overlaps_warps(S s) { return Ends::near && size(s) > 64 && size(s) <= 256; }

/* A large block's, of which each thread has few: all warps have a share, and a thread two loads under way, while other warps store. */
template <class Ends, class S> DUSHMEM_IMPL_FN void move_in_rounds(chunk *to, const chunk *from, unsigned count, S s) {
  const unsigned threads = size(s);
  DUSHMEM_IMPL_ROLLED
  for (unsigned i = rank(s); i < count; i += 2 * threads) {
    const chunk first = Ends::load(from + i);
    chunk second = {};
    if (i + threads < count) second = Ends::load(from + i + threads);
    Ends::store(to + i, first);
    if (i + threads < count) Ends::store(to + i + threads, second);
  }
}

/* A block's have to be whole warps. Large blocks have no more loads under way in longer copies either, and two loops of others
 * take no longer than a call. */
template <class Ends, class S> DUSHMEM_IMPL_FN bool are_few(size_t count, S s) {
  const unsigned threads = size(s), rounds = overlaps_warps<Ends>(s) ? 4 : 2;
  return threads % width_of_warp == 0 && warp_size() == width_of_warp && count >> 27 == 0 &&
         (count <= rounds * short_depth * threads || threads > 256);
}
template <class Ends, class S> DUSHMEM_IMPL_FN void move_short(chunk *to, const chunk *from, unsigned count, S s) {
  const unsigned r = rank(s), threads = size(s);
  if (count <= threads) return Ends::store(to + r, Ends::load(from + r));
  if (overlaps_warps<Ends>(s) && count > short_depth * threads) return move_overlapped<Ends>(to, from, count, s);
  if (threads > 256 && count <= short_depth * threads) return move_in_rounds<Ends>(to, from, count, s);
  const unsigned first = r / width_of_warp * (short_depth * width_of_warp) + r % width_of_warp;
  to += first, from += first;
  DUSHMEM_IMPL_ROLLED
  for (int left = (int)count - (int)first; left > 0; left -= (int)(short_depth * threads)) {
    move_few<Ends, width_of_warp>(to, from, left);
    to += short_depth * threads, from += short_depth * threads;
  }
}

template <class Ends, class S> DUSHMEM_IMPL_FN void copy_by(char *dest, const char *source, size_t bytes, S s) {
  const unsigned both = (unsigned)(uintptr_t)dest | (unsigned)(uintptr_t)source;
  if (((both | (unsigned)bytes) & 15u) == 0) {
    /* Threads without a chunk have nothing to do in the other ways either. */
    if (rank(s) >= bytes / 16) return;
    if (are_few<Ends>(bytes / 16, s) && !overlap(dest, source, bytes))
      return move_short<Ends>((chunk *)dest, (const chunk *)source, (unsigned)(bytes / 16), s);
  } else if (bytes == 8 && both % 8 == 0) {
    if (leads(s)) Ends::store((unit8 *)dest, Ends::load((const unit8 *)source));
    return;
  } else if (bytes == 4 && both % 4 == 0) {
    if (leads(s)) Ends::store((unit4 *)dest, Ends::load((const unit4 *)source));
    return;
  } else if (bytes == 0) {
    return;
  }
  if (DUSHMEM_IMPL_IS(!overlap(dest, source, bytes) && Ends::are_global(dest, source)))
    copy_global<typename Ends::source>(dest, source, bytes, s);
  else
    copy_plainly(dest, source, bytes, s);
}
/* To a PE, from a PE, or without one. */
template <class S> DUSHMEM_IMPL_FN void copy_to(char *dest, const char *source, size_t bytes, S s) {
  copy_by<to_far>(dest, source, bytes, s);
}
template <class S> DUSHMEM_IMPL_FN void copy_from(char *dest, const char *source, size_t bytes, S s) {
  copy_by<from_far>(dest, source, bytes, s);
}
template <class S> DUSHMEM_IMPL_FN void copy(char *dest, const char *source, size_t bytes, S s) {
  copy_by<anywhere>(dest, source, bytes, s);
}
/* For collectives, whose functions call each other, and each keeps registers: this one needs few. */
template <class S> DUSHMEM_IMPL_FN void copy_lean(char *dest, const char *source, size_t bytes, S s) {
  copy_plainly(dest, source, bytes, s);
}
#else
template <class S> DUSHMEM_IMPL_FN void copy(char *dest, const char *source, size_t bytes, S s) {
  copy_plainly(dest, source, bytes, s);
}
template <class S> DUSHMEM_IMPL_FN void copy_to(char *dest, const char *source, size_t bytes, S s) {
  copy_plainly(dest, source, bytes, s);
}
template <class S> DUSHMEM_IMPL_FN void copy_from(char *dest, const char *source, size_t bytes, S s) {
  copy_plainly(dest, source, bytes, s);
}
template <class S> DUSHMEM_IMPL_FN void copy_lean(char *dest, const char *source, size_t bytes, S s) {
  copy_plainly(dest, source, bytes, s);
}
#endif

/* One value, stored and loaded by one access where its size is that of a unit. */
template <size_t Bytes, bool Unit> struct value_of;
template <size_t Bytes> struct value_of<Bytes, true> {
  typedef typename unit_of<Bytes>::type U;
  static DUSHMEM_IMPL_MEMBER void store(void *at, const void *value) {
    U unit;
    memcpy(&unit, value, sizeof unit);
    *(volatile U *)at = unit;
  }
  /* To a PE. */
  static DUSHMEM_IMPL_MEMBER void put(void *at, const void *value) {
    U unit;
    memcpy(&unit, value, sizeof unit);
    store_far((U *)at, unit);
  }
  static DUSHMEM_IMPL_MEMBER void load(void *value, const void *at) {
    const U unit = load_fresh((const U *)at);
    memcpy(value, &unit, sizeof unit);
  }
  /* From a PE. */
  static DUSHMEM_IMPL_MEMBER void get(void *value, const void *at) {
    const U unit = load_far((const U *)at);
    memcpy(value, &unit, sizeof unit);
  }
};
template <size_t Bytes> struct value_of<Bytes, false> {
  static DUSHMEM_IMPL_MEMBER void store(void *at, const void *value) {
    copy((char *)at, (const char *)value, Bytes, scope::thread{});
  }
  static DUSHMEM_IMPL_MEMBER void put(void *at, const void *value) {
    copy_to((char *)at, (const char *)value, Bytes, scope::thread{});
  }
  static DUSHMEM_IMPL_MEMBER void load(void *value, const void *at) {
    copy((char *)value, (const char *)at, Bytes, scope::thread{});
  }
  static DUSHMEM_IMPL_MEMBER void get(void *value, const void *at) {
    copy_from((char *)value, (const char *)at, Bytes, scope::thread{});
  }
};
template <class T>
using value = value_of<sizeof(T), sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8>;

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
