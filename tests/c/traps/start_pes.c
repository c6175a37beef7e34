/* Trap 71: start_pes, which can be repeated, ignores its argument, and implies a finalize at the end of the program.
 * The first argument says what PE 0 does at the end, while the others still need its memory. */
#include "../check.h"
#include <unistd.h>

static long word = 5, answers;

int main(int argc, char **argv) {
  const char *end = argc > 1 ? argv[1] : "return";
  start_pes(0);
  start_pes(77);
  start_pes(-3);
  int me = shmem_my_pe(), n = shmem_n_pes();
  shmem_long_p(&word, me + 100, (me + 1) % n);
  shmem_barrier_all();
  CHECK(word == (me + n - 1) % n + 100);
  if (failures) shmem_global_exit(1);
  if (me == 0) {
    if (!strcmp(end, "exit")) exit(0);
    if (!strcmp(end, "finalize")) shmem_finalize();
    return 0;
  }
  usleep(20000);
  for (int i = 0; i < 100; i++) {
    if (shmem_long_g(&word, 0) != n - 1 + 100) shmem_global_exit(2);
    shmem_long_atomic_inc(&answers, 0);
  }
  if (!strcmp(end, "finalize")) shmem_finalize();
  return 0;
}
