// What several sources of one program share.
#pragma once
#include "expect.h"

// Defined in language_part.cu.
__global__ void scale(int *values, int n, int factor);
void scale_on_device(int *values, int n, int factor);

// An inline device function, in each source.
__device__ inline int twice(int x) { return 2 * x; }
template <class T> __host__ __device__ constexpr T square(T x) { return x * x; }
