/* What impl/proxy.h needs beside target.h: waiting, waking, and what the host can see. */
#ifndef DUSHMEM_IMPL_PROXY_MEM_H
#define DUSHMEM_IMPL_PROXY_MEM_H

#include "target.h"

#ifdef DUSHMEM_EMU
extern "C" {
/* Waits until *word >= at_least; gives way to the other threads of the block, then sleeps. */
void dushmem_emu_proxy_wait(uint64_t host, const uint64_t *word, uint64_t at_least);
/* Wakes the proxy. */
void dushmem_emu_proxy_wake(uint64_t host);
/* Wakes producers that sleep: a slot is free. */
void dushmem_emu_proxy_freed(uint64_t host);
}
#endif

namespace dushmem {
namespace device {
namespace impl {
namespace proxy {
namespace mem {

/* The ring is written by kernels and by the host: the scope is the system's. */
typedef unsigned long long wide;
DUSHMEM_IMPL_FN uint64_t load_relaxed(const uint64_t *at) { return impl::load_relaxed((const wide *)at); }
DUSHMEM_IMPL_FN uint64_t load_acquire(const uint64_t *at) { return impl::load_acquire((const wide *)at); }
DUSHMEM_IMPL_FN void store_relaxed(uint64_t *at, uint64_t value) { impl::store_relaxed((wide *)at, (wide)value); }
DUSHMEM_IMPL_FN void store_release(uint64_t *at, uint64_t value) { impl::store_release((wide *)at, (wide)value); }
DUSHMEM_IMPL_FN uint64_t compare_exchange(uint64_t *at, uint64_t expected, uint64_t value) {
  return impl::compare_exchange((wide *)at, (wide)expected, (wide)value);
}

#ifdef DUSHMEM_EMU

template <class Ring> DUSHMEM_IMPL_FN void pause(Ring *r, const uint64_t *word, uint64_t at_least) {
  if (load_acquire(word) < at_least) dushmem_emu_proxy_wait(r->host, word, at_least);
}
/* After the store: the sleeper's side has the barrier (membarrier), so that this side needs none. */
template <class Ring> DUSHMEM_IMPL_FN void wake(Ring *r) {
  __asm__ volatile("" ::: "memory");
  if (!DUSHMEM_IMPL_IS(__atomic_load_n(&r->armed, __ATOMIC_RELAXED) == 0)) dushmem_emu_proxy_wake(r->host);
}
template <class Ring> DUSHMEM_IMPL_FN void freed(Ring *r) { dushmem_emu_proxy_freed(r->host); }
DUSHMEM_IMPL_FN bool hidden_from_host(const void *) { return false; }
/* The host looks at the number of tickets itself. */
DUSHMEM_IMPL_FN void raise(uint64_t *, uint64_t) {}

#else

/* A look every half microsecond: the words may lie across a bus. */
template <class Ring> DUSHMEM_IMPL_FN void pause(Ring *, const uint64_t *, uint64_t) {
#if defined(__HIPCC__)
  __builtin_amdgcn_s_sleep(8);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  __nanosleep(500);
#endif
}
/* The proxy polls where kernels run on a GPU. */
template <class Ring> DUSHMEM_IMPL_FN void wake(Ring *) {}
template <class Ring> DUSHMEM_IMPL_FN void freed(Ring *) {}
/* Makes a word of the host's at least as large; nobody waits for it. */
DUSHMEM_IMPL_FN void raise(uint64_t *at, uint64_t value) {
#if defined(__HIPCC__)
  __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
#else
  asm volatile("red.relaxed.sys.global.max.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
#endif
}
/* Memory of a thread or a block, which the host can't read or write. */
DUSHMEM_IMPL_FN bool hidden_from_host(const void *at) {
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
  const __attribute__((address_space(0))) void *generic = (const __attribute__((address_space(0))) void *)at;
  return __builtin_amdgcn_is_shared(generic) || __builtin_amdgcn_is_private(generic);
#elif defined(__CUDA_ARCH__)
  return __isShared(at) || __isLocal(at) || __isConstant(at);
#else
  return at == nullptr;
#endif
}

#endif

/* Up to 24 bytes between words of the thread and any other memory. */
DUSHMEM_IMPL_FN void copy_small(void *dest, const void *source, size_t bytes) {
  if (((uintptr_t)dest | (uintptr_t)source | bytes) % 8 == 0) {
    for (size_t i = 0; i < bytes / 8; i++) ((unit8 *)dest)[i] = ((const unit8 *)source)[i];
    return;
  }
  for (size_t i = 0; i < bytes; i++) ((unit1 *)dest)[i] = ((const unit1 *)source)[i];
}

} // namespace mem
} // namespace proxy
} // namespace impl
} // namespace device
} // namespace dushmem
#endif
