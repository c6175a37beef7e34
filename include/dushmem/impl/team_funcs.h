/* Bodies of team.h. */
#ifndef DUSHMEM_IMPL_TEAM_FUNCS_H
#define DUSHMEM_IMPL_TEAM_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

/* Null: no such team, a team that was destroyed, or one that this PE is no member of. */
DUSHMEM_IMPL_FN const dushmem_impl_kernel_team *team_of(int32_t team) {
  const dushmem_impl_kernel_state &s = state();
  const uint32_t slot = (uint32_t)team & DUSHMEM_IMPL_TEAM_SLOT;
  if (team < 0 || slot >= s.team_count) return nullptr;
  const dushmem_impl_kernel_team *found = (const dushmem_impl_kernel_team *)s.teams + slot;
  return found->handle == team && found->my_pe >= 0 ? found : nullptr;
}

/* World number of a member. */
DUSHMEM_IMPL_FN int world_pe(const dushmem_impl_kernel_team &team, int member) {
  return team.pes != 0 ? (int)((const uint32_t *)team.pes)[member] : member;
}

} // namespace impl

DUSHMEM_IMPL_FN int my_pe() {
  if (!DUSHMEM_IMPL_IS(impl::state().n_pes > 0)) impl::bad_pe(-1, "my_pe");
  return impl::state().my_pe;
}
DUSHMEM_IMPL_FN int n_pes() {
  if (!DUSHMEM_IMPL_IS(impl::state().n_pes > 0)) impl::bad_pe(-1, "n_pes");
  return impl::state().n_pes;
}

DUSHMEM_IMPL_FN int team_my_pe(int32_t team) {
  if (team == 0) return my_pe();
  const dushmem_impl_kernel_team *t = impl::team_of(team);
  return t ? t->my_pe : -1;
}
DUSHMEM_IMPL_FN int team_n_pes(int32_t team) {
  if (team == 0) return n_pes();
  const dushmem_impl_kernel_team *t = impl::team_of(team);
  return t ? t->n_pes : -1;
}
DUSHMEM_IMPL_FN int team_translate_pe(int32_t source, int pe, int32_t dest) {
  const dushmem_impl_kernel_team *from = impl::team_of(source), *to = impl::team_of(dest);
  if (!from || !to || pe < 0 || pe >= from->n_pes) return -1;
  const int world = impl::world_pe(*from, pe);
  if (to->pes == 0) return world < to->n_pes ? world : -1;
  for (int rank = 0; rank < to->n_pes; rank++)
    if (impl::world_pe(*to, rank) == world) return rank;
  return -1;
}
template <class T> DUSHMEM_IMPL_FN T *ptr(T *object, int pe) {
  const dushmem_impl_kernel_state &s = impl::state();
  impl::check_pe(pe, "ptr");
  const bool in_heap = (uint64_t)(uintptr_t)object - s.heap < s.heap_len;
  if (!in_heap) return (T *)impl::ptr_elsewhere(object, pe);
  return pe == s.my_pe ? object : (T *)impl::moved_to(object, pe);
}

} // namespace device
} // namespace dushmem
#endif
