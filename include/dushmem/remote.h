/* A PE's copy of an own symmetric array, found once. Callable in kernels. */
#ifndef DUSHMEM_REMOTE_H
#define DUSHMEM_REMOTE_H

#include "amo.h"
#include "rma.h"

namespace dushmem {
namespace device {

/* What calls with an object and a PE look up each time (is there such a PE, is this symmetric memory, where is the
 * copy) a handle has looked up when it is made: in a loop its p is a store, its g a load. Made of nelems elements from
 * `object` on, an own symmetric address; it may be copied, and passed to functions, within the kernel.
 *
 *   remote<int> row(table, n, pe);
 *   for (size_t i = 0; i < n; i++) row.p(i, f(i));
 *
 * Indices are not checked. The calls mean what those of rma.h and amo.h with these names mean, for PEs out of reach of
 * loads and stores, too. */
template <class T> class remote {
public:
  DUSHMEM_IMPL_MEMBER remote(T *object, size_t nelems, int pe);

  /* The element's address at the PE, or null where it can't be loaded from and stored to. */
  DUSHMEM_IMPL_MEMBER T *ptr(size_t i = 0) const { return far_ != nullptr ? far_ + i : nullptr; }
  DUSHMEM_IMPL_MEMBER int pe() const { return pe_; }

  DUSHMEM_IMPL_MEMBER void p(size_t i, T value) const;
  DUSHMEM_IMPL_MEMBER T g(size_t i) const;

  /* nelems elements from element i on. */
  template <class S = scope::thread> DUSHMEM_IMPL_MEMBER void put(size_t i, const T *source, size_t nelems) const;
  template <class S = scope::thread> DUSHMEM_IMPL_MEMBER void get(T *dest, size_t i, size_t nelems) const;

  DUSHMEM_IMPL_MEMBER void atomic_add(size_t i, T value) const;
  DUSHMEM_IMPL_MEMBER T atomic_fetch_add(size_t i, T value) const;

private:
  T *own_, *far_;
  int pe_;
};

template <class T> DUSHMEM_IMPL_MEMBER inline remote<T>::remote(T *object, size_t nelems, int pe) : own_(object), pe_(pe) {
  far_ = impl::peer(object, impl::bytes_of(nelems, sizeof(T), "remote"), pe, "remote", "object", alignof(T));
}
template <class T> DUSHMEM_IMPL_MEMBER inline void remote<T>::p(size_t i, T value) const {
  if (!DUSHMEM_IMPL_IS(far_ != nullptr)) return device::p(own_ + i, value, pe_);
  impl::value<T>::put(far_ + i, &value);
  impl::ring(pe_);
}
template <class T> DUSHMEM_IMPL_MEMBER inline T remote<T>::g(size_t i) const {
  if (!DUSHMEM_IMPL_IS(far_ != nullptr)) return device::g(own_ + i, pe_);
  T value;
  impl::value<T>::get(&value, far_ + i);
  return value;
}
template <class T>
template <class S>
DUSHMEM_IMPL_MEMBER inline void remote<T>::put(size_t i, const T *source, size_t nelems) const {
  device::put<S>(own_ + i, source, nelems, pe_);
}
template <class T>
template <class S>
DUSHMEM_IMPL_MEMBER inline void remote<T>::get(T *dest, size_t i, size_t nelems) const {
  device::get<S>(dest, (const T *)own_ + i, nelems, pe_);
}
template <class T> DUSHMEM_IMPL_MEMBER inline void remote<T>::atomic_add(size_t i, T value) const {
  typedef impl::word<T> U;
  if (!DUSHMEM_IMPL_IS(far_ != nullptr && !impl::atomic_by_proxy(own_))) return device::atomic_add(own_ + i, value, pe_);
  impl::add_only((U *)(far_ + i), impl::bits<U>(value));
  impl::ring(pe_);
}
template <class T> DUSHMEM_IMPL_MEMBER inline T remote<T>::atomic_fetch_add(size_t i, T value) const {
  typedef impl::word<T> U;
  if (!DUSHMEM_IMPL_IS(far_ != nullptr && !impl::atomic_by_proxy(own_)))
    return device::atomic_fetch_add(own_ + i, value, pe_);
  const U old = impl::add((U *)(far_ + i), impl::bits<U>(value));
  impl::ring(pe_);
  return impl::bits<T>(old);
}

} // namespace device
} // namespace dushmem
#endif
