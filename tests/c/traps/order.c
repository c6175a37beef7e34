/* Traps 1 to 14: order, completion, and who has to make progress. */
#include "trap.h"

enum { WORDS = 96, ROUNDS = 6 };

/* The ways to write, and the ways to raise a flag behind them. */
static void write_words(int how, shmem_ctx_t ctx, long *dest, const long *source, int pe) {
  switch (how) {
  case 0: shmem_ctx_long_put(ctx, dest, source, WORDS, pe); break;
  case 1: shmem_ctx_putmem_nbi(ctx, dest, source, WORDS * sizeof(long), pe); break;
  case 2: shmem_ctx_long_iput(ctx, dest, source, 1, 1, WORDS, pe); break;
  case 3:
    for (int i = 0; i < WORDS; i++) shmem_ctx_long_p(ctx, dest + i, source[i], pe);
    break;
  default:
    for (int i = 0; i < WORDS; i++) shmem_ctx_long_atomic_set(ctx, dest + i, source[i], pe);
  }
}
enum { WRITES = 5, FLAGS = 6 };
static void raise_flag(int how, shmem_ctx_t ctx, uint64_t *flag, uint64_t value, int pe) {
  static uint64_t kept;
  switch (how) {
  case 0: shmem_ctx_uint64_p(ctx, flag, value, pe); break;
  case 1: shmem_ctx_uint64_atomic_set(ctx, flag, value, pe); break;
  case 2: shmem_ctx_uint64_atomic_inc(ctx, flag, pe); break;
  case 3: shmem_ctx_putmem_signal(ctx, NULL, NULL, 0, flag, 1, SHMEM_SIGNAL_ADD, pe); break;
  case 4: shmem_ctx_signal_set(ctx, flag, value, pe); break;
  default:
    kept = value;
    shmem_ctx_uint64_put_nbi(ctx, flag, &kept, 1, pe);
  }
}

/* What was written before a fence is there when the flag behind it is, on each context and for each pair. */
static void fence_orders_on(shmem_ctx_t ctx) {
  long *data = TAKE(long, WORDS), *source = TAKE(long, WORDS);
  uint64_t *flag = TAKE(uint64_t, 1), *seen = TAKE(uint64_t, 1), round = 0;
  for (int write = 0; write < WRITES; write++)
    for (int flags = 0; flags < FLAGS; flags++) {
      round++;
      fill_words(source, WORDS, (long)round * 1000 + me, 3);
      write_words(write, ctx, data, source, next);
      shmem_ctx_fence(ctx);
      raise_flag(flags, ctx, flag, round, next);
      /* Now and then nobody hurries what is under way. */
      if (round % 5) shmem_ctx_quiet(ctx);
      shmem_uint64_wait_until(flag, SHMEM_CMP_GE, round);
      CHECK(wrong_words(data, WORDS, (long)round * 1000 + prev, 3) == 0);
      shmem_ctx_quiet(ctx);
      shmem_uint64_atomic_set(seen, round, prev);
      shmem_uint64_wait_until(seen, SHMEM_CMP_GE, round);
    }
}
static void trap_01_fence_orders(void) { fence_orders_on(SHMEM_CTX_DEFAULT); }

static void trap_01_fence_orders_on_contexts(void) {
  const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
  for (size_t i = 0; i < COUNT(options); i++) {
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(options[i], &ctx) == 0);
    fence_orders_on(ctx);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
  }
}

/* One fence orders what goes to each PE, and a chain of fences keeps the order of all links. */
static void trap_01_one_fence_for_all_pes(void) {
  long *data = TAKE(long, n), *flag = TAKE(long, n);
  for (long round = 1; round <= ROUNDS; round++) {
    for (int pe = 0; pe < n; pe++) shmem_long_p(data + me, round * 10, pe);
    shmem_fence();
    for (int pe = 0; pe < n; pe++) shmem_long_p(data + me, round * 10 + 1, pe);
    shmem_fence();
    for (int pe = 0; pe < n; pe++) shmem_long_atomic_set(flag + me, round, pe);
    for (int pe = 0; pe < n; pe++) {
      shmem_long_wait_until(flag + pe, SHMEM_CMP_GE, round);
      CHECK(peek(data + pe) == round * 10 + 1);
    }
    shmem_barrier_all();
  }
}

