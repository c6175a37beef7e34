/* Jobs that hang, or take long, one a run: hangs CASE. PEs that are to compute sleep in turns. */
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static long global = 7;
static const char *wanted;
static int is(const char *name) { return strcmp(wanted, name) == 0; }

static long *flag;
static void *put_late(void *seconds) {
  sleep(*(unsigned *)seconds);
  for (int pe = 0; pe < F(n_pes)(); pe++) FT(long, p)(flag, 1, pe);
  F(quiet)();
  return NULL;
}

static sigjmp_buf out;
static void jump(int number) {
  (void)number;
  siglongjmp(out, 1);
}
static void put_now(int number) {
  (void)number;
  *(volatile long *)flag = 1;
}

/* A handler of a timer ends a wait, by a jump or by the word. */
static int by_timer(unsigned seconds) {
  flag = (long *)F(calloc)(1, sizeof(long));
  signal(SIGALRM, is("alarm") ? put_now : jump);
  alarm(is("alarm") ? seconds : 1);
  if (is("left") && F(my_pe)() != 0) return 0;
  if (sigsetjmp(out, 1) == 0) {
    FT(long, wait_until)(flag, K(CMP_EQ), 1);
  } else {
    for (unsigned left = seconds; left > 0;) left = sleep(left);
  }
  if (!is("left")) F(finalize)();
  return 0;
}

/* All PEs wait, and for long; what lets them go on sleeps meanwhile. */
static int long_wait(unsigned seconds) {
  pthread_t thread;
  int me = F(my_pe)();
  flag = (long *)F(calloc)(1, sizeof(long));
  if (is("thread") && me == 0) pthread_create(&thread, NULL, put_late, &seconds);
  volatile long *flags[16];
  int n = F(n_pes)();
  for (int pe = 0; pe < n; pe++) flags[pe] = (volatile long *)F(ptr)(flag, pe);
  /* The child makes no calls of the library, but has the memory. */
  if (is("child") && me == 0 && fork() == 0) {
    sleep(seconds);
    for (int pe = 0; pe < n; pe++) *flags[pe] = 1;
    _exit(0);
  }
  if (is("late") && me == 0) put_late(&seconds);
  FT(long, wait_until)(flag, K(CMP_EQ), 1);
  if (is("thread") && me == 0) pthread_join(thread, NULL);
  if (is("child") && me == 0) wait(NULL);
  F(finalize)();
  return 0;
}

static void compute(void) {
  for (;;) sleep(1);
}

int main(int argc, char **argv) {
  wanted = argc > 1 ? argv[1] : "";
  int provided;
  F(init_thread)(K(THREAD_MULTIPLE), &provided);
  if (is("lost") || is("lost_in_team") || is("not_lost")) {
    /* No finalize. The first one all wait for. */
    long *words = (long *)F(calloc)(2, sizeof(long));
    F(team_t) team = K(TEAM_WORLD);
    if (!is("lost")) F(team_split_strided)(K(TEAM_WORLD), 1, 1, F(n_pes)() - 1, NULL, 0, &team);
    int member = F(team_my_pe)(team);
    if (member >= 0) FT(long, broadcast)(team, words, words + 1, 1, 0);
    if (member == 0 || (is("not_lost") && member > 0)) FT(long, broadcast)(team, words, words + 1, 1, 0);
    return 0;
  }
  if (is("jump") || is("left") || is("alarm")) return by_timer(8);
  if (is("thread") || is("child") || is("late")) return long_wait(8);
  int me = F(my_pe)();
  long *heap = (long *)F(calloc)(64, sizeof(long));
  int *words = (int *)F(malloc)(3 * sizeof(int));
  uint64_t *signal = (uint64_t *)F(calloc)(1, sizeof(uint64_t));
  for (int i = 0; i < 3; i++) words[i] = i - 1;
  if (is("strided")) {
    F(team_t) team;
    F(team_split_strided)(K(TEAM_WORLD), 1, 2, 2, NULL, 0, &team);
    if (me == 1) F(team_sync)(team);
  }
  if (is("crossed")) {
    /* Two teams of the same PEs; the other PEs of the job compute. */
    F(team_t) one, other;
    F(team_split_strided)(K(TEAM_WORLD), 0, 1, 2, NULL, 0, &one);
    F(team_split_strided)(K(TEAM_WORLD), 1, -1, 2, NULL, 0, &other);
    if (me == 0) F(team_sync)(one);
    if (me == 1) F(team_sync)(other);
  }
  if (is("column")) {
    F(team_t) row, column;
    F(team_split_2d)(K(TEAM_WORLD), 2, NULL, 0, &row, NULL, 0, &column);
    if (me == 1) F(team_sync)(column);
  }
  if (is("shared") && me == 1) F(team_sync)(K(TEAM_SHARED));
  if (me == 1) {
    int values[] = {-2, 0, 1};
    heap[2] = 3;
    if (is("word")) FT(long, wait_until)(heap + 2, K(CMP_EQ), 5);
    if (is("object")) FT(int, wait_until)(words, K(CMP_GT), -1);
    if (is("global")) FT(long, wait_until)(&global, K(CMP_NE), 7);
    if (is("all")) FT(int, wait_until_all)(words, 3, NULL, K(CMP_LE), 0);
    if (is("any")) FT(long, wait_until_any)(heap + 3, 20, NULL, K(CMP_LT), -4);
    if (is("vector")) FT(int, wait_until_all_vector)(words, 3, NULL, K(CMP_EQ), values);
    if (is("signal")) F(signal_wait_until)(signal, K(CMP_GE), (uint64_t)-1);
  }
  compute();
}
