/* Cooperative groups on the CPU: thread blocks, tiles, coalesced threads, the grid of a cooperative launch. */
#ifndef DUSHMEM_EMU_COOPERATIVE_GROUPS_H
#define DUSHMEM_EMU_COOPERATIVE_GROUPS_H

#include "../impl/emu_kernel.h"
#include "../impl/emu_warp.h"
#include <type_traits>

namespace cooperative_groups {
namespace impl {

using ::dushmem::emu::site;

inline unsigned volume(dim3 d) { return d.x * d.y * d.z; }
inline unsigned count(uint64_t lanes) { return static_cast<unsigned>(__builtin_popcountll(lanes)); }

/* Lanes of the calling thread's warp: a tile, or those that were together when the group was made. */
struct lanes {
  uint64_t mask;

  unsigned size() const { return count(mask); }
  unsigned rank() const { return count(mask & (::dushmem::emu::lane_bit() - 1)); }
  /* The lane with this rank; beyond the end no lane. */
  unsigned lane(unsigned rank) const {
    uint64_t left = mask;
    for (; rank != 0 && left != 0; rank--) left &= left - 1;
    return left == 0 ? 64 : static_cast<unsigned>(__builtin_ctzll(left));
  }
  /* Lanes of the warp as ranks of the group. */
  uint64_t packed(uint64_t set) const {
    uint64_t result = 0;
    unsigned rank = 0;
    for (uint64_t left = mask; left != 0; left &= left - 1, rank++)
      result |= (set >> __builtin_ctzll(left) & 1) << rank;
    return result;
  }

  void sync(const char *call, site at) const {
    struct {
      uint64_t members;
    } part{0};
    ::dushmem::emu::meet(call, mask, true, at, part, ::dushmem::emu::nothing_to_do{});
  }
  template <class T> T shuffle(const char *call, site at, T value, unsigned rank) const {
    const unsigned from = rank < size() ? lane(rank) : ::dushmem::emu::lane_number();
    return ::dushmem::emu::shuffle_from<T>(call, mask, true, at, value, from);
  }
  uint64_t vote(const char *call, site at, bool yes) const {
    return packed(::dushmem::emu::vote(call, mask, true, at, yes).yes);
  }
  bool all(site at, bool yes) const {
    const auto part = ::dushmem::emu::vote("all", mask, true, at, yes);
    return part.yes == part.members;
  }
  template <class T> uint64_t match(const char *call, site at, T value, bool *every) const {
    const auto part = ::dushmem::emu::match<T>(call, mask, at, value);
    if (every != nullptr) *every = part.same == part.members;
    return packed(part.same);
  }
};

/* Lanes of a tile of `size`, a power of two, that holds the calling thread. */
inline lanes tile_of(unsigned size) {
  if (size == 0 || (size & (size - 1)) != 0 || size > static_cast<unsigned>(warpSize))
    dushmem_emu_kernel_error("tiled_partition", "the size of a tile must be a power of two and at most warpSize");
  const unsigned first = ::dushmem::emu::lane_number() & ~(size - 1);
  return {(size == 64 ? ~uint64_t{0} : (uint64_t{1} << size) - 1) << first};
}

} // namespace impl

/* Any group, as a value: what functions take that don't care which. */
class thread_group {
public:
  enum kind { block, grid, tile, coalesced };

  void sync() const {
    switch (kind_) {
    case block: dushmem_emu_sync_threads(); break;
    case grid: dushmem_emu_sync_grid(); break;
    default: lanes_.sync("thread_group::sync", {}); break;
    }
  }
  unsigned long long size() const {
    switch (kind_) {
    case block: return impl::volume(blockDim);
    case grid: return static_cast<unsigned long long>(impl::volume(blockDim)) * gridDim.x * gridDim.y * gridDim.z;
    default: return lanes_.size();
    }
  }
  unsigned long long num_threads() const { return size(); }
  unsigned long long thread_rank() const {
    const unsigned in_block = ::dushmem::emu::thread_number();
    switch (kind_) {
    case block: return in_block;
    case grid: return block_rank() * impl::volume(blockDim) + in_block;
    default: return lanes_.rank();
    }
  }
  bool is_valid() const { return kind_ != grid || dushmem_emu_cooperative() != 0; }
  kind get_type() const { return kind_; }

protected:
  explicit thread_group(kind k, impl::lanes l = {0}) : kind_(k), lanes_(l) {}
  static unsigned long long block_rank() {
    return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }

