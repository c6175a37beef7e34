/* Scans over tiles and coalesced groups, in the order of the ranks. */
#ifndef DUSHMEM_EMU_COOPERATIVE_GROUPS_SCAN_H
#define DUSHMEM_EMU_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Op> T inclusive_scan(const Group &group, T value, Op op, impl::site at = {}) {
  impl::fold_part<T, Op> part{0, value, op, value, false};
  ::dushmem::emu::meet("inclusive_scan", group.lanes_of().mask, true, at, part, impl::fold_up_to{});
  return part.value;
}
/* The first rank gets T(). */
template <class Group, class T, class Op> T exclusive_scan(const Group &group, T value, Op op, impl::site at = {}) {
  impl::fold_part<T, Op> part{0, value, op, value, false};
  ::dushmem::emu::meet("exclusive_scan", group.lanes_of().mask, true, at, part, impl::fold_up_to{});
  return part.first ? T() : part.before;
}
template <class Group, class T> T inclusive_scan(const Group &group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T> T exclusive_scan(const Group &group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups
#endif
