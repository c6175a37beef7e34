/* Globals of the executable as symmetric data: in .data and .bss, small and large, of all PEs at once, and
 * what children of a PE see of them. Compiles as C and as C++. */
#include "check.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HUGE_LONGS = 100 * 1000 * 1000 / 8 };
static int me, n, next, prev;

long in_bss, in_data = 42;
static long hidden_bss, hidden_data = 43;
long many_bss[1024], many_data[1024] = {1, 2, 3};
static long huge[HUGE_LONGS];
static const long constant[4] = {11, 22, 33, 44};
static uint64_t signal_word;
static long lock_word, guarded, counted;
static const char *where_text = "text before init";

static long peak_kb(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void basics(void) {
  static long in_function = 5;
  CHECK(in_data == 42 && hidden_data == 43 && many_data[2] == 3 && in_function == 5 && in_bss == 0);
  CHECK(strcmp(where_text, "text before init") == 0);
  F(barrier_all)();
  FT(long, p)(&in_bss, me + 1, next);
  FT(long, p)(&in_data, me + 2, next);
  FT(long, p)(&hidden_bss, me + 3, next);
  FT(long, p)(&hidden_data, me + 4, next);
  FT(long, p)(&in_function, me + 5, next);
  F(barrier_all)();
  CHECK(in_bss == prev + 1 && in_data == prev + 2 && hidden_bss == prev + 3 && hidden_data == prev + 4);
  CHECK(in_function == prev + 5);
  /* 8 kB arrays. */
  static long source[1024];
  for (int i = 0; i < 1024; i++) source[i] = me * 10000 + i;
  FT(long, put)(many_bss, source, 1024, next);
  FT(long, put)(many_data, source, 1024, next);
  F(barrier_all)();
  for (int i = 0; i < 1024; i++) CHECK(many_bss[i] == prev * 10000 + i && many_data[i] == prev * 10000 + i);
  /* The far end of 100 MB. */
  FT(long, p)(huge + HUGE_LONGS - 1, me + 100, next);
  FT(long, p)(huge + HUGE_LONGS / 2, me + 200, next);
  F(barrier_all)();
  CHECK(huge[HUGE_LONGS - 1] == prev + 100 && huge[HUGE_LONGS / 2] == prev + 200 && huge[1] == 0);
  CHECK(F(ptr)(&in_bss, me) == (void *)&in_bss);
  long *there = (long *)F(ptr)(&in_bss, next);
  if (there) CHECK(*there == me + 1);
  /* Constants lie outside, but are the same everywhere: legal as the source of a put, */
  FT(long, put)(many_bss, constant, 4, next);
  F(barrier_all)();
  CHECK(many_bss[3] == 44);
  F(barrier_all)();
}

static void shared_by_all(void) {
  for (int i = 0; i < 500; i++) FT(long, atomic_inc)(&counted, 0);
#ifndef FAMILY_NVSHMEM
  for (int i = 0; i < 20; i++) {
    F(set_lock)(&lock_word);
    FT(long, p)(&guarded, FT(long, g)(&guarded, 0) + 1, 0);
    F(clear_lock)(&lock_word);
  }
#else
  (void)lock_word;
  for (int i = 0; i < 20; i++) FT(long, atomic_inc)(&guarded, 0);
#endif
  F(barrier_all)();
  if (me == 0) CHECK(counted == 500L * n && guarded == 20L * n);
  long sent = me + 7;
  FT(long, put_signal)(many_bss, &sent, 1, &signal_word, 1, K(SIGNAL_SET), next);
  F(signal_wait_until)(&signal_word, K(CMP_EQ), 1);
  CHECK(many_bss[0] == prev + 7);
  F(barrier_all)();
  FT(long, p)(&in_bss, 1234, next);
  FT(long, wait_until)(&in_bss, K(CMP_EQ), 1234);
  static long total, part;
  part = me;
  F(barrier_all)();
  CHECK(FT(long, sum_reduce)(K(TEAM_WORLD), &total, &part, 1) == 0 && total == (long)n * (n - 1) / 2);
  F(barrier_all)();
}

static int in_child(int (*body)(void)) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int changes_globals(void) {
  if (in_data != prev + 2 || many_data[9] != prev * 10000 + 9) return 2;
  in_data = -1;
  hidden_data = -2;
  many_data[9] = -3;
  huge[HUGE_LONGS - 1] = -4;
  return in_data == -1 && huge[HUGE_LONGS - 1] == -4 ? 9 : 3;
}

static int changes_environment(void) { return setenv("CHILD_WAS_HERE", "1", 1) == 0 ? 9 : 4; }

static int leaves_by_exit(void) { exit(9); }

static void children(void) {
  CHECK(in_child(changes_globals) == 9);
  CHECK(in_data == prev + 2 && hidden_data == prev + 4 && many_data[9] == prev * 10000 + 9);
  CHECK(huge[HUGE_LONGS - 1] == prev + 100);
  CHECK(in_child(changes_environment) == 9);
  CHECK(getenv("CHILD_WAS_HERE") == NULL);
  CHECK(in_child(leaves_by_exit) == 9);
  CHECK(setenv("PE_WAS_HERE", "yes", 1) == 0);
  CHECK(system("test \"$PE_WAS_HERE\" = yes") == 0);
  char line[32] = "";
  FILE *pipe = popen("echo $PE_WAS_HERE", "r");
  CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "yes\n") == 0);
  if (pipe) CHECK(pclose(pipe) == 0);
  /* The job goes on as before. */
  F(barrier_all)();
  FT(long, p)(&in_bss, me + 4321, next);
  F(barrier_all)();
  CHECK(in_bss == prev + 4321);
  for (int i = 0; i < 100; i++) FT(long, atomic_inc)(&counted, 0);
  F(barrier_all)();
  if (me == 0) CHECK(counted == 600L * n);
}

int main(int argc, char **argv) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  F(init)();
  clock_gettime(CLOCK_MONOTONIC, &to);
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  double took = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
  /* 100 MB of untouched globals cost neither time nor memory. */
  const char *tools = getenv("CHECK_UNDER_TOOL");
  if (!tools) CHECK(took < 5.0 && peak_kb() < 60 * 1024);
  basics();
  shared_by_all();
  if (!tools) CHECK(peak_kb() < 80 * 1024);
  children();
  if (argc > 1) {
    /* Another program of the same library, started by a PE, is a job of one PE. */
    char command[4096];
    snprintf(command, sizeof command, "%s", argv[1]);
    FILE *pipe = popen(command, "r");
    char line[128] = "";
    CHECK(pipe && fgets(line, sizeof line, pipe) && strcmp(line, "PE 0: received 0, expected 0\n") == 0);
    if (pipe) CHECK(pclose(pipe) == 0);
  }
  return verdict();
}
