/* The three families in one process: init and finalize in every order, which is one count for all of them. */
#include <dushmem.h>
#include <nvshmem.h>
#include <shmem.h>
#include <stdio.h>

static void init_of(int family) {
  if (family == 0) shmem_init();
  if (family == 1) nvshmem_init();
  if (family == 2) dushmem_init();
}

static void finalize_of(int family) {
  if (family == 0) shmem_finalize();
  if (family == 1) nvshmem_finalize();
  if (family == 2) dushmem_finalize();
}

/* The same PEs, and memory of one family is every family's. */
static int together(long round) {
  int me = shmem_my_pe(), n = shmem_n_pes();
  if (nvshmem_my_pe() != me || dushmem_my_pe() != me || nvshmem_n_pes() != n || dushmem_n_pes() != n) return 1;
  long *box = (long *)nvshmem_calloc(2, sizeof(long));
  if (box == NULL) return 2;
  shmem_long_p(&box[0], round + me, (me + 1) % n);
  dushmem_long_atomic_add(&box[1], round, (me + 1) % n);
  nvshmem_barrier_all();
  int wrong = box[0] != round + (me + n - 1) % n || box[1] != round;
  dushmem_barrier_all();
  shmem_free(box);
  return wrong ? 3 : 0;
}

int main(void) {
  static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int in = 0; in < 6; in++)
    for (int out = 0; out < 6; out++) {
      int wrong = 0, on = 0;
      for (int i = 0; i < 3; i++) {
        init_of(order[in][i]);
        wrong |= together(100 * in + 10 * out + i);
      }
      init_of(in % 3);
      for (int i = 0; i < 3; i++) {
        finalize_of(order[out][i]);
        wrong |= together(100 * in + 10 * out + i);
      }
      finalize_of(out % 3);
      shmem_query_initialized(&on);
      if (wrong || on) {
        fprintf(stderr, "init %d, finalize %d: %d %d\n", in, out, wrong, on);
        return 1;
      }
    }
  return 0;
}
