/* Makes the mistake named by its argument. What is printed, and the exit code, are the test. */
/* NULL is one of them, of which gcc warns. */
#pragma GCC diagnostic ignored "-Wnonnull"
#include <dushmem.h>
#include <nvshmem.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static int is(const char *argument, const char *name) { return strcmp(argument, name) == 0; }

int main(int argc, char **argv) {
    const char *mistake = argc > 1 ? argv[1] : "";
    int local[4] = {0};
    int *x;
    if (is(mistake, "before-init"))
        dushmem_int_p(local, 1, 0);
    if (is(mistake, "my-pe-before-init"))
        return nvshmem_my_pe();
    if (is(mistake, "malloc-before-init"))
        return shmem_malloc(8) != NULL;
    shmem_init();
    x = (int *)shmem_malloc(64);
    if (is(mistake, "pe"))
        shmem_int_put(x, local, 1, 9);
    if (is(mistake, "negative-pe"))
        nvshmem_int_p(x, 1, -1);
    if (is(mistake, "address"))
        dushmem_int_atomic_add(local, 1, 0);
    if (is(mistake, "null"))
        shmem_int_get(NULL, x, 1, 0);
    if (is(mistake, "context"))
        shmem_ctx_int_put(SHMEM_CTX_INVALID, x, local, 1, 0);
    if (is(mistake, "default-context"))
        shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    if (is(mistake, "comparison"))
        shmem_int_wait_until(x, 17, 0);
    if (is(mistake, "signal-operator"))
        shmem_putmem_signal(x, local, 4, (uint64_t *)(x + 2), 1, 0, 0);
    if (is(mistake, "stride"))
        shmem_int_iput(x, local, 0, 1, 2, 0);
    if (is(mistake, "misaligned"))
        shmem_long_atomic_inc((long *)((char *)x + 4), 0);
    if (is(mistake, "team"))
        return shmem_int_sum_reduce(77, x, x, 1);
    if (is(mistake, "twice-finalized")) {
        shmem_finalize();
        shmem_finalize();
    }
    if (is(mistake, "full"))
        return shmem_malloc((size_t)1 << 32) == NULL ? 42 : 1;
    if (is(mistake, "exit"))
        shmem_global_exit(7);
    printf("the mistake went unnoticed\n");
    return 0;
}