  kind kind_;
  impl::lanes lanes_;
  friend thread_group tiled_partition(const thread_group &, unsigned);
};

class thread_block : public thread_group {
public:
  struct arrival_token {};

  thread_block() : thread_group(block) {}
  static void sync() { dushmem_emu_sync_threads(); }
  /* Who has arrived waits in barrier_wait. */
  arrival_token barrier_arrive() const { return {}; }
  void barrier_wait(arrival_token &&) const { sync(); }
  static unsigned size() { return impl::volume(blockDim); }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return ::dushmem::emu::thread_number(); }
  static dim3 group_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};

class grid_group : public thread_group {
public:
  grid_group() : thread_group(grid) {}
  void sync() const { dushmem_emu_sync_grid(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return dim3(blockIdx); }
  static dim3 thread_index() { return dim3(threadIdx); }
  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() { return thread_group::block_rank(); }
};

/* What tiles and coalesced groups have in common; M is the type of their masks. */
class lane_group : public thread_group {
public:
  void sync(impl::site at = {}) const { lanes_.sync("sync", at); }
  unsigned size() const { return lanes_.size(); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return lanes_.rank(); }

  template <class T> T shfl(T value, unsigned rank, impl::site at = {}) const {
    return lanes_.shuffle("shfl", at, value, rank % size());
  }
  template <class T> T shfl_up(T value, unsigned by, impl::site at = {}) const {
    const unsigned rank = thread_rank();
    return lanes_.shuffle("shfl_up", at, value, rank < by ? rank : rank - by);
  }
  template <class T> T shfl_down(T value, unsigned by, impl::site at = {}) const {
    const unsigned rank = thread_rank();
    return lanes_.shuffle("shfl_down", at, value, by < size() - rank ? rank + by : rank);
  }
  int any(int yes, impl::site at = {}) const { return lanes_.vote("any", at, yes != 0) != 0; }
  int all(int yes, impl::site at = {}) const { return lanes_.all(at, yes != 0); }
  ::dushmem::emu::active_mask ballot(int yes, impl::site at = {}) const {
    return static_cast<::dushmem::emu::active_mask>(lanes_.vote("ballot", at, yes != 0));
  }
  template <class T> ::dushmem::emu::active_mask match_any(T value, impl::site at = {}) const {
    return static_cast<::dushmem::emu::active_mask>(lanes_.match("match_any", at, value, nullptr));
  }
  template <class T> ::dushmem::emu::active_mask match_all(T value, int &every, impl::site at = {}) const {
    bool same = false;
    const uint64_t mask = lanes_.match("match_all", at, value, &same);
    every = same;
    return static_cast<::dushmem::emu::active_mask>(same ? mask : 0);
  }

  /* The group's lanes in the warp, for the functions of this implementation. */
  impl::lanes lanes_of() const { return lanes_; }

protected:
  using thread_group::thread_group;
};

class coalesced_group : public lane_group {
public:
  explicit coalesced_group(impl::lanes l, unsigned rank = 0, unsigned groups = 1)
      : lane_group(coalesced, l), meta_rank_(rank), meta_size_(groups) {}
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }

private:
  unsigned meta_rank_, meta_size_;
};

template <unsigned Size, class Parent = void> class thread_block_tile : public lane_group {
  static_assert(Size != 0 && (Size & (Size - 1)) == 0 && Size <= 64,
                "a tile has a power of two of threads, at most those of a warp");

public:
  thread_block_tile() : lane_group(tile, impl::tile_of(Size)) {}
  explicit thread_block_tile(unsigned parent)
      : lane_group(tile, impl::tile_of(Size)), meta_size_((parent + Size - 1) / Size) {}
  /* Of a larger tile's type, or without its parent. */
  template <class Other> thread_block_tile(const thread_block_tile<Size, Other> &other)
      : lane_group(tile, other.lanes_of()), meta_size_(other.meta_group_size()) {}

  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned thread_rank() const { return ::dushmem::emu::lane_number() % Size; }
  unsigned meta_group_size() const { return meta_size_; }
  unsigned meta_group_rank() const { return ::dushmem::emu::thread_number() / Size % meta_size_; }

  template <class T> T shfl(T value, int rank, impl::site at = {}) const {
    return lanes_.shuffle("shfl", at, value, static_cast<unsigned>(rank) % Size);
  }
  template <class T> T shfl_up(T value, unsigned by, impl::site at = {}) const {
    const unsigned rank = thread_rank();
    return lanes_.shuffle("shfl_up", at, value, rank < by ? rank : rank - by);
  }
  template <class T> T shfl_down(T value, unsigned by, impl::site at = {}) const {
    const unsigned rank = thread_rank();
    return lanes_.shuffle("shfl_down", at, value, by < Size - rank ? rank + by : rank);
  }
  template <class T> T shfl_xor(T value, unsigned by, impl::site at = {}) const {
    const unsigned rank = thread_rank(), other = rank ^ by;
    return lanes_.shuffle("shfl_xor", at, value, other < Size ? other : rank);
  }

private:
  unsigned meta_size_ = (impl::volume(blockDim) + Size - 1) / Size;
};

inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }
inline coalesced_group coalesced_threads(impl::site at = {}) {
  return coalesced_group({::dushmem::emu::vote("coalesced_threads", 0, false, at, false).members});
}

template <unsigned Size> thread_block_tile<Size, thread_block> tiled_partition(const thread_block &) { return {}; }
template <unsigned Size, unsigned Larger, class Parent>
thread_block_tile<Size, thread_block_tile<Larger, Parent>> tiled_partition(const thread_block_tile<Larger, Parent> &) {
  static_assert(Size <= Larger, "a tile of a tile is not larger");
  return thread_block_tile<Size, thread_block_tile<Larger, Parent>>(Larger);
}
/* The size at run time. */
inline thread_group tiled_partition(const thread_group &parent, unsigned size) {
  if (parent.get_type() == thread_group::coalesced) {
    impl::lanes part{0};
    const unsigned first = parent.lanes_.rank() / size * size;
    for (unsigned rank = first; rank < first + size && rank < parent.lanes_.size(); rank++)
      part.mask |= uint64_t{1} << parent.lanes_.lane(rank);
    return thread_group(thread_group::coalesced, part);
  }
  return thread_group(thread_group::tile, impl::tile_of(size));
}
inline coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
  impl::lanes part{0};
  const impl::lanes all = parent.lanes_of();
  const unsigned first = all.rank() / size * size;
  for (unsigned rank = first; rank < first + size && rank < all.size(); rank++) part.mask |= uint64_t{1} << all.lane(rank);
  return coalesced_group(part, first / size, (all.size() + size - 1) / size);
}

/* Those of the group that say the same. */
template <class Label> coalesced_group labeled_partition(const lane_group &group, Label label, impl::site at = {}) {
  const auto part = ::dushmem::emu::match<Label>("labeled_partition", group.lanes_of().mask, at, label);
  return coalesced_group({part.same});
}
inline coalesced_group binary_partition(const lane_group &group, bool yes, impl::site at = {}) {
  const auto part = ::dushmem::emu::vote("binary_partition", group.lanes_of().mask, true, at, yes);
  return coalesced_group({yes ? part.yes : part.members & ~part.yes}, yes ? 1 : 0, 2);
}

template <class Group> void sync(const Group &group) { group.sync(); }
template <class Group> auto thread_rank(const Group &group) { return group.thread_rank(); }
template <class Group> auto group_size(const Group &group) { return group.size(); }

/* One thread of the group calls; the others don't wait for it. */
template <class Group, class F, class... Args> void invoke_one(const Group &group, F &&f, Args &&...args) {
  if (group.thread_rank() == 0) static_cast<F &&>(f)(static_cast<Args &&>(args)...);
}

/* Copies by all threads of the group; done after wait(). */
template <class Group> void memcpy_async(const Group &group, void *dest, const void *source, size_t bytes) {
  auto *to = static_cast<char *>(dest);
  auto *from = static_cast<const char *>(source);
  const size_t threads = group.size(), each = (bytes + threads - 1) / threads, first = group.thread_rank() * each;
  if (first < bytes) std::memcpy(to + first, from + first, each < bytes - first ? each : bytes - first);
}
template <class Group> void wait(const Group &group) { group.sync(); }
template <unsigned Stages, class Group> void wait_prior(const Group &group) { group.sync(); }

} // namespace cooperative_groups
#endif
