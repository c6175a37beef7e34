/* What the generated names of gen/device_*.h are made with. */
#ifndef DUSHMEM_IMPL_NAMES_H
#define DUSHMEM_IMPL_NAMES_H

#include <dushmem/device.h>

/* Each name is a template without parameters to give, so that a unit pays for those that it calls, not for all
 * of them: the body of a template is looked at when it is called.
 *
 * NAME, TWIN: a function for host and device, with what it does on each. DEVICE_NAME, ONLY: one for kernels. */
#if defined(DUSHMEM_EMU)
#define DUSHMEM_IMPL_NAME template <int = 0> static inline
#define DUSHMEM_IMPL_DEVICE_NAME template <int = 0> static inline
#define DUSHMEM_IMPL_TWIN(host, ...)                \
  if (::dushmem::emu::in_kernel()) {                \
    const ::dushmem::emu::in_call named(__func__);  \
    return __VA_ARGS__;                             \
  }                                                 \
  return host;
#define DUSHMEM_IMPL_ONLY(name, ...)                                              \
  if (!::dushmem::emu::in_kernel()) ::dushmem::device::impl::not_in_kernel(name); \
  const ::dushmem::emu::in_call named(name);                                      \
  return __VA_ARGS__;
#else
#define DUSHMEM_IMPL_NAME template <int = 0> static inline __host__ __device__
#define DUSHMEM_IMPL_DEVICE_NAME template <int = 0> static inline __device__
#ifdef DUSHMEM_IMPL_ON_DEVICE
#define DUSHMEM_IMPL_TWIN(host, ...) return __VA_ARGS__;
#else
#define DUSHMEM_IMPL_TWIN(host, ...) return host;
#endif
#define DUSHMEM_IMPL_ONLY(name, ...) return __VA_ARGS__;
#endif

namespace dushmem {
namespace device {
namespace impl {

/* An element of 128 bits. It need not be aligned to more than 8 bytes: complex numbers are not. */
struct wide {
  uint64_t low, high;
};

/* Queue pairs are contexts of the same number; 0, 1 and ANY stand for the default one. */
#ifdef DUSHMEM_EMU
DUSHMEM_IMPL_FN context queue_pair(int handle, const char *) {
  if (!DUSHMEM_IMPL_IS((unsigned)handle <= 1)) dushmem_emu_queue_pair(handle);
  return context{handle};
}
#else
DUSHMEM_IMPL_COLD void other_queue_pair(int handle, const char *call) {
  /* A library of before counts none. */
  if (handle != DUSHMEM_IMPL_EVERY_CONTEXT && (handle < 0 || state().queue_pairs != 0))
    fault(call, "qp_index", handle,
          "there is no such queue pair; pass a handle that qp_create has stored, QP_DEFAULT or QP_ANY");
}
DUSHMEM_IMPL_FN context queue_pair(int handle, const char *call) {
  if (!DUSHMEM_IMPL_IS((unsigned)handle < state().queue_pairs)) other_queue_pair(handle, call);
  return context{handle};
}
#endif

/* What is completed or ordered for all PEs is so for one. */
template <class S> DUSHMEM_IMPL_FN void quiet_queue_pairs(int, const int *handles, int n, const char *call) {
  for (int i = 0; i < n; i++) quiet<S>(queue_pair(handles[i], call));
}
template <class S> DUSHMEM_IMPL_FN void fence_queue_pairs(int, const int *handles, int n, const char *call) {
  for (int i = 0; i < n; i++) fence<S>(queue_pair(handles[i], call));
}

/* No address here reaches the copies of several PEs. */
DUSHMEM_IMPL_FN void *mc_ptr(int32_t, const void *) { return nullptr; }

DUSHMEM_IMPL_FN void info_get_version(int *major, int *minor) {
  *major = DUSHMEM_MAJOR_VERSION;
  *minor = DUSHMEM_MINOR_VERSION;
}
DUSHMEM_IMPL_FN void info_get_name(char *name) {
  const char text[] = DUSHMEM_VENDOR_STRING;
  for (size_t i = 0; i < sizeof text; i++) name[i] = text[i];
}
DUSHMEM_IMPL_FN void vendor_get_version_info(int *major, int *minor, int *patch) {
  *major = DUSHMEM_VENDOR_MAJOR_VERSION;
  *minor = DUSHMEM_VENDOR_MINOR_VERSION;
  *patch = DUSHMEM_VENDOR_PATCH_VERSION;
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
