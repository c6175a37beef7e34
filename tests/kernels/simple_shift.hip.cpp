// The ring of the first article, as it stands there: no include beyond these two, no error checks.
#include <dushmem.h>
#include <dushmemx.h>

__global__ void simple_shift(int* destination) {
  int mype = dushmem_my_pe();
  int npes = dushmem_n_pes();
  int peer = (mype + 1) % npes;
  dushmem_int_p(destination, mype, peer);
}

int main() {
  dushmem_init();
  int mype_node = dushmem_team_my_pe(DUSHMEMX_TEAM_NODE);
  hipSetDevice(mype_node);
  hipStream_t stream;
  hipStreamCreate(&stream);
  int* destination = (int*)dushmem_malloc(sizeof(int));
  simple_shift<<<1, 1, 0, stream>>>(destination);
  dushmemx_barrier_all_on_stream(stream);
  int msg;
  hipMemcpyAsync(&msg, destination, sizeof(int), hipMemcpyDeviceToHost, stream);
  hipStreamSynchronize(stream);
  int expected = (dushmem_my_pe() - 1 + dushmem_n_pes()) % dushmem_n_pes();
  printf("PE %d: received %d, expected %d\n", dushmem_my_pe(), msg, expected);
  dushmem_free(destination);
  dushmem_finalize();
  return 0;
}
