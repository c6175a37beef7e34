/* Typed names of all three families, by the lists that the headers themselves use: with the inline forms
 * and, under -DDUSHMEM_NO_INLINE, without. One PE. Plain C99 and C++. */
#include <dushmemx.h>
#include <nvshmemx.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
#include <complex>
#endif

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* One function a type, so that compiling stays quick. */
#define FUNCTION static __attribute__((noinline)) void

static void *heap;
static uint64_t *word;

#define CALL_RMA(F, NAME, T) F##_##NAME##_RMA_check();
#define RMA(F, NAME, T) \
    FUNCTION F##_##NAME##_RMA_check(void) { \
        T *dest = (T *)heap, source[80], back[80]; \
        size_t i; \
        memset(heap, 0, 4096); \
        for (i = 0; i < 80; i++) \
            source[i] = (T)(3 * i); \
        F##_##NAME##_put(dest, source, 1, 0); \
        F##_##NAME##_put(dest + 1, source + 1, 79, 0); \
        F##_##NAME##_get(back, dest, 80, 0); \
        F##_##NAME##_get(back + 5, dest + 5, 1, 0); \
        for (i = 0; i < 80; i++) \
            CHECK(dest[i] == source[i] && back[i] == source[i]); \
        F##_##NAME##_p(dest + 7, (T)99, 0); \
        CHECK(dest[7] == (T)99 && F##_##NAME##_g(dest + 7, 0) == (T)99); \
        F##_##NAME##_put_nbi(dest, source + 4, 4, 0); \
        F##_##NAME##_get_nbi(back, dest, 4, 0); \
        F##_quiet(); \
        CHECK(dest[3] == source[7] && back[3] == source[7]); \
        F##_##NAME##_iput(dest, source, 3, 2, 5, 0); \
        CHECK(dest[12] == source[8]); \
        F##_##NAME##_iget(back, dest, 2, 3, 5, 0); \
        CHECK(back[8] == source[8]); \
        *word = 1; \
        F##_##NAME##_put_signal(dest, source, 9, word, 4, SHMEM_SIGNAL_SET, 0); \
        CHECK(*word == 4 && dest[8] == source[8]); \
        F##_##NAME##_put_signal_nbi(dest, source + 1, 9, word, 4, SHMEM_SIGNAL_ADD, 0); \
        F##_quiet(); \
        CHECK(*word == 8 && dest[8] == source[9]); \
        CHECK(F##_##NAME##_broadcast(0, dest + 20, dest, 3, 0) == 0 && dest[22] == dest[2]); \
        CHECK(F##_##NAME##_fcollect(0, dest + 30, dest, 3) == 0 && dest[32] == dest[2]); \
        CHECK(F##_##NAME##_alltoall(0, dest + 40, dest, 3) == 0 && dest[42] == dest[2]); \
    }

#define SIZED(F, BITS) \
    { \
        char *dest = (char *)heap, back[512]; \
        size_t n = 300 / (BITS / 8), bytes = n * (BITS / 8), i; \
        for (i = 0; i < 512; i++) { \
            dest[i] = 0; \
            back[i] = (char)(i * 7); \
        } \
        F##_put##BITS(dest, back, n, 0); \
        CHECK(memcmp(dest, back, bytes) == 0 && dest[bytes] == 0); \
        memset(back, 0, sizeof back); \
        F##_get##BITS(back, dest, n, 0); \
        CHECK(memcmp(dest, back, bytes) == 0 && back[bytes] == 0); \
        F##_put##BITS(dest + 512, back, 1, 0); \
        CHECK(memcmp(dest + 512, back, BITS / 8) == 0); \
        F##_iput##BITS(dest + 1024, back, 2, 1, 4, 0); \
        CHECK(memcmp(dest + 1024 + 6 * (BITS / 8), back + 3 * (BITS / 8), BITS / 8) == 0); \
    }

#define MEMORY(F) \
    { \
        char *dest = (char *)heap, back[3000]; \
        size_t i; \
        for (i = 0; i < 3000; i++) \
            back[i] = (char)(i * 11); \
        F##_putmem(dest, back, 3000, 0); \
        CHECK(memcmp(dest, back, 3000) == 0); \
        F##_putmem(dest + 1, back, 200, 0); \
        CHECK(memcmp(dest + 1, back, 200) == 0); \
        F##_getmem(back + 500, dest + 1, 13, 0); \
        CHECK(memcmp(dest + 1, back + 500, 13) == 0); \
        F##_putmem(NULL, NULL, 0, 0); \
        F##_getmem(NULL, NULL, 0, 0); \
    }

#define CALL_AMO_EXT(F, NAME, T) F##_##NAME##_AMO_EXT_check();
#define AMO_EXT(F, NAME, T) \
    FUNCTION F##_##NAME##_AMO_EXT_check(void) { \
        T *at = (T *)heap; \
        F##_##NAME##_atomic_set(at, (T)5, 0); \
        CHECK(F##_##NAME##_atomic_fetch(at, 0) == (T)5); \
        CHECK(F##_##NAME##_atomic_swap(at, (T)6, 0) == (T)5 && *at == (T)6); \
    }

#define CALL_AMO(F, NAME, T) F##_##NAME##_AMO_check();
#define AMO(F, NAME, T) \
    FUNCTION F##_##NAME##_AMO_check(void) { \
        T *at = (T *)heap; \
        *at = 6; \
        CHECK(F##_##NAME##_atomic_compare_swap(at, (T)6, (T)7, 0) == (T)6); \
        CHECK(F##_##NAME##_atomic_compare_swap(at, (T)6, (T)8, 0) == (T)7 && *at == (T)7); \
        F##_##NAME##_atomic_inc(at, 0); \
        CHECK(F##_##NAME##_atomic_fetch_inc(at, 0) == (T)8); \
        F##_##NAME##_atomic_add(at, (T)10, 0); \
        CHECK(F##_##NAME##_atomic_fetch_add(at, (T)-1, 0) == (T)19 && *at == (T)18); \
    }

#define CALL_AMO_BIT(F, NAME, T) F##_##NAME##_AMO_BIT_check();
#define AMO_BIT(F, NAME, T) \
    FUNCTION F##_##NAME##_AMO_BIT_check(void) { \
        T *at = (T *)heap; \
        *at = 12; \
        F##_##NAME##_atomic_and(at, (T)6, 0); \
        F##_##NAME##_atomic_or(at, (T)3, 0); \
        F##_##NAME##_atomic_xor(at, (T)1, 0); \
        CHECK(F##_##NAME##_atomic_fetch_and(at, (T)4, 0) == (T)6); \
        CHECK(F##_##NAME##_atomic_fetch_or(at, (T)1, 0) == (T)4); \
        CHECK(F##_##NAME##_atomic_fetch_xor(at, (T)4, 0) == (T)5 && *at == (T)1); \
    }

#define CALL_AMO_NBI(F, NAME, T) F##_##NAME##_AMO_NBI_check();
#define AMO_NBI(F, NAME, T) \
    FUNCTION F##_##NAME##_AMO_NBI_check(void) { \
        T *at = (T *)heap, old[8]; \
        *at = 6; \
        F##_##NAME##_atomic_fetch_nbi(old, at, 0); \
        F##_quiet(); \
        F##_##NAME##_atomic_fetch_inc_nbi(old + 1, at, 0); \
        F##_quiet(); \
        F##_##NAME##_atomic_fetch_add_nbi(old + 2, at, (T)2, 0); \
        F##_quiet(); \
        F##_##NAME##_atomic_swap_nbi(old + 3, at, (T)1, 0); \
        F##_quiet(); \
        F##_##NAME##_atomic_compare_swap_nbi(old + 4, at, (T)1, (T)3, 0); \
        F##_quiet(); \
        CHECK(old[0] == 6 && old[1] == 6 && old[2] == 7 && old[3] == 9 && old[4] == 1 && *at == 3); \
    }

#define CALL_WAIT(F, NAME, T) F##_##NAME##_WAIT_check();
#define WAIT(F, NAME, T) \
    FUNCTION F##_##NAME##_WAIT_check(void) { \
        T *at = (T *)heap; \
        *at = 3; \
        F##_##NAME##_wait_until(at, SHMEM_CMP_GE, (T)2); \
        CHECK(F##_##NAME##_test(at, SHMEM_CMP_EQ, (T)3) == 1); \
        CHECK(F##_##NAME##_test(at, SHMEM_CMP_NE, (T)3) == 0); \
    }

#define CALL_WAIT_MANY(F, NAME, T) F##_##NAME##_WAIT_MANY_check();
#define WAIT_MANY(F, NAME, T) \
    FUNCTION F##_##NAME##_WAIT_MANY_check(void) { \
        T *at = (T *)heap, values[4]; \
        size_t indices[4], i; \
        int status[4] = {0, 1, 0, 0}; \
        for (i = 0; i < 4; i++) { \
            at[i] = (T)i; \
            values[i] = (T)i; \
        } \
        F##_##NAME##_wait_until_all(at, 4, NULL, SHMEM_CMP_LT, (T)4); \
        F##_##NAME##_wait_until_all_vector(at, 4, NULL, SHMEM_CMP_EQ, values); \
        CHECK(F##_##NAME##_wait_until_any(at, 4, status, SHMEM_CMP_EQ, (T)2) == 2); \
        CHECK(F##_##NAME##_wait_until_any_vector(at, 0, NULL, SHMEM_CMP_EQ, values) == SIZE_MAX); \
        CHECK(F##_##NAME##_wait_until_some(at, 4, indices, status, SHMEM_CMP_GE, (T)1) == 2); \
        CHECK(indices[0] + indices[1] == 5); \
        CHECK(F##_##NAME##_wait_until_some_vector(at, 4, indices, status, SHMEM_CMP_EQ, values) == 3); \
        CHECK(F##_##NAME##_test_all(at, 4, NULL, SHMEM_CMP_LT, (T)3) == 0); \
        CHECK(F##_##NAME##_test_all_vector(at, 4, NULL, SHMEM_CMP_EQ, values) == 1); \
        CHECK(F##_##NAME##_test_any(at, 4, status, SHMEM_CMP_EQ, (T)1) == SIZE_MAX); \
        CHECK(F##_##NAME##_test_any_vector(at + 1, 1, NULL, SHMEM_CMP_GT, values) == 0); \
        CHECK(F##_##NAME##_test_some(at, 4, indices, status, SHMEM_CMP_EQ, (T)1) == 0); \
        CHECK(F##_##NAME##_test_some_vector(at, 4, indices, NULL, SHMEM_CMP_EQ, values) == 4); \
    }

#define CALL_REDUCE_BIT(F, NAME, T) F##_##NAME##_REDUCE_BIT_check();
#define REDUCE_BIT(F, NAME, T) \
    FUNCTION F##_##NAME##_REDUCE_BIT_check(void) { \
        T *at = (T *)heap; \
        at[0] = 5; \
        CHECK(F##_##NAME##_and_reduce(0, at + 1, at, 1) == 0 && at[1] == 5); \
        CHECK(F##_##NAME##_or_reduce(0, at + 2, at, 2) == 0 && at[3] == 5); \
        CHECK(F##_##NAME##_xor_reduce(0, at, at, 1) == 0 && at[0] == 5); \
    }

#define CALL_REDUCE_ORD(F, NAME, T) F##_##NAME##_REDUCE_ORD_check();
#define REDUCE_ORD(F, NAME, T) \
    FUNCTION F##_##NAME##_REDUCE_ORD_check(void) { \
        T *at = (T *)heap; \
        at[0] = 5; \
        CHECK(F##_##NAME##_max_reduce(0, at + 1, at, 1) == 0 && at[1] == 5); \
        CHECK(F##_##NAME##_min_reduce(0, at + 2, at, 2) == 0 && at[3] == 5); \
    }

#define CALL_REDUCE_SUM(F, NAME, T) F##_##NAME##_REDUCE_SUM_check();
#define REDUCE_SUM(F, NAME, T) \
    FUNCTION F##_##NAME##_REDUCE_SUM_check(void) { \
        T *at = (T *)heap; \
        at[0] = 5; \
        CHECK(F##_##NAME##_sum_reduce(0, at + 1, at, 1) == 0 && at[1] == (T)5); \
        CHECK(F##_##NAME##_prod_reduce(0, at + 2, at, 2) == 0 && at[3] == (T)5); \
    }

#define FAMILY(F) \
    DUSHMEM_IMPL_EACH_rma_##F(RMA, F) \
    DUSHMEM_IMPL_EACH_amo_ext_##F(AMO_EXT, F) \
    DUSHMEM_IMPL_EACH_amo_##F(AMO, F) \
    DUSHMEM_IMPL_EACH_amo_bit_##F(AMO_BIT, F) \
    DUSHMEM_IMPL_EACH_wait_##F(WAIT, F) \
    DUSHMEM_IMPL_EACH_wait_many_##F(WAIT_MANY, F) \
    DUSHMEM_IMPL_EACH_reduce_bit_##F(REDUCE_BIT, F) \
    DUSHMEM_IMPL_EACH_reduce_ord_##F(REDUCE_ORD, F) \
    DUSHMEM_IMPL_EACH_reduce_sum_##F(REDUCE_SUM, F) \
    FUNCTION check_##F(void) { \
        DUSHMEM_IMPL_EACH_rma_##F(CALL_RMA, F) \
        DUSHMEM_IMPL_EACH_amo_ext_##F(CALL_AMO_EXT, F) \
        DUSHMEM_IMPL_EACH_amo_##F(CALL_AMO, F) \
        DUSHMEM_IMPL_EACH_amo_bit_##F(CALL_AMO_BIT, F) \
        DUSHMEM_IMPL_EACH_wait_##F(CALL_WAIT, F) \
        DUSHMEM_IMPL_EACH_wait_many_##F(CALL_WAIT_MANY, F) \
        DUSHMEM_IMPL_EACH_reduce_bit_##F(CALL_REDUCE_BIT, F) \
        DUSHMEM_IMPL_EACH_reduce_ord_##F(CALL_REDUCE_ORD, F) \
        DUSHMEM_IMPL_EACH_reduce_sum_##F(CALL_REDUCE_SUM, F) \
        SIZED(F, 8) \
        SIZED(F, 16) \
        SIZED(F, 32) \
        SIZED(F, 64) \
        SIZED(F, 128) \
        MEMORY(F) \
    }

FAMILY(dushmem)
FAMILY(nvshmem)
FAMILY(shmem)

DUSHMEM_IMPL_EACH_amo_shmem(AMO_NBI, shmem)
DUSHMEM_IMPL_EACH_amo_dushmem(AMO_NBI, dushmem)

static void check_nbi(void) {
    DUSHMEM_IMPL_EACH_amo_shmem(CALL_AMO_NBI, shmem)
    DUSHMEM_IMPL_EACH_amo_dushmem(CALL_AMO_NBI, dushmem)
}

/* Set-up, memory, teams, contexts: what each answers. */
static void check_queries(void) {
    int a = -1, b = -1, c = -1;
    char name[SHMEM_MAX_NAME_LEN];
    long lock_free;
    shmem_team_t team;
    shmem_team_config_t config;
    nvshmem_team_config_t versioned = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    shmem_ctx_t ctx;
    long *lock = (long *)shmem_calloc(1, sizeof *lock);
    shmem_info_get_version(&a, &b);
    CHECK(a == SHMEM_MAJOR_VERSION && b == SHMEM_MINOR_VERSION);
    nvshmem_info_get_version(&a, &b);
    CHECK(a == NVSHMEM_MAJOR_VERSION && b == NVSHMEM_MINOR_VERSION);
    nvshmemx_vendor_get_version_info(&a, &b, &c);
    CHECK(a == NVSHMEM_VENDOR_MAJOR_VERSION && b == NVSHMEM_VENDOR_MINOR_VERSION && c == NVSHMEM_VENDOR_PATCH_VERSION);
    dushmemx_vendor_get_version_info(&a, &b, &c);
    CHECK(a == DUSHMEM_VENDOR_MAJOR_VERSION && b == DUSHMEM_VENDOR_MINOR_VERSION && c == DUSHMEM_VENDOR_PATCH_VERSION);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    CHECK(shmem_ptr(heap, 0) == heap && shmem_team_ptr(SHMEM_TEAM_WORLD, heap, 0) == heap);
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, 0) == NULL);
    CHECK(shmem_addr_accessible(heap, 0) == 1 && shmem_addr_accessible(&a, 0) == 0 && shmem_addr_accessible(heap, 1) == 0);
    CHECK(shmem_pe_accessible(0) == 1 && shmem_pe_accessible(1) == 0 && shmem_pe_accessible(-1) == 0);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_SHARED) == 1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED) == 0);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, SHMEM_TEAM_SHARED) == -1);
    config.num_contexts = 3;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(team >= NVSHMEM_TEAMS_MIN && shmem_team_n_pes(team) == 1);
    config.num_contexts = 0;
    CHECK(shmem_team_get_config(team, 0, NULL) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3);
    nvshmem_team_get_config(team, &versioned);
    CHECK(versioned.num_contexts == 3);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, NULL) != 0);
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    a = 0;
    CHECK(shmem_ctx_get_team(ctx, &a) == 0 && a == team);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &a) != 0 && a == SHMEM_TEAM_INVALID);
    shmem_ctx_int_p(ctx, (int *)heap, 41, 0);
    shmem_ctx_fence(ctx);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    a = 0;
    shmem_ctx_pe_quiet(ctx, &a, 1);
    shmem_pe_quiet(NULL, 0);
    CHECK(shmem_ctx_int_g(ctx, (int *)heap, 0) == 41);
    shmem_team_destroy(team); /* and its context */
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    CHECK(shmem_team_sync(team) != 0); /* a stale handle */
    CHECK(shmem_team_create_ctx(team, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    CHECK(shmem_test_lock(lock) == 0);
    lock_free = shmem_test_lock(lock);
    CHECK(lock_free == 1);
    shmem_clear_lock(lock);
    shmem_set_lock(lock);
    shmem_clear_lock(lock);
    CHECK(shmem_malloc(0) == NULL && shmem_malloc((size_t)1 << 40) == NULL && shmem_calloc(SIZE_MAX, 2) == NULL);
    CHECK(((uintptr_t)shmem_align(4096, 8) & 4095) == 0);
    CHECK(shmem_malloc_with_hints(8, SHMEM_MALLOC_SIGNAL_REMOTE | 1024) != NULL);
}

/* Operations on the default stream, in order. Reading a value waits for the stream. */
#define STREAM(F, NAME, T) \
    { \
        T *dest = (T *)heap, source[4] = {(T)1, (T)2, (T)3, (T)4}; \
        *word = 0; \
        memset(heap, 0, 256); \
        F##x_##NAME##_put_on_stream(dest, source, 4, 0, NULL); \
        F##x_##NAME##_p_on_stream(dest, (T)9, 0, NULL); \
        F##x_barrier_all_on_stream(NULL); \
        F##x_##NAME##_put_signal_on_stream(dest + 4, dest, 4, word, 5, SHMEM_SIGNAL_SET, 0, NULL); \
        F##x_signal_wait_until_on_stream(word, SHMEM_CMP_EQ, 5, NULL); \
        F##x_##NAME##_iput_on_stream(dest + 8, dest, 2, 1, 2, 0, NULL); \
        F##x_quiet_on_stream(NULL); \
        CHECK(F##x_##NAME##_broadcast_on_stream(0, dest + 16, dest + 4, 2, 0, NULL) == 0); \
        CHECK(F##x_##NAME##_sum_reduce_on_stream(0, dest + 20, dest + 4, 2, NULL) == 0); \
        CHECK(F##x_barrier_on_stream(77, NULL) != 0 && F##x_team_sync_on_stream(0, NULL) == 0); \
        CHECK(F##x_##NAME##_g_on_stream(dest + 10, 0, NULL) == (T)2); \
        CHECK(dest[0] == (T)9 && dest[7] == (T)4 && dest[16] == (T)9 && dest[21] == (T)2 && *word == 5); \
    }

static void check_streams(void) {
    STREAM(nvshmem, int, int)
    STREAM(nvshmem, double, double)
    STREAM(dushmem, char, char)
    STREAM(dushmem, uint64, uint64_t)
}

int main(void) {
    int initialised = -1, level = -1;
    shmem_query_initialized(&initialised);
    CHECK(initialised == 0);
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
    nvshmem_init();
    heap = dushmem_malloc(65536);
    word = (uint64_t *)shmem_calloc(1, 8);
    CHECK(heap != NULL && word != NULL);
    check_dushmem();
    check_nvshmem();
    check_shmem();
    check_nbi();
    check_queries();
    check_streams();
    dushmem_barrier_all();
    nvshmem_sync_all();
    nvshmemx_signal_op(word, 17, NVSHMEM_SIGNAL_SET, 0);
    CHECK(dushmem_signal_fetch(word) == 17);
    heap = shmem_realloc(heap, 131072);
    CHECK(heap != NULL);
    nvshmem_finalize();
    shmem_query_initialized(&initialised);
    CHECK(initialised == 1);
    shmem_finalize();
    shmem_query_initialized(&initialised);
    CHECK(initialised == 0);
    dushmem_init(); /* again */
    CHECK(dushmem_n_pes() == 1);
    dushmem_finalize();
    puts("as it should be");
    return 0;
}
