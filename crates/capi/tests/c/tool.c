/* A tool in front of the library: it changes what is put, so that being called shows. */
void *shmem_ptr(const void *dest, int pe);

void shmem_int_p(int *dest, int value, int pe) { *(int *)shmem_ptr(dest, pe) = value + 1000; }
