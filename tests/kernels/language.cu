// What the language of kernels has: variables on the device, function pointers, templates, lambdas, members, default
// arguments, shared memory of all kinds. With language_part.cu it is one program.
#include "language.h"
#include <cstring>

// Variables.
__constant__ float weights[8];
static __constant__ int table[4] = {1, 2, 3, 4};
__device__ int offset = 5;
__device__ double matrix[3][4];
__device__ volatile int seen;
__managed__ int shared_by_all = 3, written_by_kernel;
static __device__ unsigned counter;

struct Config {
  int factor;
  float bias;
};
__constant__ Config config;

__global__ void variables(int *wrong) {
  const int i = int(threadIdx.x);
  EXPECT(weights[i % 8] == float(i % 8) + 0.5f);
  EXPECT(table[i % 4] == i % 4 + 1);
  EXPECT(offset == 42 && matrix[2][3] == 7.5);
  EXPECT(config.factor == 6 && config.bias == 0.25f);
  EXPECT(shared_by_all == 11);
  atomicAdd(&counter, 1u);
  __syncthreads();
  if (i == 0) {
    matrix[0][1] = 1.25;
    seen = 99;
    written_by_kernel = 12;
  }
}

// Function pointers.
typedef int (*Function)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Function add_pointer = add;
__device__ Function functions[2] = {add, multiply};

__global__ void pointers(int *wrong, Function given) {
  EXPECT(given(3, 4) == 7);
  EXPECT(functions[threadIdx.x % 2](5, 6) == (threadIdx.x % 2 ? 30 : 11));
  Function local = threadIdx.x > 3 ? multiply : add;
  EXPECT(local(2, 5) == (threadIdx.x > 3 ? 10 : 7));
}

// Templates, members, functors.
template <class T, int N> struct Buffer {
  T data[N];
  __host__ __device__ T sum() const {
    T total = T();
    for (int i = 0; i < N; i++) total += data[i];
    return total;
  }
  __device__ void fill(T value) {
#pragma unroll
    for (int i = 0; i < N; i++) data[i] = value;
  }
};

struct Plus {
  int more;
  __device__ int operator()(int x) const { return x + more; }
};

struct Base {
  int value;
  __device__ virtual int get() const { return value; }
  __device__ Base(int v) : value(v) {}
};
struct Derived : Base {
  __device__ Derived(int v) : Base(v) {}
  __device__ int get() const override { return -value; }
};

template <class T, int N, class F> __global__ __launch_bounds__(256) void with_template(int *wrong, Buffer<T, N> buffer, F f, T want) {
  // Static shared memory in a template, of a type that depends on it; of two dimensions; a struct.
  __shared__ T tile[N][N + 1];
  __shared__ Buffer<T, N> copy;
  __shared__ struct {
    int x;
    char c[3];
  } anonymous;
  const int i = int(threadIdx.x);
  if (i == 0) {
    copy.fill(T(9));
    EXPECT(copy.sum() == T(9 * N));
    copy = buffer;
    anonymous.x = f(10);
    anonymous.c[2] = 'z';
  }
  for (int at = i; at < N * N; at += int(blockDim.x)) tile[at / N][at % N] = T(at);
  __syncthreads();
  EXPECT(copy.sum() == want && buffer.sum() == want);
  EXPECT(anonymous.x == f(10) && anonymous.c[2] == 'z');
  for (int at = i; at < N * N; at += int(blockDim.x)) EXPECT(tile[at % N][at / N] == T(at % N * N + at / N));
  Derived derived(int(i) + 1);
  const Base &base = derived;
  EXPECT(base.get() == -(i + 1));
  EXPECT(square(3) == 9 && square(T(2)) == T(4));
}

// A kernel as a template's argument, and one that is a template's instance by its address.
template <class T> __global__ void set_to(T *out, T value) { *out = value; }
template <void (*Kernel)(int *, int)> void launch_with(int *out, int value) { Kernel<<<1, 1>>>(out, value); }
struct Times {
  int by;
  __device__ int operator()(int x) const { return x * by; }
};
template <class F> __global__ void apply(int *out, int n, F f) {
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x)) out[i] = f(i);
}

extern "C" __global__ void c_name(int *__restrict__ out, const int *__restrict__ in, int add = 1) { *out = *in + add; }
namespace inner {
__global__ void in_a_namespace(int *out) { *out += 100; }
} // namespace inner
__global__ void overloaded(int *out, int) { *out = 1; }
__global__ void overloaded(int *out, double) { *out = 2; }

__host__ __device__ int with_default(int a, int b = 7, int c = 1) { return a + b * c; }

// Dynamic shared memory of several types in one source, in a function and outside.
extern __shared__ __align__(16) unsigned char bytes[];
template <class T> __device__ T first_of(const T *values) { return values[0]; }
// The name can be a parameter's as well.
__device__ int sum_of(const int *bytes, int n) {
  int sum = bytes[0];
  for (int i = 1; i < n; i++) sum += *(bytes + i);
  return sum;
}
template <class T> __global__ void dynamic(int *wrong) {
  extern __shared__ double aligned[];
  T *values = reinterpret_cast<T *>(bytes);
  EXPECT((T *)bytes == values && (const void *)&bytes[0] == values && sizeof(bytes[0]) == 1);
  const unsigned i = threadIdx.x, n = blockDim.x;
  values[i] = T(i);
  __syncthreads();
  const T other = values[n - 1 - i];
  __syncthreads();
  EXPECT(other == T(n - 1 - i));
  const auto *first = bytes;
  EXPECT(first_of(bytes) == *first && *first == 0);
  const int three[] = {1, 2, int(i)};
  EXPECT(sum_of(three, 3) == 3 + int(i));
  __syncthreads();
  aligned[i] = i * 0.5;
  __syncthreads();
  EXPECT(aligned[(i + 1) % n] == (i + 1) % n * 0.5);
}

