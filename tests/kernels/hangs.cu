/* Kernels that wait for members that never come, one a run: hangs CASE. */
#include <dushmem.h>
#include <cuda_runtime.h>
#include <string.h>
#include <unistd.h>

__global__ void barrier() { dushmem_barrier_all(); }
__global__ void reduce(dushmem_team_t team, int *words) {
  dushmemx_int_sum_reduce_block(team, words, words + 64, 64);
}

int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : "";
  dushmem_init();
  int me = dushmem_my_pe();
  int *words = static_cast<int *>(dushmem_calloc(128, sizeof(int)));
  dushmem_team_t team;
  dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 2, 2, NULL, 0, &team);
  if (strcmp(wanted, "host") == 0) {
    if (me == 1) dushmem_barrier_all();
    if (me != 3) barrier<<<1, 1>>>();
  }
  if (strcmp(wanted, "team") == 0 && me == 0) reduce<<<1, 64>>>(team, words);
  cudaDeviceSynchronize();
  for (;;) sleep(1);
}
