// Uses every name that kernels may call, of both families, once. It is compiled for the device (nvcc) and
// for the CPU (dushcc): it has to compile and link; what the calls do is tested elsewhere.
#include <dushmem.h>
#include <dushmemx.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#define RMA(F, NAME, T)                                                        \
  __global__ void F##_rma_##NAME(T *a, T *b, uint64_t *sig, int pe) {          \
    F##_##NAME##_put(a, b, 3, pe);                                             \
    F##_##NAME##_get(b, a, 3, pe);                                             \
    F##_##NAME##_put_nbi(a, b, 3, pe);                                         \
    F##_##NAME##_get_nbi(b, a, 3, pe);                                         \
    F##_##NAME##_p(a, b[0], pe);                                               \
    b[1] = F##_##NAME##_g(a, pe);                                              \
    F##_##NAME##_iput(a, b, 2, 1, 3, pe);                                      \
    F##_##NAME##_iget(b, a, 1, 2, 3, pe);                                      \
    F##_##NAME##_put_signal(a, b, 3, sig, 1, DUSHMEM_SIGNAL_SET, pe);              \
    F##_##NAME##_put_signal_nbi(a, b, 3, sig, 1, DUSHMEM_SIGNAL_ADD, pe);          \
  }

#define AMO(F, NAME, T)                                                        \
  __global__ void F##_amo_##NAME(T *a, T *b, int pe) {                         \
    F##_##NAME##_atomic_inc(a, pe);                                            \
    b[0] = F##_##NAME##_atomic_fetch_inc(a, pe);                               \
    F##_##NAME##_atomic_add(a, b[0], pe);                                      \
    b[1] = F##_##NAME##_atomic_fetch_add(a, b[0], pe);                         \
    b[2] = F##_##NAME##_atomic_compare_swap(a, b[0], b[1], pe);                \
  }

#define EXT(F, NAME, T)                                                        \
  __global__ void F##_ext_##NAME(T *a, T *b, int pe) {                         \
    b[0] = F##_##NAME##_atomic_fetch(a, pe);                                   \
    F##_##NAME##_atomic_set(a, b[0], pe);                                      \
    b[1] = F##_##NAME##_atomic_swap(a, b[0], pe);                              \
  }

#define BIT(F, NAME, T)                                                        \
  __global__ void F##_bit_##NAME(T *a, T *b, int pe) {                         \
    F##_##NAME##_atomic_and(a, b[0], pe);                                      \
    F##_##NAME##_atomic_or(a, b[0], pe);                                       \
    F##_##NAME##_atomic_xor(a, b[0], pe);                                      \
    b[0] = F##_##NAME##_atomic_fetch_and(a, b[0], pe);                         \
    b[1] = F##_##NAME##_atomic_fetch_or(a, b[0], pe);                          \
    b[2] = F##_##NAME##_atomic_fetch_xor(a, b[0], pe);                         \
  }

#define WAIT(F, NAME, T)                                                       \
  __global__ void F##_wait_##NAME(T *a, int cmp, int *out) {                   \
    F##_##NAME##_wait_until(a, cmp, (T)1);                                     \
    *out = F##_##NAME##_test(a, cmp, (T)1);                                    \
  }

#define MANY(F, NAME, T)                                                       \
  __global__ void F##_many_##NAME(T *a, T *values, size_t *at, const int *status, int cmp, size_t *out) { \
    F##_##NAME##_wait_until_all(a, 3, status, cmp, (T)1);                      \
    out[0] = F##_##NAME##_wait_until_any(a, 3, status, cmp, (T)1);             \
    out[1] = F##_##NAME##_wait_until_some(a, 3, at, status, cmp, (T)1);        \
    F##_##NAME##_wait_until_all_vector(a, 3, status, cmp, values);             \
    out[2] = F##_##NAME##_wait_until_any_vector(a, 3, status, cmp, values);    \
    out[3] = F##_##NAME##_wait_until_some_vector(a, 3, at, status, cmp, values); \
    out[4] = (size_t)F##_##NAME##_test_all(a, 3, status, cmp, (T)1);           \
    out[5] = F##_##NAME##_test_any(a, 3, status, cmp, (T)1);                   \
    out[6] = F##_##NAME##_test_some(a, 3, at, status, cmp, (T)1);              \
    out[7] = (size_t)F##_##NAME##_test_all_vector(a, 3, status, cmp, values);  \
    out[8] = F##_##NAME##_test_any_vector(a, 3, status, cmp, values);          \
    out[9] = F##_##NAME##_test_some_vector(a, 3, at, status, cmp, values);     \
  }

