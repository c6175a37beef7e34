/* Wrong uses, one a run: bad CASE. Each has to end the whole job with one line that says what was wrong, or to
 * return a failure where the call has a status; a program that comes through says so. The PE that does wrong is the
 * last one; the others wait for it in a barrier. */
/* NULL is one of them, of which gcc warns. */
#pragma GCC diagnostic ignored "-Wnonnull"
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static long on_stack_of_main;
static long global[4];
static const char *wanted;
static int is(const char *name) { return strcmp(wanted, name) == 0; }

static void *idle(void *arg) {
  pause();
  return arg;
}

/* After a call with a status: the value is passed on, the same on every member. */
static void returned(int status) {
  printf("PE %d: status %d\n", F(my_pe)(), status);
  F(barrier_all)();
  F(finalize)();
  exit(status != 0 ? 0 : 9);
}

int main(int argc, char **argv) {
  wanted = argc > 1 ? argv[1] : "";
  if (is("before_init")) FT(long, p)(&on_stack_of_main, 1, 0);
  if (is("query_before_init")) return F(my_pe)();
  if (is("malloc_before_init")) return F(malloc)(8) == NULL;
  if (is("status_before_init")) return FT(long, sum_reduce)(K(TEAM_WORLD), global, global, 1);
  if (is("finalize_before_init")) F(finalize)();
  if (is("threads_at_init")) {
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
  }
  if (is("init_thread_status")) {
    int provided = -7;
    int status = F(init_thread)(K(THREAD_SINGLE), &provided);
    printf("status %d provided %d\n", status, provided);
    return status;
  }
  if (is("thread_level")) {
    int provided = -7;
    return F(init_thread)(17, &provided);
  }
  F(init)();
  if (is("nothing_allocated")) {
    F(finalize)();
    return 0;
  }
  int me = F(my_pe)(), n = F(n_pes)(), last = n - 1, next = (me + 1) % n;
  long local = 5, *heap = (long *)F(calloc)(64, sizeof(long)), *freed = (long *)F(malloc)(64);
  long *foreign = (long *)malloc(64);
  F(free)(freed);
  size_t beyond = argc > 2 ? (size_t)atol(argv[2]) : 0;

  if (is("size")) return F(malloc)(4096) == NULL ? 3 : 0;

  if (me == last) {
    if (is("pe_p")) FT(long, p)(heap, 1, n);
    if (is("pe_negative")) FT(long, p)(heap, 1, -1);
    if (is("pe_put")) FT(int, put)((int *)heap, (int *)heap, 3, n + 5);
    if (is("pe_get")) FT(double, get)((double *)heap, (double *)heap, 3, n);
    if (is("pe_g")) local = FT(long, g)(heap, 1000000);
    if (is("pe_putmem")) F(putmem)(heap, &local, 8, n);
    if (is("pe_putmem_nothing")) F(putmem)(heap, &local, 0, n);
    if (is("pe_nbi")) F(getmem_nbi)(heap, heap, 8, n);
    if (is("pe_iput")) FT(long, iput)(heap, &local, 1, 1, 1, n);
    if (is("pe_atomic")) local = FT(long, atomic_fetch_add)(heap, 1, n);
    if (is("pe_atomic_set")) FT(double, atomic_set)((double *)heap, 1, n);
    if (is("pe_signal")) FT(long, put_signal)(heap, &local, 1, (uint64_t *)heap + 9, 1, K(SIGNAL_SET), n);
    if (is("pe_ptr")) local = F(ptr)(heap, n) != NULL;
    if (is("stack")) FT(long, p)(&local, 1, next);
    if (is("malloced")) FT(long, put)(foreign, &local, 1, next);
    if (is("global")) FT(long, p)(global, 1, next);
    if (is("get_source")) FT(long, get)(&local, foreign, 1, next);
    if (is("atomic_stack")) FT(long, atomic_inc)(&local, next);
    if (is("signal_stack")) {
      uint64_t word = 0;
      FT(long, put_signal)(heap, &local, 1, &word, 1, K(SIGNAL_SET), next);
    }
    if (is("end_of_heap")) F(putmem)((char *)heap + beyond, heap, 128, next);
    if (is("peer_mapping")) FT(long, p)((long *)F(ptr)(heap, next), 1, next);
    if (is("peer_mapping_wait")) FT(long, wait_until)((long *)F(ptr)(heap, next), K(CMP_NE), 0);
    if (is("null_dest")) FT(long, put)(NULL, &local, 1, next);
    if (is("null_source")) FT(long, put)(heap, NULL, 1, next);
    if (is("null_get")) FT(long, get)(NULL, heap, 1, next);
    if (is("null_p")) FT(long, p)(NULL, 1, next);
    if (is("null_atomic")) FT(long, atomic_inc)(NULL, next);
    if (is("null_wait")) FT(long, wait_until)(NULL, K(CMP_EQ), 0);
    if (is("misaligned")) FT(long, atomic_inc)((long *)((char *)heap + 4), next);
    if (is("misaligned_signal"))
      FT(long, put_signal)(heap, &local, 1, (uint64_t *)((char *)heap + 81), 1, K(SIGNAL_SET), next);
    if (is("signal_op")) FT(long, put_signal)(heap, &local, 1, (uint64_t *)heap + 9, 1, 77, next);
    if (is("compare")) FT(long, wait_until)(heap, 17, 0);
    if (is("length_negative")) FT(long, put)(heap, heap, (size_t)-1 - beyond, next);
    if (is("signal_put_past"))
      FT(long, put_signal)(heap, heap, 1000000000, (uint64_t *)heap + 9, 1, K(SIGNAL_SET), next);
    if (is("stride_overflows")) FT(long, iput)(heap, &local, (ptrdiff_t)1 << 62, 1, 3, next);
    if (is("stride_past")) FT(long, iput)(heap, heap, 100000000, 1, 3, next);
    if (is("stride_past_get")) FT(long, iget)(heap, heap, 1, 100000000, 3, next);
    if (is("stride_zero")) FT(long, iput)(heap, heap + 8, 0, 1, 4, next);
    if (is("stride_negative")) FT(long, iget)(heap, heap + 8, 1, -1, 4, next);
    if (is("global_overrun")) F(putmem)(global, heap, beyond << 50, next);
    if (is("heap_overrun")) F(putmem)(heap, heap, beyond << 50, next);
    if (is("length_wraps")) FT(long, put)(heap, heap, (size_t)-1 / 8 - beyond, next);
    if (is("free_twice")) F(free)(freed);
    if (is("free_inside")) F(free)(heap + 2);
    if (is("free_malloced")) F(free)(foreign);
#ifndef FAMILY_NVSHMEM
    if (is("lock_stack")) F(set_lock)(&local);
    if (is("lock_twice")) {
      F(set_lock)(heap);
      F(set_lock)(heap);
    }
    if (is("clear_free_lock")) F(clear_lock)(heap);
#endif
#if HAVE_CTX
    if (is("ctx_create") || is("team_create_ctx")) {
      F(ctx_t) ctx = K(CTX_DEFAULT);
      int status = is("ctx_create") ? F(ctx_create)(0x12, &ctx) : F(team_create_ctx)(K(TEAM_WORLD), 0x12, &ctx);
      if (status == 0 || ctx != K(CTX_INVALID)) return 9;
    }
    if (is("invalid_handles")) {
      F(ctx_t) ctx = K(CTX_DEFAULT);
      F(team_t) team = K(TEAM_WORLD);
      if (F(team_create_ctx)(K(TEAM_INVALID), 0, &ctx) == 0 || ctx != K(CTX_INVALID)) return 9;
      if (F(ctx_get_team)(K(CTX_INVALID), &team) == 0 || team != K(TEAM_INVALID)) return 9;
    }
    if (is("ctx_invalid")) FCT(long, p)(K(CTX_INVALID), heap, 1, next);
    if (is("ctx_default")) F(ctx_destroy)(K(CTX_DEFAULT));
    if (is("ctx_stale")) {
      F(ctx_t) ctx, another;
      if (F(ctx_create)(0, &ctx) != 0) return 9;
      F(ctx_destroy)(ctx);
      if (F(ctx_create)(0, &another) != 0 || another == ctx) return 9;
      F(ctx_quiet)(ctx);
    }
    if (is("ctx_junk")) F(ctx_quiet)((F(ctx_t))(uintptr_t)0x1234560);
#endif
  }
#ifndef FAMILY_NVSHMEM
  /* A word that was not 0 on any PE before it was used as a lock. */
  if (is("lock_was")) {
    *heap = strtol(argv[3], NULL, 0);
    F(barrier_all)();
    if (me == last && strcmp(argv[2], "set") == 0) F(set_lock)(heap);
    if (me == last && strcmp(argv[2], "test") == 0) local = F(test_lock)(heap);
    if (me == last && strcmp(argv[2], "clear") == 0) F(clear_lock)(heap);
    F(barrier_all)();
  }
  if (is("lock_kept") || is("clear_lock_of_another")) {
    if (me == 0) F(set_lock)(heap);
    F(barrier_all)();
    if (me != 0 && is("lock_kept")) F(set_lock)(heap);
    if (me == last && is("clear_lock_of_another")) F(clear_lock)(heap);
  }
#endif
  /* On every PE: collectives. */
  if (me == last) {
    /* The others are in the barrier at the end. */
    if (is("one_root")) FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, n + 10);
    if (is("one_dest")) FT(long, fcollect)(K(TEAM_WORLD), foreign, heap, 1);
    if (is("one_null")) FT(long, sum_reduce)(K(TEAM_WORLD), NULL, heap, 1);
    if (is("one_size")) F(malloc)((size_t)-8);
    if (is("one_stride")) {
      F(team_t) team;
      F(team_split_strided)(K(TEAM_WORLD), 0, 1, n + 10, NULL, 0, &team);
    }
  }
  if (is("one_of_many")) FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, me == last ? n + 10 : 0);
  if (is("malloc_sizes")) F(malloc)(me == last ? 128 : 64);
  if (is("malloc_against_finalize") || is("sync_against_finalize")) {
    if (me == 0 && is("malloc_against_finalize")) F(malloc)(64);
    if (me == 0 && is("sync_against_finalize")) F(team_sync)(K(TEAM_WORLD));
    F(finalize)();
    return 0;
  }
  if (is("negative") && F(malloc)((size_t)-8) != NULL) return 9;
  if (is("malloc_zero")) F(malloc)(me == last ? 0 : 64);
  if (is("alignment") && F(align)(3, 64) != NULL) return 9;
  if (is("calloc_sizes")) F(calloc)(me == last ? 3 : 4, 8);
  if (is("malloc_against_free")) {
    if (me == last)
      F(free)(heap);
    else
      F(malloc)(64);
  }
  if (is("malloc_against_barrier")) {
    if (me == last)
      F(barrier_all)();
    else
      F(malloc)(64);
  }
  if (is("exhausted")) {
    void *much = F(malloc)(beyond ? beyond : (size_t)3 << 30);
    printf("PE %d: %s\n", me, much ? "allocated" : "NULL");
    F(barrier_all)();
    void *little = F(malloc)(64);
    F(finalize)();
    return much || !little ? 9 : 0;
  }
  if (is("team_unknown")) returned(FT(long, sum_reduce)((F(team_t))4711, heap, heap, 1));
  if (is("team_invalid")) returned(FT(long, broadcast)(K(TEAM_INVALID), heap, heap, 1, 0));
  if (is("team_stale")) {
    F(team_t) team = K(TEAM_INVALID);
    F(team_split_strided)(K(TEAM_WORLD), 0, 1, n, NULL, 0, &team);
    F(team_destroy)(team);
    returned(F(team_sync)(team));
  }
  if (is("team_world_destroy")) F(team_destroy)(K(TEAM_WORLD));
  if (is("team_range")) {
    F(team_t) team = K(TEAM_WORLD);
    int status = F(team_split_strided)(K(TEAM_WORLD), 0, 2, n, NULL, 0, &team);
    if (team != K(TEAM_INVALID)) return 9;
    returned(status);
  }
  if (is("root")) returned(FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, n));
  if (is("roots_differ")) returned(FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, me == last ? 1 : 0));
  if (is("lengths_differ")) returned(FT(long, fcollect)(K(TEAM_WORLD), heap, heap + 8, me == last ? 2 : 1));
  if (is("calls_differ")) {
    if (me == last) returned(FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, 0));
    returned(FT(long, sum_reduce)(K(TEAM_WORLD), heap, heap + 8, 1));
  }
  if (is("collective_null")) returned(FT(long, sum_reduce)(K(TEAM_WORLD), NULL, heap, 1));
  if (is("collective_many")) returned(FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, (size_t)-1 - beyond, 0));
  if (is("collective_stack")) returned(FT(long, fcollect)(K(TEAM_WORLD), foreign, heap, 1));
  if (is("twice_finalized")) {
    F(finalize)();
    F(finalize)();
  }
  if (is("after_finalize")) {
    F(finalize)();
    FT(long, p)(heap, 1, 0);
  }
  if (is("exits_early") && me == last) return 3;
  if (is("leaves_without_finalize") && me == last) return 0;
  if (is("leaves_as_root")) {
    /* The first one waits for all, the second for its root alone. */
    FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, last);
    if (me == last) return 0;
    FT(long, broadcast)(K(TEAM_WORLD), heap, heap + 8, 1, last);
  }
  if (is("aborts") && me == last) abort();
  if (is("crashes") && me == last) *(volatile int *)8 = 1;
  if (is("global_exit")) {
    if (me == last) F(global_exit)(42);
    for (;;) pause();
  }
  if (!is("threads_at_init")) F(barrier_all)();
  if (is("threads_at_init")) FT(long, p)(global, 1, next);
  if (is("exits_after_finalize")) {
    F(finalize)();
    return me == last ? 5 : 0;
  }
  printf("PE %d: came through (%ld)\n", me, local);
  F(finalize)();
  return 0;
}
