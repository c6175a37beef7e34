/* Traps 77 and 78: locks and sessions. */
#include "trap.h"

/* Mutual exclusion, and puts that are complete when the lock is free again, with several locks at a time. */
static void trap_77_exclusion(void) {
  enum { LOCKS = 3, TURNS = 25 };
  long *lock = TAKE(long, LOCKS), *guarded = TAKE_OTHER(long, LOCKS);
  for (int turn = 0; turn < TURNS; turn++) {
    int at = (turn + me) % LOCKS, home = at % n;
    if (turn % 2) {
      shmem_set_lock(lock + at);
    } else {
      int code;
      while ((code = shmem_test_lock(lock + at)) != 0) CHECK(code == 1);
    }
    long seen = shmem_long_g(guarded + at, home);
    shmem_long_p(guarded + at, seen + 1, home);
    shmem_clear_lock(lock + at);
  }
  shmem_barrier_all();
  long all = 0;
  for (int i = 0; i < LOCKS; i++) all += shmem_long_g(guarded + i, i % n);
  CHECK(all == (long)TURNS * n);
  for (int i = 0; i < LOCKS; i++) CHECK(lock[i] == 0);
}

/* A lock in the lock's neighbour, and one inside the other. */
static void trap_77_nested_locks(void) {
  long *outer = TAKE(long, 1), *inner = TAKE_OTHER(long, 1), *data = TAKE(long, 2);
  for (int turn = 0; turn < 10; turn++) {
    shmem_set_lock(outer);
    shmem_set_lock(inner);
    shmem_long_p(data, shmem_long_g(data, 0) + 1, 0);
    shmem_long_p(data + 1, shmem_long_g(data + 1, 0) + 1, 0);
    shmem_clear_lock(inner);
    shmem_clear_lock(outer);
  }
  shmem_barrier_all();
  if (me == 0) CHECK(peek(data) == 10 * n && peek(data + 1) == 10 * n);
}

static void trap_77_test_lock(void) {
  long *lock = TAKE(long, 1), *turn = TAKE(long, 1);
  if (me == 0) {
    CHECK(shmem_test_lock(lock) == 0);
    for (int pe = 1; pe < n; pe++) shmem_long_atomic_set(turn, 1, pe);
    shmem_long_wait_until(turn, SHMEM_CMP_EQ, n - 1); /* all others have tried */
    shmem_clear_lock(lock);
  } else {
    shmem_long_wait_until(turn, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < 3; i++) CHECK(shmem_test_lock(lock) == 1);
    shmem_long_atomic_inc(turn, 0);
  }
  shmem_barrier_all();
  /* Free again, everywhere: whoever asks first gets it, and nobody else until it is given back. */
  for (int pe = 0; pe < n; pe++) {
    if (pe == me) {
      CHECK(shmem_test_lock(lock) == 0);
      shmem_clear_lock(lock);
    }
    shmem_barrier_all();
  }
}

/* The last one in the queue of a lock, as this library notes it on one of the PEs: its number plus 1. */
static long last_in_queue(const long *lock) {
  long last = 0;
  for (int pe = 0; pe < n; pe++) {
    long word = shmem_long_g(lock, pe) >> 32;
    if (word) last = word;
  }
  return last;
}

/* First come, first served: each PE joins the queue when the one before it stands there. */
static void trap_77_first_come_first_served(void) {
  long *lock = TAKE(long, 1), *served = TAKE(long, n + 1);
  for (int round = 0; round < 3; round++) {
    int place = (me - round % n + n) % n;
    if (place == 0) {
      shmem_set_lock(lock);
      while (last_in_queue(lock) != (round % n + n - 1) % n + 1) nap(20);
    } else {
      while (last_in_queue(lock) != (me + n - 1) % n + 1) nap(20);
      shmem_set_lock(lock);
    }
    long seen = shmem_long_g(served + n, 0);
    shmem_long_p(served + seen % n, me, 0);
    shmem_long_p(served + n, seen + 1, 0);
    shmem_clear_lock(lock);
    shmem_barrier_all();
    for (int i = 0; i < n; i++) CHECK(shmem_long_g(served + i, 0) == (i + round) % n);
    shmem_barrier_all();
  }
}

