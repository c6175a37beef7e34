/* A program that is linked with the library loads a library by the name in its argument as well: the same file, or a
 * copy of it. STATIC: the program has the static library in it. */
#include <dlfcn.h>
#include <shmem.h>
#include <stdio.h>
#include <string.h>

static long box;

int main(int argc, char **argv) {
  if (argc < 3) return 98;
  int loaded_first = !strcmp(argv[2], "first");
  if (!loaded_first) shmem_init();
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 97;
  }
  void (*init)(void) = (void (*)(void))dlsym(library, "shmem_init");
  int (*my_pe)(void) = (int (*)(void))dlsym(library, "shmem_my_pe");
  void (*barrier)(void) = (void (*)(void))dlsym(library, "shmem_barrier_all");
  void (*finalize)(void) = (void (*)(void))dlsym(library, "shmem_finalize");
  init();
  if (loaded_first) shmem_init();
  int me = shmem_my_pe(), n = shmem_n_pes();
  if (my_pe() != me) return 1;
  shmem_long_p(&box, 100 + me, (me + 1) % n);
  barrier();
  if (box != 100 + (me + n - 1) % n) return 2;
  shmem_barrier_all();
  finalize();
  shmem_finalize();
  return 0;
}
