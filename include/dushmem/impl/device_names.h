/* The typed names of both families for host and device: on the device the templates of namespace
 * dushmem::device, on the host the library's functions. Collectives are host functions here. */
#ifndef DUSHMEM_IMPL_DEVICE_NAMES_H
#define DUSHMEM_IMPL_DEVICE_NAMES_H

namespace dushmem {
namespace device {
namespace impl {
DUSHMEM_IMPL_FN void end(int status) {
#ifdef DUSHMEM_EMU
  dushmem_host_global_exit(status);
#else
  printf("dushmem: PE %d: a kernel ends the job with status %d\n", state().my_pe, status);
  trap();
#endif
}
DUSHMEM_IMPL_FN void version(int *major, int *minor) {
  *major = DUSHMEM_MAJOR_VERSION;
  *minor = DUSHMEM_MINOR_VERSION;
}
} // namespace impl
} // namespace device
} // namespace dushmem

/* By type: T is the type called NAME, in family F. */
#define DUSHMEM_IMPL_NAMES_rma(F, NAME, T) \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_put(T *dest, const T *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_put(dest, source, nelems, pe), ::dushmem::device::put(dest, source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_get(T *dest, const T *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_get(dest, source, nelems, pe), ::dushmem::device::get(dest, source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_put_nbi(dest, source, nelems, pe), ::dushmem::device::put_nbi(dest, source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_get_nbi(dest, source, nelems, pe), ::dushmem::device::get(dest, source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_p(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_p(dest, value, pe), ::dushmem::device::p(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_g(const T *source, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_g(source, pe), ::dushmem::device::g(source, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_iput(dest, source, dst, sst, nelems, pe), ::dushmem::device::iput(dest, source, dst, sst, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_iget(dest, source, dst, sst, nelems, pe), ::dushmem::device::iget(dest, source, dst, sst, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe)); } \
  static inline __host__ int F##_##NAME##_alltoall(int32_t team, T *dest, const T *source, size_t nelems) { return F##_host_##NAME##_alltoall(team, dest, source, nelems); } \
  static inline __host__ int F##_##NAME##_broadcast(int32_t team, T *dest, const T *source, size_t nelems, int PE_root) { return F##_host_##NAME##_broadcast(team, dest, source, nelems, PE_root); } \
  static inline __host__ int F##_##NAME##_fcollect(int32_t team, T *dest, const T *source, size_t nelems) { return F##_host_##NAME##_fcollect(team, dest, source, nelems); }

#define DUSHMEM_IMPL_NAMES_amo(F, NAME, T) \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch_inc(T *dest, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch_inc(dest, pe), ::dushmem::device::atomic_fetch_add(dest, (T)1, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_inc(T *dest, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_inc(dest, pe), (void)::dushmem::device::atomic_fetch_add(dest, (T)1, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch_add(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch_add(dest, value, pe), ::dushmem::device::atomic_fetch_add(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_add(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_add(dest, value, pe), (void)::dushmem::device::atomic_fetch_add(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_compare_swap(dest, cond, value, pe), ::dushmem::device::atomic_compare_swap(dest, cond, value, pe)); }

#define DUSHMEM_IMPL_NAMES_amo_ext(F, NAME, T) \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch(const T *source, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch(source, pe), ::dushmem::device::atomic_fetch(source, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_set(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_set(dest, value, pe), ::dushmem::device::atomic_set(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_swap(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_swap(dest, value, pe), ::dushmem::device::atomic_swap(dest, value, pe)); }

#define DUSHMEM_IMPL_NAMES_amo_bit(F, NAME, T) \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch_and(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch_and(dest, value, pe), ::dushmem::device::atomic_fetch_and(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_and(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_and(dest, value, pe), (void)::dushmem::device::atomic_fetch_and(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch_or(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch_or(dest, value, pe), ::dushmem::device::atomic_fetch_or(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_or(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_or(dest, value, pe), (void)::dushmem::device::atomic_fetch_or(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH T F##_##NAME##_atomic_fetch_xor(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_fetch_xor(dest, value, pe), ::dushmem::device::atomic_fetch_xor(dest, value, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_atomic_xor(T *dest, T value, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_atomic_xor(dest, value, pe), (void)::dushmem::device::atomic_fetch_xor(dest, value, pe)); }

#define DUSHMEM_IMPL_NAMES_wait(F, NAME, T) \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_wait_until(T *ivar, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until(ivar, cmp, cmp_value), (void)::dushmem::device::wait_until(ivar, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH int F##_##NAME##_test(T *ivar, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test(ivar, cmp, cmp_value), ::dushmem::device::test(ivar, cmp, cmp_value)); }