/* After put and quiet, and only then, a get sees it; the same for atomics and for non-blocking gets. */
static void trap_01_quiet_completes(void) {
  long *data = TAKE(long, WORDS), *source = TAKE(long, WORDS), back[WORDS], old = -1;
  for (long round = 1; round <= ROUNDS; round++)
    for (int write = 0; write < WRITES; write++) {
      long first = round * 1000 + write;
      fill_words(source, WORDS, first, 7);
      write_words(write, SHMEM_CTX_DEFAULT, data, source, next);
      shmem_quiet();
      shmem_long_get(back, data, WORDS, next);
      CHECK(wrong_words(back, WORDS, first, 7) == 0);
      shmem_getmem_nbi(back, data, sizeof back, next);
      shmem_long_atomic_fetch_add_nbi(&old, data, 5, next);
      shmem_quiet();
      CHECK(old == first && wrong_words(back + 1, WORDS - 1, first + 7, 7) == 0);
      CHECK(shmem_long_g(data, next) == first + 5);
    }
}

/* Each context is an order of its own: a quiet completes its own operations, whatever others have under way. */
static void trap_02_quiet_of_each_context(void) {
  const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                          SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
  shmem_ctx_t ctx[COUNT(options)];
  long *data[COUNT(options)], *source = TAKE(long, WORDS);
  for (size_t i = 0; i < COUNT(options); i++) {
    CHECK(shmem_ctx_create(options[i], ctx + i) == 0);
    data[i] = TAKE(long, WORDS);
  }
  for (long round = 1; round <= ROUNDS; round++) {
    fill_words(source, WORDS, round, 1);
    for (size_t i = 0; i < COUNT(options); i++) write_words(1, ctx[i], data[i], source, next);
    for (size_t k = 0; k < COUNT(options); k++) {
      size_t i = (k + (size_t)round) % COUNT(options);
      shmem_ctx_quiet(ctx[i]);
      CHECK(shmem_ctx_long_g(ctx[(i + 1) % COUNT(options)], data[i] + WORDS - 1, next) == round + WORDS - 1);
      CHECK(shmem_long_g(data[i], next) == round);
    }
    /* A put on the default context is completed by the barrier, with any number of others under way. */
    write_words(0, SHMEM_CTX_DEFAULT, data[0], source, next);
    write_words(0, ctx[1], data[1], source, next);
    shmem_barrier_all();
    CHECK(wrong_words(data[0], WORDS, round, 1) == 0);
    shmem_ctx_quiet(ctx[1]);
    shmem_sync_all();
    CHECK(wrong_words(data[1], WORDS, round, 1) == 0);
    shmem_barrier_all();
  }
  for (size_t i = 0; i < COUNT(options); i++) shmem_ctx_destroy(ctx[i]);
}

/* Calls that complete the default context complete no other. Over the transport that holds operations back, old data
 * of another context shows sooner or later; the default context's never does. */
static void trap_02_only_the_default_context(void) {
  static long lock;
  enum { BARRIER, MALLOC, FREE, REALLOC, CLEAR_LOCK, CALLS };
  long *data = TAKE(long, WORDS), *mine = TAKE(long, WORDS), *source = TAKE(long, WORDS);
  int *seen = TAKE(int, 2);
  shmem_ctx_t ctx;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  for (int call = BARRIER; call < CALLS; call++) {
    void *block = NULL;
    seen[0] = seen[1] = 0;
    for (long round = 1; seen[1] == 0 && round <= (over_loopback() ? 5000 : 10); round++) {
      long first = call * 100000 + round;
      fill_words(source, WORDS, first, 1);
      if (call == FREE || call == REALLOC) block = shmem_malloc(64);
      shmem_ctx_long_put(ctx, data, source, WORDS, next);
      shmem_long_put(mine, source, WORDS, next);
      switch (call) {
      case BARRIER: shmem_barrier_all(); break;
      case MALLOC: block = shmem_malloc(64); break;
      case FREE: shmem_free(block); break;
      case REALLOC: block = shmem_realloc(block, 1000); break;
      default:
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
        shmem_sync_all();
      }
      CHECK(wrong_words(mine, WORDS, first, 1) == 0);
      seen[0] |= wrong_words(data, WORDS, first, 1) > 0;
      shmem_ctx_quiet(ctx);
      if (call == MALLOC || call == REALLOC) shmem_free(block);
      shmem_barrier_all();
      CHECK(wrong_words(data, WORDS, first, 1) == 0);
      shmem_int_max_reduce(SHMEM_TEAM_WORLD, seen + 1, seen, 1);
    }
    CHECK(seen[1] == over_loopback());
  }
  shmem_ctx_destroy(ctx);
}

