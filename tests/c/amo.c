/* Atomics of every type: each alone for its value, and all PEs at once on the words of PE 0. */
#include "check.h"

static int me, n, next;
static void *heap;
enum { TIMES = 25 };

#if HAVE_CTX
static F(ctx_t) ctx;
#define WITH_CTX(...) __VA_ARGS__
#else
#define WITH_CTX(...)
#endif
/* The fetching nbi forms are in the same families as contexts. */
#define WITH_NBI WITH_CTX

/* fetch, set and swap. */
#define EXTENDED(NAME, T)                                                                                     \
  static void extended_on_##NAME(T *word, const char *where) {                                                \
    T got = 0;                                                                                                \
    (void)got;                                                                                                \
    *word = (T)(me + 1);                                                                                      \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, FT(NAME, atomic_fetch)(word, next) == (T)(next + 1));                                     \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, FT(NAME, atomic_swap)(word, (T)50, next) == (T)(next + 1));                               \
    FT(NAME, atomic_set)(word, (T)(60 + me), next);                                                           \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, *word == (T)(60 + (me + n - 1) % n));                                                     \
    F(barrier_all)();                                                                                         \
    WITH_NBI(FT(NAME, atomic_fetch_nbi)(&got, word, next); F(quiet)();                                        \
             CHECK_IN(where, got == (T)(60 + me));                                                            \
             FT(NAME, atomic_swap_nbi)(&got, word, (T)70, next); F(quiet)();                                  \
             CHECK_IN(where, got == (T)(60 + me)); F(barrier_all)(); CHECK_IN(where, *word == (T)70);         \
             F(barrier_all)();)                                                                               \
    WITH_CTX(FCT(NAME, atomic_set)(ctx, word, (T)5, next); F(ctx_quiet)(ctx);                                 \
             CHECK_IN(where, FCT(NAME, atomic_swap)(ctx, word, (T)6, next) == (T)5);                          \
             CHECK_IN(where, FCT(NAME, atomic_fetch)(ctx, word, next) == (T)6);                               \
             FCT(NAME, atomic_swap_nbi)(ctx, &got, word, (T)7, next); F(ctx_quiet)(ctx);                      \
             CHECK_IN(where, got == (T)6); F(barrier_all)();                                                  \
             FCT(NAME, atomic_fetch_nbi)(ctx, &got, word, next); F(ctx_quiet)(ctx);                           \
             CHECK_IN(where, got == (T)7); F(barrier_all)();)                                                 \
    /* A token that wanders: what was swapped out by all, and what is left, add up. */                        \
    *word = (T)0;                                                                                             \
    F(barrier_all)();                                                                                         \
    double out = 0;                                                                                           \
    for (int i = 0; i < TIMES; i++) out += (double)FT(NAME, atomic_swap)(word, (T)(me + 1), 0);               \
    static double outs[128];                                                                                  \
    double *all = (double *)heap + 8;                                                                         \
    FT(double, put)(all + me, &out, 1, 0);                                                                    \
    F(barrier_all)();                                                                                         \
    if (me == 0) {                                                                                            \
      double sum = (double)*word, expected = 0;                                                               \
      for (int pe = 0; pe < n; pe++) sum += (outs[pe] = all[pe]), expected += TIMES * (pe + 1);               \
      CHECK_IN(where, sum == expected);                                                                       \
    }                                                                                                         \
    F(barrier_all)();                                                                                         \
  }                                                                                                           \
  static void extended_##NAME(void) {                                                                         \
    static T global;                                                                                          \
    extended_on_##NAME((T *)heap, #NAME " heap");                                                             \
    if (globals_are_symmetric()) extended_on_##NAME(&global, #NAME " global");                                \
  }

