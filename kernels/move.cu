/* Collectives that move data, and strided copies. Lengths in bytes; a grid of blocks of 512 threads. The members reach
 * each other by loads and stores. */
#include "flagged.h"

DUSHMEM_KERNEL dushmem_k_fcollect(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  members team;
  if (bytes == 0 || !opened(handle, team, "fcollect")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return exchange_flagged(team, to, from, bytes, 0, "fcollect", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "fcollect")) grid_fcollect(is, to, from, bytes);
}

/* dest may be source, on all members. */
DUSHMEM_KERNEL dushmem_k_alltoall(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes) {
  members team;
  if (bytes == 0 || !opened(handle, team, "alltoall")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return exchange_flagged(team, to, from, bytes, bytes, "alltoall", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "alltoall")) grid_alltoall(is, to, from, bytes);
}

/* source is symmetric; dest may be source. */
DUSHMEM_KERNEL dushmem_k_broadcast(int32_t handle, uint64_t dest, uint64_t source, uint64_t bytes, int32_t root) {
  members team;
  if (bytes == 0 || !opened(handle, team, "broadcast")) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (in_one_step(team, bytes)) return broadcast_flagged(team, to, from, bytes, root, "broadcast", block_scope{});
  grid_call is;
  if (begin_grid(is, team, "broadcast")) grid_broadcast(is, to, from, bytes, root);
}

namespace {

/* A thread's words of several members, of which some are there. */
template <int Words> struct few_there {
  const chunk *const (&at)[Words];
  uint64_t number;
  unsigned long long (&got)[Words];

  __device__ bool operator()() const {
    chunk found[Words];
    bool all = true;
    for (int k = 0; k < Words; k++)
      if (at[k] != nullptr) found[k] = load_flagged(at[k]);
    for (int k = 0; k < Words; k++)
      if (at[k] != nullptr) {
        got[k] = found[k].low;
        all = all && found[k].high == number;
      }
    return all;
  }
};

/* What the members from `from` on have sent, before place `end`, goes to dest, a block each. */
__device__ inline void few_receive(const dushmem_k_few &few, const few_words &all, uint64_t number, char *dest, int from,
                                   unsigned end, const char *call) {
  constexpr int at_once = 4;
  const char *const first = (const char *)few_buffer(few, number, from);
  DUSHMEM_IMPL_ROLLED
  for (unsigned i = threadIdx.x; i < end; i += at_once * blockDim.x) {
    const chunk *at[at_once];
    unsigned long long got[at_once] = {};
    for (int k = 0; k < at_once; k++) {
      const unsigned place = i + (unsigned)k * blockDim.x, byte = all.at(place);
      const bool there = place < end && byte < all.bytes;
      at[k] = there ? (const chunk *)(first + (all.rank(place) * few.cell + 2 * byte)) : nullptr;
    }
    wait(call, at[0], number, few_there<at_once>{at, number, got});
    for (int k = 0; k < at_once; k++) {
      const unsigned place = i + (unsigned)k * blockDim.x, byte = all.at(place);
      if (at[k] != nullptr) store_word(dest + (all.rank(place) * all.bytes + byte), got[k], all.bytes - byte);
    }
  }
}

} // namespace

/* As the collectives above, for few members and up to half a buffer. shift: few_words of the bytes. */
DUSHMEM_KERNEL_FEW dushmem_k_few_exchange(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source, uint32_t bytes,
                                          uint32_t shift, uint32_t all_to_all) {
  const char *const call = all_to_all != 0 ? "alltoall" : "fcollect";
  const few_words all{shift, bytes};
  const flagged_call is = few_next(few);
  few_send(few, all, is, (const char *)(uintptr_t)source, all_to_all != 0 ? bytes : 0, call);
  few_note(few, is, true);
  few_receive(few, all, is.number, (char *)(uintptr_t)dest, 0, all.end(few), call);
}

DUSHMEM_KERNEL_FEW dushmem_k_few_broadcast(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source, uint32_t bytes,
                                           uint32_t shift, int32_t root) {
  const char *const call = "broadcast";
  const few_words all{shift, bytes};
  const flagged_call is = few_next(few);
  const int other = few_served(few);
  if (other >= 0) few_tell(few, words::here, is.number, other);
  if (few.me == root)
    few_send(few, all, is, (const char *)(uintptr_t)source, 0, call);
  else
    sync(block_scope{});
  few_note(few, is, false);
  few_receive(few, all, is.number, (char *)(uintptr_t)dest, root, 1u << shift, call);
}

namespace {

__device__ inline void flagged_copy(const flagged_call_of_block &is, char *dest, const char *source) {
  if (dest == source) return;
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = threadIdx.x * 8; at < is.bytes; at += is.width) is.store(dest, at, is.load(source, at));
}

} // namespace

/* As dushmem_k_few_exchange. part: bytes of each block, a multiple of 8, and at most half of few.cell; the same number of blocks
 * on all members. In place each thread has sent what it overwrites. */
DUSHMEM_KERNEL_FLAGGED dushmem_k_flagged_exchange(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source,
                                                  uint32_t bytes, uint32_t part, uint32_t all_to_all) {
  flagged_call_of_block is = flagged_part(few, bytes, part, all_to_all != 0 ? "alltoall" : "fcollect");
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  const size_t step = all_to_all != 0 ? bytes : 0;
  flagged_send(is, from, step);
  flagged_copy(is, to + (size_t)few.me * bytes, from + (size_t)few.me * step);
  for (int k = 1; k < few.n; k++) {
    const int rank = is.behind(k);
    flagged_receive(is, rank, to + (size_t)rank * bytes);
  }
}

DUSHMEM_KERNEL_FLAGGED dushmem_k_flagged_broadcast(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source,
                                                   uint32_t bytes, uint32_t part, int32_t root) {
  flagged_call_of_block is = flagged_part(few, bytes, part, "broadcast");
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  if (few.me == root) {
    flagged_send(is, from, 0);
    flagged_copy(is, to, from);
  } else {
    flagged_begin(is);
    flagged_receive(is, root, to);
  }
}

/* Waits for nobody; any alignment. Loads are under way four at a time where there are many. */
DUSHMEM_KERNEL dushmem_k_copy(uint64_t dest, uint64_t source, uint64_t bytes) {
  constexpr int at_once = 4;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  const size_t step = (size_t)gridDim.x * blockDim.x * 16;
  DUSHMEM_IMPL_ROLLED
  for (size_t at = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 16; at < bytes; at += at_once * step) {
    chunk value[at_once];
    for (int i = 0; i < at_once; i++)
      if (at + i * step < bytes) value[i] = load_unit(from + at + i * step, bytes - at - i * step);
    for (int i = 0; i < at_once; i++)
      if (at + i * step < bytes) store_unit(to + at + i * step, value[i], bytes - at - i * step);
  }
}

/* n elements of `elem` bytes; strides in bytes. */
DUSHMEM_KERNEL dushmem_k_copy_strided(uint64_t dest, int64_t dest_stride, uint64_t source, int64_t source_stride,
                                      uint32_t elem, uint64_t n) {
  const size_t step = (size_t)gridDim.x * blockDim.x;
  DUSHMEM_IMPL_ROLLED
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
    char *const to = (char *)(uintptr_t)dest + (ptrdiff_t)i * dest_stride;
    const char *const from = (const char *)(uintptr_t)source + (ptrdiff_t)i * source_stride;
    DUSHMEM_IMPL_ROLLED
    for (size_t at = 0; at < elem; at += 16) store_unit(to + at, load_unit(from + at, elem - at), elem - at);
  }
}
