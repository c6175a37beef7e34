/* Set-up, query, memory, teams, contexts and locks. */
#include "check.h"
#include <stdint.h>

static int me, n, next;

static void query(void) {
  int major = -1, minor = -1, level = -1, initialized = -1;
  char name[K(MAX_NAME_LEN)];
  memset(name, 'x', sizeof name);
  F(info_get_version)(&major, &minor);
  CHECK(major == K(MAJOR_VERSION) && minor == K(MINOR_VERSION));
  F(info_get_name)(name);
  CHECK(memchr(name, 0, sizeof name) != NULL && strcmp(name, K(VENDOR_STRING)) == 0);
  F(query_thread)(&level);
  CHECK(level >= K(THREAD_SINGLE) && level <= K(THREAD_MULTIPLE));
#ifndef FAMILY_NVSHMEM
  F(query_initialized)(&initialized);
  CHECK(initialized == 1);
  CHECK(F(pe_accessible)(next) == 1 && F(pe_accessible)(n) == 0 && F(pe_accessible)(-1) == 0);
  long *x = (long *)F(malloc)(sizeof(long)), local;
  CHECK(F(addr_accessible)(x, next) == 1 && F(addr_accessible)(&local, next) == 0);
  CHECK(F(addr_accessible)(NULL, next) == 0);
  CHECK(F(team_ptr)(K(TEAM_WORLD), x, next) == F(ptr)(x, next) && F(team_ptr)(K(TEAM_INVALID), x, 0) == NULL);
  F(free)(x);
#else
  (void)initialized;
#endif
#ifndef FAMILY_SHMEM
  CHECK(FX(init_status)() == K(STATUS_IS_INITIALIZED));
#endif
}

static void memory(void) {
  CHECK(F(malloc)(0) == NULL && F(calloc)(0, 8) == NULL && F(calloc)(8, 0) == NULL);
  F(free)(NULL);
  char *a = (char *)F(malloc)(100), *b = (char *)F(malloc)(1), *c = (char *)F(align)(4096, 10000);
  CHECK(a && b && c && (uintptr_t)a % 16 == 0 && (uintptr_t)b % 16 == 0 && (uintptr_t)c % 4096 == 0);
  memset(a, 1, 100);
  memset(c, 2, 10000);
  *b = 3;
  long *z = (long *)F(calloc)(1000, sizeof(long));
  for (int i = 0; i < 1000; i++) CHECK(z[i] == 0);
  /* The same address everywhere, or at least the same object. */
  long *there = (long *)F(ptr)(z, next);
  z[7] = me + 70;
  F(barrier_all)();
  CHECK(FT(long, g)(z + 7, next) == next + 70);
  if (there) CHECK(there[7] == next + 70);
  CHECK(F(ptr)(z, me) == (void *)z);
  F(barrier_all)();
#ifndef FAMILY_NVSHMEM
  z = (long *)F(realloc)(z, 5000 * sizeof(long));
  CHECK(z && z[7] == me + 70 && z[999] == 0);
  z = (long *)F(realloc)(z, 10 * sizeof(long));
  CHECK(z && z[7] == me + 70);
  char *h = (char *)F(malloc_with_hints)(64, K(MALLOC_ATOMICS_REMOTE) | K(MALLOC_SIGNAL_REMOTE));
  CHECK(h != NULL);
  F(free)(h);
  CHECK(F(realloc)(z, 0) == NULL);
  z = (long *)F(realloc)(NULL, 64);
  CHECK(z != NULL);
#endif
  F(free)(b);
  F(free)(z);
  for (int i = 0; i < 100; i++) CHECK(a[i] == 1);
  for (int i = 0; i < 10000; i++) CHECK(c[i] == 2);
  F(free)(c);
  F(free)(a);
  /* What was given back can be had again, however often. */
  for (int round = 0; round < 200; round++) {
    void *p[5];
    for (int i = 0; i < 5; i++) p[i] = F(malloc)((size_t)(round * 37 % 1000 + i + 1) * 1024);
    for (int i = 0; i < 5; i++) CHECK(p[i] != NULL);
    for (int i = 0; i < 5; i++) F(free)(p[(i * 3 + round) % 5]);
  }
}

