/* Traps 47 to 57: teams and contexts. */
#include "trap.h"

static shmem_team_t split(shmem_team_t parent, int start, int stride, int size) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_strided(parent, start, stride, size, NULL, 0, &team) == 0);
  return team;
}

/* The code of a call that has to be the same on all PEs. */
static int agreed(int code) {
  static int in, out[2];
  in = code;
  shmem_sync_all();
  CHECK(shmem_int_min_reduce(SHMEM_TEAM_WORLD, out, &in, 1) == 0);
  CHECK(shmem_int_max_reduce(SHMEM_TEAM_WORLD, out + 1, &in, 1) == 0);
  CHECK(out[0] == code && out[1] == code);
  return code;
}

/* Members in the order of the team: each finds itself and all others by collective, by put and by translation. */
static void check_team(shmem_team_t team, int start, int stride, int size) {
  static int own, all[64];
  int rank = shmem_team_my_pe(team);
  CHECK(shmem_team_n_pes(team) == size && rank >= 0 && rank < size && me == start + rank * stride);
  own = me;
  CHECK(shmem_int_fcollect(team, all, &own, 1) == 0);
  for (int i = 0; i < size; i++) {
    CHECK(all[i] == start + i * stride && shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == all[i]);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, all[i], team) == i);
  }
  CHECK(shmem_team_translate_pe(team, -1, SHMEM_TEAM_WORLD) == -1);
  CHECK(shmem_team_translate_pe(team, size, SHMEM_TEAM_WORLD) == -1);
  CHECK(shmem_team_sync(team) == 0);
}

/* Every triplet that makes sense: 0 on all of the parent's PEs, the team for its members and nothing for others. */
static void trap_47_split_strided(void) {
  for (int stride = -3; stride <= 3; stride++)
    for (int start = 0; start < n; start++)
      for (int size = 1; size <= n; size++) {
        int last = start + stride * (size - 1);
        if (last < 0 || last >= n || (stride == 0 && size > 1)) continue;
        /* All of a few, and a sample of many. */
        if (n > 3 && (start * 5 + size * 3 + stride + 3) % (n > 4 ? 7 : 3)) continue;
        shmem_team_t team = split(SHMEM_TEAM_WORLD, start, stride, size);
        int away = me - start;
        int member = stride == 0 ? away == 0 : away % stride == 0 && away / stride >= 0 && away / stride < size;
        CHECK((team != SHMEM_TEAM_INVALID) == member);
        if (member) check_team(team, start, stride, size);
        shmem_team_destroy(team);
      }
}

/* A size of one goes with any stride, zero and negative ones too; more PEs don't go with zero. */
static void trap_48_zero_and_negative_strides(void) {
  for (int stride = -1; stride <= 1; stride++) {
    shmem_team_t alone = split(SHMEM_TEAM_WORLD, n - 1, stride, 1);
    CHECK((alone != SHMEM_TEAM_INVALID) == (me == n - 1));
    if (alone != SHMEM_TEAM_INVALID) check_team(alone, n - 1, 1, 1);
    shmem_team_destroy(alone);
  }
  shmem_team_t back = split(SHMEM_TEAM_WORLD, n - 1, -1, n);
  CHECK(shmem_team_my_pe(back) == n - 1 - me);
  check_team(back, n - 1, -1, n);
  /* In the order of the text: the PE with number 0 of the new team is the last one of the parent's. */
  shmem_team_t forth = split(back, n - 1, -1, n);
  CHECK(shmem_team_my_pe(forth) == me);
  check_team(forth, 0, 1, n);
  shmem_team_destroy(forth);
  shmem_team_destroy(back);
}

/* What is no set of the parent's PEs gives everybody the same code, not 0, and no team. */
static void trap_48_triplets_that_are_none(void) {
  const struct { int start, stride, size; } wrong[] = {
      {0, 1, 0}, {0, 1, -1}, {-1, 1, 1}, {n, 1, 1}, {0, 1, n + 1}, {n - 1, 1, 2}, {0, -1, 2}, {0, 0, 2},
      {n - 1, n, 2}, {0, 1 << 30, 2}, {n - 1, 1, n > 1 ? n : 2} /* around the end */, {0, -2147483647 - 1, 2}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int code = shmem_team_split_strided(SHMEM_TEAM_WORLD, wrong[i].start, wrong[i].stride, wrong[i].size, NULL, 0,
                                        &team);
    CHECK(agreed(code) != 0 && team == SHMEM_TEAM_INVALID);
  }
}

