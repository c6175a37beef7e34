/* Children forked from a PE are no PEs: their exit handlers leave the job alone, their calls fail in them
 * alone, and those that call init are jobs of their own. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void leave(void) { F(finalize)(); }

static int *box;

static int exits(void) { exit(9); }

static int finalizes(void) {
  F(finalize)();
  return 9;
}

static int puts_to_pe_0(void) {
  FT(int, p)(box, 77, 0);
  return 9;
}

static int meets(void) {
  F(barrier_all)();
  return 9;
}

static int allocates(void) { return F(malloc)(8) == NULL ? 8 : 9; }

static int begins_anew(void) {
  F(init)();
  if (F(n_pes)() != 1 || F(my_pe)() != 0) return 2;
  int *own = (int *)F(malloc)(sizeof(int));
  FT(int, p)(own, 5, 0);
  F(barrier_all)();
  if (*own != 5) return 3;
  F(finalize)();
  return 9;
}

/* A stream is at work while children are forked: what its thread holds then, no child may wait for. */
static void keep_a_stream_busy(void) {
#ifndef FAMILY_SHMEM
  static char source[64];
  char *dest = (char *)(box + 2);
  for (int i = 0; i < 300; i++) FX(putmem_on_stream)(dest, source, sizeof source, F(my_pe)(), NULL);
#endif
}

static int in_child(int (*body)(void)) {
  fflush(NULL);
  keep_a_stream_busy();
  pid_t pid = fork();
  if (pid == 0) {
    /* The lines about calls that fail here. */
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(90);
    _exit(body());
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

int main(void) {
  atexit(leave);
  F(init)();
  int me = F(my_pe)(), n = F(n_pes)();
  box = (int *)F(calloc)(2 + 16, sizeof(int));
  for (int round = 0; round < 2; round++) {
    CHECK(in_child(exits) == 9);
    CHECK(in_child(finalizes) == 9);
    CHECK(in_child(puts_to_pe_0) == 101);
    CHECK(in_child(allocates) == 101);
    /* One PE's child alone: as a member of the barrier it would be waited for, or let it pass. */
    if (me == n - 1) CHECK(in_child(meets) == 101);
    CHECK(in_child(begins_anew) == 9);
    F(barrier_all)();
    CHECK(box[0] == 0);
    FT(int, p)(&box[1], me + round, (me + 1) % n);
    F(barrier_all)();
    CHECK(box[1] == (me + n - 1) % n + round);
  }
  if (failures) F(global_exit)(1);
  return 0; /* finalize is `leave`'s */
}
