// C globals of the program as symmetric objects of kernels.
#include <cstdio>
#include <cuda_runtime.h>
#include <dushmem.h>

using namespace dushmem::device;

static int table[64];
static long long counter, flag;
static uint64_t signal_word;

__global__ void exchange(int *wrong) {
  const int me = my_pe(), npes = n_pes(), right = (me + 1) % npes, left = (me + npes - 1) % npes;
  if (threadIdx.x == 0) p(table, me + 1, right);
  __shared__ int mine[40];
  if (threadIdx.x < 40) mine[threadIdx.x] = int(threadIdx.x) * 3 + me;
  put_signal<scope::block>(table + 10, mine, 40, &signal_word, 4, DUSHMEM_SIGNAL_SET, right);
  signal_wait_until<scope::block>(&signal_word, DUSHMEM_CMP_EQ, 4);
  if (threadIdx.x < 40 && table[10 + threadIdx.x] != int(threadIdx.x) * 3 + left) atomicAdd(wrong, 1);
  atomic_add(&counter, 2, 0);
  quiet<scope::block>();
  if (threadIdx.x == 0) atomic_inc(&flag, 0);
  if (me == 0) {
    wait_until<scope::block>(&flag, DUSHMEM_CMP_EQ, npes);
    if (counter != 2ll * npes * blockDim.x) atomicAdd(wrong, 1);
  }
  if (g(table, right) != me + 1) atomicAdd(wrong, 1);
  int there[4];
  iget(there, table + 10, 1, 3, 4, right);
  for (int i = 0; i < 4; i++)
    if (there[i] != i * 9 + me) atomicAdd(wrong, 1);
}

int main() {
  dushmem_init();
  int *wrong;
  if (cudaMallocManaged(&wrong, sizeof(int)) != cudaSuccess) return 3;
  *wrong = 0;
  exchange<<<1, 64>>>(wrong);
  if (cudaDeviceSynchronize() != cudaSuccess) return 4;
  const int bad = *wrong;
  if (bad != 0) std::printf("PE %d: %d wrong\n", dushmem_my_pe(), bad);
  dushmem_barrier_all();
  if (dushmem_my_pe() == 0) std::puts(bad == 0 ? "all right" : "failures");
  dushmem_finalize();
  return bad != 0;
}