/* The arithmetic ones and compare_swap. */
#define ARITHMETIC(NAME, T)                                                                                   \
  static void arithmetic_on_##NAME(T *word, const char *where) {                                              \
    T got = 0;                                                                                                \
    (void)got;                                                                                                \
    *word = (T)100;                                                                                           \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, FT(NAME, atomic_fetch_add)(word, (T)5, next) == (T)100);                                  \
    CHECK_IN(where, FT(NAME, atomic_fetch_inc)(word, next) == (T)105);                                        \
    FT(NAME, atomic_inc)(word, next);                                                                         \
    FT(NAME, atomic_add)(word, (T)-7, next);                                                                  \
    F(quiet)();                                                                                               \
    CHECK_IN(where, FT(NAME, atomic_compare_swap)(word, (T)1, (T)2, next) == (T)100);                         \
    CHECK_IN(where, FT(NAME, atomic_compare_swap)(word, (T)100, (T)40, next) == (T)100);                      \
    WITH_NBI(FT(NAME, atomic_fetch_add_nbi)(&got, word, (T)1, next); F(quiet)();                              \
             CHECK_IN(where, got == (T)40); FT(NAME, atomic_fetch_inc_nbi)(&got, word, next); F(quiet)();     \
             CHECK_IN(where, got == (T)41);                                                                   \
             FT(NAME, atomic_compare_swap_nbi)(&got, word, (T)42, (T)40, next); F(quiet)();                   \
             CHECK_IN(where, got == (T)42);)                                                                  \
    CHECK_IN(where, FT(NAME, atomic_compare_swap)(word, (T)40, (T)-1, next) == (T)40);                        \
    FT(NAME, atomic_inc)(word, next); /* wraps where the type is unsigned */                                  \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, *word == 0);                                                                              \
    F(barrier_all)();                                                                                         \
    WITH_CTX(CHECK_IN(where, FCT(NAME, atomic_fetch_add)(ctx, word, (T)3, next) == 0);                        \
             FCT(NAME, atomic_add)(ctx, word, (T)1, next); FCT(NAME, atomic_inc)(ctx, word, next);            \
             F(ctx_quiet)(ctx);                                                                               \
             CHECK_IN(where, FCT(NAME, atomic_fetch_inc)(ctx, word, next) == (T)5);                           \
             CHECK_IN(where, FCT(NAME, atomic_compare_swap)(ctx, word, (T)6, (T)0, next) == (T)6);            \
             F(ctx_quiet)(ctx); F(barrier_all)();)                                                            \
    /* All at once: every value is handed out once. */                                                        \
    long long sum = 0;                                                                                        \
    for (int i = 0; i < TIMES; i++) {                                                                         \
      sum += (long long)FT(NAME, atomic_fetch_inc)(word, 0);                                                  \
      FT(NAME, atomic_add)(word + 1, (T)(me + 1), 0);                                                         \
      T seen = FT(NAME, atomic_fetch)(word + 2, 0), was;                                                      \
      while ((was = FT(NAME, atomic_compare_swap)(word + 2, seen, (T)(seen + 2), 0)) != seen) seen = was;     \
    }                                                                                                         \
    long long *all = (long long *)heap + 8;                                                                   \
    FT(longlong, put)(all + me, &sum, 1, 0);                                                                  \
    F(barrier_all)();                                                                                         \
    if (me == 0) {                                                                                            \
      long long total = 0, count = (long long)n * TIMES, adds = 0;                                            \
      for (int pe = 0; pe < n; pe++) total += all[pe], adds += (long long)TIMES * (pe + 1);                   \
      CHECK_IN(where, total == count * (count - 1) / 2 && word[0] == (T)count);                               \
      CHECK_IN(where, word[1] == (T)adds && word[2] == (T)(2 * count));                                       \
    }                                                                                                         \
    F(barrier_all)();                                                                                         \
    word[0] = word[1] = word[2] = 0;                                                                          \
    F(barrier_all)();                                                                                         \
  }                                                                                                           \
  static void arithmetic_##NAME(void) {                                                                       \
    static T global[3];                                                                                       \
    arithmetic_on_##NAME((T *)heap, #NAME " heap");                                                           \
    if (globals_are_symmetric()) arithmetic_on_##NAME(global, #NAME " global");                               \
  }

