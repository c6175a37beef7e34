/* One name for all types, in C11 and C++, with and without a context; and the shapes of the DUSHMEM
 * article. One PE: what it sends, it receives. */
#include <shmem.h>
#include <nvshmemx.h>
#include <dushmemx.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
#include <complex> /* behind the headers, which declare it */
typedef std::complex<float> complexf;
typedef std::complex<double> complexd;
#else
typedef float _Complex complexf;
typedef double _Complex complexd;
#endif

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* The waits and tests for sets. */
#define WAITS(T) \
    do { \
        size_t found[1]; \
        T values[1]; \
        values[0] = (T)11; \
        shmem_wait_until_all(word, 1, (const int *)0, SHMEM_CMP_EQ, (T)11); \
        CHECK(shmem_wait_until_some(word, 1, found, (const int *)0, SHMEM_CMP_EQ, (T)11) == 1 && found[0] == 0); \
        shmem_wait_until_all_vector(word, 1, (const int *)0, SHMEM_CMP_EQ, values); \
        CHECK(shmem_wait_until_any_vector(word, 1, (const int *)0, SHMEM_CMP_EQ, values) == 0); \
        CHECK(shmem_wait_until_some_vector(word, 1, found, (const int *)0, SHMEM_CMP_EQ, values) == 1); \
        CHECK(shmem_test_all(word, 1, (const int *)0, SHMEM_CMP_EQ, (T)11) == 1); \
        CHECK(shmem_test_any(word, 1, (const int *)0, SHMEM_CMP_NE, (T)11) == SIZE_MAX); \
        CHECK(shmem_test_some(word, 1, found, (const int *)0, SHMEM_CMP_EQ, (T)11) == 1); \
        CHECK(shmem_test_all_vector(word, 1, (const int *)0, SHMEM_CMP_NE, values) == 0); \
        CHECK(shmem_test_any_vector(word, 1, (const int *)0, SHMEM_CMP_EQ, values) == 0); \
        CHECK(shmem_test_some_vector(word, 1, found, (const int *)0, SHMEM_CMP_NE, values) == 0); \
    } while (0)

/* The other nonblocking atomics: each shows what was there. */
#define MORE_ATOMICS(T) \
    do { \
        T seen[12]; \
        shmem_atomic_set(ctx, word, (T)4, 0); \
        shmem_atomic_fetch_nbi(&seen[0], word, 0); \
        shmem_atomic_fetch_nbi(ctx, &seen[1], (const T *)word, 0); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        CHECK(seen[0] == 4 && seen[1] == 4); \
        shmem_atomic_swap_nbi(&seen[2], word, (T)5, 0); \
        shmem_quiet(); \
        shmem_atomic_fetch_inc_nbi(ctx, &seen[3], word, 0); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_fetch_and_nbi(&seen[4], word, (T)3, 0); \
        shmem_quiet(); \
        shmem_atomic_fetch_or_nbi(ctx, &seen[5], word, (T)8, 0); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_fetch_xor_nbi(&seen[6], word, (T)1, 0); \
        shmem_quiet(); \
        CHECK(seen[2] == 4 && seen[3] == 5 && seen[4] == 6 && seen[5] == 2 && seen[6] == 10 && *word == 11); \
        /* the names before 1.4 */ \
        shmem_set(word, (T)1, 0); \
        shmem_inc(word, 0); \
        shmem_add(word, (T)2, 0); \
        CHECK(shmem_fetch((const T *)word, 0) == 4 && shmem_finc(word, 0) == 4 && shmem_fadd(word, (T)2, 0) == 5); \
        CHECK(shmem_swap(word, (T)8, 0) == 7 && shmem_cswap(word, (T)8, (T)9, 0) == 8 && *word == 9); \
    } while (0)

/* All operations of a type of atomics. */
#define ATOMICS(T) \
    do { \
        T *word = (T *)shmem_malloc(sizeof(T) * 4); \
        T old = 0; \
        word[0] = 5; \
        shmem_atomic_add(word, (T)2, 0); \
        shmem_atomic_inc(ctx, word, 0); \
        CHECK(shmem_atomic_fetch(word, 0) == 8); \
        CHECK(shmem_atomic_fetch(ctx, (const T *)word, 0) == 8); \
        CHECK(shmem_atomic_fetch_add(ctx, word, (T)1, 0) == 8); \
        CHECK(shmem_atomic_fetch_inc(word, 0) == 9); \
        CHECK(shmem_atomic_swap(word, (T)20, 0) == 10); \
        CHECK(shmem_atomic_compare_swap(word, (T)20, (T)30, 0) == 20); \
        CHECK(shmem_atomic_compare_swap(ctx, word, (T)20, (T)40, 0) == 30); \
        shmem_atomic_set(word, (T)6, 0); \
        CHECK(shmem_atomic_fetch_and(word, (T)12, 0) == 6); \
        CHECK(shmem_atomic_fetch_or(word, (T)3, 0) == 4); \
        CHECK(shmem_atomic_fetch_xor(ctx, word, (T)1, 0) == 7); \
        shmem_atomic_and(word, (T)2, 0); \
        shmem_atomic_or(word, (T)8, 0); \
        shmem_atomic_xor(word, (T)3, 0); \
        shmem_atomic_fetch_add_nbi(&old, word, (T)1, 0); \
        shmem_quiet(); \
        CHECK(old == 9 && *word == 10); \
        shmem_atomic_compare_swap_nbi(ctx, &old, word, (T)10, (T)11, 0); \
        shmem_ctx_quiet(ctx); \
        CHECK(old == 10); \
        shmem_wait_until(word, SHMEM_CMP_EQ, (T)11); \
        CHECK(shmem_test(word, SHMEM_CMP_GT, (T)10) && !shmem_test(word, SHMEM_CMP_LT, (T)11)); \
        CHECK(shmem_test(word, SHMEM_CMP_LE, (T)11) && shmem_test(word, SHMEM_CMP_GE, (T)11)); \
        CHECK(shmem_wait_until_any(word, 1, (const int *)0, SHMEM_CMP_NE, (T)0) == 0); \
        WAITS(T); \
        MORE_ATOMICS(T); \
        shmem_free(word); \
    } while (0)

