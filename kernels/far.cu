/* The collectives of move.cu and reduce.cu for teams of which a member is out of reach of loads and stores: everything
 * goes by messages, through the proxy where it must. 1 block of 512 threads. */
#include "library.h"

namespace dushmem {
namespace device {
namespace impl {

/* For reduce_by_messages: vectors as bytes, the operation and the type are those of block_op. */
struct typed_byte {
  unsigned char byte;
};
template <class Op, class S>
DUSHMEM_IMPL_APART void combine(const members &team, typed_byte *dest, const typed_byte *own, size_t bytes, S s) {
  const typed_op how = block_op();
  for (size_t at = rank(s) * (size_t)16; at < bytes; at += size(s) * (size_t)16) {
    chunk all{};
    for (int r = 0; r < team.n; r++) {
      const chunk next = load_unit((const char *)operand(team, r, own) + at, bytes - at);
      all = r == 0 ? next : apply_typed(all, next, how);
    }
    store_unit((char *)dest + at, all, bytes - at);
  }
}

} // namespace impl
} // namespace device
} // namespace dushmem

DUSHMEM_KERNEL dushmem_k_far_fcollect(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  fcollect<block_scope>(handle, (unit1 *)(uintptr_t)dest, (const unit1 *)(uintptr_t)source, bytes);
}

DUSHMEM_KERNEL dushmem_k_far_alltoall(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  alltoall<block_scope>(handle, (unit1 *)(uintptr_t)dest, (const unit1 *)(uintptr_t)source, bytes);
}

DUSHMEM_KERNEL dushmem_k_far_broadcast(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes, int32_t root) {
  broadcast<block_scope>(handle, (unit1 *)(uintptr_t)dest, (const unit1 *)(uintptr_t)source, bytes, root);
}

DUSHMEM_KERNEL dushmem_k_far_reduce(int32_t handle, uint64_t dest, uint64_t source, uint64_t n, uint32_t type, uint32_t op,
                                    uint32_t kind) {
  members team;
  const char *const call = kind == 0 ? "reduce" : "reducescatter";
  if (n == 0 || !opened(handle, team, call)) return;
  if (threadIdx.x == 0) block_op() = typed_op{type, op};
  sync(block_scope{});
  reduce_by_messages<op_of_block>(team, (typed_byte *)(uintptr_t)dest, (const typed_byte *)(uintptr_t)source,
                                  n * element_bytes(type), kind == 0 ? result::all : result::own_block, call, block_scope{});
}
