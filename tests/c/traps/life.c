/* Traps 69, 70 and 73: init and finalize, in any number and order, and what they leave behind. */
#include "trap.h"

static long kept[80], rounds;
static void *ask(void *initialized) {
  shmem_query_initialized((int *)initialized);
  return NULL;
}
static int is_initialized(void) {
  int here = -1, there = -2;
  pthread_t thread;
  shmem_query_initialized(&here);
  if (pthread_create(&thread, NULL, ask, &there) != 0 || pthread_join(thread, NULL) != 0) return -3;
  return here == there ? here : -4;
}

/* The inner finalize is a barrier_all, and frees nothing. */
static void trap_69_nested_init(void) {
  int provided = -1;
  long *block = (long *)shmem_malloc(100 * sizeof(long)), source[80];
  block[99] = me;
  for (int depth = 0; depth < 3; depth++) {
    if (depth % 2 == 0) shmem_init();
    else CHECK(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) == 0 && provided >= SHMEM_THREAD_SERIALIZED);
  }
  int level = -1;
  shmem_query_thread(&level);
  CHECK(level >= SHMEM_THREAD_SERIALIZED);
  for (int depth = 0; depth < 3; depth++) {
    fill_words(source, 80, ++rounds, 1);
    shmem_long_put(kept, source, 80, next);
    if (me == depth % n) nap(300);
    shmem_finalize();
    CHECK(wrong_words(kept, 80, rounds, 1) == 0);
    CHECK(is_initialized() == 1 && shmem_my_pe() == me && shmem_n_pes() == n);
    shmem_barrier_all();
  }
  CHECK(shmem_long_g(block + 99, next) == next);
  shmem_barrier_all();
  shmem_free(block);
}

/* Leaves a team, contexts and operations under way to the last finalize. */
static void leave_all_behind(void) {
  static long source[80];
  shmem_team_t team;
  shmem_ctx_t ctx, other;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);
  CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
  CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &other) == 0);
  fill_words(source, 80, ++rounds, 2);
  shmem_sync_all();
  shmem_ctx_long_put_nbi(ctx, kept, source, 30, (shmem_team_my_pe(team) + 1) % n);
  shmem_ctx_long_put_nbi(other, kept + 30, source + 30, 30, next);
  shmem_long_put_nbi(kept + 60, source + 60, 20, next);
}

int main(void) {
  const int levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};
  uint64_t first_block = 0;
  for (int i = 1; i < 4; i++)
    if (levels[i - 1] >= levels[i]) return 2;
  for (int cycle = 0; cycle < 5; cycle++) {
    int provided = -1, level = -1;
    if (is_initialized() != 0) return 3;
    if (cycle == 4) shmem_init();
    else if (shmem_init_thread(levels[cycle], &provided) != 0 || provided < levels[cycle]) return 4;
    shmem_query_thread(&level);
    CHECK(cycle == 4 || level == provided);
    CHECK(is_initialized() == 1);
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    prev = (me + n - 1) % n;
    where = "static";
    /* What globals held before init they hold after it, and what a new heap gives is new. */
    CHECK(cycle == 0 || wrong_words(kept, 80, rounds, 2) == 0);
    long *block = (long *)shmem_malloc(1 << 20);
    CHECK(block != NULL && peek(block) == 0 && peek(block + 100000) == 0);
    if (cycle == 0) first_block = (uint64_t)(uintptr_t)block;
    CHECK((uint64_t)(uintptr_t)block == first_block || getenv("CHECK_UNDER_TOOL"));
    block[0] = block[100000] = 77;
    shmem_barrier_all();
    trap_69_nested_init();
    if (failures) return verdict();
    leave_all_behind();
    shmem_finalize();
    if (wrong_words(kept, 80, rounds, 2) != 0) {
      fprintf(stderr, "cycle %d: %d words did not arrive before finalize\n", cycle, wrong_words(kept, 80, rounds, 2));
      return 5;
    }
    if (is_initialized() != 0) return 6;
  }
  return 0;
}