__device__ int shared_in_a_function(int value) {
  __shared__ int slot[64];
  slot[threadIdx.x] = value;
  __syncthreads();
  const int got = slot[63 - threadIdx.x];
  __syncthreads();
  return got;
}

__global__ void functions_with_state(int *wrong) {
  const int i = int(threadIdx.x);
  EXPECT(shared_in_a_function(i) == 63 - i);
  EXPECT(shared_in_a_function(2 * i) == 2 * (63 - i));
  EXPECT(with_default(1) == 8 && with_default(1, 2) == 3);
  // Recursion, local arrays, loops with different counts.
  int local[16];
  for (int k = 0; k < 16; k++) local[k] = k * i;
  int sum = 0;
  for (int k = 0; k < i % 16; k++) sum += local[k];
  EXPECT(sum == i * ((i % 16) * (i % 16 - 1) / 2));
}

__global__ void printing(int value) {
  if (threadIdx.x == 1) printf("from a kernel: %d %s %.2f\n", value, "text", 1.5);
}

__global__ void clocks(int *wrong) {
  const long long before = clock64();
  const auto first = clock();
  __nanosleep(100);
  EXPECT(clock64() >= before);
  EXPECT(clock() >= first || first > 0);
}

int main() {
  int *wrong = counters(2048), *out = wrong + 16;

  float host_weights[8];
  for (int i = 0; i < 8; i++) host_weights[i] = float(i) + 0.5f;
  EXPECT_HOST(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights) == cudaSuccess);
  const int forty_two = 42;
  EXPECT_HOST(cudaMemcpyToSymbolAsync(offset, &forty_two, sizeof(int), 0, cudaMemcpyHostToDevice, 0) == cudaSuccess);
  const double seven = 7.5;
  EXPECT_HOST(cudaMemcpyToSymbol(matrix, &seven, sizeof seven, 11 * sizeof(double)) == cudaSuccess);
  const Config host_config = {6, 0.25f};
  EXPECT_HOST(cudaMemcpyToSymbol(config, &host_config, sizeof host_config) == cudaSuccess);
  cudaDeviceSynchronize();
  EXPECT_HOST(shared_by_all == 3);
  shared_by_all = 11;
  variables<<<2, 64>>>(wrong);
  cudaDeviceSynchronize();
  EXPECT_HOST(written_by_kernel == 12);
  double row[4];
  unsigned count = 0;
  EXPECT_HOST(cudaMemcpyFromSymbol(row, matrix, sizeof row) == cudaSuccess && row[1] == 1.25);
  EXPECT_HOST(cudaMemcpyFromSymbol(&count, counter, sizeof count) == cudaSuccess && count == 128);
  EXPECT_HOST(cudaMemcpyToSymbol(offset, &forty_two, 8) != cudaSuccess);
  cudaGetLastError();
  void *address = nullptr;
  size_t size = 0;
  EXPECT_HOST(cudaGetSymbolAddress(&address, matrix) == cudaSuccess && address != nullptr);
  EXPECT_HOST(cudaGetSymbolSize(&size, matrix) == cudaSuccess && size == 12 * sizeof(double));
  double corner = 0;
  cudaMemcpy(&corner, static_cast<double *>(address) + 11, sizeof corner, cudaMemcpyDeviceToHost);
  EXPECT_HOST(corner == 7.5);

  Function given;
  EXPECT_HOST(cudaMemcpyFromSymbol(&given, add_pointer, sizeof given) == cudaSuccess);
  pointers<<<1, 8>>>(wrong, given);

  const Buffer<int, 5> ints = {{1, 2, 3, 4, 5}};
  const Buffer<double, 3> doubles = {{0.5, 1.5, 2}};
  with_template<<<2, 32>>>(wrong, ints, Plus{3}, 15);
  with_template<double, 3><<<1, 16>>>(wrong, doubles, Plus{-1}, 4.0);
  cudaDeviceSynchronize();

  launch_with<set_to<int>>(out, 17);
  cudaDeviceSynchronize();
  EXPECT_HOST(*out == 17);
  const int scale_by = 3;
#if defined(DUSHMEM_EMU) || defined(__CUDACC_EXTENDED_LAMBDA__)
  apply<<<2, 32>>>(out, 100, [=] __device__(int i) { return i * scale_by; });
#else
  apply<<<2, 32>>>(out, 100, Times{scale_by});
#endif
  cudaDeviceSynchronize();
  for (int i = 0; i < 100; i++) EXPECT_HOST(out[i] == 3 * i);
  scale_on_device(out, 100, 2);
  cudaDeviceSynchronize();
  for (int i = 0; i < 100; i++) EXPECT_HOST(out[i] == 12 * i + 1009);
  scale<<<1, 32, 128>>>(out, 1, 1);
  cudaDeviceSynchronize();
  EXPECT_HOST(out[0] == 2 * 1009 + 1009);

  out[1] = 4;
  c_name<<<1, 1>>>(out, out + 1, 5);
  inner::in_a_namespace<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  EXPECT_HOST(*out == 109);
  overloaded<<<1, 1>>>(out, 1);
  overloaded<<<1, 1>>>(out + 1, 1.0);
  cudaDeviceSynchronize();
  EXPECT_HOST(out[0] == 1 && out[1] == 2);

  dynamic<int><<<2, 64, 64 * sizeof(double)>>>(wrong);
  dynamic<short><<<2, 128, 128 * sizeof(double)>>>(wrong);
  functions_with_state<<<2, 64>>>(wrong);
  clocks<<<2, 8>>>(wrong);
  printing<<<1, 2>>>(5);
  return result(wrong);
}