/* After a quiet a third PE sees the data, by get and through ptr. */
static void trap_03_quiet_is_for_all_pes(void) {
  long *data = TAKE(long, WORDS), *source = TAKE(long, WORDS), *flag = TAKE(long, 1), back[WORDS];
  int third = (me + 2) % n, first = (me + n - 2) % n, middle = (first + 1) % n;
  shmem_ctx_t own;
  CHECK(shmem_ctx_create(0, &own) == 0);
  for (long round = 1; round <= ROUNDS * 2; round++) {
    shmem_ctx_t ctx = round % 2 ? SHMEM_CTX_DEFAULT : own;
    fill_words(source, WORDS, round * 100 + me, 2);
    write_words((int)round % WRITES, ctx, data, source, next);
    shmem_ctx_quiet(ctx);
    shmem_long_atomic_set(flag, round, third);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    shmem_long_get(back, data, WORDS, middle);
    CHECK(wrong_words(back, WORDS, round * 100 + first, 2) == 0);
    const long *there = (const long *)shmem_ptr(data, middle);
    if (there) CHECK(wrong_words(there, WORDS, round * 100 + first, 2) == 0);
    shmem_barrier_all();
  }
  shmem_ctx_destroy(own);
}

/* Fence and quiet order plain stores too, in the own memory and through ptr. */
static void trap_04_stores_count(void) {
  long *mine = TAKE(long, WORDS), *theirs = TAKE(long, WORDS), *flag = TAKE(long, 1), back[WORDS];
  long *there = (long *)shmem_ptr(theirs, next);
  for (long round = 1; round <= ROUNDS * 4; round++) {
    fill_words(mine, WORDS, round * 50 + me, 1);
    if (there) fill_words(there, WORDS, round * 70 + me, 1);
    if (round % 2) shmem_quiet();
    else shmem_fence();
    shmem_long_p(flag, round, next);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    shmem_long_get(back, mine, WORDS, prev);
    CHECK(wrong_words(back, WORDS, round * 50 + prev, 1) == 0);
    if (there) CHECK(wrong_words(theirs, WORDS, round * 70 + prev, 1) == 0);
    shmem_barrier_all();
  }
}

/* Two PEs store, quiet, and read what the other stores: one of them at least sees the other's. */
static void trap_04_quiet_between_store_and_load(void) {
  enum { TIMES = 300 };
  long *x = TAKE(long, TIMES), *seen = TAKE(long, TIMES), *turn = TAKE(long, 1);
  int other = me ^ 1;
  if (me < 2 && n > 1)
    for (long i = 0; i < TIMES; i++) {
      shmem_long_p(turn, i + 1, other);
      shmem_long_wait_until(turn, SHMEM_CMP_GE, i + 1);
      if (i % 2) *(volatile long *)(x + i) = 1;
      else shmem_long_p(x + i, 1, me);
      shmem_quiet();
      seen[i] = shmem_long_g(x + i, other);
    }
  shmem_barrier_all();
  if (me == 0 && n > 1)
    for (int i = 0; i < TIMES; i++) CHECK(seen[i] || shmem_long_g(seen + i, 1));
}

