/* Reductions. Types and operations by number; a grid of blocks of 512 threads. The members reach each other by loads and
 * stores. */
#include "library.h"

namespace {

/* In one step: block_op says what is computed. */
__device__ void by_block(const members &team, char *dest, const char *source, size_t bytes, size_t elem, size_t step,
                         const char *call) {
  if (elem == 16)
    reduce_flagged<op_of_block>(team, (chunk *)dest, (const chunk *)source, bytes, step, call, block_scope{});
  else
    reduce_flagged<op_of_block>(team, (unit8 *)dest, (const unit8 *)source, bytes, step, call, block_scope{});
}

} // namespace

/* kind 0: dest gets the n elements of all members combined; 1: of n elements for each member, those of the own block.
 * dest and source are symmetric, and may be the same. */
DUSHMEM_KERNEL dushmem_k_reduce(int32_t handle, uint64_t dest, uint64_t source, uint64_t n, uint32_t type, uint32_t op,
                                uint32_t kind) {
  members team;
  const char *const call = kind == 0 ? "reduce" : "reducescatter";
  if (n == 0 || !opened(handle, team, call)) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  const typed_op how{type, op};
  const size_t elem = element_bytes(type), bytes = n * elem;
  if (in_one_step(team, bytes)) {
    if (threadIdx.x == 0) block_op() = how;
    sync(block_scope{});
    return by_block(team, to, from, bytes, elem, kind == 0 ? 0 : bytes, call);
  }
  grid_call is;
  if (!begin_grid(is, team, call)) return;
  if (kind != 0 && dest == source)
    grid_reducescatter_in_place(is, to, bytes, how);
  else
    grid_reduce(is, to, from, bytes, how, kind != 0);
}
