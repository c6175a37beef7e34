/* nvcc: see target.h. */
#ifndef DUSHMEM_IMPL_TARGET_CUDA_H
#define DUSHMEM_IMPL_TARGET_CUDA_H

namespace dushmem {
namespace device {
namespace impl {

/* Words that others see are in global memory. */
#define DUSHMEM_IMPL_LOADS(U, WIDTH, REGISTER)                                                          \
  DUSHMEM_IMPL_FN U load_relaxed(const U *at) {                                                         \
    U value;                                                                                            \
    asm volatile("ld.relaxed.sys.global." WIDTH " %0, [%1];" : REGISTER(value) : "l"(at) : "memory");          \
    return value;                                                                                       \
  }                                                                                                     \
  DUSHMEM_IMPL_FN U load_acquire(const U *at) {                                                         \
    U value;                                                                                            \
    asm volatile("ld.acquire.sys.global." WIDTH " %0, [%1];" : REGISTER(value) : "l"(at) : "memory");          \
    return value;                                                                                       \
  }
DUSHMEM_IMPL_LOADS(unsigned short, "u16", "=h")
DUSHMEM_IMPL_LOADS(unsigned int, "u32", "=r")
DUSHMEM_IMPL_LOADS(unsigned long long, "u64", "=l")
#undef DUSHMEM_IMPL_LOADS

#define DUSHMEM_IMPL_STORES(U, WIDTH, REGISTER)                                                         \
  DUSHMEM_IMPL_FN void store_relaxed(U *at, U value) {                                                  \
    asm volatile("st.relaxed.sys.global." WIDTH " [%0], %1;" ::"l"(at), REGISTER(value) : "memory");           \
  }                                                                                                     \
  DUSHMEM_IMPL_FN void store_release(U *at, U value) {                                                  \
    asm volatile("st.release.sys.global." WIDTH " [%0], %1;" ::"l"(at), REGISTER(value) : "memory");           \
  }
DUSHMEM_IMPL_STORES(unsigned int, "u32", "r")
DUSHMEM_IMPL_STORES(unsigned long long, "u64", "l")
#undef DUSHMEM_IMPL_STORES

/* A fence of the device takes half the time of one of the system, and is enough where the library says so. */
DUSHMEM_IMPL_FN bool near() { return (state().flags & DUSHMEM_IMPL_FLAG_NEAR) != 0; }

/* Without what else a fence does: a multiprocessor forgets what its cache holds. */
DUSHMEM_IMPL_FN void store_ordered(unsigned long long *at, unsigned long long value) {
  if (near())
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
  else
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
DUSHMEM_IMPL_FN void add_ordered(unsigned long long *at, unsigned long long value) {
  if (near())
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
  else
    asm volatile("red.release.sys.global.add.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

/* To a peer's memory, or own memory of the device. */
#define DUSHMEM_IMPL_STORES(U, WIDTH, REGISTER, VALUE)                                                  \
  DUSHMEM_IMPL_FN void store_far(U *at, U value) {                                                      \
    asm volatile("st.relaxed.sys.global." WIDTH " [%0], %1;" ::"l"(at), REGISTER(VALUE) : "memory");    \
  }
DUSHMEM_IMPL_STORES(unsigned char, "u8", "h", (unsigned short)value)
DUSHMEM_IMPL_STORES(unsigned short, "u16", "h", value)
DUSHMEM_IMPL_STORES(unsigned int, "u32", "r", value)
DUSHMEM_IMPL_STORES(unsigned long long, "u64", "l", value)
#undef DUSHMEM_IMPL_STORES

/* From there, past the near cache. Nothing else is ordered by it, so the loads of several calls are under way together. */
#define DUSHMEM_IMPL_LOADS(U, WIDTH, REGISTER, HELD)                                                    \
  DUSHMEM_IMPL_FN U load_far(const U *at) {                                                             \
    HELD value;                                                                                         \
    asm volatile("ld.relaxed.sys.global." WIDTH " %0, [%1];" : REGISTER(value) : "l"(at));              \
    return (U)value;                                                                                    \
  }
DUSHMEM_IMPL_LOADS(unsigned char, "u8", "=h", unsigned short)
DUSHMEM_IMPL_LOADS(unsigned short, "u16", "=h", unsigned short)
DUSHMEM_IMPL_LOADS(unsigned int, "u32", "=r", unsigned int)
DUSHMEM_IMPL_LOADS(unsigned long long, "u64", "=l", unsigned long long)
#undef DUSHMEM_IMPL_LOADS

/* Volatile accesses pass by the caches of a multiprocessor, in which a peer's memory may have grown old. */
template <class U> DUSHMEM_IMPL_FN U load_fresh(const U *at) { return *(const volatile U *)at; }
DUSHMEM_IMPL_FN chunk load_fresh(const chunk *at) {
  chunk value;
  asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
  return value;
}

/* Memory of the device, or of others that it addresses: not a thread's own, nor a block's. Its loads and stores need
 * no look at the address. */
DUSHMEM_IMPL_FN bool is_global(const void *at) { return __isGlobal(at) != 0; }
DUSHMEM_IMPL_FN chunk load_chunk(const chunk *at) {
  chunk value;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
  return value;
}
DUSHMEM_IMPL_FN chunk load_chunk_fresh(const chunk *at) {
  chunk value;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"(at)
               : "memory");
  return value;
}
DUSHMEM_IMPL_FN void store_chunk(chunk *at, chunk value) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high) : "memory");
}
/* What lane `from` of a whole warp has. */
DUSHMEM_IMPL_FN unsigned long long lane_value(unsigned long long value, unsigned from) {
  return __shfl_sync(0xffffffffu, value, (int)from);
}
DUSHMEM_IMPL_FN unsigned funnel(unsigned low, unsigned high, unsigned bits) { return __funnelshift_r(low, high, bits); }

/* Entry i of a table of n, which does not change while a kernel runs; UNREACHABLE without one. An ordinary load of an
 * address that is always good, so that compilers move it out of loops. */
static __device__ const long long no_entry = DUSHMEM_IMPL_UNREACHABLE;
DUSHMEM_IMPL_FN int64_t load_table(uint64_t table, int i, int n) {
  const long long *const entry = (const long long *)(uintptr_t)table + i;
  return (int64_t)__ldg((unsigned)i < (unsigned)n ? entry : &no_entry);
}
/* Both halves by one access. */
DUSHMEM_IMPL_FN void store_flagged(chunk *at, chunk value) {
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
  asm volatile("{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\tst.relaxed.sys.global.b128 [%0], both;\n\t}" ::"l"(at),
               "l"(value.low), "l"(value.high)
               : "memory");
#else
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value.low), "l"(value.high) : "memory");
#endif
}
DUSHMEM_IMPL_FN chunk load_flagged(const chunk *at) {
  chunk value;
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203
  asm volatile("{\n\t.reg .b128 both;\n\tld.relaxed.sys.global.b128 both, [%2];\n\tmov.b128 {%0, %1}, both;\n\t}"
               : "=l"(value.low), "=l"(value.high)
               : "l"(at)
               : "memory");
#else
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(at) : "memory");
#endif
  return value;
}

