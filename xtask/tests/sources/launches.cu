// Launches by address, with literal zeros, from templates, and dynamic shared memory that is used as two types.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int *a, int v) { atomicAdd(a, v * (int)blockDim.x); }

template <class T> __global__ void zeros(int *out, const T *pointer, T value, int number) {
    out[0] = pointer == nullptr;
    out[1] = value == 0;
    out[2] = number;
}

__global__ void sum(const float *in, float *out, int n) {
    extern __shared__ float part[];
    int *counts = (int *)(part + blockDim.x);
    const int t = threadIdx.x;
    part[t] = t < n ? in[t] : 0;
    counts[t] = 1;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) {
            part[t] += part[t + s];
            counts[t] += counts[t + s];
        }
        __syncthreads();
    }
    if (t == 0) *out = counts[0] == (int)blockDim.x ? part[0] : -1;
}

int main() {
    int *a = nullptr, *flags = nullptr;
    float *in = nullptr, *out = nullptr;
    cudaMalloc(&a, sizeof(int));
    cudaMalloc(&flags, 3 * sizeof(int));
    cudaMalloc(&in, 64 * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemset(a, 0, sizeof(int));
    float host[64];
    for (int i = 0; i < 64; i++) host[i] = (float)i;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);

    int v = 5;
    void *arguments[] = {&a, &v};
    cudaLaunchKernel((void *)add, dim3(2), dim3(3), arguments, 0, 0);
    cudaLaunchKernel((const void *)add, dim3(1), dim3(1), arguments, 0, nullptr);
    add<<<4, 3>>>(a, v);
    zeros<float><<<1, 1>>>(flags, 0, 0, 7);
    const int bytes = 64 * (sizeof(float) + sizeof(int)); // an int where a size is wanted
    sum<<<1, 64, bytes>>>(in, out, 64);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;

    int number = 0, seen[3] = {};
    float total = 0;
    cudaMemcpy(&number, a, sizeof number, cudaMemcpyDeviceToHost);
    cudaMemcpy(seen, flags, sizeof seen, cudaMemcpyDeviceToHost);
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    std::printf("add %d\nzeros %d %d %d\nsum %g\n", number, seen[0], seen[1], seen[2], total);
    return 0;
}
