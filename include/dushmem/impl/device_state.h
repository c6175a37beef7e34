/* The target of this compilation, and what a kernel knows of its PE. */
#ifndef DUSHMEM_IMPL_DEVICE_STATE_H
#define DUSHMEM_IMPL_DEVICE_STATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__HIPCC__) && !defined(__CUDACC__)
#include <hip/hip_runtime.h>
#endif

#if defined(DUSHMEM_EMU)
#define DUSHMEM_IMPL_FN static inline
#define DUSHMEM_IMPL_MEMBER
#elif defined(__CUDACC__) || defined(__HIPCC__)
/* Internal linkage: each translation unit has its own state, so its functions must be its own too. */
#define DUSHMEM_IMPL_FN static inline __device__
#define DUSHMEM_IMPL_BOTH static inline __host__ __device__
#define DUSHMEM_IMPL_MEMBER __device__
#if defined(__CUDA_ARCH__) || (defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__)
#define DUSHMEM_IMPL_ON_DEVICE 1
#endif
#else
#error "dushmem/device.h is for kernels: compile with dushcc, nvcc or hipcc"
#endif

#ifndef DUSHMEM_EMU

/* The same as KernelState and KernelTeam of crates/core/src/device.rs. Fields are added at the end;
 * DUSHMEM_IMPL_STATE_ABI counts incompatible changes. */
#define DUSHMEM_IMPL_STATE_ABI 1u
#define DUSHMEM_IMPL_STATE_MAGIC 0x647573686d656d31ull
#define DUSHMEM_IMPL_UNREACHABLE INT64_MIN

struct dushmem_impl_kernel_team {
  int32_t my_pe, n_pes;
  uint64_t pes; /* world numbers of the members, or 0: they are the world's */
};

struct dushmem_impl_kernel_state {
  uint64_t magic;
  uint32_t abi, size;
  int32_t my_pe, n_pes;
  uint64_t heap, heap_len;
  uint64_t delta; /* by world PE: from an own heap address to the PE's copy */
  uint64_t teams, team_count;
  uint64_t proxy;
};

/* What a translation unit registers: Module of crates/core/src/device.rs. */
struct dushmem_impl_module {
  uint32_t size, abi;
  const char *header;
  int (*push)(const dushmem_impl_kernel_state *state, size_t bytes, void *stream);
};

/* The library sets it before the unit's first kernel runs. */
static __device__ dushmem_impl_kernel_state dushmem_impl_state;

extern "C" {
void dushmem_impl_register_module(const dushmem_impl_module *module);
void dushmem_impl_unregister_module(const dushmem_impl_module *module);
}

#ifndef DUSHMEM_IMPL_ON_DEVICE
/* Compiled into the unit, so that the state goes through the program's own runtime. */
static inline int dushmem_impl_push_state(const dushmem_impl_kernel_state *state, size_t bytes, void *stream) {
  const size_t known = bytes < sizeof *state ? bytes : sizeof *state;
#if defined(__HIPCC__)
  return (int)hipMemcpyToSymbolAsync(HIP_SYMBOL(dushmem_impl_state), state, known, 0, hipMemcpyHostToDevice,
                                     (hipStream_t)stream);
#else
  return (int)cudaMemcpyToSymbolAsync(dushmem_impl_state, state, known, 0, cudaMemcpyHostToDevice,
                                      (cudaStream_t)stream);
#endif
}

namespace {
struct dushmem_impl_registration {
  dushmem_impl_module module;
  dushmem_impl_registration()
      : module{(uint32_t)sizeof module, DUSHMEM_IMPL_STATE_ABI, __FILE__, dushmem_impl_push_state} {
    dushmem_impl_register_module(&module);
  }
  ~dushmem_impl_registration() { dushmem_impl_unregister_module(&module); }
  dushmem_impl_registration(const dushmem_impl_registration &) = delete;
  dushmem_impl_registration &operator=(const dushmem_impl_registration &) = delete;
};
dushmem_impl_registration dushmem_impl_registered;
} // namespace
#endif

namespace dushmem {
namespace device {
namespace impl {

/* Ends the kernel: its launch is reported as failed. */
static __device__ __noinline__ void fail(const char *why, int pe) {
  printf("dushmem: kernel, block (%u, %u, %u), thread (%u, %u, %u): %s (PE %d)\n", blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, threadIdx.y, threadIdx.z, why, pe);
#if defined(__HIPCC__)
  __builtin_trap();
#else
  __trap();
#endif
}

DUSHMEM_IMPL_FN const dushmem_impl_kernel_state &state() {
  if (dushmem_impl_state.magic != DUSHMEM_IMPL_STATE_MAGIC)
    fail("the library has not told this kernel who it is: not initialised, or no driver for this device", -1);
  return dushmem_impl_state;
}

/* The copy of an own symmetric object at PE pe. */
template <class T> DUSHMEM_IMPL_FN T *peer(T *address, int pe) {
  const dushmem_impl_kernel_state &s = state();
  if ((unsigned)pe >= (unsigned)s.n_pes) fail("there is no such PE", pe);
  const int64_t delta = ((const int64_t *)s.delta)[pe];
  if (delta == DUSHMEM_IMPL_UNREACHABLE) fail("this PE's memory is out of the kernel's reach", pe);
  return (T *)((uintptr_t)address + (uintptr_t)delta);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
#endif