/* The address, as one that compilers know nothing of before this place. */
DUSHMEM_IMPL_FN void *computed_now(const void *address) {
  asm volatile("" : "+l"(address));
  return (void *)address;
}

/* The old value of a word that others see, which is in global memory, so that nobody has to look whether it is a block's; and
 * without the old value, for which nobody waits then. */
#define DUSHMEM_IMPL_ATOMS(NAME, OPERATION, U, WIDTH, REGISTER)                                         \
  DUSHMEM_IMPL_FN U NAME(U *at, U value) {                                                              \
    U old;                                                                                              \
    asm volatile("atom.relaxed.sys.global." OPERATION "." WIDTH " %0, [%1], %2;"                        \
                 : "=" REGISTER(old)                                                                    \
                 : "l"(at), REGISTER(value)                                                             \
                 : "memory");                                                                           \
    return old;                                                                                         \
  }
#define DUSHMEM_IMPL_HAS_ONLY 1
#define DUSHMEM_IMPL_REDS(NAME, OPERATION, U, WIDTH, REGISTER)                                          \
  DUSHMEM_IMPL_ATOMS(NAME, OPERATION, U, WIDTH, REGISTER)                                               \
  DUSHMEM_IMPL_FN void NAME##_only(U *at, U value) {                                                    \
    asm volatile("red.relaxed.sys.global." OPERATION "." WIDTH " [%0], %1;" ::"l"(at), REGISTER(value) : "memory"); \
  }