#define DUSHMEM_IMPL_NAMES_wait_many(F, NAME, T) \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_all(ivars, nelems, status, cmp, cmp_value), ::dushmem::device::wait_until_all(ivars, nelems, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_any(ivars, nelems, status, cmp, cmp_value), ::dushmem::device::wait_until_any(ivars, nelems, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH int F##_##NAME##_test_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_all(ivars, nelems, status, cmp, cmp_value), ::dushmem::device::test_all(ivars, nelems, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_test_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_any(ivars, nelems, status, cmp, cmp_value), ::dushmem::device::test_any(ivars, nelems, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_wait_until_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value), ::dushmem::device::wait_until_some(ivars, nelems, indices, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_test_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_some(ivars, nelems, indices, status, cmp, cmp_value), ::dushmem::device::test_some(ivars, nelems, indices, status, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH void F##_##NAME##_wait_until_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values), ::dushmem::device::wait_until_all(ivars, nelems, status, cmp, cmp_values)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_wait_until_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values), ::dushmem::device::wait_until_any(ivars, nelems, status, cmp, cmp_values)); } \
  DUSHMEM_IMPL_BOTH int F##_##NAME##_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_all_vector(ivars, nelems, status, cmp, cmp_values), ::dushmem::device::test_all(ivars, nelems, status, cmp, cmp_values)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_any_vector(ivars, nelems, status, cmp, cmp_values), ::dushmem::device::test_any(ivars, nelems, status, cmp, cmp_values)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values), ::dushmem::device::wait_until_some(ivars, nelems, indices, status, cmp, cmp_values)); } \
  DUSHMEM_IMPL_BOTH size_t F##_##NAME##_test_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values) { return DUSHMEM_IMPL_TWIN(F##_host_##NAME##_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values), ::dushmem::device::test_some(ivars, nelems, indices, status, cmp, cmp_values)); }

#define DUSHMEM_IMPL_NAMES_reduce_bit(F, NAME, T) \
  static inline __host__ int F##_##NAME##_and_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_and_reduce(team, dest, source, nreduce); } \
  static inline __host__ int F##_##NAME##_or_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_or_reduce(team, dest, source, nreduce); } \
  static inline __host__ int F##_##NAME##_xor_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_xor_reduce(team, dest, source, nreduce); }

#define DUSHMEM_IMPL_NAMES_reduce_ord(F, NAME, T) \
  static inline __host__ int F##_##NAME##_max_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_max_reduce(team, dest, source, nreduce); } \
  static inline __host__ int F##_##NAME##_min_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_min_reduce(team, dest, source, nreduce); }

#define DUSHMEM_IMPL_NAMES_reduce_sum(F, NAME, T) \
  static inline __host__ int F##_##NAME##_sum_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_sum_reduce(team, dest, source, nreduce); } \
  static inline __host__ int F##_##NAME##_prod_reduce(int32_t team, T *dest, const T *source, size_t nreduce) { return F##_host_##NAME##_prod_reduce(team, dest, source, nreduce); }

/* By size: N bits, moved as T. */
#define DUSHMEM_IMPL_NAMES_size(F, N, T) \
  DUSHMEM_IMPL_BOTH void F##_put##N(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_put##N(dest, source, nelems, pe), ::dushmem::device::put((T *)dest, (const T *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_put##N##_nbi(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_put##N##_nbi(dest, source, nelems, pe), ::dushmem::device::put((T *)dest, (const T *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_iput##N(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_iput##N(dest, source, dst, sst, nelems, pe), ::dushmem::device::iput((T *)dest, (const T *)source, dst, sst, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_get##N(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_get##N(dest, source, nelems, pe), ::dushmem::device::get((T *)dest, (const T *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_get##N##_nbi(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_get##N##_nbi(dest, source, nelems, pe), ::dushmem::device::get((T *)dest, (const T *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_iget##N(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_iget##N(dest, source, dst, sst, nelems, pe), ::dushmem::device::iget((T *)dest, (const T *)source, dst, sst, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_put##N##_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_put##N##_signal(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal((T *)dest, (const T *)source, nelems, sig_addr, signal, sig_op, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_put##N##_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_put##N##_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal((T *)dest, (const T *)source, nelems, sig_addr, signal, sig_op, pe)); }

