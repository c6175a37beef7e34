/* Who am I, how many are there, and where are the others' copies of my objects. Callable in kernels. */
#ifndef DUSHMEM_TEAM_H
#define DUSHMEM_TEAM_H

#include "impl/reach.h"

namespace dushmem {
namespace device {

/* Number of the calling PE in the world. */
DUSHMEM_IMPL_FN int my_pe();

/* Number of PEs of the world. */
DUSHMEM_IMPL_FN int n_pes();

/* Number of the calling PE in a team, or -1 if it is no member. */
DUSHMEM_IMPL_FN int team_my_pe(int32_t team);

/* Number of PEs of a team, or -1 if the calling PE is no member. */
DUSHMEM_IMPL_FN int team_n_pes(int32_t team);

/* Number in team `dest` of the PE that has number `pe` in team `source`, or -1. */
DUSHMEM_IMPL_FN int team_translate_pe(int32_t source, int pe, int32_t dest);

/* Address of PE pe's copy of an own symmetric object, or null where it can't be loaded from and stored to. */
/* A PE that does not exist ends the job. */
template <class T> DUSHMEM_IMPL_FN T *ptr(T *object, int pe);

} // namespace device
} // namespace dushmem

#include "impl/team_funcs.h"
#endif
