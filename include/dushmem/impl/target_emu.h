/* The CPU emulator: see target.h. A block's threads are fibers; waiting is the library's. */
#ifndef DUSHMEM_IMPL_TARGET_EMU_H
#define DUSHMEM_IMPL_TARGET_EMU_H

#include "emu_abi.h"

namespace dushmem {
namespace device {
namespace impl {

template <class U> DUSHMEM_IMPL_FN U load_relaxed(const U *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
template <class U> DUSHMEM_IMPL_FN U load_acquire(const U *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <class U> DUSHMEM_IMPL_FN U load_fresh(const U *at) { return *(const volatile U *)at; }
DUSHMEM_IMPL_FN chunk load_fresh(const chunk *at) { return *at; }
template <class U> DUSHMEM_IMPL_FN void store_relaxed(U *at, U value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
template <class U> DUSHMEM_IMPL_FN void store_release(U *at, U value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
template <class U> DUSHMEM_IMPL_FN U load_far(const U *at) { return load_fresh(at); }
template <class U> DUSHMEM_IMPL_FN void store_far(U *at, U value) { *(volatile U *)at = value; }
DUSHMEM_IMPL_FN void *computed_now(const void *address) { return (void *)address; }
DUSHMEM_IMPL_FN int64_t load_table(uint64_t table, int i, int n) {
  return DUSHMEM_IMPL_IS((unsigned)i < (unsigned)n) ? ((const int64_t *)(uintptr_t)table)[i] : DUSHMEM_IMPL_UNREACHABLE;
}

/* For tests of impl/copy_gpu.h on the CPU. */
#ifdef DUSHMEM_IMPL_COPY_AS_ON_GPU
DUSHMEM_IMPL_FN bool is_global(const void *) { return true; }
DUSHMEM_IMPL_FN chunk load_chunk(const chunk *at) { return *at; }
DUSHMEM_IMPL_FN chunk load_chunk_fresh(const chunk *at) { return *at; }
DUSHMEM_IMPL_FN void store_chunk(chunk *at, chunk value) { *at = value; }
DUSHMEM_IMPL_FN unsigned long long lane_value(unsigned long long value, unsigned from) {
  return __shfl_sync(0xffffffffu, value, (int)from);
}
DUSHMEM_IMPL_FN unsigned funnel(unsigned low, unsigned high, unsigned bits) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> bits);
}
#endif

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
/* As strong as the host's: on the CPU it costs nothing more. */
template <class U> DUSHMEM_IMPL_FN U add(U *at, U value) { return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL); }
template <class U> DUSHMEM_IMPL_FN void store_ordered(U *at, U value) { store_release(at, value); }
template <class U> DUSHMEM_IMPL_FN void add_ordered(U *at, U value) { add(at, value); }
template <class U> DUSHMEM_IMPL_FN U bit_and(U *at, U value) { return __atomic_fetch_and(at, value, __ATOMIC_ACQ_REL); }
template <class U> DUSHMEM_IMPL_FN U bit_or(U *at, U value) { return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL); }
template <class U> DUSHMEM_IMPL_FN U bit_xor(U *at, U value) { return __atomic_fetch_xor(at, value, __ATOMIC_ACQ_REL); }
template <class U> DUSHMEM_IMPL_FN U exchange(U *at, U value) { return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL); }
template <class U> DUSHMEM_IMPL_FN U compare_exchange(U *at, U cond, U value) {
  __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return cond;
}

DUSHMEM_IMPL_FN void fence_system() {
#if defined(__x86_64__)
  /* As mfence for ordinary memory, several times faster. */
  __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
DUSHMEM_IMPL_FN void fence_acquire() { __atomic_thread_fence(__ATOMIC_ACQUIRE); }

/* Enough before a store that others wait for. */
DUSHMEM_IMPL_FN void fence_release() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }

DUSHMEM_IMPL_FN void fence_own() { fence_release(); }

DUSHMEM_IMPL_FN unsigned warp_size() { return (unsigned)warpSize; }

DUSHMEM_IMPL_FN void sync(scope::thread) {}
DUSHMEM_IMPL_FN void sync(scope::warp) { __syncwarp(); }
DUSHMEM_IMPL_FN void sync(scope::block) { dushmem_emu_sync_threads(); }
/* Each warp meets; then the first threads of the warps count themselves, and the last to come lets the others go. */
struct warpgroups {
  unsigned arrived[8], turn[8];
};
DUSHMEM_IMPL_FN void sync(scope::warpgroup) {
  warpgroups &all = in_block<warpgroups>();
  const unsigned warp = warp_size(), width = 4 * warp, threads = blockDim.x * blockDim.y * blockDim.z;
  if (threads <= width) return sync(scope::block{});
  const unsigned number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), group = number / width;
  const unsigned left = threads - group * width, warps = left < width ? (left + warp - 1) / warp : 4;
  __syncwarp();
  if (number % warp == 0) {
    const unsigned now = __atomic_load_n(&all.turn[group], __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&all.arrived[group], 1u, __ATOMIC_ACQ_REL) == warps) {
      __atomic_store_n(&all.arrived[group], 0u, __ATOMIC_RELAXED);
      __atomic_store_n(&all.turn[group], now + 1, __ATOMIC_RELEASE);
    } else {
      while (__atomic_load_n(&all.turn[group], __ATOMIC_ACQUIRE) == now) dushmem_emu_yield();
    }
  }
  __syncwarp();
}

