/* All that differs between the targets: the CPU emulator, nvcc, hipcc. Everything else is written once, on top.
 *
 * target_emu.h, target_cuda.h, and target_hip.h define the same functions:
 *   load_relaxed load_acquire load_fresh      words of 2, 4, 8 bytes; fresh: any unit, past what a cache has kept
 *   load_awaited awaited                      words that are waited for; after them: what was written before them is seen
 *   store_relaxed store_release               words of 4 and 8 bytes
 *   store_far load_far                        units of up to 8 bytes to and from a PE
 *   load_table                                an entry of a table that stays as it is
 *   computed_now                              an address of which nothing is computed in advance
 *   store_flagged load_flagged                16 bytes: who loads the second half that was stored has the first, too
 *   exchange compare_exchange add bit_and bit_or bit_xor   words of 4 and 8 bytes; the old value
 *   add_only bit_and_only bit_or_only bit_xor_only         the same without it
 *   fence_system                              all that this thread wrote before is seen before what it writes after
 *   fence_release                             enough for that before a store that others wait for
 *   fence_acquire                             after load_relaxed: what was written before what was loaded is seen
 *   store_ordered add_ordered                 words of 8 bytes: a fence_release, and then the store, or the addition
 *   fence_own                                 by each thread, before all meet and one of them calls fence_release
 *   sync(scope)                               all threads of the scope are here, and see what the others wrote
 *   warp_size  pause  ticks  ring  fault      lanes; in a loop that waits; a clock; after a store to a PE; an error
 *   wait(call, address, detail, ready)        until ready()
 * Atomic operations are those of the whole system: other devices and the host take part. */
#ifndef DUSHMEM_IMPL_TARGET_H
#define DUSHMEM_IMPL_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__HIPCC__) && !defined(__CUDACC__)
#include <hip/hip_runtime.h>
#endif

#if defined(DUSHMEM_EMU)
#define DUSHMEM_IMPL_FN static inline
#define DUSHMEM_IMPL_COLD __attribute__((noinline, cold, unused)) static
#define DUSHMEM_IMPL_CALLED static inline
#define DUSHMEM_IMPL_MEMBER
#elif defined(__CUDACC__) || defined(__HIPCC__)
/* Internal linkage: each translation unit has its own state, so its functions must be its own too. */
#define DUSHMEM_IMPL_FN static inline __device__
#define DUSHMEM_IMPL_COLD static __device__ __attribute__((noinline, unused))
#define DUSHMEM_IMPL_CALLED DUSHMEM_IMPL_COLD
#define DUSHMEM_IMPL_MEMBER __device__
#if defined(__CUDA_ARCH__) || (defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__)
#define DUSHMEM_IMPL_ON_DEVICE 1
#endif
#else
#error "dushmem/device.h is for kernels: compile with dushcc, nvcc or hipcc"
#endif

/* Copies as in impl/copy_gpu.h. */
#if defined(__CUDACC__) && !defined(DUSHMEM_EMU) && !defined(DUSHMEM_IMPL_COPY_AS_ON_GPU)
#define DUSHMEM_IMPL_COPY_AS_ON_GPU 1
#endif

/* Loops in code for GPUs: one that is not worth its unrolled size, and one that is to be unrolled. */
#if !defined(DUSHMEM_EMU)
#define DUSHMEM_IMPL_ROLLED _Pragma("unroll 1")
#define DUSHMEM_IMPL_UNROLLED _Pragma("unroll")
#else
#define DUSHMEM_IMPL_ROLLED
#define DUSHMEM_IMPL_UNROLLED
#endif

#define DUSHMEM_IMPL_IS(condition) __builtin_expect(!!(condition), 1)

#include "../scope.h"

namespace dushmem {
namespace device {
namespace impl {

/* Units in which memory is moved. They may alias any type. */
typedef unsigned char __attribute__((__may_alias__)) unit1;
typedef unsigned short __attribute__((__may_alias__)) unit2;
typedef unsigned int __attribute__((__may_alias__)) unit4;
typedef unsigned long long __attribute__((__may_alias__)) unit8;
struct chunk {
  unsigned long long low, high;
} __attribute__((__aligned__(16), __may_alias__));

template <size_t Bytes> struct unit_of;
template <> struct unit_of<1> {
  typedef unit1 type;
};
template <> struct unit_of<2> {
  typedef unit2 type;
};
template <> struct unit_of<4> {
  typedef unit4 type;
};
template <> struct unit_of<8> {
  typedef unit8 type;
};
template <> struct unit_of<16> {
  typedef chunk type;
};

/* The unsigned word as which a value is loaded, stored, and updated atomically. */
template <size_t Bytes> struct word_of;
template <> struct word_of<2> {
  typedef unsigned short type;
};
template <> struct word_of<4> {
  typedef unsigned int type;
};
template <> struct word_of<8> {
  typedef unsigned long long type;
};
template <class T> using word = typename word_of<sizeof(T)>::type;

/* A parameter of this type says nothing about T: p(longs, 1, pe) has the T of its first argument. */
template <class T> struct same {
  typedef T type;
};
template <class T> using same_t = typename same<T>::type;

/* The block's variable of a type, for which nobody else uses the type. */
template <class Only> DUSHMEM_IMPL_FN Only &in_block() {
#ifdef DUSHMEM_EMU_OS_THREADS
  return ::dushmem::emu::block_shared(static_cast<Only *>(nullptr));
#else
  __shared__ Only variable;
  return variable;
#endif
}

template <class To, class From> DUSHMEM_IMPL_FN To bits(const From &from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy((void *)&to, &from, sizeof to);
  return to;
}

} // namespace impl
} // namespace device
} // namespace dushmem

#include "device_state.h"

#if defined(DUSHMEM_EMU)
#include "target_emu.h"
#else
#define DUSHMEM_IMPL_IN_CALL(...)
#define DUSHMEM_IMPL_IN_CALL_WITH(...)
#include "device_fault.h"
#if defined(__HIPCC__)
#include "target_hip.h"
#else
#include "target_cuda.h"
#endif
#endif

/* What a target has nothing of its own for. */
namespace dushmem {
namespace device {
namespace impl {

#ifndef DUSHMEM_IMPL_HAS_AWAITED
template <class U> DUSHMEM_IMPL_FN U load_awaited(const U *at) { return load_acquire(at); }
DUSHMEM_IMPL_FN void awaited() {}
#endif

#ifndef DUSHMEM_IMPL_HAS_ONLY
/* Without the old value. */
#define DUSHMEM_IMPL_ONLY(NAME) \
  template <class U> DUSHMEM_IMPL_FN void NAME##_only(U *at, U value) { (void)NAME(at, value); }
DUSHMEM_IMPL_ONLY(add)
DUSHMEM_IMPL_ONLY(bit_and)
DUSHMEM_IMPL_ONLY(bit_or)
DUSHMEM_IMPL_ONLY(bit_xor)
#undef DUSHMEM_IMPL_ONLY
#endif

} // namespace impl
} // namespace device
} // namespace dushmem

#endif
