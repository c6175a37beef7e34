/* What a program compiled for GPUs does where there is none: its unit registers, and it uses streams, which are CUDA's. */
#include <dushmem.h>
#include <dushmemx.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct module {
  uint32_t size, abi;
  const char *header;
  int (*push)(const void *state, size_t bytes, void *stream);
};
void dushmem_impl_register_module(const struct module *module);

static int push(const void *state, size_t bytes, void *stream) {
  (void)state, (void)bytes, (void)stream;
  return 0;
}

int main(int argc, char **argv) {
  static const struct module unit = {sizeof unit, 2, __FILE__, push};
  dushmem_impl_register_module(&unit);
  dushmem_init();
  int *word = (int *)dushmem_malloc(sizeof(int));
  if (argc > 1 && strcmp(argv[1], "put") == 0) dushmemx_int_p_on_stream(word, 1, 0, NULL);
  if (argc > 1 && strcmp(argv[1], "barrier") == 0) dushmemx_barrier_all_on_stream(NULL);
  if (argc > 1 && strcmp(argv[1], "team") == 0)
    return dushmemx_team_sync_on_stream(DUSHMEM_TEAM_WORLD, NULL) == 0 ? 0 : 7;
  dushmem_barrier_all();
  printf("the host's calls work\n");
  dushmem_free(word);
  dushmem_finalize();
  return 0;
}
