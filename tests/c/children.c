/* Children of PEs: started in every way, ended in every way, and some are programs of the library themselves, which
 * are then jobs of one PE. The job goes on meanwhile. Argument: such a program, which prints "PE 0: received 0, ...". */
#include "check.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int me, n;
static long *box;

static int code_of(pid_t pid) {
  int status = -1;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* All PEs exchange something, as a sign that the job is whole. */
static void meet(long round) {
  FT(long, p)(box, round * 1000 + me, (me + 1) % n);
  F(barrier_all)();
  CHECK(*box == round * 1000 + (me + n - 1) % n);
  F(barrier_all)();
}

static void forked(void) {
  char *const yes[] = {(char *)"sh", (char *)"-c", (char *)"exit 5", NULL};
  pid_t pid = fork();
  if (pid == 0) execv("/bin/sh", yes);
  CHECK(code_of(pid) == 5);
  meet(1);
  /* Only some of the PEs, at different times. */
  if (me % 2 == 0) {
    pid = vfork();
    if (pid == 0) {
      execv("/bin/sh", yes);
      _exit(99);
    }
    CHECK(code_of(pid) == 5);
  }
  meet(2);
  pid = vfork();
  if (pid == 0) _exit(6);
  CHECK(code_of(pid) == 6);
  pid = fork();
  if (pid == 0) _exit(7);
  CHECK(code_of(pid) == 7);
  /* Memory of the child's own, and the heap, which it shares, but not the job. */
  pid = fork();
  if (pid == 0) {
    char *some = (char *)malloc(100000);
    memset(some, 1, 100000);
    _exit(some[99999] + 7);
  }
  CHECK(code_of(pid) == 8);
  pid = fork();
  if (pid == 0) abort();
  CHECK(code_of(pid) == 1006);
  /* A child of a child. */
  pid = fork();
  if (pid == 0) {
    pid_t inner = fork();
    if (inner == 0) exit(3);
    int status = 0;
    waitpid(inner, &status, 0);
    exit(WEXITSTATUS(status) + 1);
  }
  CHECK(code_of(pid) == 4);
  meet(3);
}

static void started(void) {
  CHECK(system("exit 9") == 9 << 8);
  FILE *pipe = popen("echo from $$ | sed 's/[0-9]*$/the shell/'", "r");
  char line[200] = "";
  CHECK(pipe && fgets(line, sizeof line, pipe) && !strcmp(line, "from the shell\n") && pclose(pipe) == 0);
  pid_t pid;
  char *const words[] = {(char *)"sh", (char *)"-c", (char *)"exit 11", NULL};
  CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) == 0 && code_of(pid) == 11);
  meet(4);
}

static void are_jobs(const char *program) {
  char line[200] = "", command[4000];
  for (int how = 0; how < 2; how++) {
    if (how == 0) {
      snprintf(command, sizeof command, "%s", program);
    } else {
      /* Not the job's launcher any more, which is none of theirs. */
      snprintf(command, sizeof command, "DUSHMEM_SYMMETRIC_SIZE=1M %s", program);
    }
    FILE *pipe = popen(command, "r");
    CHECK(pipe && fgets(line, sizeof line, pipe));
    CHECK_IN(line, !strcmp(line, "PE 0: received 0, expected 0\n"));
    CHECK(pipe && pclose(pipe) == 0);
    meet(5 + how);
  }
}

int main(int argc, char **argv) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  box = (long *)F(calloc)(1, sizeof(long));
  FILE *file = tmpfile();
  fprintf(file, "x");
  forked();
  started();
  if (argc > 1) are_jobs(argv[1]);
  /* Exit handlers of children have written it out, as C has it; the PE's own output is not doubled. */
  fclose(file);
  return verdict();
}
