/* Bodies of rma.h. */
#ifndef DUSHMEM_IMPL_RMA_FUNCS_H
#define DUSHMEM_IMPL_RMA_FUNCS_H

namespace dushmem {
namespace device {
namespace impl {

/* What one thread of the scope does for all, and may wait. */
template <class S, class Act> DUSHMEM_IMPL_FN void by_first(S s, const Act &act) {
  sync(s);
  if (leads(s)) act();
  sync(s);
}

/* Shared memory that a caller gives, or none. */
struct no_scratch {
  template <class S> DUSHMEM_IMPL_MEMBER bool copies(char *, const char *, size_t, S, const char *) const { return false; }
};
struct some_scratch {
  void *memory;
  size_t bytes;
  template <class S> DUSHMEM_IMPL_MEMBER bool copies(char *dest, const char *source, size_t n, S s, const char *call) const {
    return bulk_copy(dest, source, n, memory, bytes, s, call);
  }
};

/* Where a loop passes an address again and again, what is computed from it is computed before the loop, and kept: in local memory
 * if there are no registers, of which the copies that are called need most. A block has some in common for all threads. */
template <class S> DUSHMEM_IMPL_FN void *in_each_call(S, const void *own) { return computed_now(own); }
DUSHMEM_IMPL_FN void *in_each_call(scope::block, const void *own) { return (void *)own; }

template <class S, class Scratch = no_scratch>
DUSHMEM_IMPL_FN void put_any(context ctx, void *dest, const void *source, size_t bytes, int pe, bool nbi,
                             const char *call, Scratch scratch = Scratch()) {
  const S s{};
  char *to;
  if (!finds_for_copy(to, in_each_call(s, dest), source, bytes, pe)) {
    to = peer_of_copy_otherwise(dest, source, bytes, pe, call, "dest", "source");
    if (to == nullptr) return by_first(s, [=] { remote_put(ctx, dest, source, bytes, pe, nbi); });
  }
  together(s, [=](auto part) {
    if (bytes == 0 || !scratch.copies(to, (const char *)source, bytes, part, call))
      copy_to(to, (const char *)source, bytes, part);
    /* A PE to which nothing goes may be out of reach. */
    if (bytes != 0) ring(pe);
  });
}

template <class S, class Scratch = no_scratch>
DUSHMEM_IMPL_FN void get_any(context ctx, void *dest, const void *source, size_t bytes, int pe, bool nbi,
                             const char *call, Scratch scratch = Scratch()) {
  const S s{};
  char *from;
  if (!finds_for_copy(from, in_each_call(s, source), dest, bytes, pe)) {
    from = peer_of_copy_otherwise(source, dest, bytes, pe, call, "source", "dest");
    if (from == nullptr) return by_first(s, [=] { remote_get(ctx, dest, source, bytes, pe, nbi); });
  }
  together(s, [=](auto part) {
    if (bytes == 0 || !scratch.copies((char *)dest, from, bytes, part, call)) copy_from((char *)dest, from, bytes, part);
  });
}

/* Bytes from the first of n strided elements to behind the last; more than there can be, if that is too much. */
DUSHMEM_IMPL_FN size_t extent(size_t nelems, size_t stride, size_t elem) {
  const size_t most = SIZE_MAX / 2 / elem;
  return DUSHMEM_IMPL_IS(nelems - 1 <= (most - 1) / stride) ? ((nelems - 1) * stride + 1) * elem : SIZE_MAX;
}

#ifdef DUSHMEM_EMU
DUSHMEM_IMPL_FN void check_strides(ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t elem, const char *call) {
  const auto fits = [=](ptrdiff_t stride) { return nelems == 0 || extent(nelems, (size_t)stride, elem) != SIZE_MAX; };
  if (!DUSHMEM_IMPL_IS(dst >= 1 && sst >= 1 && fits(dst) && fits(sst))) dushmem_emu_strides(call, dst, sst, nelems, elem);
}
#else
DUSHMEM_IMPL_FN void check_stride(ptrdiff_t stride, const char *call, const char *arg) {
  if (!DUSHMEM_IMPL_IS(stride >= 1)) fault(call, arg, stride, "strides are in elements, and at least 1");
}
DUSHMEM_IMPL_FN void check_strides(ptrdiff_t dst, ptrdiff_t sst, size_t, size_t, const char *call) {
  check_stride(dst, call, "dst");
  check_stride(sst, call, "sst");
}
#endif

template <class S, class T>
DUSHMEM_IMPL_FN void strided(context ctx, bool put, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nelems, int pe, const char *call) {
  DUSHMEM_IMPL_IN_CALL_WITH(call, "dest, source, dst, sst, nelems, pe", dest, source, dst, sst, nelems, pe);
  const S s{};
  check_strides(dst, sst, nelems, sizeof(T), call);
  if (nelems == 0) {
    check_pe(pe, call);
    return sync(s);
  }
  check_local(put ? (const void *)source : dest, call, put ? "source" : "dest");
  T *const far = put ? peer(dest, extent(nelems, (size_t)dst, sizeof(T)), pe, call, "dest")
                     : peer((T *)source, extent(nelems, (size_t)sst, sizeof(T)), pe, call, "source");
  if (far == nullptr)
    return by_first(s, [=] {
      remote_strided(ctx, put, (char *)dest, (const char *)source, dst, sst, sizeof(T), nelems, pe);
    });
  together(s, [=](auto part) {
    T *const to = put ? far : dest;
    const T *const from = put ? source : far;
    for (size_t i = rank(part); i < nelems; i += size(part)) {
      T one;
      if (put) {
        value<T>::load(&one, from + (ptrdiff_t)i * sst);
        value<T>::put(to + (ptrdiff_t)i * dst, &one);
      } else {
        value<T>::get(&one, from + (ptrdiff_t)i * sst);
        value<T>::store(to + (ptrdiff_t)i * dst, &one);
      }
    }
    if (put) ring(pe);
  });
}

/* ---- For collectives: internal words and buffers, too. They don't synchronise the scope. ---- */

/* Writes to PE pe; all threads of the scope call it. What they read has been written by the caller, or before a
 * synchronisation of the scope. source can be changed when all have returned. dest: own symmetric memory, or a
 * part of the internals. */
template <class S>
DUSHMEM_IMPL_FN void put_bytes(void *dest, const void *source, size_t bytes, int pe, const char *call = "put") {
  const S s{};
  if (bytes == 0) return;
  if (char *to = peer_internal((char *)dest, bytes, pe, call))
    copy_lean(to, (const char *)source, bytes, s);
  else if (leads(s))
    remote_put(context{0}, dest, source, bytes, pe, false);
}

} // namespace impl

template <class S, class T> DUSHMEM_IMPL_FN void put(context ctx, T *dest, const T *source, size_t nelems, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("put", "dest, source, nelems, pe", dest, source, nelems, pe);
  impl::put_any<S>(ctx, dest, source, impl::bytes_of(nelems, sizeof(T), "put"), pe, false, "put");
}
template <class S, class T> DUSHMEM_IMPL_FN void get(context ctx, T *dest, const T *source, size_t nelems, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("get", "dest, source, nelems, pe", dest, source, nelems, pe);
  impl::get_any<S>(ctx, dest, source, impl::bytes_of(nelems, sizeof(T), "get"), pe, false, "get");
}
template <class S, class T>
DUSHMEM_IMPL_FN void put_nbi(context ctx, T *dest, const T *source, size_t nelems, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("put_nbi", "dest, source, nelems, pe", dest, source, nelems, pe);
  impl::put_any<S>(ctx, dest, source, impl::bytes_of(nelems, sizeof(T), "put_nbi"), pe, true, "put_nbi");
}
template <class S, class T>
DUSHMEM_IMPL_FN void get_nbi(context ctx, T *dest, const T *source, size_t nelems, int pe) {
  DUSHMEM_IMPL_IN_CALL_WITH("get_nbi", "dest, source, nelems, pe", dest, source, nelems, pe);
  impl::get_any<S>(ctx, dest, source, impl::bytes_of(nelems, sizeof(T), "get_nbi"), pe, true, "get_nbi");
}
template <class T> DUSHMEM_IMPL_FN void p(context ctx, T *dest, impl::same_t<T> value, int pe) {
  T *to;
  if (!impl::finds_word(to, dest, pe)) {
    to = (T *)impl::peer_otherwise(dest, sizeof(T), 1, pe, "p", "dest");
    if (to == nullptr) {
      /* Another variable, so that the parameter can stay in registers. */
      T copy = value;
      return impl::remote_put(ctx, dest, &copy, sizeof(T), pe, false);
    }
  }
  impl::value<T>::put(to, &value);
  impl::ring(pe);
}
template <class T> DUSHMEM_IMPL_FN T g(context ctx, const T *source, int pe) {
  const T *from;
  if (!impl::finds_word(from, source, pe)) {
    from = (const T *)impl::peer_otherwise(source, sizeof(T), 1, pe, "g", "source");
    if (from == nullptr) {
      T copy;
      impl::remote_get(ctx, &copy, source, sizeof(T), pe, false);
      return copy;
    }
  }
  T value;
  impl::value<T>::get(&value, from);
  return value;
}
template <class S, class T>
DUSHMEM_IMPL_FN void iput(context ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  impl::strided<S>(ctx, true, dest, source, dst, sst, nelems, pe, "iput");
}
template <class S, class T>
DUSHMEM_IMPL_FN void iget(context ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  impl::strided<S>(ctx, false, dest, source, dst, sst, nelems, pe, "iget");
}

template <class S, class T>
DUSHMEM_IMPL_FN void put_scratch(T *dest, const T *source, size_t nelems, int pe, void *scratch, size_t scratch_bytes) {
  DUSHMEM_IMPL_IN_CALL_WITH("put_scratch", "dest, source, nelems, pe, scratch, scratch_bytes", dest, source, nelems, pe, scratch,
                            scratch_bytes);
  impl::put_any<S>(context{0}, dest, source, impl::bytes_of(nelems, sizeof(T), "put_scratch"), pe, false, "put_scratch",
                   impl::some_scratch{scratch, scratch_bytes});
}
template <class S, class T>
DUSHMEM_IMPL_FN void get_scratch(T *dest, const T *source, size_t nelems, int pe, void *scratch, size_t scratch_bytes) {
  DUSHMEM_IMPL_IN_CALL_WITH("get_scratch", "dest, source, nelems, pe, scratch, scratch_bytes", dest, source, nelems, pe, scratch,
                            scratch_bytes);
  impl::get_any<S>(context{0}, dest, source, impl::bytes_of(nelems, sizeof(T), "get_scratch"), pe, false, "get_scratch",
                   impl::some_scratch{scratch, scratch_bytes});
}

template <class S, class T> DUSHMEM_IMPL_FN void put(T *dest, const T *source, size_t nelems, int pe) {
  put<S>(context{0}, dest, source, nelems, pe);
}
template <class S, class T> DUSHMEM_IMPL_FN void get(T *dest, const T *source, size_t nelems, int pe) {
  get<S>(context{0}, dest, source, nelems, pe);
}
template <class S, class T> DUSHMEM_IMPL_FN void put_nbi(T *dest, const T *source, size_t nelems, int pe) {
  put_nbi<S>(context{0}, dest, source, nelems, pe);
}
template <class S, class T> DUSHMEM_IMPL_FN void get_nbi(T *dest, const T *source, size_t nelems, int pe) {
  get_nbi<S>(context{0}, dest, source, nelems, pe);
}
template <class T> DUSHMEM_IMPL_FN void p(T *dest, impl::same_t<T> value, int pe) { p(context{0}, dest, value, pe); }
template <class T> DUSHMEM_IMPL_FN T g(const T *source, int pe) { return g(context{0}, source, pe); }
template <class S, class T>
DUSHMEM_IMPL_FN void iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  iput<S>(context{0}, dest, source, dst, sst, nelems, pe);
}
template <class S, class T>
DUSHMEM_IMPL_FN void iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) {
  iget<S>(context{0}, dest, source, dst, sst, nelems, pe);
}

} // namespace device
} // namespace dushmem
#endif