/* Rows and columns of any width: a wide row is the parent, the last may be short. */
static void trap_49_split_2d(void) {
  shmem_team_t back = split(SHMEM_TEAM_WORLD, n - 1, -1, n);
  for (int xrange = 1; xrange <= n + 2; xrange++)
    for (int reverse = 0; reverse < 2; reverse++) {
      shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD, parent = reverse ? back : SHMEM_TEAM_WORLD;
      shmem_team_config_t x = {2}, y = {3}, read = {-1};
      int width = xrange > n ? n : xrange, rank = shmem_team_my_pe(parent), rows = (n + width - 1) / width;
      int mine = rank / width, at = rank % width, in_row = mine == rows - 1 ? n - mine * width : width;
      int in_column = rows - (at < n - (rows - 1) * width ? 0 : 1);
      const long mask = SHMEM_TEAM_NUM_CONTEXTS;
      CHECK(shmem_team_split_2d(parent, xrange, &x, mask, &row, &y, mask, &column) == 0);
      CHECK(shmem_team_n_pes(row) == in_row && shmem_team_my_pe(row) == at);
      CHECK(shmem_team_n_pes(column) == in_column && shmem_team_my_pe(column) == mine);
      for (int i = 0; i < in_row; i++) CHECK(shmem_team_translate_pe(row, i, parent) == mine * width + i);
      for (int i = 0; i < in_column; i++) CHECK(shmem_team_translate_pe(column, i, parent) == i * width + at);
      CHECK(shmem_team_get_config(row, SHMEM_TEAM_NUM_CONTEXTS, &read) == 0 && read.num_contexts == 2);
      CHECK(shmem_team_get_config(column, SHMEM_TEAM_NUM_CONTEXTS, &read) == 0 && read.num_contexts == 3);
      CHECK(shmem_team_sync(column) == 0 && shmem_team_sync(row) == 0);
      shmem_team_destroy(row);
      shmem_team_destroy(column);
    }
  shmem_team_destroy(back);
  const int wrong[] = {0, -1};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    shmem_team_t row = SHMEM_TEAM_WORLD, column = SHMEM_TEAM_WORLD;
    CHECK(agreed(shmem_team_split_2d(SHMEM_TEAM_WORLD, wrong[i], NULL, 0, &row, NULL, 0, &column)) != 0);
    CHECK(row == SHMEM_TEAM_INVALID && column == SHMEM_TEAM_INVALID);
  }
}

/* The number of contexts a team was configured with is remembered; more contexts than that can be made. */
static void trap_50_num_contexts(void) {
  for (int asked = 0; asked < 4; asked++) {
    shmem_team_config_t config = {asked}, read = {-1};
    shmem_team_t team;
    shmem_ctx_t ctx[6];
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &read) == 0 && read.num_contexts == asked);
    for (int i = 0; i < 6; i++) {
      int code = shmem_team_create_ctx(team, 0, ctx + i);
      CHECK((code == 0) == (ctx[i] != SHMEM_CTX_INVALID) && code == 0);
    }
    for (int i = 0; i < 6; i++) shmem_ctx_destroy(ctx[i]);
    shmem_team_destroy(team);
  }
  /* Without the mask the configuration is not looked at. */
  shmem_team_config_t config = {77}, read = {-1};
  shmem_team_t team;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &team) == 0);
  CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &read) == 0 && read.num_contexts == 0);
  shmem_team_destroy(team);
}

/* Asked for nothing, get_config does nothing, and needs no place for it. */
static void trap_56_get_config(void) {
  shmem_team_config_t config = {-7};
  CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL) == 0);
  CHECK(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, &config) == 0 && config.num_contexts == -7);
  CHECK(shmem_team_get_config(SHMEM_TEAM_SHARED, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts >= 0);
}

/* Only the parent's PEs take part in a split; the others wait elsewhere until all is over. Parent and child can
 * be used at once. */
static void trap_51_splits_of_parts_of_the_world(void) {
  int *over = TAKE(int, 1), members = (n + 1) / 2;
  shmem_team_t even = split(SHMEM_TEAM_WORLD, 0, 2, members);
  if (even == SHMEM_TEAM_INVALID) {
    shmem_int_wait_until(over, SHMEM_CMP_EQ, 1);
  } else {
    int rank = shmem_team_my_pe(even);
    for (int round = 0; round < 50; round++) {
      int size = round % members + 1, from = round % 2 ? size - 1 : 0, stride = round % 2 ? -1 : 1;
      shmem_team_t child = split(even, from, stride, size), grandchild = SHMEM_TEAM_INVALID;
      CHECK((child != SHMEM_TEAM_INVALID) == (rank < size));
      if (child != SHMEM_TEAM_INVALID) {
        if (round % 5 == 0) check_team(child, from * 2, stride * 2, size);
        grandchild = split(child, size - 1, -1, (size + 1) / 2);
        CHECK(shmem_team_sync(child) == 0);
        if (grandchild != SHMEM_TEAM_INVALID)
          check_team(grandchild, (from + stride * (size - 1)) * 2, -2 * stride, (size + 1) / 2);
      }
      CHECK(shmem_team_sync(even) == 0);
      shmem_team_destroy(grandchild);
      shmem_team_destroy(child);
    }
    /* Nobody is missing: the others have nothing to wait for in the team. */
    if (rank == 0)
      for (int pe = 1; pe < n; pe += 2) shmem_int_atomic_set(over, 1, pe);
    shmem_team_destroy(even);
  }
}

