/* Get: every PE reads an array from the next one. A get returns when the data is there, so nothing has to
 * be waited for afterwards; the barrier before it makes sure that the owner has filled the array.
 *
 *   dushcc get.c -o get && dushrun -n 4 ./get
 */
#include <nvshmem.h>
#include <stdio.h>

enum { N = 4 };

int main(void) {
  nvshmem_init();
  int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  float *remote = nvshmem_malloc(N * sizeof(float));
  if (!remote) nvshmem_global_exit(1);
  for (int i = 0; i < N; i++) remote[i] = (float)(10 * me + i);
  nvshmem_barrier_all();

  float local[N]; /* the destination of a get is any local memory */
  nvshmem_float_get(local, remote, N, (me + 1) % n);
  printf("PE %d: got %.0f %.0f %.0f %.0f\n", me, local[0], local[1], local[2], local[3]);

  nvshmem_free(remote);
  nvshmem_finalize();
  return 0;
}