/* Without a type. */
#define DUSHMEM_IMPL_NAMES_plain(F) \
  DUSHMEM_IMPL_BOTH int F##_my_pe() { return DUSHMEM_IMPL_TWIN(F##_host_my_pe(), ::dushmem::device::my_pe()); } \
  DUSHMEM_IMPL_BOTH int F##_n_pes() { return DUSHMEM_IMPL_TWIN(F##_host_n_pes(), ::dushmem::device::n_pes()); } \
  DUSHMEM_IMPL_BOTH void * F##_ptr(const void *dest, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_ptr(dest, pe), ::dushmem::device::ptr((char *)dest, pe)); } \
  DUSHMEM_IMPL_BOTH int F##_team_my_pe(int32_t team) { return DUSHMEM_IMPL_TWIN(F##_host_team_my_pe(team), ::dushmem::device::team_my_pe(team)); } \
  DUSHMEM_IMPL_BOTH int F##_team_n_pes(int32_t team) { return DUSHMEM_IMPL_TWIN(F##_host_team_n_pes(team), ::dushmem::device::team_n_pes(team)); } \
  DUSHMEM_IMPL_BOTH int F##_team_translate_pe(int32_t source, int pe, int32_t dest) { return DUSHMEM_IMPL_TWIN(F##_host_team_translate_pe(source, pe, dest), ::dushmem::device::team_translate_pe(source, pe, dest)); } \
  DUSHMEM_IMPL_BOTH void F##_putmem(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_putmem(dest, source, nelems, pe), ::dushmem::device::put((char *)dest, (const char *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_putmem_nbi(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_putmem_nbi(dest, source, nelems, pe), ::dushmem::device::put((char *)dest, (const char *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_getmem(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_getmem(dest, source, nelems, pe), ::dushmem::device::get((char *)dest, (const char *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_getmem_nbi(void *dest, const void *source, size_t nelems, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_getmem_nbi(dest, source, nelems, pe), ::dushmem::device::get((char *)dest, (const char *)source, nelems, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_putmem_signal(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_putmem_signal(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal((char *)dest, (const char *)source, nelems, sig_addr, signal, sig_op, pe)); } \
  DUSHMEM_IMPL_BOTH void F##_putmem_signal_nbi(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##_host_putmem_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe), ::dushmem::device::put_signal((char *)dest, (const char *)source, nelems, sig_addr, signal, sig_op, pe)); } \
  DUSHMEM_IMPL_BOTH uint64_t F##_signal_fetch(const uint64_t *sig_addr) { return DUSHMEM_IMPL_TWIN(F##_host_signal_fetch(sig_addr), ::dushmem::device::signal_fetch(sig_addr)); } \
  DUSHMEM_IMPL_BOTH uint64_t F##_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value) { return DUSHMEM_IMPL_TWIN(F##_host_signal_wait_until(sig_addr, cmp, cmp_value), ::dushmem::device::signal_wait_until(sig_addr, cmp, cmp_value)); } \
  DUSHMEM_IMPL_BOTH void F##_fence() { return DUSHMEM_IMPL_TWIN(F##_host_fence(), ::dushmem::device::fence()); } \
  DUSHMEM_IMPL_BOTH void F##_quiet() { return DUSHMEM_IMPL_TWIN(F##_host_quiet(), ::dushmem::device::quiet()); } \
  DUSHMEM_IMPL_BOTH void F##_global_exit(int status) { return DUSHMEM_IMPL_TWIN(F##_host_global_exit(status), ::dushmem::device::impl::end(status)); } \
  DUSHMEM_IMPL_BOTH void F##_info_get_version(int *major, int *minor) { return DUSHMEM_IMPL_TWIN(F##_host_info_get_version(major, minor), ::dushmem::device::impl::version(major, minor)); } \
  DUSHMEM_IMPL_BOTH void F##x_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return DUSHMEM_IMPL_TWIN(F##x_host_signal_op(sig_addr, signal, sig_op, pe), ::dushmem::device::signal_op(sig_addr, signal, sig_op, pe)); } \
  static inline __host__ void F##_info_get_name(char *name) { return F##_host_info_get_name(name); } \
  static inline __host__ void F##x_vendor_get_version_info(int *major, int *minor, int *patch) { return F##x_host_vendor_get_version_info(major, minor, patch); } \
  static inline __host__ int F##_barrier(int32_t team) { return F##_host_barrier(team); } \
  static inline __host__ void F##_barrier_all() { return F##_host_barrier_all(); } \
  static inline __host__ int F##_team_sync(int32_t team) { return F##_host_team_sync(team); } \
  static inline __host__ void F##_sync_all() { return F##_host_sync_all(); } \
  static inline __host__ int F##_alltoallmem(int32_t team, void *dest, const void *source, size_t nelems) { return F##_host_alltoallmem(team, dest, source, nelems); } \
  static inline __host__ int F##_fcollectmem(int32_t team, void *dest, const void *source, size_t nelems) { return F##_host_fcollectmem(team, dest, source, nelems); } \
  static inline __host__ int F##_broadcastmem(int32_t team, void *dest, const void *source, size_t nelems, int PE_root) { return F##_host_broadcastmem(team, dest, source, nelems, PE_root); }

