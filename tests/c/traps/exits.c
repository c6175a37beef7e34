/* Trap 72: one PE ends the job, whatever the others are doing. The argument says where it does so. */
#include "trap.h"

static long lock, never;
static void *exit_from_thread(void *argument) {
  nap(1000);
  shmem_global_exit(44);
  return argument; /* not reached */
}

/* As after a return from main, what was registered runs. */
static void at_exit(void) { printf(", and those of a handler"); }

int main(int argc, char **argv) {
  const char *from = argc > 1 ? argv[1] : "";
  int provided;
  if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0) return 4;
  me = shmem_my_pe();
  n = shmem_n_pes();
  if (me == n - 1) {
    shmem_set_lock(&lock);
    shmem_barrier_all();
    atexit(at_exit);
    nap(5000);
    printf("the last words"); /* without the end of a line: they wait in a buffer */
    if (!strcmp(from, "all")) shmem_global_exit(40 + me);
    if (!strcmp(from, "zero")) shmem_global_exit(0);
    if (!strcmp(from, "nested")) shmem_init(), shmem_global_exit(44);
    if (!strcmp(from, "thread")) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, exit_from_thread, NULL) == 0) pthread_join(thread, NULL);
    }
    shmem_global_exit(44);
    return 9; /* not reached: the function has no way back */
  }
  shmem_barrier_all();
  if (!strcmp(from, "all")) shmem_global_exit(40 + me);
  switch (me % 5) {
  case 0: shmem_barrier_all(); break;
  case 1: shmem_set_lock(&lock); break;
  case 2: shmem_long_wait_until(&never, SHMEM_CMP_NE, 0); break;
  case 3:
    for (volatile long i = 0;; i++) continue;
  default: sleep(100);
  }
  return 8;
}
