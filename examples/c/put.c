/* Put: PE 0 writes an array into PE 1's memory. A put returns when the source may be reused; the barrier
 * makes sure that the data has arrived before PE 1 looks.
 *
 *   dushcc put.c -o put && dushrun -n 2 ./put
 */
#include <nvshmem.h>
#include <stdio.h>

enum { N = 1000 };

int main(void) {
  nvshmem_init();
  int me = nvshmem_my_pe();
  /* Allocation is collective: every PE calls it, with the same size. */
  float *dest = nvshmem_calloc(N, sizeof(float));
  float *source = nvshmem_malloc(N * sizeof(float));
  if (!dest || !source) nvshmem_global_exit(1);
  for (int i = 0; i < N; i++) source[i] = 0.5f * (float)i;

  if (me == 0 && nvshmem_n_pes() > 1) {
    nvshmem_float_put(dest, source, N, 1);
    source[0] = -1; /* allowed: the blocking put has taken its copy */
  }
  nvshmem_barrier_all();

  if (me == 1) printf("PE 1: dest[0] = %.1f, dest[%d] = %.1f\n", dest[0], N - 1, dest[N - 1]);
  nvshmem_free(source); /* collective as well */
  nvshmem_free(dest);
  nvshmem_finalize();
  return 0;
}
