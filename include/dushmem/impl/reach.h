/* Where a PE's copy of an own symmetric object is. */
#ifndef DUSHMEM_IMPL_REACH_H
#define DUSHMEM_IMPL_REACH_H

#include "target.h"

#include "scope_funcs.h"

namespace dushmem {
namespace device {
namespace impl {

#ifndef DUSHMEM_EMU

DUSHMEM_IMPL_FN uintptr_t moved(uintptr_t address) { return address; }

/* The address of so many is told. */
DUSHMEM_IMPL_FN void too_many(const char *, const char *, size_t, size_t) {}

DUSHMEM_IMPL_COLD void global_exit(int status) {
  printf("dushmem: PE %d: a kernel ends the job with status %d\n", state().my_pe, status);
  trap();
}

/* Bytes from there to the end of the second heap, 0 outside of it. */
DUSHMEM_IMPL_FN uint64_t left_in_other(const void *own) {
  const uint64_t offset = (uint64_t)(uintptr_t)own - state().other_heap;
  return offset < state().other_heap_len ? state().other_heap_len - offset : 0;
}
DUSHMEM_IMPL_FN void *moved_in_other(const void *own, int pe) {
  const int64_t delta = load_table(state().other_delta, pe, state().n_pes);
  return delta != DUSHMEM_IMPL_UNREACHABLE ? (void *)((uintptr_t)own + (uintptr_t)delta) : nullptr;
}

DUSHMEM_IMPL_FN void *ptr_elsewhere(const void *own, int pe) {
  return left_in_other(own) != 0 ? moved_in_other(own, pe) : nullptr;
}

DUSHMEM_IMPL_COLD void check_state(const char *call) {
  if (state().magic == DUSHMEM_IMPL_STATE_MAGIC) return;
  fault(call, nullptr, 0,
        (state().flags & DUSHMEM_IMPL_FLAG_OF_MANY) != 0
            ? "PEs are threads of this process, and the kernel is linked into it, so it can't know whose it is: have each "
              "PE load its kernels as a module of its own (cumodule_init), or start the PEs as processes"
            : "the library has not told this kernel who it is: not initialised, or no driver for this device");
}

DUSHMEM_IMPL_COLD void own_elsewhere(const void *own, size_t bytes, size_t align, const char *call, const char *arg) {
  check_state(call);
  if (bytes <= left_in_other(own) && (uintptr_t)own % align == 0) return;
  if ((uintptr_t)own % align != 0)
    fault(call, arg, (int64_t)(uintptr_t)own,
          align == 8   ? "not aligned to 8 bytes, which this operation needs"
          : align == 4 ? "not aligned to 4 bytes, which this operation needs"
                       : "not aligned as this operation needs it");
  fault(call, arg, (int64_t)(uintptr_t)own,
        (state().flags & DUSHMEM_IMPL_FLAG_NO_OTHER) != 0
            ? "not in symmetric memory that kernels reach, or the range ends outside; pass the own address of an object from "
              "malloc in the device's heap: more of the host's could not be pinned for the GPU, as a warning has said"
            : "not in symmetric memory, or the range ends outside; pass the own address of an object from malloc");
}
DUSHMEM_IMPL_COLD void *peer_elsewhere(const void *own, size_t bytes, size_t align, int pe, const char *call,
                                       const char *arg) {
  check_state(call);
  if ((unsigned)pe >= (unsigned)state().n_pes) no_such_pe(call, pe);
  own_elsewhere(own, bytes, align, call, arg);
  return moved_in_other(own, pe);
}
#endif

/* Whether there are words, of PEs within reach, that the proxy changes for kernels. */
DUSHMEM_IMPL_FN bool words_by_proxy() {
#ifdef DUSHMEM_EMU
  return false;
#else
  return (state().flags & (DUSHMEM_IMPL_FLAG_HEAP_BY_PROXY | DUSHMEM_IMPL_FLAG_OTHER_BY_PROXY)) != 0;
#endif
}

/* Whether words of the heap are among them. */
DUSHMEM_IMPL_FN bool heap_by_proxy() {
#ifdef DUSHMEM_EMU
  return false;
#else
  return (state().flags & DUSHMEM_IMPL_FLAG_HEAP_BY_PROXY) != 0;
#endif
}

/* Whether the host would not notice that an operation of a kernel on this own word is atomic. */
DUSHMEM_IMPL_FN bool atomic_by_proxy(const void *own) {
#ifdef DUSHMEM_EMU
  (void)own;
  return false;
#else
  if (!words_by_proxy()) return false;
  return (state().flags & (left_in_other(own) != 0 ? DUSHMEM_IMPL_FLAG_OTHER_BY_PROXY : DUSHMEM_IMPL_FLAG_HEAP_BY_PROXY)) != 0;
#endif
}

/* The PE is looked at before the address. */
DUSHMEM_IMPL_COLD void bad_pe(int pe, const char *call) { peer_elsewhere(nullptr, 1, 1, pe, call, "pe"); }

/* For operations of no length, which may have any addresses. */
DUSHMEM_IMPL_FN void check_pe(int pe, const char *call) {
  if (!DUSHMEM_IMPL_IS((unsigned)pe < (unsigned)state().n_pes)) bad_pe(pe, call);
}

/* Ends the job for a null pointer to the caller's own data. */
DUSHMEM_IMPL_FN void check_local(const void *local, const char *call, const char *arg) {
  if (!DUSHMEM_IMPL_IS(local != nullptr))
    fault(call, arg, 0, "NULL is allowed for operations of length 0 only");
}

/* What leads from an own address to PE pe's copy, as state().first_delta has it: 0 where there is no such PE, where it can't
 * be loaded from and stored to, or where the table has to be asked. The state is constant memory, which no fence and no
 * wait makes a multiprocessor forget, as it forgets the table. */
DUSHMEM_IMPL_FN uint64_t first_delta(int pe) {
#ifdef DUSHMEM_EMU
  /* Memory is memory there, and the record is that of the library, which may be older. */
  return (uint64_t)load_table(state().delta, pe, state().n_pes) ^ (uint64_t)1 << 63;
#else
  return state().first_delta[(unsigned)pe < DUSHMEM_IMPL_FIRST_PES ? (unsigned)pe : DUSHMEM_IMPL_FIRST_PES];
#endif
}
DUSHMEM_IMPL_FN void *moved_by(const void *own, uint64_t first) {
  return (void *)moved((uintptr_t)own + (uintptr_t)(first + ((uint64_t)1 << 63)));
}
DUSHMEM_IMPL_COLD void *moved_by_table(const void *own, int pe) {
  const int64_t delta = load_table(state().delta, pe, state().n_pes);
  return delta != DUSHMEM_IMPL_UNREACHABLE ? (void *)moved((uintptr_t)own + (uintptr_t)delta) : nullptr;
}
DUSHMEM_IMPL_FN void *moved_to(const void *own, int pe) {
  const uint64_t delta = first_delta(pe);
  return DUSHMEM_IMPL_IS(delta != 0) ? moved_by(own, delta) : moved_by_table(own, pe);
}

/* What is not in the heap, or belongs to a PE that is out of reach, or far back in the table. */
DUSHMEM_IMPL_COLD void *peer_otherwise(const void *own, size_t bytes, size_t align, int pe, const char *call,
                                       const char *arg) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t offset = (uint64_t)(uintptr_t)own - s.heap;
  if ((unsigned)pe < (unsigned)s.n_pes && offset < s.heap_len && bytes <= s.heap_len - offset &&
      (uintptr_t)own % align == 0)
    return moved_by_table(own, pe);
  return peer_elsewhere(own, bytes, align, pe, call, arg);
}

/* Finds PE pe's copy of `bytes` bytes, where that takes no more than a look at the state. Callers ask peer_otherwise then, and
 * ask only then whether there is one at all. All conditions in one: a branch costs more than they do. */
template <class T> DUSHMEM_IMPL_FN bool finds(T *&there, T *own, size_t bytes, int pe, size_t align = 1) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t delta = first_delta(pe), offset = (uint64_t)(uintptr_t)own - s.heap;
  there = (T *)moved_by(own, delta);
  return DUSHMEM_IMPL_IS((delta != 0) & (offset < s.heap_len) & (bytes <= s.heap_len - offset) &
                         ((uintptr_t)own % align == 0));
}
/* Of a word. A heap that is there is longer than one. */
template <class T> DUSHMEM_IMPL_FN bool finds_word(T *&there, T *own, int pe, size_t align = 1) {
  if (sizeof(T) > 64) return finds(there, own, sizeof(T), pe, align);
  const dushmem_impl_kernel_state &s = state();
  const uint64_t delta = first_delta(pe), offset = (uint64_t)(uintptr_t)own - s.heap;
  there = (T *)moved_by(own, delta);
  return DUSHMEM_IMPL_IS((delta != 0) & (offset <= s.heap_len - sizeof(T)) & ((uintptr_t)own % align == 0));
}

/* PE pe's copy of `bytes` bytes, argument `arg` of `call`. Null: it can't be loaded from and stored to. A PE that
 * does not exist, and what is no own symmetric object, aligned to `align`, ends the job. */
template <class T>
DUSHMEM_IMPL_FN T *peer(T *own, size_t bytes, int pe, const char *call, const char *arg, size_t align = 1) {
  T *there;
  return finds(there, own, bytes, pe, align) ? there : (T *)peer_otherwise(own, bytes, align, pe, call, arg);
}

/* The same two for a copy between it and `local`, of any length. Whatever is unusual, a length of 0 too, is looked at apart. */
DUSHMEM_IMPL_FN bool finds_for_copy(char *&there, const void *own, const void *local, size_t bytes, int pe) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t delta = first_delta(pe), offset = (uint64_t)(uintptr_t)own - s.heap;
  there = (char *)moved_by(own, delta);
  return DUSHMEM_IMPL_IS((delta != 0) & (local != nullptr) & (offset < s.heap_len) & (bytes - 1 < s.heap_len - offset));
}
DUSHMEM_IMPL_COLD char *peer_of_copy_otherwise(const void *own, const void *local, size_t bytes, int pe, const char *call,
                                               const char *arg, const char *local_arg) {
  if (bytes == 0) {
    check_pe(pe, call);
    return (char *)(uintptr_t)16;
  }
  check_local(local, call, local_arg);
  return (char *)peer_otherwise(own, bytes, 1, pe, call, arg);
}

