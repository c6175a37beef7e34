/* nvcc: see target.h. */
#ifndef DUSHMEM_IMPL_TARGET_CUDA_H
#define DUSHMEM_IMPL_TARGET_CUDA_H

namespace dushmem {
namespace device {
namespace impl {

#define DUSHMEM_IMPL_LOADS(U, WIDTH, REGISTER)                                                          \
  DUSHMEM_IMPL_FN U load_relaxed(const U *at) {                                                         \
    U value;                                                                                            \
    asm volatile("ld.relaxed.sys." WIDTH " %0, [%1];" : REGISTER(value) : "l"(at) : "memory");          \
    return value;                                                                                       \
  }                                                                                                     \
  DUSHMEM_IMPL_FN U load_acquire(const U *at) {                                                         \
    U value;                                                                                            \
    asm volatile("ld.acquire.sys." WIDTH " %0, [%1];" : REGISTER(value) : "l"(at) : "memory");          \
    return value;                                                                                       \
  }
DUSHMEM_IMPL_LOADS(unsigned short, "u16", "=h")
DUSHMEM_IMPL_LOADS(unsigned int, "u32", "=r")
DUSHMEM_IMPL_LOADS(unsigned long long, "u64", "=l")
#undef DUSHMEM_IMPL_LOADS

#define DUSHMEM_IMPL_STORES(U, WIDTH, REGISTER)                                                         \
  DUSHMEM_IMPL_FN void store_relaxed(U *at, U value) {                                                  \
    asm volatile("st.relaxed.sys." WIDTH " [%0], %1;" ::"l"(at), REGISTER(value) : "memory");           \
  }                                                                                                     \
  DUSHMEM_IMPL_FN void store_release(U *at, U value) {                                                  \
    asm volatile("st.release.sys." WIDTH " [%0], %1;" ::"l"(at), REGISTER(value) : "memory");           \
  }
DUSHMEM_IMPL_STORES(unsigned int, "u32", "r")
DUSHMEM_IMPL_STORES(unsigned long long, "u64", "l")
#undef DUSHMEM_IMPL_STORES

/* Volatile accesses pass by the caches of a multiprocessor, in which a peer's memory may have grown old. */
template <class U> DUSHMEM_IMPL_FN U load_fresh(const U *at) { return *(const volatile U *)at; }
DUSHMEM_IMPL_FN chunk load_fresh(const chunk *at) {
  chunk value;
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
  return value;
}

/* Both halves by one access. */
DUSHMEM_IMPL_FN void store_flagged(chunk *at, chunk value) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
  asm volatile("{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\tst.relaxed.sys.b128 [%0], both;\n\t}" ::"l"(at),
               "l"(value.low), "l"(value.high)
               : "memory");
#else
  asm volatile("st.volatile.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high) : "memory");
#endif
}
DUSHMEM_IMPL_FN chunk load_flagged(const chunk *at) {
  chunk value;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
  asm volatile("{\n\t.reg .b128 both;\n\tld.relaxed.sys.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
               : "=l"(value.low), "=l"(value.high)
               : "l"(at)
               : "memory");
#else
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
#endif
  return value;
}

template <class U> DUSHMEM_IMPL_FN U add(U *at, U value) { return atomicAdd_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_and(U *at, U value) { return atomicAnd_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_or(U *at, U value) { return atomicOr_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_xor(U *at, U value) { return atomicXor_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U exchange(U *at, U value) { return atomicExch_system(at, value); }
template <class U> DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {
  return atomicCAS_system(at, cond, value);
}

DUSHMEM_IMPL_FN void fence_system() { __threadfence_system(); }
/* Enough before a store that others wait for. */
DUSHMEM_IMPL_FN void fence_release() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

DUSHMEM_IMPL_FN unsigned warp_size() { return 32; }

DUSHMEM_IMPL_FN void sync(scope::thread) {}
DUSHMEM_IMPL_FN void sync(scope::warp) { __syncwarp(); }
DUSHMEM_IMPL_FN void sync(scope::block) { __syncthreads(); }
DUSHMEM_IMPL_FN void sync(scope::warpgroup) {
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  if (threads <= 128) return __syncthreads();
  const unsigned group = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 128;
  const unsigned left = threads - group * 128, members = left < 128 ? (left + 31) / 32 * 32 : 128;
  asm volatile("bar.sync %0, %1;" ::"r"(group + 8), "r"(members) : "memory");
}

DUSHMEM_IMPL_FN void pause() {}
DUSHMEM_IMPL_FN uint64_t ticks() { return (uint64_t)clock64(); }
/* No CPU sleeps for memory of a device. */
DUSHMEM_IMPL_FN void ring(int) {}
DUSHMEM_IMPL_FN void trap() { __trap(); }

template <class Ready> DUSHMEM_IMPL_FN void wait(const char *, const void *, uint64_t, Ready ready) {
  while (!ready()) {
  }
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