#define BITWISE(NAME, T)                                                                                      \
  static void bitwise_##NAME(void) {                                                                          \
    const char *where = #NAME;                                                                                \
    T *word = (T *)heap, got = 0;                                                                             \
    (void)got;                                                                                                \
    *word = (T)0xF0;                                                                                          \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, FT(NAME, atomic_fetch_and)(word, (T)0x30, next) == (T)0xF0);                              \
    CHECK_IN(where, FT(NAME, atomic_fetch_or)(word, (T)0x03, next) == (T)0x30);                               \
    CHECK_IN(where, FT(NAME, atomic_fetch_xor)(word, (T)0x11, next) == (T)0x33);                              \
    FT(NAME, atomic_and)(word, (T)0x0F, next);                                                                \
    F(fence)();                                                                                               \
    FT(NAME, atomic_or)(word, (T)0x50, next);                                                                 \
    F(fence)();                                                                                               \
    FT(NAME, atomic_xor)(word, (T)0xFF, next);                                                                \
    F(quiet)();                                                                                               \
    WITH_NBI(FT(NAME, atomic_fetch_or_nbi)(&got, word, (T)0x01, next); F(quiet)();                            \
             CHECK_IN(where, got == (T)0xAD); FT(NAME, atomic_fetch_and_nbi)(&got, word, (T)0xFF, next);      \
             F(quiet)(); CHECK_IN(where, got == (T)0xAD);                                                     \
             FT(NAME, atomic_fetch_xor_nbi)(&got, word, (T)0, next); F(quiet)();                              \
             CHECK_IN(where, got == (T)0xAD);)                                                                \
    CHECK_IN(where, FT(NAME, atomic_fetch_xor)(word, (T)0xAD, next) == (T)0xAD);                              \
    F(barrier_all)();                                                                                         \
    CHECK_IN(where, *word == 0);                                                                              \
    F(barrier_all)();                                                                                         \
    WITH_CTX(CHECK_IN(where, FCT(NAME, atomic_fetch_or)(ctx, word, (T)6, next) == 0);                         \
             FCT(NAME, atomic_and)(ctx, word, (T)4, next); F(ctx_fence)(ctx);                                 \
             CHECK_IN(where, FCT(NAME, atomic_fetch_xor)(ctx, word, (T)4, next) == (T)4);                     \
             FCT(NAME, atomic_or)(ctx, word, (T)9, next); F(ctx_fence)(ctx);                                  \
             FCT(NAME, atomic_xor)(ctx, word, (T)1, next); F(ctx_quiet)(ctx);                                 \
             CHECK_IN(where, FCT(NAME, atomic_fetch_and)(ctx, word, (T)0, next) == (T)8);                     \
             F(ctx_quiet)(ctx); F(barrier_all)();)                                                            \
    T bit = (T)((T)1 << (me % 31));                                                                           \
    for (int i = 0; i < TIMES; i++) FT(NAME, atomic_xor)(word, bit, 0), FT(NAME, atomic_or)(word + 1, bit, 0); \
    F(barrier_all)();                                                                                         \
    if (me == 0) {                                                                                            \
      T either = 0, odd = 0;                                                                                  \
      for (int pe = 0; pe < n; pe++) either |= (T)((T)1 << (pe % 31)), odd ^= (T)((T)1 << (pe % 31));         \
      CHECK_IN(where, word[1] == either && word[0] == odd);                                                   \
    }                                                                                                         \
    F(barrier_all)();                                                                                         \
    word[0] = word[1] = 0;                                                                                    \
    F(barrier_all)();                                                                                         \
  }

EXT_AMO_TYPES(EXTENDED)
AMO_TYPES(ARITHMETIC)
BIT_AMO_TYPES(BITWISE)

int main(void) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  heap = F(calloc)(8 + 128, 8);
  WITH_CTX(CHECK(F(ctx_create)(0, &ctx) == 0);)
#define RUN_EXTENDED(NAME, T) extended_##NAME();
#define RUN_ARITHMETIC(NAME, T)                                                                               \
  memset(heap, 0, 64);                                                                                        \
  arithmetic_##NAME();
#define RUN_BITWISE(NAME, T)                                                                                  \
  memset(heap, 0, 64);                                                                                        \
  bitwise_##NAME();
  EXT_AMO_TYPES(RUN_EXTENDED)
  F(barrier_all)();
  AMO_TYPES(RUN_ARITHMETIC)
  BIT_AMO_TYPES(RUN_BITWISE)
  WITH_CTX(F(ctx_destroy)(ctx);)
  return verdict();
}