/* What was issued on the default context is complete when another one gets the lock. */
static void trap_77_clear_completes(void) {
  enum { WORDS = 80 };
  long *lock = TAKE(long, 1), *data = TAKE(long, WORDS), source[WORDS], back[WORDS];
  int home = n / 2;
  for (int turn = 0; turn < 10; turn++) {
    shmem_set_lock(lock);
    shmem_long_get(back, data, WORDS, home);
    CHECK(wrong_words(back, WORDS, back[0], back[0] ? 1 : 0) == 0);
    fill_words(source, WORDS, me * 1000 + turn + 1, 1);
    if (turn % 2) shmem_long_put(data, source, WORDS, home);
    else shmem_long_put_nbi(data, source, WORDS, home);
    shmem_clear_lock(lock);
  }
}

/* Threads of one PE exclude each other as PEs do. */
static long *thread_lock, *thread_data;
static void *lock_often(void *argument) {
  for (int i = 0; i < 15; i++) {
    shmem_set_lock(thread_lock);
    shmem_long_p(thread_data, shmem_long_g(thread_data, 0) + 1, 0);
    shmem_clear_lock(thread_lock);
  }
  return argument;
}
static void trap_77_threads(void) {
  pthread_t thread[2];
  thread_lock = TAKE(long, 1);
  thread_data = TAKE(long, 1);
  for (int t = 0; t < 2; t++) CHECK(pthread_create(thread + t, NULL, lock_often, NULL) == 0);
  lock_often(NULL);
  for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
  shmem_barrier_all();
  if (me == 0) CHECK(peek(thread_data) == 45L * n);
}

/* Hundreds of locks at a time, all over the heap and static data. */
static void trap_77_many_locks(void) {
  enum { MANY = 300 };
  long *lock = TAKE(long, MANY), *count = TAKE(long, MANY);
  for (int i = 0; i < MANY; i++)
    if (i % n == me) shmem_set_lock(lock + i);
  shmem_barrier_all();
  for (int i = me; i < MANY; i += 7) CHECK(i % n == me || shmem_test_lock(lock + i) == 1);
  shmem_barrier_all();
  for (int i = 0; i < MANY; i++)
    if (i % n == me) shmem_clear_lock(lock + i);
  shmem_barrier_all();
  for (int i = 0; i < MANY; i += 10) {
    shmem_set_lock(lock + i);
    shmem_long_p(count + i, shmem_long_g(count + i, 0) + 1, 0);
    shmem_clear_lock(lock + i);
  }
  shmem_barrier_all();
  if (me == 0)
    for (int i = 0; i < MANY; i++) CHECK(peek(count + i) == (i % 10 ? 0 : n));
}

/* Sessions are hints: nothing is ordered, completed or held back by them. */
static void trap_78_sessions(void) {
  enum { WORDS = 60 };
  long *data = TAKE(long, WORDS), source[WORDS], *flag = TAKE(long, 1), back;
  shmem_ctx_t own;
  CHECK(shmem_ctx_create(0, &own) == 0);
  for (int round = 1; round <= 6; round++) {
    shmem_ctx_t ctx = round % 2 ? own : SHMEM_CTX_DEFAULT;
    shmem_ctx_session_config_t config = {(size_t)round * 100};
    fill_words(source, WORDS, round * 100 + me, 1);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_long_put(ctx, data, source, WORDS, next);
    shmem_ctx_session_start(ctx, 0, &config, SHMEM_CTX_SESSION_TOTAL_OPS); /* options of both */
    shmem_ctx_fence(ctx);
    shmem_ctx_long_atomic_set(ctx, flag, round, next);
    /* It arrives without a quiet and without an end of the session, and so do fetched values. */
    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    CHECK(wrong_words(data, WORDS, round * 100 + prev, 1) == 0);
    shmem_ctx_long_get_nbi(ctx, &back, data + 1, 1, next);
    shmem_ctx_quiet(ctx);
    CHECK(back == round * 100 + me + 1);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_barrier_all();
  }
  shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
  shmem_ctx_session_stop(SHMEM_CTX_INVALID);
  /* A context may be destroyed in the middle of one; its operations are completed. */
  shmem_ctx_session_start(own, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  fill_words(source, WORDS, -5, 1);
  shmem_ctx_long_put_nbi(own, data, source, WORDS, next);
  shmem_ctx_destroy(own);
  shmem_sync_all();
  CHECK(wrong_words(data, WORDS, -5, 1) == 0);
}

static const trap_t traps[] = {
    TRAP(trap_77_exclusion),
    TRAP(trap_77_nested_locks),
    TRAP(trap_77_test_lock),
    TRAP(trap_77_first_come_first_served),
    TRAP(trap_77_clear_completes),
    TRAP(trap_77_threads),
    TRAP(trap_77_many_locks),
    TRAP(trap_78_sessions),
};
MAIN(traps)
