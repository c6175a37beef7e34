/* counted PUTS OF LONGS, PUTS OF INTS: a tool, if there is one, has to have seen so many calls. */
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
  shmem_init();
  int next = (shmem_my_pe() + 1) % shmem_n_pes();
  long *word = (long *)shmem_calloc(100, sizeof(long)), expected[2] = {-1, -1};
  int *ints = (int *)shmem_calloc(4, sizeof(int)), source[2] = {5, 6};
  for (int i = 0; i < 100; i++) shmem_long_p(word + i, i, next);
  for (int i = 0; i < 50; i++) shmem_int_put(ints, source, 2, next);
  shmem_barrier_all();
  CHECK(word[99] == 99 && ints[1] == 6);
  long (*count)(int);
  *(void **)&count = dlsym(RTLD_DEFAULT, "tool_count");
  for (int i = 0; i < 2 && i + 1 < argc; i++) expected[i] = atol(argv[i + 1]);
  for (int i = 0; i < 2; i++) CHECK((count ? count(i) : 0) == expected[i]);
  return verdict();
}
