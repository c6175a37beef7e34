/* Reductions and their operators over tiles and coalesced groups. Values are combined in the order of the ranks, so
 * that results of floating-point operations repeat. */
#ifndef DUSHMEM_EMU_COOPERATIVE_GROUPS_REDUCE_H
#define DUSHMEM_EMU_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups {

template <class T> struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
  T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
  T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
  T operator()(T a, T b) const { return a ^ b; }
};

namespace impl {

template <class T, class Op> struct fold_part {
  uint64_t members;
  T value;
  Op op;
  /* What the ranks before this one give, if there are any. */
  T before;
  bool first;
};

struct fold_all {
  template <class T, class Op> void operator()(fold_part<T, Op> *const *parts, uint64_t members) const {
    const Op &op = parts[__builtin_ctzll(members)]->op;
    T total = parts[__builtin_ctzll(members)]->value;
    ::dushmem::emu::each_lane(members & (members - 1), [&](int lane) { total = op(total, parts[lane]->value); });
    ::dushmem::emu::each_lane(members, [&](int lane) { parts[lane]->value = total; });
  }
};

struct fold_up_to {
  template <class T, class Op> void operator()(fold_part<T, Op> *const *parts, uint64_t members) const {
    const int first = __builtin_ctzll(members);
    const Op &op = parts[first]->op;
    T total = parts[first]->value;
    parts[first]->first = true;
    ::dushmem::emu::each_lane(members & (members - 1), [&](int lane) {
      parts[lane]->before = total;
      total = parts[lane]->value = op(total, parts[lane]->value);
    });
  }
};

} // namespace impl

template <class Group, class T, class Op> T reduce(const Group &group, T value, Op op, impl::site at = {}) {
  impl::fold_part<T, Op> part{0, value, op, value, false};
  ::dushmem::emu::meet("reduce", group.lanes_of().mask, true, at, part, impl::fold_all{});
  return part.value;
}

} // namespace cooperative_groups
#endif