/* The same for a part of the internals, too. */
template <class T> DUSHMEM_IMPL_FN T *peer_internal(T *own, size_t bytes, int pe, const char *call) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t len = s.heap + s.heap_len - s.internals, offset = (uint64_t)(uintptr_t)own - s.internals;
  if (DUSHMEM_IMPL_IS((unsigned)pe < (unsigned)s.n_pes && offset < len && bytes <= len - offset))
    return (T *)moved_to(own, pe);
  return (T *)peer_elsewhere(own, bytes, 1, pe, call, "dest");
}

/* True for an address of the internals. */
DUSHMEM_IMPL_FN bool is_internal(const void *own) {
  const dushmem_impl_kernel_state &s = state();
  return (uint64_t)(uintptr_t)own - s.internals < s.heap - s.internals;
}

/* Ends the job unless this is own symmetric memory. */
DUSHMEM_IMPL_FN void check_own(const void *own, size_t bytes, size_t align, const char *call, const char *arg) {
  const dushmem_impl_kernel_state &s = state();
  const uint64_t offset = (uint64_t)(uintptr_t)own - s.heap;
  if (!DUSHMEM_IMPL_IS(offset < s.heap_len && bytes <= s.heap_len - offset && (uintptr_t)own % align == 0))
    own_elsewhere(own, bytes, align, call, arg);
}

/* Bytes of n elements; more than there can be, if that is too large a number and the target does not say so itself. */
DUSHMEM_IMPL_FN size_t bytes_of(size_t nelems, size_t size, const char *call, const char *arg = "nelems") {
  if (DUSHMEM_IMPL_IS(nelems <= SIZE_MAX / 2 / size)) return nelems * size;
  too_many(call, arg, nelems, size);
  return SIZE_MAX;
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