/* All transfers of a type. */
#define TRANSFERS(T) \
    do { \
        T *dest = (T *)dushmem_malloc(sizeof(T) * 64); \
        T source[64], back[64]; \
        int i; \
        for (i = 0; i < 64; i++) { \
            source[i] = (T)(i + 1); \
            back[i] = 0; \
        } \
        shmem_put(dest, source, 64, 0); \
        shmem_get(ctx, back, dest, 64, 0); \
        for (i = 0; i < 64; i++) \
            CHECK(back[i] == (T)(i + 1)); \
        shmem_p(dest, (T)77, 0); \
        CHECK(shmem_g(dest, 0) == (T)77); \
        shmem_p(ctx, dest, (T)78, 0); \
        CHECK(dushmem_g(dctx, (const T *)dest, 0) == (T)78); \
        dushmem_put(dctx, dest, source, 3, 0); \
        CHECK(dest[2] == (T)3); \
        shmem_iput(dest, source, 2, 1, 8, 0); \
        CHECK(dest[14] == (T)8); \
        shmem_put_nbi(ctx, dest, source + 1, 4, 0); \
        shmem_ctx_quiet(ctx); \
        CHECK(dest[3] == (T)5); \
        shmem_put_signal(dest, source, 2, signal_word, 3, SHMEM_SIGNAL_ADD, 0); \
        shmem_put_signal(ctx, dest, source, 2, signal_word, 3, SHMEM_SIGNAL_ADD, 0); \
        CHECK(shmem_signal_wait_until(signal_word, SHMEM_CMP_NE, 0) == 6); \
        shmem_signal_set(signal_word, 0, 0); \
        shmem_signal_set(ctx, signal_word, 0, 0); \
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, back, dest, 2, 0) != 0); /* back is not symmetric */ \
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dest + 32, dest, 2, 0) == 0 && dest[33] == (T)2); \
        CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, dest + 40, dest, 2) == 0 && dest[41] == (T)2); \
        CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, dest + 50, dest, 2) == 0 && dest[51] == (T)2); \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest + 56, dest, 2) == 0 && dest[57] == (T)2); \
        CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, dest + 58, dest, 1) == 0 && dest[58] == (T)1); \
        CHECK(shmem_min_reduce(SHMEM_TEAM_WORLD, dest + 58, dest, 1) == 0 && dest[58] == (T)1); \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, dest + 58, dest + 1, 1) == 0 && dest[58] == (T)2); \
        CHECK(shmem_collect(SHMEM_TEAM_WORLD, dest + 42, dest, 2) == 0 && dest[43] == (T)2); \
        CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, dest + 44, dest, 2, 1, 2) == 0 && dest[46] == (T)2); \
        CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest + 48, dest, 2) == 0 && dest[49] == (T)2); \
        CHECK(shmem_sum_exscan(SHMEM_TEAM_WORLD, dest + 48, dest, 2) == 0 && dest[49] == (T)0); \
        shmem_ibput(dest + 8, source, 4, 2, 2, 3, 0); \
        CHECK(dest[12] == (T)3 && dest[13] == (T)4 && dest[16] == (T)5); \
        shmem_ibput(ctx, dest + 9, source, 4, 2, 2, 3, 0); \
        CHECK(dest[13] == (T)3); \
        back[1] = back[5] = 0; \
        shmem_ibget(back, dest + 9, 2, 4, 2, 3, 0); \
        shmem_ibget(ctx, back, dest + 9, 2, 4, 2, 3, 0); \
        CHECK(back[1] == (T)2 && back[5] == (T)6); \
        shmem_iget(back, dest + 9, 2, 4, 3, 0); \
        shmem_iget(ctx, back + 1, dest + 10, 2, 4, 3, 0); \
        shmem_iput(ctx, dest + 20, back, 1, 1, 6, 0); \
        CHECK(dest[22] == (T)3 && dest[23] == (T)4 && dest[25] == (T)6); \
        shmem_get_nbi(back, dest + 20, 6, 0); \
        shmem_get_nbi(ctx, back + 6, dest + 20, 6, 0); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        CHECK(back[5] == (T)6 && back[11] == (T)6); \
        shmem_put_signal_nbi(dest, source, 2, signal_word, 2, SHMEM_SIGNAL_SET, 0); \
        shmem_put_signal_nbi(ctx, dest, source, 2, signal_word, 2, SHMEM_SIGNAL_SET, 0); \
        shmem_signal_add(signal_word, 3, 0); \
        shmem_signal_add(ctx, signal_word, 3, 0); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        (void)shmem_signal_wait_until(signal_word, SHMEM_CMP_NE, 0); \
        shmem_signal_set(signal_word, 0, 0); \
        /* the article's shapes */ \
        CHECK(dushmem_broadcast(dest + 34, dest, 2, 0) == 0 && dest[35] == (T)2); \
        CHECK(dushmem_broadcast(DUSHMEM_TEAM_WORLD, dest + 36, dest, 2, 0) == 0 && dest[37] == (T)2); \
        CHECK(dushmem_alltoall(dest + 52, dest, 2) == 0 && dest[53] == (T)2); \
        CHECK(dushmem_alltoall(DUSHMEM_TEAM_WORLD, dest + 54, dest, 1) == 0 && dest[54] == (T)1); \
        CHECK(dushmem_reduce(dest + 60, dest, 2, DUSHMEM_SUM) == 0 && dest[61] == (T)2); \
        CHECK(dushmem_reduce(DUSHMEMX_TEAM_NODE, dest + 62, dest, 2, DUSHMEM_PROD) == 0 && dest[63] == (T)2); \
        CHECK(dushmem_reduce(dest, dest, 1, 99) != 0); \
        dushmem_free(dest); \
    } while (0)

