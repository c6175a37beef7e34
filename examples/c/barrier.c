/* Barrier: completes what every PE has put, and waits for all. After it every PE sees everybody's data,
 * which no fence could promise.
 *
 *   dushcc barrier.c -o barrier && dushrun -n 4 ./barrier
 */
#include <nvshmem.h>
#include <stdio.h>

int main(void) {
  nvshmem_init();
  int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  int *board = nvshmem_calloc((size_t)n, sizeof(int));
  if (!board) nvshmem_global_exit(1);
  for (int pe = 0; pe < n; pe++) nvshmem_int_p(&board[me], me * me, pe);
  nvshmem_barrier_all();

  int sum = 0;
  for (int pe = 0; pe < n; pe++) sum += board[pe];
  printf("PE %d: sum of squares %d\n", me, sum);
  nvshmem_free(board);
  nvshmem_finalize();
  return 0;
}
