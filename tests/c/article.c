/* The shapes of the articles, as C11 and as C++: collectives without a team, reductions whose operation is an
 * argument, bitwise atomics on int. */
#include <dushmem.h>
#include <dushmemx.h>
#include <stdio.h>

#define EXPECT(...)                                                                                           \
  do {                                                                                                        \
    if (!(__VA_ARGS__)) {                                                                                     \
      fprintf(stderr, "PE %d: line %d: %s\n", me, __LINE__, #__VA_ARGS__);                                    \
      dushmem_global_exit(1);                                                                                 \
    }                                                                                                         \
  } while (0)

int main(void) {
  dushmem_init();
  int me = dushmem_my_pe(), n = dushmem_n_pes();
  int next = (me + 1) % n, prev = (me + n - 1) % n;
  int *dest = (int *)dushmem_malloc(sizeof(int) * (size_t)n * 2);
  int *source = (int *)dushmem_malloc(sizeof(int) * (size_t)n * 2);
  double *real = (double *)dushmem_calloc(4, sizeof(double));

  dushmem_int_p(dest, me, next);
  dushmem_barrier_all();
  EXPECT(dest[0] == prev);
  dushmem_sync();

  for (int i = 0; i < 2 * n; i++) source[i] = me * 100 + i;
  dushmem_barrier(DUSHMEM_TEAM_WORLD);
  dushmem_broadcast(dest, source, 2, n - 1);
  EXPECT(dest[0] == (n - 1) * 100 && dest[1] == (n - 1) * 100 + 1);
  dushmem_sync();
  dushmem_alltoall(dest, source, 2);
  for (int i = 0; i < 2 * n; i++) EXPECT(dest[i] == i / 2 * 100 + 2 * me + i % 2);
  dushmem_sync();
  dushmem_reduce(dest, source, 2, DUSHMEM_SUM);
  EXPECT(dest[0] == n * (n - 1) / 2 * 100 && dest[1] == dest[0] + n);
  dushmem_sync();
  dushmem_reduce(dest, source, 1, DUSHMEM_MAX);
  EXPECT(dest[0] == (n - 1) * 100);
  dushmem_sync();
  dushmem_reduce(DUSHMEM_TEAM_WORLD, dest, source, 1, DUSHMEM_OR);
  real[0] = 0.5;
  dushmem_sync(DUSHMEM_TEAM_WORLD);
  dushmem_reduce(real + 1, real, 1, DUSHMEM_SUM);
  EXPECT(real[1] == 0.5 * n);
  dushmem_barrier(DUSHMEMX_TEAM_NODE);

  dest[0] = 0xF0;
  dushmem_barrier_all();
  EXPECT(dushmem_int_atomic_fetch_and(dest, 0x3C, next) == 0xF0);
  EXPECT(dushmem_int_atomic_fetch_or(dest, 0x03, next) == 0x30);
  EXPECT(dushmem_int_atomic_fetch_xor(dest, 0x33, next) == 0x33);
  EXPECT(dushmem_int_atomic_fetch_add(dest, 5, next) == 0);
  EXPECT(dushmem_int_atomic_compare_swap(dest, 5, 6, next) == 5);
  dushmem_barrier_all();
  EXPECT(dest[0] == 6);
  int *peer = (int *)dushmem_ptr(dest, next);
  if (peer) EXPECT(*peer == 6);
  EXPECT(dushmem_int_g(dest, next) == 6);

  dushmem_free(real);
  dushmem_free(source);
  dushmem_free(dest);
  dushmem_finalize();
  return 0;
}