/* What the invalid team is good for. */
static void trap_52_invalid_team(void) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
  shmem_team_config_t config = {5};
  CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_INVALID) == -1);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, NULL) != 0);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0 && config.num_contexts == 5);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
  shmem_team_t other = SHMEM_TEAM_WORLD;
  CHECK(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0);
  CHECK(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
  CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
  CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap_area, 0) == NULL);
  shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* Collectives on the invalid team are undefined: here a code that is not 0. */
static void trap_52_collectives_on_the_invalid_team(void) {
  long *data = TAKE(long, n);
  CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
  CHECK(shmem_long_broadcast(SHMEM_TEAM_INVALID, data, data, 1, 0) != 0);
  CHECK(shmem_long_sum_reduce(SHMEM_TEAM_INVALID, data, data, 1) != 0);
  CHECK(shmem_collectmem(SHMEM_TEAM_INVALID, data, data, 0) != 0);
}

/* A PE that is in one of two teams only has no number in the other. */
static void trap_52_translate(void) {
  shmem_team_t low = split(SHMEM_TEAM_WORLD, 0, 1, (n + 1) / 2);
  shmem_team_t odd = n > 1 ? split(SHMEM_TEAM_WORLD, 1, 2, n / 2) : SHMEM_TEAM_INVALID;
  if (low != SHMEM_TEAM_INVALID && odd != SHMEM_TEAM_INVALID)
    for (int i = 0; i < n; i++) {
      CHECK(shmem_team_translate_pe(low, i, odd) == (i < (n + 1) / 2 && i % 2 ? i / 2 : -1));
      int world = 2 * i + 1;
      CHECK(shmem_team_translate_pe(odd, i, low) == (i < n / 2 && world < (n + 1) / 2 ? world : -1));
    }
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, n, SHMEM_TEAM_SHARED) == -1);
  shmem_team_destroy(odd);
  shmem_team_destroy(low);
}

static void trap_53_invalid_context(void) {
  shmem_team_t team = SHMEM_TEAM_WORLD;
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);
}

/* Destroying a context completes it. A context that can't be made is no error: no handle, and all goes on. */
static void trap_54_contexts_come_and_go(void) {
  enum { MOST = 5000, WORDS = 64 };
  static shmem_ctx_t ctx[MOST];
  long *data = TAKE(long, WORDS), source[WORDS];
  for (long round = 0; round < 20; round++) {
    fill_words(source, WORDS, round, 3);
    CHECK(shmem_ctx_create(round % 2 ? SHMEM_CTX_PRIVATE : 0, ctx) == 0);
    shmem_ctx_long_put_nbi(*ctx, data, source, WORDS, next);
    shmem_ctx_destroy(*ctx);
    shmem_sync_all();
    CHECK(wrong_words(data, WORDS, round, 3) == 0);
    shmem_sync_all();
  }
  int count = 0, code = 0;
  while (count < MOST && (code = shmem_ctx_create(0, ctx + count)) == 0) count++;
  CHECK(count >= 1000 && count < MOST && code != 0 && ctx[count] == SHMEM_CTX_INVALID);
  shmem_ctx_long_p(ctx[count - 1], data, 99, next);
  for (int i = 0; i < count; i++) shmem_ctx_destroy(ctx[i]);
  shmem_barrier_all();
  CHECK(peek(data) == 99);
  CHECK(shmem_ctx_create(0, ctx) == 0);
  shmem_ctx_destroy(*ctx);
}

/* A team takes the contexts on it along, and what they have under way is completed. */
static void trap_55_destroy_takes_contexts_along(void) {
  enum { WORDS = 64 };
  long *data = TAKE(long, WORDS), source[WORDS];
  for (long round = 0; round < 20; round++) {
    shmem_team_t team = split(SHMEM_TEAM_WORLD, n - 1, -1, n), of;
    shmem_ctx_t ctx, own, other;
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &other) == 0);
    CHECK(shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &own) == 0);
    CHECK(shmem_ctx_get_team(ctx, &of) == 0 && of == team);
    fill_words(source, WORDS, round * 2, 1);
    shmem_ctx_long_put_nbi(ctx, data, source, WORDS / 2, (shmem_team_my_pe(team) + 1) % n);
    shmem_ctx_long_put_nbi(own, data + WORDS / 2, source + WORDS / 2, WORDS / 2, (shmem_team_my_pe(team) + 1) % n);
    shmem_team_destroy(team);
    shmem_sync_all();
    CHECK(wrong_words(data, WORDS, round * 2, 1) == 0);
    /* Those of other teams stay. */
    CHECK(shmem_ctx_get_team(other, &of) == 0 && of == SHMEM_TEAM_WORLD);
    shmem_ctx_quiet(other);
    shmem_ctx_destroy(other);
    shmem_sync_all();
  }
}

