/* Bodies of team.h. */
#ifndef DUSHMEM_IMPL_TEAM_FUNCS_H
#define DUSHMEM_IMPL_TEAM_FUNCS_H

namespace dushmem {
namespace device {

#ifdef DUSHMEM_EMU

DUSHMEM_IMPL_FN int my_pe() { return dushmem_host_my_pe(); }
DUSHMEM_IMPL_FN int n_pes() { return dushmem_host_n_pes(); }
DUSHMEM_IMPL_FN int team_my_pe(int32_t team) { return dushmem_host_team_my_pe(team); }
DUSHMEM_IMPL_FN int team_n_pes(int32_t team) { return dushmem_host_team_n_pes(team); }
DUSHMEM_IMPL_FN int team_translate_pe(int32_t source, int pe, int32_t dest) {
  return dushmem_host_team_translate_pe(source, pe, dest);
}
template <class T> DUSHMEM_IMPL_FN T *ptr(T *object, int pe) {
  return static_cast<T *>(dushmem_host_ptr(object, pe));
}

#else

DUSHMEM_IMPL_FN int my_pe() { return impl::state().my_pe; }
DUSHMEM_IMPL_FN int n_pes() { return impl::state().n_pes; }

namespace impl {
/* Null: no such team, or this PE is no member. */
DUSHMEM_IMPL_FN const dushmem_impl_kernel_team *team_of(int32_t team) {
  const dushmem_impl_kernel_state &s = state();
  if (team < 0 || (uint64_t)team >= s.team_count) return nullptr;
  const dushmem_impl_kernel_team *found = (const dushmem_impl_kernel_team *)s.teams + team;
  return found->my_pe < 0 ? nullptr : found;
}
} // namespace impl

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
  const int world = from->pes ? (int)((const uint32_t *)from->pes)[pe] : pe;
  if (!to->pes) return world < to->n_pes ? world : -1;
  for (int rank = 0; rank < to->n_pes; rank++)
    if ((int)((const uint32_t *)to->pes)[rank] == world) return rank;
  return -1;
}
template <class T> DUSHMEM_IMPL_FN T *ptr(T *object, int pe) {
  const dushmem_impl_kernel_state &s = impl::state();
  if ((unsigned)pe >= (unsigned)s.n_pes || (uint64_t)(uintptr_t)object - s.heap >= s.heap_len) return nullptr;
  const int64_t delta = ((const int64_t *)s.delta)[pe];
  return delta == DUSHMEM_IMPL_UNREACHABLE ? nullptr : (T *)((uintptr_t)object + (uintptr_t)delta);
}
#endif

} // namespace device
} // namespace dushmem
#endif
