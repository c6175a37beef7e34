/* Writes the own number to the right in several ways, and prints what came from the left. */
#include <shmem.h>
#include <stdio.h>

struct words {
  int p, put, generic, add, ctx;
  long double real;
};

int main(void) {
  int me, n, right, level = 0, barriers = 0;
  struct words *there;
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  right = (me + 1) % n;
  there = (struct words *)shmem_calloc(1, sizeof *there);
  shmem_int_p(&there->p, me, right);
  shmem_int_put(&there->put, &me, 1, right);
  shmem_put(&there->generic, &me, 1, right);
  (void)shmem_int_atomic_fetch_add(&there->add, me, right);
  shmem_ctx_int_put(SHMEM_CTX_DEFAULT, &there->ctx, &me, 1, right);
  shmem_longdouble_p(&there->real, me + 0.5L, right);
  shmem_pcontrol(3, &level);
  shmem_barrier_all();
  shmem_barrier_all();
  shmem_pcontrol(5, &barriers);
  printf("PE %d: %d %d %d %d %d %.1Lf level %d barriers %d\n", me, there->p, there->put, there->generic, there->add,
         there->ctx, there->real, level, barriers);
  shmem_finalize();
  return 0;
}