/* A call that all threads of S make. That of one thread needs no name: nobody waits for the others of it. */
template <class S> struct call_of : ::dushmem::emu::in_call {
  using in_call::in_call;
};
template <> struct call_of<scope::thread> {
  explicit call_of(const char *) {}
};
#define DUSHMEM_IMPL_IN_CALL(name) [[maybe_unused]] const ::dushmem::device::impl::call_of<S> made(name)

/* The same with arguments, which the library compares where the threads meet: nothing waits before that. */
template <class... Args> constexpr uint32_t addresses_of() {
  uint32_t all = 0, bit = 1;
  for (const bool address : {std::is_pointer<Args>::value...}) {
    if (address) all |= bit;
    bit <<= 1;
  }
  return all;
}
template <class S, class... Args> struct call_with : call_of<S> {
  call_with(const char *name, const dushmem_emu_parameters *are, Args... args)
      : call_of<S>(name), passed{are}, values{(uint64_t)args...} {
    ::dushmem::emu::call_arguments = &passed;
  }
  ~call_with() { ::dushmem::emu::call_arguments = nullptr; }

private:
  const dushmem_emu_arguments passed;
  const uint64_t values[sizeof...(Args)];
};
template <class... Args> struct call_with<scope::thread, Args...> {
  call_with(const char *, const dushmem_emu_parameters *, Args...) {}
};
template <class S, class... Args> struct type_of_call {
  typedef call_with<S, Args...> type;
  static constexpr uint32_t count = sizeof...(Args), addresses = addresses_of<Args...>();
};
template <class S, class... Args> type_of_call<S, Args...> called_with(Args...);
#define DUSHMEM_IMPL_IN_CALL_WITH(name, names, ...)                                                        \
  typedef decltype(::dushmem::device::impl::called_with<S>(__VA_ARGS__)) made_as;                          \
  static constexpr dushmem_emu_parameters parameters{names, made_as::count, made_as::addresses};           \
  [[maybe_unused]] const typename made_as::type made(name, &parameters, __VA_ARGS__)

/* In a loop that looks at something again and again: the other threads of the block run. */
DUSHMEM_IMPL_FN void pause() { dushmem_emu_yield(); }
DUSHMEM_IMPL_FN uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  static thread_local uint64_t calls;
  return calls += 0x9e3779b97f4a7c15u;
#endif
}

/* After a store: whoever sleeps there is woken. The sleeper orders its side, so a look is enough. */
DUSHMEM_IMPL_FN void ring(int pe) {
  const dushmem_impl_kernel_state &s = state();
  const uintptr_t bell = (uintptr_t)s.doorbell + (uintptr_t)((const int64_t *)s.delta)[pe];
  __asm__ volatile("" ::: "memory");
  if (!DUSHMEM_IMPL_IS(*(const volatile uint32_t *)bell == 0)) dushmem_emu_ring(pe);
}

/* What is moved through the address is no longer the object that it came from, as far as the compiler sees. */
DUSHMEM_IMPL_FN uintptr_t moved(uintptr_t address) {
  __asm__("" : "+r"(address));
  return address;
}

/* Ends the job; `arg` is null where no argument is to blame. */
__attribute__((noreturn)) DUSHMEM_IMPL_COLD void fault(const char *call, const char *arg, int64_t value,
                                                           const char *why) {
  dushmem_emu_fault(call, arg, value, why);
}

/* PE pe's copy of what is not in the heap: a C global that is symmetric. Null: not reachable by load and store.
 * Ends the job if the PE or the address is bad. */
DUSHMEM_IMPL_COLD void *peer_elsewhere(const void *own, size_t bytes, size_t align, int pe, const char *call,
                                       const char *arg) {
  return dushmem_emu_reach(call, arg, own, bytes, align, pe);
}
DUSHMEM_IMPL_COLD void own_elsewhere(const void *own, size_t bytes, size_t align, const char *call, const char *arg) {
  dushmem_emu_own(call, arg, own, bytes, align);
}

/* Ends the job: elements that no address space holds. */
__attribute__((noreturn)) DUSHMEM_IMPL_COLD void too_many(const char *call, const char *arg, size_t n, size_t elem) {
  dushmem_emu_too_many(call, arg, n, elem);
}

/* C globals may be symmetric, too. */
DUSHMEM_IMPL_FN void *ptr_elsewhere(const void *own, int pe) { return dushmem_emu_ptr(own, pe); }

DUSHMEM_IMPL_COLD void global_exit(int status) { dushmem_emu_global_exit(status); }
__attribute__((noreturn)) DUSHMEM_IMPL_COLD void not_in_kernel(const char *name) {
  fault(name, nullptr, 0, "this name exists in kernels only; call it from a __global__ or __device__ function");
}

/* The library sleeps, lets other threads of the block run, and says in hang reports what is waited for. */
template <class Ready> int is_ready(void *ready) { return (*static_cast<Ready *>(ready))() ? 1 : 0; }
/* What is wanted of the word, as dushmem_emu_wait takes it; 0 where it is more than one word. */
template <class T> struct until_word;
template <class Ready> unsigned wanted_kind(const Ready &) { return 0; }
template <class T> unsigned wanted_kind(const until_word<T> &until) {
  return (unsigned)sizeof(T) | ((T)-1 < (T)0 ? 0x100u : 0u) | (unsigned)until.cmp << 16;
}
template <class Ready>
DUSHMEM_IMPL_FN void wait(const char *call, const void *address, uint64_t value, Ready ready) {
  if (!ready()) dushmem_emu_wait(call, address, wanted_kind(ready), value, is_ready<Ready>, &ready);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