/* long double is another type on the device: those names exist for the host. */
#define DUSHMEM_IMPL_NAMES_host_rma(F, NAME, T) \
  static inline __host__ void F##_##NAME##_put(T *dest, const T *source, size_t nelems, int pe) { return F##_host_##NAME##_put(dest, source, nelems, pe); } \
  static inline __host__ void F##_##NAME##_get(T *dest, const T *source, size_t nelems, int pe) { return F##_host_##NAME##_get(dest, source, nelems, pe); } \
  static inline __host__ void F##_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe) { return F##_host_##NAME##_put_nbi(dest, source, nelems, pe); } \
  static inline __host__ void F##_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe) { return F##_host_##NAME##_get_nbi(dest, source, nelems, pe); } \
  static inline __host__ void F##_##NAME##_p(T *dest, T value, int pe) { return F##_host_##NAME##_p(dest, value, pe); } \
  static inline __host__ T F##_##NAME##_g(const T *source, int pe) { return F##_host_##NAME##_g(source, pe); } \
  static inline __host__ void F##_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return F##_host_##NAME##_iput(dest, source, dst, sst, nelems, pe); } \
  static inline __host__ void F##_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { return F##_host_##NAME##_iget(dest, source, dst, sst, nelems, pe); } \
  static inline __host__ void F##_##NAME##_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return F##_host_##NAME##_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  static inline __host__ void F##_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { return F##_host_##NAME##_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); } \
  static inline __host__ int F##_##NAME##_alltoall(int32_t team, T *dest, const T *source, size_t nelems) { return F##_host_##NAME##_alltoall(team, dest, source, nelems); } \
  static inline __host__ int F##_##NAME##_broadcast(int32_t team, T *dest, const T *source, size_t nelems, int PE_root) { return F##_host_##NAME##_broadcast(team, dest, source, nelems, PE_root); } \
  static inline __host__ int F##_##NAME##_fcollect(int32_t team, T *dest, const T *source, size_t nelems) { return F##_host_##NAME##_fcollect(team, dest, source, nelems); }

#define DUSHMEM_IMPL_NAMES(F) \
  DUSHMEM_IMPL_NAMES_plain(F) \
  DUSHMEM_IMPL_NAMES_size(F, 8, uint8_t) \
  DUSHMEM_IMPL_NAMES_size(F, 16, uint16_t) \
  DUSHMEM_IMPL_NAMES_size(F, 32, uint32_t) \
  DUSHMEM_IMPL_NAMES_size(F, 64, uint64_t) \
  DUSHMEM_IMPL_NAMES_size(F, 128, ::dushmem::device::impl::chunk) \
  DUSHMEM_IMPL_EACH_rma_nvshmem(DUSHMEM_IMPL_NAMES_rma, F) \
  DUSHMEM_IMPL_EACH_amo_##F(DUSHMEM_IMPL_NAMES_amo, F) \
  DUSHMEM_IMPL_EACH_amo_ext_##F(DUSHMEM_IMPL_NAMES_amo_ext, F) \
  DUSHMEM_IMPL_EACH_amo_bit_##F(DUSHMEM_IMPL_NAMES_amo_bit, F) \
  DUSHMEM_IMPL_EACH_wait_##F(DUSHMEM_IMPL_NAMES_wait, F) \
  DUSHMEM_IMPL_EACH_wait_many_##F(DUSHMEM_IMPL_NAMES_wait_many, F) \
  DUSHMEM_IMPL_EACH_reduce_bit_##F(DUSHMEM_IMPL_NAMES_reduce_bit, F) \
  DUSHMEM_IMPL_EACH_reduce_ord_##F(DUSHMEM_IMPL_NAMES_reduce_ord, F) \
  DUSHMEM_IMPL_EACH_reduce_sum_##F(DUSHMEM_IMPL_NAMES_reduce_sum, F)

DUSHMEM_IMPL_NAMES(dushmem)
DUSHMEM_IMPL_NAMES(nvshmem)
DUSHMEM_IMPL_NAMES_host_rma(dushmem, longdouble, long double)

/* So far the 16-bit floating-point numbers exist for the host, too. */
#define DUSHMEM_IMPL_NAMES_opaque(F) \
  DUSHMEM_IMPL_OPAQUE_rma_##F(DUSHMEM_IMPL_NAMES_host_rma, F) \
  DUSHMEM_IMPL_OPAQUE_reduce_ord_##F(DUSHMEM_IMPL_NAMES_reduce_ord, F) \
  DUSHMEM_IMPL_OPAQUE_reduce_sum_##F(DUSHMEM_IMPL_NAMES_reduce_sum, F)
DUSHMEM_IMPL_NAMES_opaque(dushmem)
DUSHMEM_IMPL_NAMES_opaque(nvshmem)
#endif
