/* hipcc for AMD GPUs: see target.h. */
#ifndef DUSHMEM_IMPL_TARGET_HIP_H
#define DUSHMEM_IMPL_TARGET_HIP_H

namespace dushmem {
namespace device {
namespace impl {

template <class U> DUSHMEM_IMPL_FN U load_relaxed(const U *at) {
  return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U load_acquire(const U *at) {
  return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
/* Volatile accesses pass by the caches in which a peer's memory may have grown old. */
template <class U> DUSHMEM_IMPL_FN U load_fresh(const U *at) { return *(const volatile U *)at; }
DUSHMEM_IMPL_FN chunk load_fresh(const chunk *at) {
  typedef unsigned int __attribute__((ext_vector_type(4))) __attribute__((__may_alias__)) vector;
  const vector loaded = *(const volatile vector *)at;
  chunk value;
  __builtin_memcpy(&value, &loaded, sizeof value);
  return value;
}
template <class U> DUSHMEM_IMPL_FN void store_relaxed(U *at, U value) {
  __hip_atomic_store(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN void store_release(U *at, U value) {
  __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U load_far(const U *at) { return load_fresh(at); }
template <class U> DUSHMEM_IMPL_FN void store_far(U *at, U value) { *(volatile U *)at = value; }
DUSHMEM_IMPL_FN void *computed_now(const void *address) { return (void *)address; }
DUSHMEM_IMPL_FN int64_t load_table(uint64_t table, int i, int n) {
  return DUSHMEM_IMPL_IS((unsigned)i < (unsigned)n) ? ((const int64_t *)(uintptr_t)table)[i] : DUSHMEM_IMPL_UNREACHABLE;
}
/* The halves one after the other. */
DUSHMEM_IMPL_FN void store_flagged(chunk *at, chunk value) {
  store_relaxed(&at->low, value.low);
  store_release(&at->high, value.high);
}
DUSHMEM_IMPL_FN chunk load_flagged(const chunk *at) {
  chunk value;
  value.high = load_acquire(&at->high);
  value.low = load_relaxed(&at->low);
  return value;
}
template <class U> DUSHMEM_IMPL_FN U add(U *at, U value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN void store_ordered(U *at, U value) { store_release(at, value); }
template <class U> DUSHMEM_IMPL_FN void add_ordered(U *at, U value) {
  (void)__hip_atomic_fetch_add(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_and(U *at, U value) {
  return __hip_atomic_fetch_and(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_or(U *at, U value) {
  return __hip_atomic_fetch_or(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U bit_xor(U *at, U value) {
  return __hip_atomic_fetch_xor(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U exchange(U *at, U value) {
  return __hip_atomic_exchange(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <class U> DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {
  __hip_atomic_compare_exchange_strong(at, &cond, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_SYSTEM);
  return cond;
}

DUSHMEM_IMPL_FN void fence_system() { __threadfence_system(); }
DUSHMEM_IMPL_FN void fence_acquire() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }

/* Enough before a store that others wait for. */
DUSHMEM_IMPL_FN void fence_release() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }

/* Each thread of a block its own stores, before they meet. */
DUSHMEM_IMPL_FN void fence_own() { fence_release(); }

DUSHMEM_IMPL_FN unsigned warp_size() { return (unsigned)warpSize; }

DUSHMEM_IMPL_FN void sync(scope::thread) {}
/* The lanes of a wave go together; what is left is the order of their accesses. */
DUSHMEM_IMPL_FN void sync(scope::warp) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
DUSHMEM_IMPL_FN void sync(scope::block) { __syncthreads(); }

/* There are no barriers for a part of a block. */
DUSHMEM_IMPL_FN void sync(scope::warpgroup) {
  if (blockDim.x * blockDim.y * blockDim.z <= 4 * warp_size()) return __syncthreads();
  fault("a call with scope::warpgroup", "threads of the block", (int64_t)(blockDim.x * blockDim.y * blockDim.z),
        "on this GPU a block has at most the threads of a warp group; use scope::warp or scope::block");
}

DUSHMEM_IMPL_FN void pause() { __builtin_amdgcn_s_sleep(1); }
DUSHMEM_IMPL_FN uint64_t ticks() { return (uint64_t)clock64(); }
/* No CPU sleeps for memory of a device. */
DUSHMEM_IMPL_FN void ring(int) {}
DUSHMEM_IMPL_FN void trap() { __builtin_trap(); }

template <class Ready> DUSHMEM_IMPL_FN void wait(const char *, const void *, uint64_t, Ready ready) {
  while (!ready()) pause();
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