#define SIZED(F, N)                                                            \
  F##_put##N(a, b, 3, pe);                                                     \
  F##_get##N(b, a, 3, pe);                                                     \
  F##_put##N##_nbi(a, b, 3, pe);                                               \
  F##_get##N##_nbi(b, a, 3, pe);                                               \
  F##_iput##N(a, b, 2, 1, 3, pe);                                              \
  F##_iget##N(b, a, 1, 2, 3, pe);                                              \
  F##_put##N##_signal(a, b, 3, sig, 1, DUSHMEM_SIGNAL_SET, pe);                    \
  F##_put##N##_signal_nbi(a, b, 3, sig, 1, DUSHMEM_SIGNAL_SET, pe);

#define PLAIN(F)                                                               \
  __global__ void F##_plain(void *a, void *b, uint64_t *sig, int *out, int team) { \
    const int pe = (F##_my_pe() + 1) % F##_n_pes();                            \
    SIZED(F, 8) SIZED(F, 16) SIZED(F, 32) SIZED(F, 64) SIZED(F, 128)           \
    F##_putmem(a, b, 3, pe);                                                   \
    F##_getmem(b, a, 3, pe);                                                   \
    F##_putmem_nbi(a, b, 3, pe);                                               \
    F##_getmem_nbi(b, a, 3, pe);                                               \
    F##_putmem_signal(a, b, 3, sig, 1, DUSHMEM_SIGNAL_SET, pe);                    \
    F##_putmem_signal_nbi(a, b, 3, sig, 1, DUSHMEM_SIGNAL_ADD, pe);                \
    F##_fence();                                                               \
    F##x_signal_op(sig, 1, DUSHMEM_SIGNAL_ADD, pe);                                \
    F##_quiet();                                                               \
    out[0] = (int)F##_signal_wait_until(sig, DUSHMEM_CMP_GE, F##_signal_fetch(sig)); \
    out[1] = F##_team_translate_pe(F##_team_n_pes(team), F##_team_my_pe(team), 0); \
    out[2] = F##_ptr(a, pe) == NULL;                                           \
    F##_info_get_version(out + 3, out + 4);                                    \
    if (out[3] < 1) F##_global_exit(3);                                        \
  }

#define FAMILY(F)                          \
  DUSHMEM_IMPL_EACH_rma_nvshmem(RMA, F)    \
  DUSHMEM_IMPL_EACH_amo_##F(AMO, F)        \
  DUSHMEM_IMPL_EACH_amo_ext_##F(EXT, F)    \
  DUSHMEM_IMPL_EACH_amo_bit_##F(BIT, F)    \
  DUSHMEM_IMPL_EACH_wait_##F(WAIT, F)      \
  DUSHMEM_IMPL_EACH_wait_many_##F(MANY, F) \
  PLAIN(F)

#ifndef ONLY_NVSHMEM
FAMILY(dushmem)
#endif
#ifndef ONLY_DUSHMEM
FAMILY(nvshmem)
#endif

// The templates: block scope.
__global__ void by_block(double *a, const double *b, double *back, uint64_t *sig, int pe) {
  using namespace dushmem::device;
  put<scope::block>(a, b, 1000, pe);
  quiet();
  get<scope::block>(back, a, 1000, pe);
  put_signal<scope::block>(a, b, 1000, sig, 1, DUSHMEM_SIGNAL_SET, pe);
}

int main() {
  // On the host the same names are the library's functions.
  dushmem_init();
  const int me = dushmem_my_pe();
  int *word = (int *)dushmem_malloc(sizeof(int));
  dushmem_int_p(word, me, me);
  dushmem_quiet();
  const int seen = nvshmem_int_g(word, me);
  dushmem_barrier_all();
  dushmem_free(word);
  dushmem_finalize();
  return seen != me;
}
