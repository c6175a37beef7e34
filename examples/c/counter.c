/* A distributed counter: every PE takes tickets from a counter on PE 0. Each ticket is given out once.
 *
 *   dushcc counter.c -o counter && dushrun -n 4 ./counter
 */
#include <dushmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICKETS = 1000 };

int main(void) {
  dushmem_init();
  int me = dushmem_my_pe(), n = dushmem_n_pes();
  size_t all = (size_t)n * TICKETS;
  unsigned int *counter = dushmem_calloc(1, sizeof *counter);
  int *seen = dushmem_calloc(all, sizeof *seen);
  if (!counter || !seen) dushmem_global_exit(1);

  for (int i = 0; i < TICKETS; i++) {
    unsigned int ticket = dushmem_uint_atomic_fetch_add(counter, 1, 0);
    dushmem_int_atomic_inc(&seen[ticket], (int)(ticket % (unsigned)n)); /* the ticket's PE keeps the record */
  }
  dushmem_barrier_all();

  long mine = 0, twice = 0;
  for (size_t t = (size_t)me; t < all; t += (size_t)n) {
    mine += seen[t];
    twice += seen[t] > 1;
  }
  printf("PE %d: %ld tickets recorded, %ld twice\n", me, mine, twice);
  if (me == 0) printf("PE 0: the counter stands at %u\n", *counter);
  dushmem_free(seen);
  dushmem_free(counter);
  dushmem_finalize();
  return mine == TICKETS && twice == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
