/* Operations of warps: shuffles, votes, matches, reductions, with CUDA's names (and a mask of the lanes that take
 * part) and with HIP's (without one: the lanes that come to the call together).
 *
 * Each lane brings a part, and the last one to come works out all results (crates/emu/src/warp.rs). */
#ifndef DUSHMEM_IMPL_EMU_WARP_H
#define DUSHMEM_IMPL_EMU_WARP_H

#include "emu_abi.h"
#include "launch.h"
#include <type_traits>

namespace dushmem {
namespace emu {

/* Where a call stands in the program: what tells calls without a mask apart. */
struct site {
  const char *file;
  unsigned line;
  site(const char *f = __builtin_FILE(), unsigned l = __builtin_LINE()) : file(f), line(l) {}
};

inline unsigned thread_number() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
inline unsigned lane_number() { return thread_number() % static_cast<unsigned>(warpSize); }
inline unsigned warp_number() { return thread_number() / static_cast<unsigned>(warpSize); }
inline uint64_t lane_bit() { return uint64_t{1} << lane_number(); }

/* In a 64-lane warp 0xffffffff as a 32-bit number is not everybody; the library says so where a lane calls
 * that the mask does not name. Signed masks (-1) mean what their bits say. */
template <class M> constexpr uint64_t mask_bits(M mask) {
  static_assert(std::is_integral_v<M>, "a mask of lanes is an integer");
  return static_cast<uint64_t>(static_cast<std::make_unsigned_t<M>>(mask));
}

/* A mask of 0 names nobody, so it would mean the lanes that are there; no call may have it. */
template <class Part, class Act>
void meet(const char *call, uint64_t mask, bool masked, site at, Part &part, Act) {
  if (masked && mask == 0) dushmem_emu_kernel_error(call, "mask = 0 names no lane");
  const dushmem_emu_meeting what = {
      static_cast<uint32_t>(sizeof(dushmem_emu_meeting)), at.line, mask, call, at.file,
      [](void *const *parts, uint64_t members) { Act{}(reinterpret_cast<Part *const *>(parts), members); }, &part};
  dushmem_emu_warp_meet(&what);
}

struct nothing_to_do {
  template <class Part> void operator()(Part *const *, uint64_t) const {}
};

template <class F> void each_lane(uint64_t members, F act) {
  for (; members != 0; members &= members - 1) act(__builtin_ctzll(members));
}

template <class T> struct shuffle_part {
  uint64_t members;
  T value, result;
  unsigned from;
};

/* Lanes that are not there (returned, or not of the mask) give nothing: their reader keeps its own value. */
struct shuffle_act {
  template <class T> void operator()(shuffle_part<T> *const *parts, uint64_t members) const {
    each_lane(members, [=](int lane) {
      const unsigned from = parts[lane]->from;
      parts[lane]->result = (members >> from & 1) != 0 ? parts[from]->value : parts[lane]->value;
    });
  }
};

template <class T> T shuffle_from(const char *call, uint64_t mask, bool masked, site at, T value, unsigned from) {
  static_assert(std::is_trivially_copyable_v<T>, "lanes exchange bytes");
  shuffle_part<T> part{0, value, value, from};
  meet(call, mask, masked, at, part, shuffle_act{});
  return part.result;
}

inline void check_width(const char *call, int width) {
  if (width <= 0 || width > warpSize || (width & (width - 1)) != 0)
    dushmem_emu_kernel_error(call, "width must be a power of two and at most warpSize");
}

enum class shuffle { index, up, down, exclusive };

inline unsigned source_lane(shuffle kind, unsigned lane, unsigned by, unsigned width) {
  const unsigned first = lane & ~(width - 1), at = lane - first;
  switch (kind) {
  case shuffle::index: return first + (by & (width - 1));
  case shuffle::up: return at < by ? lane : lane - by;
  case shuffle::down: return by >= width - at ? lane : lane + by;
  default: return (lane ^ by) > first + width - 1 ? lane : lane ^ by;
  }
}

/* Integers shorter than int are promoted, as in a call of CUDA's functions. */
template <class T, bool number = std::is_arithmetic_v<T>> struct promoted {
  using type = T;
};
template <class T> struct promoted<T, true> {
  using type = decltype(+T());
};

template <class T>
typename promoted<T>::type shuffle_by(const char *call, shuffle kind, uint64_t mask, bool masked, site at, T value,
                                      unsigned by, int width) {
  check_width(call, width);
  const unsigned from = source_lane(kind, lane_number(), by, static_cast<unsigned>(width)) % 64u;
  return shuffle_from<typename promoted<T>::type>(call, mask, masked, at, value, from);
}

struct vote_part {
  uint64_t members, yes;
  bool vote;
};

struct vote_act {
  void operator()(vote_part *const *parts, uint64_t members) const {
    uint64_t yes = 0;
    each_lane(members, [&](int lane) { yes |= uint64_t{parts[lane]->vote} << lane; });
    each_lane(members, [=](int lane) { parts[lane]->yes = yes; });
  }
};

inline vote_part vote(const char *call, uint64_t mask, bool masked, site at, bool yes) {
  vote_part part{0, 0, yes};
  meet(call, mask, masked, at, part, vote_act{});
  return part;
}

/* Lanes that have the same bits. */
template <class T> struct match_part {
  uint64_t members, same;
  T value;
};

struct match_act {
  template <class T> void operator()(match_part<T> *const *parts, uint64_t members) const {
    each_lane(members, [=](int lane) {
      uint64_t same = 0;
      each_lane(members, [&](int other) {
        same |= uint64_t{std::memcmp(&parts[lane]->value, &parts[other]->value, sizeof(T)) == 0} << other;
      });
      parts[lane]->same = same;
    });
  }
};

template <class T> match_part<T> match(const char *call, uint64_t mask, site at, T value) {
  match_part<T> part{0, 0, value};
  meet(call, mask, true, at, part, match_act{});
  return part;
}

template <class T> struct reduce_part {
  uint64_t members;
  T value;
};

/* In the order of the lanes, so that results of floating-point operations repeat. */
template <class Op> struct reduce_act {
  template <class T> void operator()(reduce_part<T> *const *parts, uint64_t members) const {
    T total = parts[__builtin_ctzll(members)]->value;
    each_lane(members & (members - 1), [&](int lane) { total = Op{}(total, parts[lane]->value); });
    each_lane(members, [&](int lane) { parts[lane]->value = total; });
  }
};

template <class Op, class T> T reduce(const char *call, uint64_t mask, site at, T value) {
  reduce_part<T> part{0, value};
  meet(call, mask, true, at, part, reduce_act<Op>{});
  return part.value;
}

struct op_add {
  template <class T> T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
struct op_min {
  template <class T> T operator()(T a, T b) const { return b < a ? b : a; }
};
struct op_max {
  template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};
struct op_and {
  template <class T> T operator()(T a, T b) const { return a & b; }
};
struct op_or {
  template <class T> T operator()(T a, T b) const { return a | b; }
};
struct op_xor {
  template <class T> T operator()(T a, T b) const { return a ^ b; }
};

/* Masks that are results: 32 bits in CUDA, 64 in HIP. A wide mask as an argument asks for a wide result. */
template <class M> using mask_result = std::conditional_t<sizeof(M) == 8, unsigned long long, unsigned>;
#if defined(__HIP_PLATFORM_AMD__)
using active_mask = unsigned long long;
#else
using active_mask = unsigned;
#endif

} // namespace emu
} // namespace dushmem

#define DUSHMEM_EMU_SHUFFLE(name, kind)                                                                       \
  template <class M, class T>                                                                                 \
  inline typename ::dushmem::emu::promoted<T>::type name##_sync(M mask, T value, unsigned by, int width = warpSize, \
                                                                ::dushmem::emu::site at = {}) {               \
    return ::dushmem::emu::shuffle_by(#name "_sync", ::dushmem::emu::shuffle::kind,                           \
                                      ::dushmem::emu::mask_bits(mask), true, at, value, by, width);           \
  }                                                                                                           \
  template <class T>                                                                                          \
  inline typename ::dushmem::emu::promoted<T>::type name(T value, unsigned by, int width = warpSize,          \
                                                         ::dushmem::emu::site at = {}) {                      \
    return ::dushmem::emu::shuffle_by(#name, ::dushmem::emu::shuffle::kind, 0, false, at, value, by, width);  \
  }
DUSHMEM_EMU_SHUFFLE(__shfl, index)
DUSHMEM_EMU_SHUFFLE(__shfl_up, up)
DUSHMEM_EMU_SHUFFLE(__shfl_down, down)
DUSHMEM_EMU_SHUFFLE(__shfl_xor, exclusive)
#undef DUSHMEM_EMU_SHUFFLE

inline void __syncwarp(unsigned long long mask = ~0ull, ::dushmem::emu::site at = {}) {
  struct {
    uint64_t members;
  } part{0};
  ::dushmem::emu::meet("__syncwarp", mask, true, at, part, ::dushmem::emu::nothing_to_do{});
}

/* Votes. */
template <class M> inline ::dushmem::emu::mask_result<M> __ballot_sync(M mask, int yes, ::dushmem::emu::site at = {}) {
  return static_cast<::dushmem::emu::mask_result<M>>(
      ::dushmem::emu::vote("__ballot_sync", ::dushmem::emu::mask_bits(mask), true, at, yes != 0).yes);
}
template <class M> inline int __any_sync(M mask, int yes, ::dushmem::emu::site at = {}) {
  return ::dushmem::emu::vote("__any_sync", ::dushmem::emu::mask_bits(mask), true, at, yes != 0).yes != 0;
}
template <class M> inline int __all_sync(M mask, int yes, ::dushmem::emu::site at = {}) {
  const auto part = ::dushmem::emu::vote("__all_sync", ::dushmem::emu::mask_bits(mask), true, at, yes != 0);
  return part.yes == part.members;
}
inline unsigned long long __ballot(int yes, ::dushmem::emu::site at = {}) {
  return ::dushmem::emu::vote("__ballot", 0, false, at, yes != 0).yes;
}
inline int __any(int yes, ::dushmem::emu::site at = {}) {
  return ::dushmem::emu::vote("__any", 0, false, at, yes != 0).yes != 0;
}
inline int __all(int yes, ::dushmem::emu::site at = {}) {
  const auto part = ::dushmem::emu::vote("__all", 0, false, at, yes != 0);
  return part.yes == part.members;
}
inline ::dushmem::emu::active_mask __activemask(::dushmem::emu::site at = {}) {
  return static_cast<::dushmem::emu::active_mask>(
      ::dushmem::emu::vote("__activemask", 0, false, at, false).members);
}

/* Matches: values of 4 or 8 bytes. */
template <class M, class T>
inline ::dushmem::emu::mask_result<M> __match_any_sync(M mask, T value, ::dushmem::emu::site at = {}) {
  static_assert(std::is_arithmetic_v<T>, "__match_any_sync compares numbers");
  return static_cast<::dushmem::emu::mask_result<M>>(
      ::dushmem::emu::match<typename ::dushmem::emu::promoted<T>::type>("__match_any_sync",
                                                                        ::dushmem::emu::mask_bits(mask), at, value)
          .same);
}
template <class M, class T>
inline ::dushmem::emu::mask_result<M> __match_all_sync(M mask, T value, int *all, ::dushmem::emu::site at = {}) {
  static_assert(std::is_arithmetic_v<T>, "__match_all_sync compares numbers");
  const auto part = ::dushmem::emu::match<typename ::dushmem::emu::promoted<T>::type>(
      "__match_all_sync", ::dushmem::emu::mask_bits(mask), at, value);
  *all = part.same == part.members;
  return static_cast<::dushmem::emu::mask_result<M>>(*all ? ::dushmem::emu::mask_bits(mask) : 0);
}

/* Reductions. */
#define DUSHMEM_EMU_REDUCE(name, T)                                                                           \
  inline T __reduce_##name##_sync(unsigned long long mask, T value, ::dushmem::emu::site at = {}) {           \
    return ::dushmem::emu::reduce<::dushmem::emu::op_##name>("__reduce_" #name "_sync", mask, at, value);     \
  }
DUSHMEM_EMU_REDUCE(add, int)
DUSHMEM_EMU_REDUCE(add, unsigned)
DUSHMEM_EMU_REDUCE(min, int)
DUSHMEM_EMU_REDUCE(min, unsigned)
DUSHMEM_EMU_REDUCE(max, int)
DUSHMEM_EMU_REDUCE(max, unsigned)
DUSHMEM_EMU_REDUCE(and, unsigned)
DUSHMEM_EMU_REDUCE(or, unsigned)
DUSHMEM_EMU_REDUCE(xor, unsigned)
#undef DUSHMEM_EMU_REDUCE

/* HIP's number of the lane. */
inline unsigned __lane_id() { return ::dushmem::emu::lane_number(); }

/* Barriers of the block that count votes. */
inline int __syncthreads_count(int yes) {
  return static_cast<int>(static_cast<uint32_t>(dushmem_emu_sync_threads_vote(yes)));
}
inline int __syncthreads_or(int yes) { return __syncthreads_count(yes) != 0; }
inline int __syncthreads_and(int yes) {
  const uint64_t votes = dushmem_emu_sync_threads_vote(yes);
  return static_cast<uint32_t>(votes) == static_cast<uint32_t>(votes >> 32);
}
#endif