static void teams(void) {
  CHECK(F(team_my_pe)(K(TEAM_WORLD)) == me && F(team_n_pes)(K(TEAM_WORLD)) == n);
  CHECK(F(team_my_pe)(K(TEAM_INVALID)) == -1 && F(team_n_pes)(K(TEAM_INVALID)) == -1);
  CHECK(F(team_my_pe)(K(TEAM_SHARED)) >= 0 && F(team_n_pes)(KX(TEAM_NODE)) == n);
  F(team_t) even = K(TEAM_INVALID), rest = K(TEAM_INVALID), nobody = K(TEAM_WORLD);
  F(team_config_t) config;
  memset(&config, 0, sizeof config);
  CHECK(F(team_split_strided)(K(TEAM_WORLD), 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
  if (me % 2 == 0) {
    CHECK(F(team_my_pe)(even) == me / 2 && F(team_n_pes)(even) == (n + 1) / 2);
    CHECK(F(team_translate_pe)(even, me / 2, K(TEAM_WORLD)) == me);
    CHECK(F(team_translate_pe)(K(TEAM_WORLD), me, even) == me / 2);
    if (n > 1) CHECK(F(team_translate_pe)(K(TEAM_WORLD), 1, even) == -1);
    /* A team of a team: PEs 0, 4, 8, ... of the world. */
    int of = ((n + 1) / 2 + 1) / 2;
    CHECK(F(team_split_strided)(even, 0, 2, of, NULL, 0, &rest) == 0);
    CHECK((rest != K(TEAM_INVALID)) == (me % 4 == 0));
    if (rest != K(TEAM_INVALID)) {
      CHECK(F(team_my_pe)(rest) == me / 4 && F(team_n_pes)(rest) == of);
      CHECK(F(team_sync)(rest) == 0);
      F(team_destroy)(rest);
    }
    /* Many of them, one after the other: places are given back. */
    for (int i = 0; i < 600; i++) {
      F(team_t) again = K(TEAM_INVALID);
      if (F(team_split_strided)(even, 0, 1, (n + 1) / 2, NULL, 0, &again) != 0) failed(__FILE__, __LINE__, "split", "");
      CHECK(again != rest);
      F(team_destroy)(again);
    }
    F(team_destroy)(even);
  } else {
    CHECK(even == K(TEAM_INVALID));
  }
  (void)nobody;
  F(barrier_all)();
}

#if HAVE_CTX
static void contexts(void) {
  F(ctx_t) ctx[20], on_team;
  F(team_t) team, of;
  long *word = (long *)F(calloc)(64, sizeof(long));
  for (int i = 0; i < 20; i++) CHECK(F(ctx_create)(i % 2 ? K(CTX_PRIVATE) : K(CTX_SERIALIZED) | K(CTX_NOSTORE), ctx + i) == 0);
  for (int i = 0; i < 20; i++) FCT(long, atomic_add)(ctx[i], word, i, next);
  for (int i = 0; i < 20; i++) F(ctx_quiet)(ctx[i]);
  F(barrier_all)();
  CHECK(word[0] == 190);
  for (int i = 0; i < 20; i++) F(ctx_destroy)(ctx[i]);
  CHECK(F(ctx_get_team)(K(CTX_DEFAULT), &of) == 0 && of == K(TEAM_WORLD));
  CHECK(F(ctx_get_team)(K(CTX_INVALID), &of) != 0 && of == K(TEAM_INVALID));
  F(ctx_destroy)(K(CTX_INVALID));
  /* PE numbers of a context are those of its team: here in reverse order. */
  CHECK(F(team_split_strided)(K(TEAM_WORLD), n - 1, -1, n, NULL, 0, &team) == 0);
  CHECK(F(team_my_pe)(team) == n - 1 - me);
  CHECK(F(team_create_ctx)(team, 0, &on_team) == 0);
  CHECK(F(ctx_get_team)(on_team, &of) == 0 && of == team);
  FCT(long, p)(on_team, word + 1, me + 1, 0); /* the last PE of the world */
  F(ctx_quiet)(on_team);
  FCT(long, atomic_add)(on_team, word + 2, 1, n - 1);
  F(ctx_quiet)(on_team);
  F(barrier_all)();
  if (me == n - 1) CHECK(word[1] >= 1 && word[1] <= n);
  CHECK(word[2] == (me == 0 ? n : 0));
  F(ctx_destroy)(on_team);
  CHECK(F(team_create_ctx)(K(TEAM_INVALID), 0, &on_team) != 0 && on_team == K(CTX_INVALID));
  F(team_destroy)(team);
  F(free)(word);
}
#endif

#ifndef FAMILY_NVSHMEM
static long global_lock, counter;

static void locks(void) {
  long *heap_lock = (long *)F(calloc)(2, sizeof(long)), *guarded = heap_lock + 1;
  for (int turn = 0; turn < 30; turn++) {
    F(set_lock)(heap_lock);
    long seen = FT(long, g)(guarded, 0);
    FT(long, p)(guarded, seen + 1, 0);
    F(clear_lock)(heap_lock); /* completes the put */
    while (F(test_lock)(heap_lock) != 0) {
    }
    seen = FT(long, g)(guarded, 0);
    FT(long, p)(guarded, seen + 1, 0);
    F(clear_lock)(heap_lock);
    if (globals_are_symmetric()) {
      F(set_lock)(&global_lock);
      seen = FT(long, g)(&counter, n - 1);
      FT(long, p)(&counter, seen + 1, n - 1);
      F(clear_lock)(&global_lock);
    }
  }
  F(barrier_all)();
  if (me == 0) CHECK(*guarded == 60 * n && *heap_lock == 0);
  if (me == n - 1 && globals_are_symmetric()) CHECK(counter == 30 * n);
  F(free)(heap_lock);
}
#endif

int main(void) {
  int provided = -1;
#ifndef FAMILY_NVSHMEM
  int before = -1;
  F(query_initialized)(&before);
  if (before != 0) return 3;
#endif
  if (F(init_thread)(K(THREAD_MULTIPLE), &provided) != 0 || provided != K(THREAD_MULTIPLE)) return 4;
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  query();
  memory();
  teams();
#if HAVE_CTX
  contexts();
#endif
#ifndef FAMILY_NVSHMEM
  locks();
#endif
  return verdict();
}
