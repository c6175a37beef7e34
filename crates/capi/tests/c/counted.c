/* Puts a number by a function that is inline, and prints what arrived. */
#include <shmem.h>
#include <stdio.h>

int main(void) {
    int *x;
    shmem_init();
    x = (int *)shmem_malloc(sizeof *x);
    shmem_int_p(x, 5, 0);
    printf("%d\n", *x);
    shmem_finalize();
    return 0;
}
