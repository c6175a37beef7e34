/* SHMEM_THREAD_MULTIPLE: many threads of each PE, each with a context and a team of its own, put, get, add, signal, wait,
 * lock and meet at the same time, while the main thread allocates and frees. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

#ifdef FAMILY_DUSHMEM
#define WORLD DUSHMEM_TEAM_WORLD
typedef dushmem_team_t team_t;
typedef dushmem_ctx_t ctx_t;
#else
#define WORLD SHMEM_TEAM_WORLD
typedef shmem_team_t team_t;
typedef shmem_ctx_t ctx_t;
#endif

enum { THREADS = 6, ROUNDS = 40, WORDS = 64 };

static int me, n;
static long *shared_lock, *counted, *added;
static pthread_barrier_t all_threads;

struct thread {
  int id;
  pthread_t pthread;
  team_t team;
  ctx_t ctx;
  /* Symmetric, of this thread number on every PE. */
  uint64_t *words, *sums, *sig;
  int bad;
};

/* Not counted in `failures`, which belongs to the main thread. */
#define HOLDS(what)                                                                                           \
  do {                                                                                                        \
    if (!(what) && t->bad++ == 0) fprintf(stderr, "PE %d, thread %d, round %d: %s\n", me, t->id, round, #what); \
  } while (0)

static void *work(void *argument) {
  struct thread *t = (struct thread *)argument;
  int next = (me + 1) % n, prev = (me + n - 1) % n;
  pthread_barrier_wait(&all_threads);
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t mine[WORDS], back[WORDS];
    for (int i = 0; i < WORDS; i++) mine[i] = (uint64_t)(((round * 100 + t->id) * 100 + me) * 1000 + i);
    /* Put, complete, tell; the neighbour's same thread waits for it. */
    FCT(uint64, put)(t->ctx, t->words, mine, WORDS / 2, next);
    FCT(uint64, put_nbi)(t->ctx, t->words + WORDS / 2, mine + WORDS / 2, WORDS / 2 - 1, next);
    F(ctx_quiet)(t->ctx);
    FCT(uint64, get)(t->ctx, back, t->words, WORDS / 2, next);
    HOLDS(memcmp(back, mine, sizeof back / 2) == 0);
    uint64_t last = mine[WORDS - 1];
#ifdef FAMILY_DUSHMEM
    dushmem_ctx_uint64_put_signal(t->ctx, t->words + WORDS - 1, &last, 1, t->sig, (uint64_t)round + 1,
                                  DUSHMEM_SIGNAL_SET, next);
#else
    shmem_ctx_uint64_put_signal(t->ctx, t->words + WORDS - 1, &last, 1, t->sig, (uint64_t)round + 1,
                                SHMEM_SIGNAL_SET, next);
#endif
    HOLDS(F(signal_wait_until)(t->sig, K(CMP_EQ), (uint64_t)round + 1) == (uint64_t)round + 1);
    for (int i = 0; i < WORDS; i++)
      HOLDS(t->words[i] == (uint64_t)(((round * 100 + t->id) * 100 + prev) * 1000 + i));
    /* Atomics of all threads of all PEs on one word. */
    FCT(long, atomic_inc)(t->ctx, added, 0);
    if (round % 8 == t->id) {
      F(set_lock)(shared_lock);
      long seen = FCT(long, g)(t->ctx, counted, 0);
      FCT(long, p)(t->ctx, counted, seen + 1, 0);
      F(ctx_quiet)(t->ctx);
      F(clear_lock)(shared_lock);
    }
    /* Collectives on the own team, at the same time as those of the other threads on theirs. */
    t->sums[0] = (uint64_t)(round + me);
    HOLDS(FT(uint64, sum_reduce)(t->team, t->sums + 1, t->sums, 1) == 0);
    HOLDS(t->sums[1] == (uint64_t)(round * n + n * (n - 1) / 2));
    t->sums[0] = (uint64_t)(1000 * t->id + round);
    HOLDS(FT(uint64, broadcast)(t->team, t->sums + 1, t->sums, 1, round % n) == 0);
    HOLDS(t->sums[1] == (uint64_t)(1000 * t->id + round));
    team_t half;
    HOLDS(F(team_split_strided)(t->team, 0, 1, 1 + round % n, NULL, 0, &half) == 0);
    if (me <= round % n) HOLDS(F(team_n_pes)(half) == 1 + round % n && F(team_sync)(half) == 0);
    F(team_destroy)(half);
    HOLDS(F(team_sync)(t->team) == 0);
  }
  /* The barrier of the main thread completes the default context only. */
  F(ctx_quiet)(t->ctx);
  return NULL;
}

int main(void) {
  int provided = -1;
  CHECK(F(init_thread)(K(THREAD_MULTIPLE), &provided) == 0 && provided == K(THREAD_MULTIPLE));
  F(query_thread)(&provided);
  CHECK(provided == K(THREAD_MULTIPLE));
  me = F(my_pe)();
  n = F(n_pes)();
  shared_lock = (long *)F(calloc)(1, sizeof(long));
  counted = (long *)F(calloc)(1, sizeof(long));
  added = (long *)F(calloc)(1, sizeof(long));
  static struct thread threads[THREADS];
  pthread_barrier_init(&all_threads, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++) {
    struct thread *t = &threads[i];
    t->id = i;
    t->words = (uint64_t *)F(calloc)(WORDS, sizeof(uint64_t));
    t->sums = (uint64_t *)F(calloc)(2, sizeof(uint64_t));
    t->sig = (uint64_t *)F(calloc)(1, sizeof(uint64_t));
    CHECK(F(team_split_strided)(WORLD, 0, 1, n, NULL, 0, &t->team) == 0);
    CHECK(F(ctx_create)(i % 2 ? K(CTX_SERIALIZED) : 0, &t->ctx) == 0);
  }
  F(barrier_all)();
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i].pthread, NULL, work, &threads[i]) == 0);
  pthread_barrier_wait(&all_threads);
  /* The world team is the main thread's. */
  for (int round = 0; round < 30; round++) {
    size_t size = 100u << (round % 12);
    unsigned char *block = (unsigned char *)F(calloc)(size, 1);
    CHECK(block && block[0] == 0 && block[size - 1] == 0);
    memset(block, 0xAA, size);
    block = (unsigned char *)F(realloc)(block, 2 * size);
    CHECK(block && block[0] == 0xAA && block[size - 1] == 0xAA);
    F(free)(block);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i].pthread, NULL);
    failures += threads[i].bad;
  }
  F(barrier_all)();
  if (me == 0) {
    long locked = 0;
    for (int round = 0; round < ROUNDS; round++) locked += round % 8 < THREADS;
    CHECK(*added == (long)n * THREADS * ROUNDS);
    CHECK(*counted == n * locked);
  }
  for (int i = 0; i < THREADS; i++) {
    F(ctx_destroy)(threads[i].ctx);
    F(team_destroy)(threads[i].team);
  }
  return verdict();
}