enum { THREADS = 4, EACH = 100 };
typedef struct {
  int index;
  long *data, *source;
  shmem_ctx_t ctx;
} part_t;
static void *issue(void *argument) {
  part_t *part = (part_t *)argument;
  for (int i = 0; i < EACH; i++) {
    int at = part->index * EACH + i;
    shmem_ctx_long_put_nbi(part->ctx, part->data + at, part->source + at, 1, next);
    if (i % 25 == 24) shmem_ctx_fence(part->ctx);
  }
  return NULL;
}
static void *issue_and_complete(void *argument) {
  part_t *part = (part_t *)argument;
  shmem_ctx_t ctx = part->ctx;
  if (part->index % 2) CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &part->ctx) == 0);
  issue(argument);
  shmem_ctx_quiet(part->ctx);
  for (int i = 0; i < EACH; i++) {
    int at = part->index * EACH + i;
    CHECK(shmem_ctx_long_g(part->ctx, part->data + at, next) == part->source[at]);
  }
  if (part->index % 2) shmem_ctx_destroy(part->ctx);
  part->ctx = ctx;
  return NULL;
}
static void with_threads(shmem_ctx_t ctx, void *(*body)(void *), int quiet) {
  static long rounds;
  long *data = TAKE(long, THREADS * EACH), *source = TAKE(long, THREADS * EACH), first = ++rounds * 1000;
  pthread_t thread[THREADS];
  part_t part[THREADS];
  fill_words(source, THREADS * EACH, first, 1);
  for (int t = 0; t < THREADS; t++) {
    part[t] = (part_t){t, data, source, ctx};
    CHECK(pthread_create(thread + t, NULL, body, part + t) == 0);
  }
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  if (quiet) shmem_ctx_quiet(ctx);
  shmem_sync_all();
  CHECK(wrong_words(data, THREADS * EACH, first, 1) == 0);
  shmem_sync_all();
}

/* A quiet covers what other threads have issued before it; threads that issue at once lose nothing. */
static void trap_05_threads_share_a_context(void) {
  shmem_ctx_t ctx;
  with_threads(SHMEM_CTX_DEFAULT, issue, 1);
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  with_threads(ctx, issue, 1);
  with_threads(ctx, issue_and_complete, 0);
  shmem_ctx_destroy(ctx);
}

static void trap_06_pe_quiet(void) {
  long *data = TAKE(long, WORDS), *source = TAKE(long, WORDS), old = -1;
  int pes[] = {next, me, next};
  shmem_pe_quiet(NULL, 0);
  shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, pes, 0);
  for (long round = 1; round <= ROUNDS; round++) {
    fill_words(source, WORDS, round, 5);
    write_words((int)round % WRITES, SHMEM_CTX_DEFAULT, data, source, next);
    shmem_long_atomic_fetch_inc_nbi(&old, data + WORDS - 1, next);
    shmem_pe_quiet(pes, 3);
    CHECK(shmem_long_g(data, next) == round && shmem_long_g(data + WORDS - 2, next) == round + 5 * (WORDS - 2));
    CHECK(old != -1);
    old = -1;
    shmem_barrier_all();
  }
  /* Numbers are those of the context's team: here in reverse order. */
  shmem_team_t team;
  shmem_ctx_t ctx;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team) == 0);
  CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
  int mine = shmem_team_my_pe(team), right = (mine + 1) % n;
  fill_words(source, WORDS, -7, 1);
  shmem_ctx_long_put(ctx, data, source, WORDS, right);
  shmem_ctx_pe_quiet(ctx, &right, 1);
  CHECK(shmem_long_g(data + 1, shmem_team_translate_pe(team, right, SHMEM_TEAM_WORLD)) == -6);
  shmem_ctx_pe_quiet(ctx, NULL, 0);
  shmem_ctx_destroy(ctx);
  shmem_team_destroy(team);
}

