/* Collectives of a team's PEs. Callable in kernels.
 *
 * Each member of the team makes the call once: one thread, or all threads of one scope S (scope.h), which share
 * the work. Scopes may differ from member to member. The members make the same calls on a team in the same order,
 * with the same numbers of elements, roots, operations and types; calls on one team don't overlap, calls on
 * different teams may, from different blocks. The kernels of all members have to run at the same time: launch them
 * with collective launch where there is more than one block.
 *
 * team is a handle: DUSHMEM_TEAM_WORLD or what the host's calls gave, also on teams that were made after the kernel
 * was compiled or its module loaded. Roots and ranks are numbers in the team. dest is a symmetric address (the own
 * one); source is any address. Lengths are in elements and may be 0, with any pointers. Buffers don't overlap,
 * except where "in place" is said. When a call returns, the own dest is complete and source can be changed; the next
 * call may use the same buffers at once, whatever the other members are doing.
 *
 * They return 0, or 1 without doing anything, after one line about it, where there is no such team, it was destroyed,
 * this PE is no member, or the root is none. A bad address ends the job.
 *
 * Reductions combine by rank, from 0 on, whatever the length: floating-point results are the same bits on all
 * members, in every run, and the same as those of the host's reductions. Half and bfloat16 are computed with as
 * floats and rounded in each step. Integers wrap. A NaN is the result of max and min; -0 is less than 0. */
#ifndef DUSHMEM_COLL_H
#define DUSHMEM_COLL_H

#include "impl/coll_ops.h"
#include "rma.h"
#include "sync.h"
#include "team.h"

namespace dushmem {
namespace device {

/* What reductions compute. and_, or_, xor_: integers. maxloc: structures with members x and y, such as double2; the
 * one with the largest x, of several the one with the smallest y. */
struct op {
  typedef impl::op_and and_;
  typedef impl::op_or or_;
  typedef impl::op_xor xor_;
  typedef impl::op_max max;
  typedef impl::op_min min;
  typedef impl::op_sum sum;
  typedef impl::op_prod prod;
  typedef impl::op_maxloc maxloc;
};

/* Waits until all members have called it. What a member's threads of S wrote before is seen by all afterwards; puts
 * to peers out of reach of loads and stores are not completed. */
template <class S = scope::thread> DUSHMEM_IMPL_FN int sync(int32_t team);
template <class S = scope::thread> DUSHMEM_IMPL_FN void sync_all();

/* The same, and before it completes all that this PE's kernels have issued on the default context. */
template <class S = scope::thread> DUSHMEM_IMPL_FN int barrier(int32_t team);
template <class S = scope::thread> DUSHMEM_IMPL_FN void barrier_all();

/* Copies nelems elements at source of the member root to dest of all members, the root's included. In place. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN int broadcast(int32_t team, T *dest, const T *source, size_t nelems, int root);

/* Concatenates nelems elements of each member, by rank, at dest of all: dest has n_pes * nelems elements. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN int fcollect(int32_t team, T *dest, const T *source, size_t nelems);

/* The same with a number of elements that may differ from member to member. dest has room for their sum. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN int collect(int32_t team, T *dest, const T *source, size_t nelems);

/* Sends nelems elements, block j of source, to the member j, where they become the block of this member's rank in
 * dest. Both have n_pes * nelems elements. In place, on all members or on none. */
template <class S = scope::thread, class T>
DUSHMEM_IMPL_FN int alltoall(int32_t team, T *dest, const T *source, size_t nelems);

/* Combines nreduce elements of all members, one by one, and gives the result to all. In place. */
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reduce(int32_t team, T *dest, const T *source, size_t nreduce);

/* The same of n_pes * nreduce elements, of which each member gets the nreduce of its own block. In place: the result
 * takes the place of the first block. */
template <class S, class Op, class T>
DUSHMEM_IMPL_FN int reducescatter(int32_t team, T *dest, const T *source, size_t nreduce);

/* Prefix sums by rank: inscan adds the elements of the members up to the own rank, exscan those of the ranks below,
 * which is 0 on rank 0. Op is op::sum. In place. */
template <class S, class Op = op::sum, class T>
DUSHMEM_IMPL_FN int inscan(int32_t team, T *dest, const T *source, size_t nelems);
template <class S, class Op = op::sum, class T>
DUSHMEM_IMPL_FN int exscan(int32_t team, T *dest, const T *source, size_t nelems);

} // namespace device
} // namespace dushmem

#include "impl/coll_team.h"

#include "impl/coll_sync.h"

#include "impl/coll_ll.h"

#include "impl/coll_move.h"

#include "impl/coll_reduce.h"
#endif
