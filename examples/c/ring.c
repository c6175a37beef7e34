/* A ring: every PE puts its number into the memory of the next one.
 *
 *   dushcc ring.c -o ring && dushrun -n 4 ./ring
 */
#include <shmem.h>
#include <stdio.h>

int main(void) {
  shmem_init();
  int me = shmem_my_pe();
  int n = shmem_n_pes();
  static int received = -1; /* globals of the executable are symmetric, as the heap is */

  shmem_int_p(&received, me, (me + 1) % n);
  shmem_barrier_all(); /* completes the put and waits for everybody's */

  int expected = (me + n - 1) % n;
  printf("PE %d: received %d, expected %d\n", me, received, expected);
  shmem_finalize();
  return received == expected ? 0 : 1;
}