static void trap_07_source_is_free_at_return(void) {
  long *data = TAKE(long, 4 * WORDS), source[WORDS];
  uint64_t *sig = TAKE(uint64_t, 2);
  for (long round = 1; round <= ROUNDS; round++) {
    fill_words(source, WORDS, round, 1);
    shmem_long_put(data, source, WORDS, next);
    fill_words(source, WORDS, round * 2, 1);
    shmem_long_iput(data + WORDS, source, 1, 1, WORDS, next);
    fill_words(source, WORDS, round * 3, 1);
    shmem_long_put_signal(data + 2 * WORDS, source, WORDS, sig, 1, SHMEM_SIGNAL_ADD, next);
    fill_words(source, WORDS, round * 4, 1);
    shmem_putmem(data + 3 * WORDS, source, sizeof source, next);
    memset(source, 0xEE, sizeof source);
    /* Gets and fetching atomics have their value at return; others have executed after a quiet. */
    uint64_t before = shmem_uint64_atomic_fetch_add(sig + 1, 3, next);
    CHECK(before == (uint64_t)(round - 1) * 8);
    shmem_uint64_atomic_add(sig + 1, 5, next);
    shmem_quiet();
    CHECK(shmem_uint64_g(sig + 1, next) == before + 8);
    for (long part = 0; part < 4; part++) {
      shmem_long_get(source, data + part * WORDS, WORDS, next);
      CHECK(wrong_words(source, WORDS, round * (part + 1), 1) == 0);
    }
  }
}

/* Parts of a put arrive in any order: what tells that all of it is there is the signal. */
static void trap_08_parts_arrive_in_any_order(void) {
  enum { MANY = 4096 };
  long *data = TAKE(long, MANY), *source = TAKE(long, MANY);
  uint64_t *sig = TAKE(uint64_t, 1);
  for (long round = 1; round <= ROUNDS; round++) {
    fill_words(source, MANY, round, round);
    uint64_t value = (uint64_t)round;
    if (round % 2) shmem_putmem_signal(data, source, MANY * sizeof(long), sig, value, SHMEM_SIGNAL_SET, next);
    else shmem_putmem_signal_nbi(data, source, MANY * sizeof(long), sig, value, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, (uint64_t)round);
    CHECK(wrong_words(data, MANY, round, round) == 0);
    shmem_barrier_all();
  }
}

/* Data and signal word lie in different segments; an earlier put is covered by a fence in between. */
static void trap_09_put_signal_between_segments(void) {
  long *data = TAKE(long, WORDS), *earlier = TAKE(long, WORDS), *far = TAKE_OTHER(long, WORDS);
  uint64_t *sig = TAKE_OTHER(uint64_t, 1), *back = TAKE(uint64_t, 1);
  long source[WORDS];
  for (long round = 1; round <= ROUNDS * 4; round++) {
    fill_words(source, WORDS, round, 3);
    shmem_long_put(earlier, source, WORDS, next);
    shmem_fence();
    fill_words(source, WORDS, -round, 2);
    shmem_long_put_signal(data, source, WORDS, sig, (uint64_t)round, SHMEM_SIGNAL_SET, next);
    CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, (uint64_t)round) == (uint64_t)round);
    CHECK(wrong_words(data, WORDS, -round, 2) == 0 && wrong_words(earlier, WORDS, round, 3) == 0);
    /* The other way round, and back to whom it came from. */
    shmem_long_put_signal(far, source, WORDS, back, 1, SHMEM_SIGNAL_ADD, prev);
    shmem_signal_wait_until(back, SHMEM_CMP_EQ, (uint64_t)round);
    CHECK(wrong_words(far, WORDS, -round, 2) == 0);
    shmem_barrier_all();
  }
}

/* Additions of all PEs add up; values that are set arrive whole, and waits and fetches read them whole. */
static void trap_10_signals_are_atomic(void) {
  uint64_t *added = TAKE(uint64_t, 1), *set = TAKE(uint64_t, 1);
  char *byte = TAKE(char, n);
  for (int i = 0; i < 50; i++) {
    shmem_signal_add(added, 1ull << 33, 0);
    shmem_uint8_put_signal((uint8_t *)byte + me, (uint8_t *)&i, 1, added, 1, SHMEM_SIGNAL_ADD, 0);
    shmem_signal_set(set, (uint64_t)(me + 1) << 32 | (uint64_t)(me + 1), 0);
    if (me == 0) {
      uint64_t now = shmem_signal_fetch(set);
      CHECK(now >> 32 == (now & 0xffffffff) && now >> 32 <= (uint64_t)n);
    }
  }
  if (me == 0) {
    uint64_t all = ((1ull << 33) + 1) * 50 * (uint64_t)n;
    CHECK(shmem_signal_wait_until(added, SHMEM_CMP_GE, all) == all && shmem_signal_fetch(added) == all);
    CHECK(shmem_uint64_test(added, SHMEM_CMP_EQ, all) == 1);
  }
}

