/* Collectives that a whole grid makes: what the library's kernels do on streams.
 *
 * Block b of a member meets block b of the others; blocks of one grid wait for nothing of each other. A block has a
 * flag word of each member in its slot, and counts its calls: 2 * call + 1 says that the member is there, so its source
 * is ready and its dest may be written; 2 * call + 2 that its block has done its part. All members' grids have the
 * same number of blocks, all of which run at the same time. Members load and store each other's memory. */
#ifndef DUSHMEM_IMPL_COLL_GRID_H
#define DUSHMEM_IMPL_COLL_GRID_H

#include "coll_typed.h"

namespace dushmem {
namespace device {
namespace impl {

typedef scope::block block_scope;

/* A call as a block makes it. */
struct grid_call {
  members team;
  unsigned block, blocks;
  uint64_t number;
  const char *call;

  DUSHMEM_IMPL_MEMBER uint64_t there() const { return 2 * number + 1; }
  DUSHMEM_IMPL_MEMBER uint64_t done() const { return 2 * number + 2; }
};

/* False for a block without a part. */
DUSHMEM_IMPL_FN bool begin_grid(grid_call &is, const members &team, const char *call) {
  is.team = team;
  is.block = blockIdx.x;
  is.blocks = gridDim.x < team.blocks() ? gridDim.x : team.blocks();
  is.call = call;
  if (is.block >= is.blocks) return false;
  is.number = own_count(team.grid_calls(is.block)) + 1;
  return true;
}

DUSHMEM_IMPL_APART void tell_block(const grid_call &is, uint64_t value) {
  const block_scope s{};
  publish(s);
  before_telling(is.team, s);
  for (others o = mine(s); o.more(is.team); o.next())
    tell(is.team.grid(is.block, state().my_pe), value, is.team.pe(o.rank(is.team)), is.call);
}
DUSHMEM_IMPL_APART void await_block(const grid_call &is, uint64_t value) {
  const block_scope s{};
  for (others o = mine(s); o.more(is.team); o.next())
    wait_word(is.team.grid(is.block, is.team.pe(o.rank(is.team))), DUSHMEM_CMP_GE, value, is.call);
  sync(s);
}
DUSHMEM_IMPL_FN void end_grid(const grid_call &is) {
  tell_block(is, is.done());
  await_block(is, is.done());
  if (leads(block_scope{})) own_count(is.team.grid_calls(is.block), is.number);
}

/* ---- Units of 16 bytes, wherever they begin; the last one has fewer ---- */

DUSHMEM_IMPL_APART chunk load_odd_unit(const char *from, size_t count) {
  return chunk{load_word(from, count), count > 8 ? load_word(from + 8, count - 8) : 0};
}
DUSHMEM_IMPL_APART void store_odd_unit(char *to, chunk value, size_t count) {
  store_word(to, value.low, count);
  if (count > 8) store_word(to + 8, value.high, count - 8);
}
DUSHMEM_IMPL_FN chunk load_unit(const char *from, size_t count) {
  if (DUSHMEM_IMPL_IS(((uintptr_t)from & 15) == 0 && count >= 16)) return load_fresh((const chunk *)from);
  return load_odd_unit(from, count);
}
DUSHMEM_IMPL_FN void store_unit(char *to, const chunk &value, size_t count) {
  if (DUSHMEM_IMPL_IS(((uintptr_t)to & 15) == 0 && count >= 16))
    *(chunk *)to = value;
  else
    store_odd_unit(to, value, count);
}

/* Units of which the calling thread takes one every `step`, from `first` on. */
struct share_of {
  size_t first, step;
};
DUSHMEM_IMPL_FN share_of own_share(const grid_call &is) {
  return share_of{is.block * (size_t)block_size() + thread_number(), is.blocks * (size_t)block_size()};
}

/* Addresses of the members' sources and dests, by rank, in memory of the block. A team whose members reach each other
 * has so many at most. */
constexpr int most_members = 64;
struct grid_places {
  uint64_t sources[most_members], dests[most_members];
};
/* For all threads of the block, after it has synchronised. */
DUSHMEM_IMPL_APART const grid_places &find_places(const members &team, const char *source, const char *dest, const char *call) {
  grid_places &all = in_block<grid_places>();
  for (unsigned r = thread_number(); r < (unsigned)team.n; r += block_size()) {
    all.sources[r] = (uintptr_t)peer(source, 1, team.pe((int)r), call, "source");
    all.dests[r] = (uintptr_t)peer(dest, 1, team.pe((int)r), call, "dest");
  }
  return all;
}
DUSHMEM_IMPL_FN char *place(const uint64_t *places, int i, size_t at) { return (char *)(uintptr_t)places[i] + at; }

/* The unit at byte `at` of the sources, of which `count` bytes are left, combined in order. The loads of `batch` sources
 * are under way at the same time. A function of its own: it is most of the code. */
constexpr int batch = 4;
DUSHMEM_IMPL_APART chunk combine_unit(const uint64_t *sources, int n, size_t at, size_t count, typed_op how) {
  const bool common = how.type == (uint32_t)element::f32 && how.op == (uint32_t)operation::sum;
  chunk all{};
  DUSHMEM_IMPL_ROLLED
  for (int first = 0; first < n; first += batch) {
    chunk next[batch] = {};
    for (int k = 0; k < batch; k++)
      if (first + k < n) next[k] = load_unit(place(sources, first + k, at), count);
    for (int k = 0; k < batch; k++) {
      if (first + k >= n) continue;
      if (first + k == 0)
        all = next[k];
      else if (common)
        all = apply_each<op_sum, float>(all, next[k]);
      else
        all = apply_typed(all, next[k], how);
    }
  }
  return all;
}

/* Bytes [from, end) of all dests = those of the sources, combined. In each place one thread reads all, then writes all:
 * dests may be sources. */
DUSHMEM_IMPL_FN void combine_units(const uint64_t *sources, int n, const uint64_t *dests, int targets, size_t from, size_t end,
                                   typed_op how, share_of share) {
  DUSHMEM_IMPL_ROLLED
  for (size_t at = from + share.first * 16; at < end; at += share.step * 16) {
    const chunk all = combine_unit(sources, n, at, end - at, how);
    DUSHMEM_IMPL_ROLLED
    for (int r = 0; r < targets; r++) store_unit(place(dests, r, at), all, end - at);
  }
}

/* ---- Reductions ---- */

/* The part of the member: units that begin at a multiple of 16 bytes from the beginning. */
struct part_of {
  size_t from, end;
};
DUSHMEM_IMPL_FN part_of own_part(const members &team, size_t bytes) {
  const size_t part = ((bytes + 15) / 16 + (size_t)team.n - 1) / (size_t)team.n * 16, from = least(bytes, part * (size_t)team.me);
  return part_of{from, from + rest(bytes, from, part)};
}

/* All members are there, and the block knows their buffers. */
DUSHMEM_IMPL_FN const grid_places &meet_members(const grid_call &is, const char *source, const char *dest) {
  const grid_places &all = find_places(is.team, source, dest, is.call);
  tell_block(is, is.there());
  await_block(is, is.there());
  return all;
}

/* Each member combines its part of all sources into all dests, or its block into the own one. */
DUSHMEM_IMPL_FN void grid_reduce(grid_call &is, char *dest, const char *source, size_t bytes, typed_op how, bool own_block) {
  const members &team = is.team;
  const grid_places &all = meet_members(is, source + (own_block ? (size_t)team.me * bytes : 0), dest);
  const part_of own = own_block ? part_of{0, bytes} : own_part(team, bytes);
  combine_units(all.sources, team.n, all.dests + (own_block ? team.me : 0), own_block ? 1 : team.n, own.from, own.end, how,
                own_share(is));
  end_grid(is);
}

/* In place the own block takes the place of the first one, which the first member reads: a piece is written when all
 * have read theirs, and each piece has a number. */
DUSHMEM_IMPL_FN void grid_reducescatter_in_place(grid_call &is, char *dest, size_t bytes, typed_op how) {
  const grid_places &all = meet_members(is, dest + (size_t)is.team.me * bytes, dest);
  const share_of share = own_share(is);
  DUSHMEM_IMPL_ROLLED
  for (size_t piece = 0; piece < bytes; piece += share.step * 16) {
    const size_t at = piece + share.first * 16;
    chunk result{};
    if (at < bytes) result = combine_unit(all.sources, is.team.n, at, bytes - at, how);
    tell_block(is, is.done());
    await_block(is, is.done());
    if (at < bytes) store_unit(dest + at, result, bytes - at);
    is.number++;
  }
  sync(block_scope{});
  if (leads(block_scope{})) own_count(is.team.grid_calls(is.block), is.number - 1);
}

/* ---- Moves ---- */

/* Bytes [from, end) at source go to the same place at all dests, but that of the member `without`. */
DUSHMEM_IMPL_APART void spread(const grid_call &is, const char *source, const uint64_t *dests, size_t from, size_t end,
                               int without) {
  constexpr int at_once = 4;
  const share_of share = own_share(is);
  const size_t step = share.step * 16;
  DUSHMEM_IMPL_ROLLED
  for (size_t at = from + share.first * 16; at < end; at += at_once * step) {
    chunk value[at_once];
    for (int i = 0; i < at_once; i++)
      if (at + (size_t)i * step < end) value[i] = load_unit(source + (at + (size_t)i * step), end - (at + (size_t)i * step));
    DUSHMEM_IMPL_ROLLED
    for (int k = 0; k < is.team.n; k++) {
      const int r = behind(is.team, k);
      if (r == without) continue;
      for (int i = 0; i < at_once; i++)
        if (at + (size_t)i * step < end) store_unit(place(dests, r, at + (size_t)i * step), value[i], end - (at + (size_t)i * step));
    }
  }
}

DUSHMEM_IMPL_FN void grid_fcollect(grid_call &is, char *dest, const char *source, size_t bytes) {
  const grid_places &all = meet_members(is, source, dest + (size_t)is.team.me * bytes);
  spread(is, source, all.dests, 0, bytes, -1);
  end_grid(is);
}

/* Each member takes its part from the root and gives it to all: every link carries the data about once. */
DUSHMEM_IMPL_FN void grid_broadcast(grid_call &is, char *dest, const char *source, size_t bytes, int root) {
  const grid_places &all = meet_members(is, source, dest);
  const part_of own = own_part(is.team, bytes);
  spread(is, place(all.sources, root, 0), all.dests, own.from, own.end, dest == source ? root : -1);
  end_grid(is);
}

/* A thread's places in blocks of `units` units, one block after the other. */
struct in_blocks {
  int k;
  size_t unit;
  DUSHMEM_IMPL_MEMBER void settle(size_t units, int blocks) {
    while (unit >= units && k < blocks) unit -= units, k++;
  }
};

/* The blocks for the members from `first` on behind the own one, before `end`. In place the blocks of two members change places:
 * each of both sees to one half, and reads all before it writes. */
template <bool Swaps>
DUSHMEM_IMPL_APART void exchange_units(const grid_call &is, const uint64_t *dests, const char *source, size_t bytes, int first,
                                       int end, share_of share) {
  constexpr int at_once = Swaps ? 2 : 4;
  const members &team = is.team;
  const size_t units = (bytes + 15) / 16, low = units / 2, high = units - low;
  /* Of each block as many units as the larger half has. */
  const size_t most = Swaps ? high : units;
  in_blocks next{first, share.first};
  DUSHMEM_IMPL_ROLLED
  for (next.settle(most, end); next.k < end;) {
    char *here[at_once], *there[at_once];
    size_t count[at_once];
    for (int i = 0; i < at_once; i++) {
      here[i] = there[i] = nullptr;
      count[i] = 0;
      if (next.k >= end) continue;
      const int r = behind(team, next.k);
      const size_t unit = next.unit + (Swaps && team.me > r ? low : 0);
      if (!Swaps || next.unit < (team.me > r ? high : low)) {
        here[i] = (char *)source + (size_t)r * bytes + unit * 16;
        there[i] = place(dests, r, unit * 16);
        count[i] = bytes - unit * 16;
      }
      next.unit += share.step;
      next.settle(most, end);
    }
    chunk mine[at_once] = {}, theirs[at_once] = {};
    for (int i = 0; i < at_once; i++)
      if (count[i] != 0) {
        mine[i] = load_unit(here[i], count[i]);
        if (Swaps) theirs[i] = load_unit(there[i], count[i]);
      }
    for (int i = 0; i < at_once; i++)
      if (count[i] != 0) {
        store_unit(there[i], mine[i], count[i]);
        if (Swaps) store_unit(here[i], theirs[i], count[i]);
      }
  }
}

/* Over links, which some multiprocessors fill, others copy the own block meanwhile: one that does both does neither faster. */
DUSHMEM_IMPL_FN bool copies_own_beside(const grid_call &is) {
#ifdef DUSHMEM_EMU
  return is.blocks >= 3;
#else
  return is.blocks >= 16 && (state().flags & DUSHMEM_IMPL_FLAG_NEAR) == 0;
#endif
}

DUSHMEM_IMPL_FN void grid_alltoall(grid_call &is, char *dest, const char *source, size_t bytes) {
  const grid_places &all = meet_members(is, source, dest + (size_t)is.team.me * bytes);
  const int n = is.team.n;
  if (dest == source) {
    exchange_units<true>(is, all.dests, source, bytes, 1, n, own_share(is));
  } else {
    const unsigned beside = copies_own_beside(is) ? (is.blocks + 3) / 4 : 0, others = is.blocks - beside;
    const bool own = is.block >= others;
    const size_t first = (own ? is.block - others : is.block) * (size_t)block_size() + thread_number();
    const share_of share{first, (own ? beside : others) * (size_t)block_size()};
    exchange_units<false>(is, all.dests, source, bytes, beside == 0 || own ? 0 : 1, own ? 1 : n, share);
  }
  end_grid(is);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