/* Hundreds of teams, one after the other and several at a time. A handle of one that is gone is no other's. */
static void trap_55_handles_are_not_used_again(void) {
  enum { LIVE = 5, TIMES = 300 };
  shmem_team_t live[LIVE], gone[TIMES];
  for (int i = 0; i < LIVE; i++) live[i] = split(SHMEM_TEAM_WORLD, n - 1, -1, n);
  for (int i = 0; i < TIMES; i++) {
    int at = i * 7 % LIVE;
    gone[i] = live[at];
    shmem_team_destroy(live[at]);
    live[at] = split(SHMEM_TEAM_WORLD, i % 2 ? n - 1 : 0, i % 2 ? -1 : 1, n);
    CHECK(shmem_team_my_pe(live[at]) == (i % 2 ? n - 1 - me : me));
    if (i % 50 == 0) CHECK(shmem_team_sync(live[at]) == 0);
    for (int k = 0; k < i; k++)
      for (int l = 0; l < LIVE; l++)
        if (gone[k] == live[l]) CHECK(gone[k] != live[l]);
  }
  CHECK(shmem_team_my_pe(gone[0]) == -1 && shmem_team_n_pes(gone[TIMES - 1]) == -1);
  CHECK(agreed(shmem_team_sync(gone[TIMES - 1])) != 0);
  for (int i = 0; i < LIVE; i++) shmem_team_destroy(live[i]);
}

/* Threads use teams of their own at the same time; collectives of one don't disturb the other's. */
typedef struct {
  shmem_team_t team;
  long *in, *out;
  int index;
} shift_t;
static void *use_team(void *argument) {
  shift_t *shift = (shift_t *)argument;
  int size = shmem_team_n_pes(shift->team), rank = shmem_team_my_pe(shift->team);
  for (long round = 1; round <= 40; round++) {
    long *out = shift->out + (round % 2) * n;
    shift->in[round % 2] = round * (rank + 1) + shift->index;
    if (round % 3 == 0) {
      CHECK(shmem_long_sum_reduce(shift->team, out, shift->in + round % 2, 1) == 0);
      CHECK(peek(out) == round * size * (size + 1) / 2 + size * shift->index);
    } else if (round % 3 == 1) {
      CHECK(shmem_long_fcollect(shift->team, out, shift->in + round % 2, 1) == 0);
      for (int i = 0; i < size; i++) CHECK(peek(out + i) == round * (i + 1) + shift->index);
    } else {
      CHECK(shmem_long_broadcast(shift->team, out, shift->in + round % 2, 1, (int)round % size) == 0);
      CHECK(peek(out) == round * (round % size + 1) + shift->index);
    }
    CHECK(shmem_team_sync(shift->team) == 0);
  }
  return NULL;
}
static void trap_57_teams_of_threads(void) {
  enum { THREADS = 3 };
  pthread_t thread[THREADS];
  shift_t shift[THREADS];
  for (int t = 0; t < THREADS; t++) {
    shift[t] = (shift_t){t == 0 ? SHMEM_TEAM_WORLD : split(SHMEM_TEAM_WORLD, t == 1 ? 0 : n - 1, t == 1 ? 1 : -1, n),
                         TAKE(long, 2), TAKE(long, 2 * n), t};
  }
  for (int t = 0; t < THREADS; t++) CHECK(pthread_create(thread + t, NULL, use_team, shift + t) == 0);
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  for (int t = 1; t < THREADS; t++) shmem_team_destroy(shift[t].team);
}

static const trap_t traps[] = {
    TRAP(trap_47_split_strided),
    TRAP(trap_48_zero_and_negative_strides),
    TRAP(trap_48_triplets_that_are_none),
    TRAP(trap_49_split_2d),
    TRAP(trap_50_num_contexts),
    TRAP(trap_51_splits_of_parts_of_the_world),
    TRAP(trap_52_invalid_team),
    TRAP(trap_52_collectives_on_the_invalid_team),
    TRAP(trap_52_translate),
    TRAP(trap_53_invalid_context),
    TRAP(trap_54_contexts_come_and_go),
    TRAP(trap_55_destroy_takes_contexts_along),
    TRAP(trap_55_handles_are_not_used_again),
    TRAP(trap_56_get_config),
    TRAP(trap_57_teams_of_threads),
};
MAIN(traps)
