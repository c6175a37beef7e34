/* Ranks and sizes of scopes, and what their threads do together. */
#ifndef DUSHMEM_IMPL_SCOPE_FUNCS_H
#define DUSHMEM_IMPL_SCOPE_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

DUSHMEM_IMPL_FN unsigned thread_number() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
DUSHMEM_IMPL_FN unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }

/* The number of the calling thread in a part of the block, the part's size, and its number in the block. */
DUSHMEM_IMPL_FN unsigned rank_in(unsigned width) { return thread_number() % width; }
DUSHMEM_IMPL_FN unsigned size_of_part(unsigned width) {
  const unsigned first = thread_number() / width * width, left = block_size() - first;
  return left < width ? left : width;
}

DUSHMEM_IMPL_FN unsigned rank(scope::thread) { return 0; }
DUSHMEM_IMPL_FN unsigned size(scope::thread) { return 1; }
DUSHMEM_IMPL_FN unsigned rank(scope::warp) { return rank_in(warp_size()); }
DUSHMEM_IMPL_FN unsigned size(scope::warp) { return size_of_part(warp_size()); }
DUSHMEM_IMPL_FN unsigned part(scope::warp) { return thread_number() / warp_size(); }
DUSHMEM_IMPL_FN unsigned rank(scope::warpgroup) { return rank_in(4 * warp_size()); }
DUSHMEM_IMPL_FN unsigned size(scope::warpgroup) { return size_of_part(4 * warp_size()); }
DUSHMEM_IMPL_FN unsigned part(scope::warpgroup) { return thread_number() / (4 * warp_size()); }
DUSHMEM_IMPL_FN unsigned rank(scope::block) { return thread_number(); }
DUSHMEM_IMPL_FN unsigned size(scope::block) { return block_size(); }
DUSHMEM_IMPL_FN unsigned part(scope::block) { return 0; }

template <class S> DUSHMEM_IMPL_FN bool leads(S s) { return rank(s) == 0; }

/* What the first thread of the scope says, for all of them. Parts of a block have at least 32 threads. */
DUSHMEM_IMPL_FN uint64_t share(scope::thread, uint64_t value) { return value; }
template <class S> struct said_by {
  uint64_t first[32];
};
template <class S> DUSHMEM_IMPL_FN uint64_t share(S s, uint64_t value) {
  uint64_t &said = in_block<said_by<S>>().first[part(s)];
  if (leads(s)) said = value;
  sync(s);
  const uint64_t heard = *(const volatile uint64_t *)&said;
  /* Nobody says the next thing before all have heard this. */
  sync(s);
  return heard;
}

/* All threads of the scope are here; then they act together; then all have acted. `act` gets the scope by whose
 * ranks it shares its work, and waits for nothing but synchronisations of that scope. */
template <class Act> DUSHMEM_IMPL_FN void together(scope::thread s, const Act &act) { act(s); }
template <class S, class Act> DUSHMEM_IMPL_FN void together(S s, const Act &act) {
  sync(s);
  act(s);
  sync(s);
}
#if defined(DUSHMEM_EMU) && !defined(DUSHMEM_IMPL_COPY_AS_ON_GPU)
/* Threads of a block take turns on one CPU: one of them does the work, while nobody else runs. */
template <class Act> DUSHMEM_IMPL_FN void together(scope::block, const Act &act) {
  const int once = dushmem_emu_sync_once();
  if ((once & 1) != 0) act(scope::thread{});
  if ((once & 2) != 0) dushmem_emu_sync_threads();
}
#endif

/* What the threads of the scope wrote comes before what any of them writes after this and a fence_release. */
template <class S> DUSHMEM_IMPL_FN void publish(S s) {
  fence_own();
  sync(s);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
