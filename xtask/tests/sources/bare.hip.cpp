// A program with a kernel that includes nothing but the library: the device compilers bring the rest.
#include <dushmem.h>
#include <dushmemx.h>

extern __shared__ int scratch[];

__global__ void add_up(int *total, int root) {
    scratch[threadIdx.x] = dushmem_my_pe() * blockDim.x + threadIdx.x;
    __syncthreads();
    if (threadIdx.x != 0) return;
    int sum = 0;
    for (unsigned i = 0; i < blockDim.x; i++) sum += scratch[i];
    dushmem_int_atomic_add(total, sum, root);
}

int main() {
    dushmem_init();
    const int threads = 16;
    const int all = threads * dushmem_n_pes();
    hipStream_t stream;
    hipStreamCreate(&stream);
    int *total = (int *)dushmem_malloc(sizeof(int));
    hipMemsetAsync(total, 0, sizeof(int), stream);
    dushmemx_barrier_all_on_stream(stream);
    add_up<<<1, threads, threads * sizeof(int), stream>>>(total, 0);
    dushmemx_barrier_all_on_stream(stream);
    int value = 0;
    hipMemcpyAsync(&value, total, sizeof(int), hipMemcpyDeviceToHost, stream);
    hipStreamSynchronize(stream);
    const int wanted = dushmem_my_pe() == 0 ? all * (all - 1) / 2 : 0;
    printf("PE %d: total %d, expected %d\n", dushmem_my_pe(), value, wanted);
    dushmem_free(total);
    dushmem_finalize();
    return value != wanted;
}
