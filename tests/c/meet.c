/* PEs that nobody has started together: `meet RANK NRANKS FILE WHAT`. The maker of the id, rank 0 or what MAKER
 * says, leaves it in FILE for the others. */
#include "check.h"
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static FX(uniqueid_t) id = KX(UNIQUEID_INITIALIZER);

static void nap(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  nanosleep(&t, NULL);
}

static void get_id(int maker, const char *file) {
  char part[4096];
  snprintf(part, sizeof part, "%s.part", file);
  if (maker) {
    if (FX(get_uniqueid)(&id) != 0) exit(90);
    FILE *out = fopen(part, "wb");
    if (!out || fwrite(&id, sizeof id, 1, out) != 1 || fclose(out) || rename(part, file)) exit(91);
  } else {
    FILE *in;
    while (!(in = fopen(file, "rb"))) nap(2);
    if (fread(&id, sizeof id, 1, in) != 1) exit(92);
    fclose(in);
  }
}

static int start(int rank, int nranks) {
  FX(init_attr_t) attr = KX(INIT_ATTR_INITIALIZER);
  int code = FX(set_attr_uniqueid_args)(rank, nranks, &id, &attr);
  return code ? code : FX(init_attr)(KX(INIT_WITH_UNIQUEID), &attr);
}

static void ring(int rank, int nranks) {
  int *x = (int *)F(calloc)(1, sizeof(int)), me = F(my_pe)(), n = F(n_pes)();
  CHECK(me == rank && n == nranks && FX(init_status)() == K(STATUS_IS_INITIALIZED));
  FT(int, p)(x, me + 1, (me + 1) % n);
  F(barrier_all)();
  CHECK(*x == (me + n - 1) % n + 1);
  F(free)(x);
}

int main(int argc, char **argv) {
  if (argc != 5) return 99;
  int rank = atoi(argv[1]), nranks = atoi(argv[2]), maker = getenv("MAKER") ? atoi(getenv("MAKER")) : 0;
  const char *what = argv[4];
  get_id(rank == maker, argv[3]);
  if (strcmp(what, "ring") == 0) {
    for (int round = 0; round < 3; round++) {
      if (start(rank, nranks)) return 2;
      ring(rank, nranks);
      /* Once more, by itself and by the id: counted. */
      if (start(rank, nranks)) return 3;
      F(init)();
      CHECK(start(rank, nranks + 1) != 0);
      ring(rank, nranks);
      F(finalize)();
      FX(hostlib_finalize)();
      F(finalize)();
      CHECK(FX(init_status)() == K(STATUS_NOT_INITIALIZED));
    }
    /* Without an id: the job as before. */
    F(init)();
    ring(rank, nranks);
    F(finalize)();
    return failures != 0;
  }
  if (strcmp(what, "mute") == 0) {
    /* The last one never comes. */
    if (rank == nranks - 1) return 0;
  } else if (strcmp(what, "twice") == 0) {
    if (rank == nranks - 1) rank = maker;
  } else if (strcmp(what, "count") == 0) {
    if (rank == nranks - 1) nranks++;
  } else if (strcmp(what, "stale") == 0) {
    /* The maker is gone when the others come. */
    if (rank == maker) return 0;
    nap(300);
  } else if (strcmp(what, "gone") == 0) {
    if (rank == 1) raise(SIGKILL);
  }
  int code = start(rank, nranks);
  if (code) return code;
  if (strcmp(what, "killed") == 0 && rank == 1) nap(200), raise(SIGKILL);
  if (strcmp(what, "host") == 0 && rank == maker) nap(200), raise(SIGKILL);
  if (strcmp(what, "leaves") == 0 && rank == 1) nap(200), _exit(0);
  if (strcmp(what, "abort") == 0 && rank == 1) F(global_exit)(7);
  if (strcmp(what, "wrong") == 0 && rank == 1) FT(int, p)((int *)&rank, 1, 0);
  /* A PE that has finalized may end, and leaves the others in peace. */
  if (strcmp(what, "early") == 0) {
    F(finalize)();
    if (rank != nranks - 1) return 0;
    nap(300);
    return 0;
  }
  printf("PE %d waits", rank);
  F(barrier_all)();
  F(finalize)();
  return 0;
}
