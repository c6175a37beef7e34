/* Vectors combined without flags: for calls whose members have met already. A grid of blocks of 512 threads. */
#include "library.h"

struct dushmem_k_addresses {
  uint64_t at[128];
};

namespace {

__device__ __noinline__ void combine_all(const uint64_t *at, uint32_t sources, uint32_t dests, uint64_t n, uint32_t type, uint32_t op) {
  const size_t threads = block_size();
  combine_units(at, (int)sources, at + sources, (int)dests, 0, n * element_bytes(type), typed_op{type, op},
                share_of{blockIdx.x * threads + thread_number(), gridDim.x * threads});
}

} // namespace

/* n elements at all dests = those of the sources, combined in order. table: addresses of the sources, then of the
 * dests, which may be sources. */
DUSHMEM_KERNEL dushmem_k_combine(uint64_t table, uint32_t sources, uint32_t dests, uint64_t n, uint32_t type, uint32_t op) {
  combine_all((const uint64_t *)(uintptr_t)table, sources, dests, n, type, op);
}

/* The same with the addresses as a parameter. */
DUSHMEM_KERNEL dushmem_k_combine_at(DUSHMEM_BY_VALUE dushmem_k_addresses table, uint32_t sources, uint32_t dests, uint64_t n,
                                    uint32_t type, uint32_t op) {
  combine_all(table.at, sources, dests, n, type, op);
}