/* Complex types have sum and prod only. */
#define COMPLEX(T) \
    do { \
        T *at = (T *)shmem_malloc(sizeof(T) * 4); \
        at[0] = (T)3; \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, at + 1, at, 1) == 0 && at[1] == (T)3); \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, at + 2, at, 1) == 0 && at[2] == (T)3); \
        CHECK(dushmem_reduce(at, at, 1, DUSHMEM_MAX) != 0); \
        shmem_free(at); \
    } while (0)

int main(void) {
    shmem_ctx_t ctx;
    dushmem_ctx_t dctx;
    uint64_t *signal_word;
    int *counter;
    long *sync;
    unsigned *bits;
    shmem_init();
    CHECK(shmem_n_pes() == 1 && nvshmem_my_pe() == 0);
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0 && ctx != SHMEM_CTX_INVALID);
    CHECK(dushmem_ctx_create(0, &dctx) == 0);
    signal_word = (uint64_t *)shmem_calloc(1, sizeof *signal_word);
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    /* The same name with an active set. */
    sync = (long *)shmem_calloc(SHMEM_SYNC_SIZE, sizeof *sync);
    shmem_sync(0, 0, 1, sync);
    shmem_barrier(0, 0, 1, sync);
    CHECK(dushmem_sync() == 0 && dushmem_sync(DUSHMEM_TEAM_WORLD) == 0 && dushmem_barrier(DUSHMEM_TEAM_WORLD) == 0);
    CHECK(nvshmem_sync(NVSHMEMX_TEAM_NODE) == 0);
    ATOMICS(int);
    ATOMICS(long);
    ATOMICS(long long);
    ATOMICS(unsigned int);
    ATOMICS(unsigned long);
    ATOMICS(unsigned long long);
    ATOMICS(int32_t);
    ATOMICS(size_t);
    TRANSFERS(char);
    TRANSFERS(signed char);
    TRANSFERS(short);
    TRANSFERS(int);
    TRANSFERS(long);
    TRANSFERS(long long);
    TRANSFERS(unsigned char);
    TRANSFERS(unsigned short);
    TRANSFERS(unsigned int);
    TRANSFERS(unsigned long);
    TRANSFERS(unsigned long long);
    TRANSFERS(float);
    TRANSFERS(double);
    TRANSFERS(long double);
    TRANSFERS(ptrdiff_t);
    COMPLEX(complexf);
    COMPLEX(complexd);
    /* Bitwise atomics on int, as the article has them. */
    counter = (int *)dushmem_calloc(1, sizeof *counter);
    CHECK(dushmem_int_atomic_fetch_or(counter, 6, 0) == 0);
    CHECK(dushmem_int_atomic_fetch_and(counter, 3, 0) == 6);
    CHECK(dushmem_int_atomic_fetch_xor(counter, 1, 0) == 2 && *counter == 3);
    bits = (unsigned *)shmem_calloc(2, sizeof *bits);
    bits[0] = 6;
    CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, bits + 1, bits, 1) == 0 && bits[1] == 6);
    CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, bits + 1, bits, 1) == 0 && bits[1] == 6);
    CHECK(shmem_xor_reduce(SHMEM_TEAM_WORLD, bits + 1, bits, 1) == 0 && bits[1] == 6);
    shmem_ctx_destroy(ctx);
    shmem_finalize();
    puts("as it should be");
    return 0;
}