#define DUSHMEM_IMPL_WORDS(U, BITS, REGISTER)                                                           \
  DUSHMEM_IMPL_REDS(add, "add", U, "u" BITS, REGISTER)                                                  \
  DUSHMEM_IMPL_REDS(bit_and, "and", U, "b" BITS, REGISTER)                                              \
  DUSHMEM_IMPL_REDS(bit_or, "or", U, "b" BITS, REGISTER)                                                \
  DUSHMEM_IMPL_REDS(bit_xor, "xor", U, "b" BITS, REGISTER)                                              \
  DUSHMEM_IMPL_ATOMS(exchange, "exch", U, "b" BITS, REGISTER)                                           \
  DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {                                          \
    U old;                                                                                              \
    asm volatile("atom.relaxed.sys.global.cas.b" BITS " %0, [%1], %2, %3;"                              \
                 : "=" REGISTER(old)                                                                    \
                 : "l"(at), REGISTER(cond), REGISTER(value)                                             \
                 : "memory");                                                                           \
    return old;                                                                                         \
  }
DUSHMEM_IMPL_WORDS(unsigned int, "32", "r")
DUSHMEM_IMPL_WORDS(unsigned long long, "64", "l")
#undef DUSHMEM_IMPL_WORDS
#undef DUSHMEM_IMPL_REDS
#undef DUSHMEM_IMPL_ATOMS

DUSHMEM_IMPL_FN void fence_system() {
  if (near())
    asm volatile("fence.sc.gpu;" ::: "memory");
  else
    asm volatile("fence.sc.sys;" ::: "memory");
}
/* Enough before a store that others wait for. */
DUSHMEM_IMPL_FN void fence_release() {
  if (near())
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  else
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* With an acquire in each look a multiprocessor forgets its near cache as often, and every look takes longer: one is enough, when
 * the wait has ended. A fence for that alone, not for what the thread itself has written, is there from sm_90 and CUDA 12.8 on. */
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1208 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
DUSHMEM_IMPL_FN void fence_acquire() { asm volatile("fence.acquire.sys;" ::: "memory"); }
template <class U> DUSHMEM_IMPL_FN U load_awaited(const U *at) { return load_relaxed(at); }
DUSHMEM_IMPL_FN void awaited() { fence_acquire(); }
#define DUSHMEM_IMPL_HAS_AWAITED 1
#else
DUSHMEM_IMPL_FN void fence_acquire() { fence_release(); }
#endif

/* A fence of one thread covers what others of its block wrote before they met. */
DUSHMEM_IMPL_FN void fence_own() {}

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

/* Where PEs take turns, the kernel of one runs at a time: one that waits for another's has lost its turn if nothing has happened
 * for so many nanoseconds between two looks. How long a turn is depends on how many take them. */
constexpr unsigned turn_lost = 100000;
/* A wait that ends earlier does not ask. */
constexpr unsigned few_looks = 64;

DUSHMEM_IMPL_FN uint64_t nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

DUSHMEM_IMPL_COLD void lost_turn(const char *call, const void *address) {
  if ((state().flags & DUSHMEM_IMPL_FLAG_STRICT) != 0)
    fault(call, "address", (int64_t)(uintptr_t)address,
          "the kernel waits for a PE whose kernels run only when this one's time on the GPU is over, and "
          "DUSHMEM_STRICT=1 forbids that; start the job with --gpu-share=mps, or wait in the stream");
  if (state().notice != 0) store_relaxed((unsigned int *)(uintptr_t)state().notice, 1u);
}

/* Between two looks: the time of the one before, or few_looks; that of this one, which is not less. */
DUSHMEM_IMPL_COLD unsigned look_at_clock(const char *call, const void *address, unsigned before) {
  const unsigned now = (unsigned)nanoseconds() | few_looks;
  if (before != few_looks && now - before > turn_lost) lost_turn(call, address);
  return now;
}

template <class Ready> DUSHMEM_IMPL_FN void wait(const char *call, const void *address, uint64_t, Ready ready) {
  /* How many looks there were, later the clock: one register for both. */
  for (unsigned looks = 0; !ready();) {
    if (looks < few_looks)
      looks++;
    else if (state().sharing == 3)
      looks = look_at_clock(call, address, looks);
  }
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