static void trap_11_non_blocking_put_signal(void) {
  enum { PARTS = 8 };
  long *data = TAKE(long, PARTS * WORDS), *source = TAKE(long, PARTS * WORDS);
  uint64_t *sig = TAKE(uint64_t, 1);
  for (long round = 1; round <= ROUNDS; round++) {
    fill_words(source, PARTS * WORDS, round, 9);
    for (int part = 0; part < PARTS; part++)
      shmem_long_put_signal_nbi(data + part * WORDS, source + part * WORDS, WORDS, sig, 1, SHMEM_SIGNAL_ADD, next);
    /* In any order, but when all have signalled, all is there. */
    shmem_signal_wait_until(sig, SHMEM_CMP_GE, (uint64_t)(round * PARTS));
    CHECK(wrong_words(data, PARTS * WORDS, round, 9) == 0);
    shmem_quiet(); /* the source is in use until here */
    shmem_barrier_all();
  }
}

/* Every form of waiting and testing sees what was ordered before the update. */
static void trap_12_waits_acquire(void) {
  long *data = TAKE(long, WORDS), source[WORDS];
  int *flag = TAKE(int, 4), one[] = {1, 1, 1, 1};
  size_t index[4];
  for (int round = 1; round <= 12 * 2; round++) {
    fill_words(source, WORDS, round, 1);
    shmem_long_put(data, source, WORDS, next);
    shmem_fence();
    for (int i = 0; i < 4; i++) shmem_int_atomic_set(flag + i, 1, next);
    if (round > 12) shmem_quiet();
    switch (round % 12) {
    case 0: shmem_int_wait_until(flag, SHMEM_CMP_NE, 0); break;
    case 1: shmem_int_wait_until_all(flag, 4, NULL, SHMEM_CMP_EQ, 1); break;
    case 2: shmem_int_wait_until_any(flag, 4, NULL, SHMEM_CMP_GE, 1); break;
    case 3: shmem_int_wait_until_some(flag, 4, index, NULL, SHMEM_CMP_GT, 0); break;
    case 4: shmem_int_wait_until_all_vector(flag, 4, NULL, SHMEM_CMP_EQ, one); break;
    case 5: shmem_int_wait_until_any_vector(flag, 4, NULL, SHMEM_CMP_EQ, one); break;
    case 6: shmem_int_wait_until_some_vector(flag, 4, index, NULL, SHMEM_CMP_EQ, one); break;
    case 7: while (!shmem_int_test(flag, SHMEM_CMP_EQ, 1)) continue; break;
    case 8: while (!shmem_int_test_all(flag, 4, NULL, SHMEM_CMP_EQ, 1)) continue; break;
    case 9: while (shmem_int_test_any(flag, 4, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX) continue; break;
    case 10: while (shmem_int_test_some(flag, 4, index, NULL, SHMEM_CMP_EQ, 1) == 0) continue; break;
    default: while (shmem_int_test_any_vector(flag, 4, NULL, SHMEM_CMP_EQ, one) == SIZE_MAX) continue;
    }
    CHECK(wrong_words(data, WORDS, round, 1) == 0);
    shmem_barrier_all();
    memset(flag, 0, 4 * sizeof(int));
    shmem_barrier_all();
  }
}

/* Older programs raise flags by p or a put of one word: it arrives whole, behind what a fence put before it. */
#define FLAG_BY(T, flag, value, write)                                                                        \
  do {                                                                                                        \
    fill_words(source, WORDS, round, 11);                                                                     \
    shmem_long_put(data, source, WORDS, next);                                                                \
    shmem_fence();                                                                                            \
    write;                                                                                                    \
    shmem_##T##_wait_until(flag, SHMEM_CMP_NE, 0);                                                            \
    CHECK(*(flag) == (value) && wrong_words(data, WORDS, round, 11) == 0);                                    \
    shmem_barrier_all();                                                                                      \
    *(flag) = 0;                                                                                              \
    shmem_barrier_all();                                                                                      \
  } while (0)
static void trap_13_flags_by_put(void) {
  long *data = TAKE(long, WORDS), *wide = TAKE(long, 1), source[WORDS], value;
  int *narrow = TAKE(int, 2), number;
  short *half = TAKE(short, 4);
  for (long round = 1; round <= ROUNDS; round++) {
    value = round << 40 | round;
    number = (int)(round << 20 | round);
    FLAG_BY(long, wide, value, shmem_long_p(wide, value, next));
    FLAG_BY(long, wide, value, shmem_long_put(wide, &value, 1, next));
    FLAG_BY(long, wide, value, shmem_put64(wide, &value, 1, next));
    FLAG_BY(long, wide, value, shmem_putmem(wide, &value, sizeof value, next));
    FLAG_BY(long, wide, value, shmem_long_iput(wide, &value, 1, 1, 1, next));
    FLAG_BY(int, narrow + 1, number, shmem_int_p(narrow + 1, number, next));
    FLAG_BY(int, narrow + 1, number, shmem_put32(narrow + 1, &number, 1, next));
    FLAG_BY(short, half + 3, (short)(round * 257), shmem_short_p(half + 3, (short)(round * 257), next));
  }
}

/* A PE that computes, and calls nothing, or waits in a call, serves the others all the same. */
static void trap_14_progress_without_calls(void) {
  static long lock;
  long *word = TAKE(long, 4), *data = TAKE(long, WORDS), source[WORDS];
  fill_words(source, WORDS, 5, 5);
  for (int round = 1; round <= 3; round++) {
    if (me == 0) {
      if (round == 1) while (peek(word) < n - 1) continue;      /* no calls at all */
      if (round == 2) shmem_long_wait_until(word, SHMEM_CMP_GE, 2 * (n - 1));
      if (round == 3) shmem_set_lock(&lock), shmem_clear_lock(&lock);
    } else {
      if (round == 3) shmem_set_lock(&lock);
      long seen = shmem_long_atomic_fetch_inc(word + 1, 0);
      CHECK(seen >= (round - 1) * (n - 1) && seen < round * (n - 1));
      if (me == 1) {
        shmem_long_put(data, source, WORDS, 0);
        shmem_quiet();
        shmem_long_get(source, data, WORDS, 0);
        CHECK(wrong_words(source, WORDS, 5, 5) == 0);
      }
      shmem_long_atomic_inc(word, 0);
      shmem_quiet();
      if (round == 3) shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
  }
}

static const trap_t traps[] = {
    TRAP(trap_01_fence_orders),
    TRAP(trap_01_fence_orders_on_contexts),
    TRAP(trap_01_one_fence_for_all_pes),
    TRAP(trap_01_quiet_completes),
    TRAP(trap_02_quiet_of_each_context),
    TRAP(trap_02_only_the_default_context),
    TRAP(trap_03_quiet_is_for_all_pes),
    TRAP(trap_04_stores_count),
    TRAP(trap_04_quiet_between_store_and_load),
    TRAP(trap_05_threads_share_a_context),
    TRAP(trap_06_pe_quiet),
    TRAP(trap_07_source_is_free_at_return),
    TRAP(trap_08_parts_arrive_in_any_order),
    TRAP(trap_09_put_signal_between_segments),
    TRAP(trap_10_signals_are_atomic),
    TRAP(trap_11_non_blocking_put_signal),
    TRAP(trap_12_waits_acquire),
    TRAP(trap_13_flags_by_put),
    TRAP(trap_14_progress_without_calls),
};
MAIN(traps)
