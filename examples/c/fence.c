/* Fence: orders. PE 0 puts data, then a flag, to the same PE; the fence between them makes sure that whoever
 * sees the flag sees the data. It does not complete anything: quiet does.
 *
 *   dushcc fence.c -o fence && dushrun -n 2 ./fence
 *
 * Leave the fence out and run it with DUSHMEM_TRANSPORT=loopback: the sum is wrong sooner or later.
 */
#include <dushmem.h>
#include <stdio.h>

enum { N = 512, ROUNDS = 50 };

int main(void) {
  dushmem_init();
  int me = dushmem_my_pe();
  long *data = dushmem_calloc(N, sizeof(long));
  int *flag = dushmem_calloc(1, sizeof(int));
  int *taken = dushmem_calloc(1, sizeof(int));
  if (!data || !flag || !taken) dushmem_global_exit(1);
  long wrong = 0;

  for (int round = 1; round <= ROUNDS && dushmem_n_pes() > 1; round++) {
    if (me == 0) {
      long source[N];
      for (int i = 0; i < N; i++) source[i] = round;
      dushmem_long_put(data, source, N, 1);
      dushmem_fence();
      dushmem_int_p(flag, round, 1);
      dushmem_int_wait_until(taken, DUSHMEM_CMP_EQ, round);
    } else if (me == 1) {
      dushmem_int_wait_until(flag, DUSHMEM_CMP_EQ, round);
      for (int i = 0; i < N; i++) wrong += data[i] != round;
      dushmem_int_p(taken, round, 0);
    }
  }
  if (me == 1) printf("PE 1: %d rounds, %ld wrong words\n", ROUNDS, wrong);
  dushmem_barrier_all();
  dushmem_free(taken);
  dushmem_free(flag);
  dushmem_free(data);
  dushmem_finalize();
  return wrong ? 1 : 0;
}
