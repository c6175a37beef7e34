/* 16-bit floating-point numbers. The library takes them as two bytes, whoever defines the type: CUDA's
 * headers, HIP's, or, where there are none, this one. */
#ifndef DUSHMEM_INCLUDED_IMPL_HALF_H
#define DUSHMEM_INCLUDED_IMPL_HALF_H

#include <stdint.h>

#if defined(__HIPCC__)
#include <hip/hip_fp16.h>
#elif defined(__cplusplus) && defined(__has_include)
/* nvcc, or a file of a CUDA program for the host compiler, which may include them later. */
#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#endif

#if defined(__CUDA_FP16_TYPES_EXIST__) || defined(__HIPCC__)
typedef __half dushmem_impl_half;
#else
typedef struct dushmem_impl_half {
    uint16_t bits; /* IEEE 754 binary16 */
} dushmem_impl_half;
/* In C the CUDA headers may come later. */
#if defined(__has_include)
#if !__has_include(<cuda_fp16.h>)
#define DUSHMEM_IMPL_OWN_HALF 1
#endif
#endif
#endif

#if defined(__CUDA_BF16_TYPES_EXIST__)
typedef __nv_bfloat16 dushmem_impl_bfloat16;
#else
typedef struct dushmem_impl_bfloat16 {
    uint16_t bits; /* the upper half of a float */
} dushmem_impl_bfloat16;
#if defined(__has_include)
#if !__has_include(<cuda_bf16.h>)
#define DUSHMEM_IMPL_OWN_BFLOAT16 1
#endif
#endif
#endif

#endif
