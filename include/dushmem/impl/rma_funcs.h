/* Bodies of rma.h. */
#ifndef DUSHMEM_IMPL_RMA_FUNCS_H
#define DUSHMEM_IMPL_RMA_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

/* The part of a job that the calling thread does. */
DUSHMEM_IMPL_FN unsigned rank_in(scope::thread) { return 0; }
DUSHMEM_IMPL_FN unsigned size_of_scope(scope::thread) { return 1; }
DUSHMEM_IMPL_FN void sync_scope(scope::thread) {}
DUSHMEM_IMPL_FN unsigned rank_in(scope::block) {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
DUSHMEM_IMPL_FN unsigned size_of_scope(scope::block) { return blockDim.x * blockDim.y * blockDim.z; }
DUSHMEM_IMPL_FN void sync_scope(scope::block) { __syncthreads(); }

#ifndef DUSHMEM_EMU
struct alignas(16) chunk {
  uint64_t low, high;
};

/* Bytes are moved in the largest units that both addresses allow; several loads are under way before the
 * first store. No access is wider than the element where elements are words: a reader never sees half of
 * an aligned element. */
template <class Unit, class Scope>
DUSHMEM_IMPL_FN void copy_units(char *dest, const char *source, size_t count, Scope s) {
  Unit *to = (Unit *)dest;
  const Unit *from = (const Unit *)source;
  const size_t step = size_of_scope(s);
  size_t i = rank_in(s);
  for (; i + 3 * step < count; i += 4 * step) {
    const Unit a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a;
    to[i + step] = b;
    to[i + 2 * step] = c;
    to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}

template <class Scope> DUSHMEM_IMPL_FN void copy(char *dest, const char *source, size_t bytes, Scope s) {
  const uintptr_t both = (uintptr_t)dest | (uintptr_t)source;
  size_t done = 0;
  if (both % 16 == 0) {
    copy_units<chunk>(dest, source, bytes / 16, s);
    done = bytes / 16 * 16;
  } else if (both % 8 == 0) {
    copy_units<uint64_t>(dest, source, bytes / 8, s);
    done = bytes / 8 * 8;
  } else if (both % 4 == 0) {
    copy_units<uint32_t>(dest, source, bytes / 4, s);
    done = bytes / 4 * 4;
  }
  if (both % 4 == 0 && bytes - done >= 4) {
    copy_units<uint32_t>(dest + done, source + done, (bytes - done) / 4, s);
    done += (bytes - done) / 4 * 4;
  }
  if (both % 2 == 0) {
    copy_units<uint16_t>(dest + done, source + done, (bytes - done) / 2, s);
    done += (bytes - done) / 2 * 2;
  }
  copy_units<uint8_t>(dest + done, source + done, bytes - done, s);
}
#endif

} // namespace impl

#ifdef DUSHMEM_EMU

template <class Scope, class T> DUSHMEM_IMPL_FN void put(T *dest, const T *source, size_t nelems, int pe) {
  const size_t ranks = impl::size_of_scope(Scope{}), rank = impl::rank_in(Scope{});
  const size_t from = nelems * rank / ranks, to = nelems * (rank + 1) / ranks;
  dushmem_host_putmem(dest + from, source + from, (to - from) * sizeof(T), pe);
  impl::sync_scope(Scope{});
}
template <class Scope, class T> DUSHMEM_IMPL_FN void get(T *dest, const T *source, size_t nelems, int pe) {
  const size_t ranks = impl::size_of_scope(Scope{}), rank = impl::rank_in(Scope{});
  const size_t from = nelems * rank / ranks, to = nelems * (rank + 1) / ranks;
  dushmem_host_getmem(dest + from, source + from, (to - from) * sizeof(T), pe);
  impl::sync_scope(Scope{});
}
template <class T> DUSHMEM_IMPL_FN void p(T *dest, T value, int pe) {
  dushmem_host_putmem(dest, &value, sizeof value, pe);
}
template <class T> DUSHMEM_IMPL_FN T g(const T *source, int pe) {
  T value;
  dushmem_host_getmem(&value, source, sizeof value, pe);
  return value;
}
template <class T>
DUSHMEM_IMPL_FN void iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  for (size_t i = 0; i < nelems; i++) p(dest + ptrdiff_t(i) * dst, source[ptrdiff_t(i) * sst], pe);
}
template <class T>
DUSHMEM_IMPL_FN void iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  for (size_t i = 0; i < nelems; i++) dest[ptrdiff_t(i) * dst] = g(source + ptrdiff_t(i) * sst, pe);
}

#else

template <class Scope, class T> DUSHMEM_IMPL_FN void put(T *dest, const T *source, size_t nelems, int pe) {
  if (nelems != 0) impl::copy((char *)impl::peer(dest, pe), (const char *)source, nelems * sizeof(T), Scope{});
  impl::sync_scope(Scope{});
}
template <class Scope, class T> DUSHMEM_IMPL_FN void get(T *dest, const T *source, size_t nelems, int pe) {
  if (nelems != 0) impl::copy((char *)dest, (const char *)impl::peer(source, pe), nelems * sizeof(T), Scope{});
  impl::sync_scope(Scope{});
}
template <class T> DUSHMEM_IMPL_FN void p(T *dest, T value, int pe) { *(volatile T *)impl::peer(dest, pe) = value; }
template <class T> DUSHMEM_IMPL_FN T g(const T *source, int pe) { return *(const volatile T *)impl::peer(source, pe); }
template <class T>
DUSHMEM_IMPL_FN void iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  if (nelems == 0) return;
  T *to = impl::peer(dest, pe);
  for (size_t i = 0; i < nelems; i++) to[(ptrdiff_t)i * dst] = source[(ptrdiff_t)i * sst];
}
template <class T>
DUSHMEM_IMPL_FN void iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  if (nelems == 0) return;
  const T *from = impl::peer(source, pe);
  for (size_t i = 0; i < nelems; i++) dest[(ptrdiff_t)i * dst] = from[(ptrdiff_t)i * sst];
}
#endif

} // namespace device
} // namespace dushmem
#endif
