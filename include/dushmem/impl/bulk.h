/* Copies by the copy engine of a multiprocessor (sm_90 and newer): one thread has it move large pieces from memory to
 * the caller's shared memory, and from there to where they belong. On other targets copies are made as without scratch.
 *
 * Starting it takes more than a microsecond: short copies, and those of many threads, are faster without. */
#ifndef DUSHMEM_IMPL_BULK_H
#define DUSHMEM_IMPL_BULK_H

#include "copy.h"

namespace dushmem {
namespace device {
namespace impl {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

/* From so many bytes on it is faster than the threads of the scope. */
template <class S> struct bulk_from {
  static constexpr size_t value = 64 * 1024;
};
template <> struct bulk_from<scope::thread> {
  static constexpr size_t value = 4 * 1024;
};
template <> struct bulk_from<scope::warp> {
  static constexpr size_t value = 32 * 1024;
};

/* Pieces under way, and what of the scratch memory says which of them have arrived. */
constexpr unsigned bulk_stages = 8, bulk_head = 8 * bulk_stages, bulk_piece = 256;

DUSHMEM_IMPL_FN void bulk_load(unsigned shared, const char *from, unsigned bytes, unsigned arrived) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
               "l"(from), "r"(bytes), "r"(arrived)
               : "memory");
}
DUSHMEM_IMPL_FN void bulk_await(unsigned arrived, unsigned parity) {
  unsigned done;
  do
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(arrived), "r"(parity)
                 : "memory");
  while (!done);
}
DUSHMEM_IMPL_FN void bulk_store(char *to, unsigned shared, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* One thread; addresses, scratch and lengths are multiples of 16. */
DUSHMEM_IMPL_CALLED void bulk_move(char *to, const char *from, size_t bytes, unsigned scratch, unsigned room) {
  const unsigned most = (room - bulk_head) / bulk_stages & ~(bulk_piece - 1);
  const size_t even = (bytes / bulk_stages + 1023) / 1024 * 1024;
  const unsigned piece = even < most ? (unsigned)even : most, buffers = scratch + bulk_head;
  const size_t count = (bytes + piece - 1) / piece;
  const auto length = [=](size_t k) { return k + 1 < count ? piece : (unsigned)(bytes - k * piece); };
  for (unsigned i = 0; i < bulk_stages; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(scratch + 8 * i) : "memory");
  /* What was written to the source, and to the scratch memory, comes before what the engine does. */
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  size_t loaded = 0;
  DUSHMEM_IMPL_ROLLED
  for (; loaded < count && loaded < bulk_stages - 2; loaded++) {
    const unsigned stage = (unsigned)loaded % bulk_stages;
    bulk_load(buffers + stage * piece, from + loaded * piece, length(loaded), scratch + 8 * stage);
  }
  DUSHMEM_IMPL_ROLLED
  for (size_t k = 0; k < count; k++) {
    const unsigned stage = (unsigned)k % bulk_stages;
    bulk_await(scratch + 8 * stage, (unsigned)(k / bulk_stages) & 1u);
    bulk_store(to + k * piece, buffers + stage * piece, length(k));
    if (loaded == count) continue;
    /* The buffer of the piece before the last one is free. */
    asm volatile("cp.async.bulk.wait_group.read 2;" ::: "memory");
    const unsigned next = (unsigned)loaded % bulk_stages;
    bulk_load(buffers + next * piece, from + loaded * piece, length(loaded), scratch + 8 * next);
    loaded++;
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  /* The caller's memory again. */
  for (unsigned i = 0; i < bulk_stages; i++)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(scratch + 8 * i) : "memory");
}

/* All threads of the scope; what can't be copied that way is for copy. */
template <class S>
DUSHMEM_IMPL_FN bool bulk_copy(char *dest, const char *source, size_t bytes, void *scratch, size_t room, S s, const char *call) {
  if (scratch != nullptr && !__isShared(scratch))
    fault(call, "scratch", (int64_t)(uintptr_t)scratch, "not shared memory of the block");
  const unsigned skip = (unsigned)(0 - (uintptr_t)scratch) & 15u;
  if (scratch == nullptr || bytes < bulk_from<S>::value || room < skip + bulk_head + bulk_stages * bulk_piece ||
      (((uintptr_t)dest ^ (uintptr_t)source) & 15u) != 0 || overlap(dest, source, bytes) || !is_global(dest) || !is_global(source))
    return false;
  const division_of_copy parts(dest, source, bytes);
  if (leads(s)) {
    const size_t use = room - skip < 0x40000 ? room - skip : 0x40000;
    bulk_move(dest + parts.head, source + parts.head, parts.chunks * 16, (unsigned)__cvta_generic_to_shared(scratch) + skip,
              (unsigned)use);
  }
  if ((((unsigned)(uintptr_t)dest | (unsigned)bytes) & 15u) != 0) copy_edges<own_source>(dest, source, bytes, s);
  return true;
}

#else

template <class S> DUSHMEM_IMPL_FN bool bulk_copy(char *, const char *, size_t, void *, size_t, S, const char *) {
  return false;
}

#endif

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
