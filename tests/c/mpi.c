/* A job of the processes of an MPI communicator: all but the last, in reverse order. */
#include "check.h"
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, size;
  MPI_Comm comm = MPI_COMM_NULL;
  FX(init_attr_t) attr = KX(INIT_ATTR_INITIALIZER);
  attr.mpi_comm = &comm;
  if (argc > 1 && strcmp(argv[1], "early") == 0) return FX(init_attr)(KX(INIT_WITH_MPI_COMM), &attr);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int in = size == 1 || rank < size - 1;
  MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, -rank, &comm);
  if (in) {
    int n = size == 1 ? 1 : size - 1, code = 0;
    CHECK(FX(set_attr_mpi_comm_args)(&comm, &attr) == 0 && attr.mpi_comm == &comm);
    for (int round = 0; round < 2; round++) {
      if (FX(init_attr)(KX(INIT_WITH_MPI_COMM), &attr)) MPI_Abort(MPI_COMM_WORLD, 3);
      int me = F(my_pe)(), *x = (int *)F(calloc)(1, sizeof(int));
      CHECK(F(n_pes)() == n && me == n - 1 - rank);
      FT(int, p)(x, me + 5, (me + 1) % n);
      F(barrier_all)();
      CHECK(*x == (me + n - 1) % n + 5);
      F(free)(x);
      F(finalize)();
    }
    MPI_Comm_free(&comm);
    MPI_Allreduce(&failures, &code, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    if (code) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d of %d\n", size == 1 ? 1 : size - 1, size);
  MPI_Finalize();
  return failures != 0;
}
