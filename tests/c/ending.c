/* One PE ends in the way of the first argument while the others are where the second says. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static long lock;
static int last_words;

/* What a return from main does: exit handlers, and what stdio still buffers. */
static void goodbye(void) {
  if (last_words) fputs("exit handler\n", stdout);
}

static int deeper(volatile char *above) {
  volatile char frame[4096];
  frame[0] = above[0];
  return frame[0] + deeper(frame) + frame[100];
}

static void *ends_all(void *status) {
  F(global_exit)((int)(long)status);
  return NULL;
}

static void *reads(void *nothing) {
  getchar();
  return nothing;
}

static void end(const char *how, const char *program, long *word) {
  pthread_t thread;
  if (!strcmp(how, "exit0")) exit(0);
  if (!strcmp(how, "exit3")) exit(3);
  if (!strcmp(how, "_exit3")) _exit(3);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(how, "kill")) raise(SIGKILL);
  if (!strcmp(how, "term")) raise(SIGTERM);
  if (!strcmp(how, "overflow")) exit(deeper((volatile char *)how));
  if (!strcmp(how, "exec")) execl(program, program, (char *)NULL);
  if (!strcmp(how, "global_exit")) {
    last_words = 1;
    fputs("half a line, ", stdout);
    F(global_exit)(7);
  }
  if (!strcmp(how, "global_exit0")) F(global_exit)(0);
  if (!strcmp(how, "thread")) {
    last_words = 1;
    if (pthread_create(&thread, NULL, ends_all, (void *)7L)) abort();
    FT(long, wait_until)(word, K(CMP_NE), 0);
  }
  if (!strcmp(how, "threads")) {
    for (int i = 0; i < 4; i++)
      if (pthread_create(&thread, NULL, ends_all, (void *)7L)) abort();
    pause();
  }
  /* A thread that waits for input holds the lock of the stream. */
  if (!strncmp(how, "reads", 5)) {
    if (pthread_create(&thread, NULL, reads, NULL)) abort();
    usleep(100000);
    fputs("half a line", stdout);
    if (!strcmp(how, "reads_and_fails")) FT(long, p)((long *)8, 1, 0);
    F(global_exit)(7);
  }
  if (!strcmp(how, "handler_finalizes")) {
    atexit(F(finalize));
    F(global_exit)(7);
  }
  fprintf(stderr, "PE %d is still here\n", F(my_pe)());
  _exit(99);
}

int main(int argc, char **argv) {
  if (argc < 4) return 98;
  const char *how = argv[1], *where = argv[2];
  int provided;
  atexit(goodbye);
#ifdef FAMILY_SHMEM
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  long *turn = &lock;
#else
  F(init)();
  provided = 0;
  long *turn = (long *)F(calloc)(1, sizeof(long));
  (void)lock;
#endif
  (void)provided;
  int me = F(my_pe)(), n = F(n_pes)(), who = n > 1 && strncmp(how, "reads", 5) ? 1 : 0;
  long *word = (long *)F(calloc)(1, sizeof(long));
#ifndef FAMILY_NVSHMEM
  /* The one that ends holds it. */
  if (me == who && !strcmp(where, "lock")) F(set_lock)(turn);
#else
  (void)turn;
#endif
  F(barrier_all)();
  if (me == who) {
    usleep(200000);
    end(how, argv[3], word);
  }
  if (!strcmp(where, "barrier")) F(barrier_all)();
  if (!strcmp(where, "wait")) FT(long, wait_until)(word, K(CMP_NE), 0);
#ifndef FAMILY_NVSHMEM
  if (!strcmp(where, "lock")) F(set_lock)(turn);
#endif
  if (!strcmp(where, "finalize")) F(finalize)();
  for (volatile int going = !strcmp(where, "compute"); going;) continue;
  if (!strcmp(where, "sleep")) sleep(600);
  fprintf(stderr, "PE %d went on\n", me);
  return 97;
}
