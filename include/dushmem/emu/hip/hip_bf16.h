/* HIP's name of the header; its functions are called as in CUDA. */
#ifndef DUSHMEM_EMU_HIP_BF16_H
#define DUSHMEM_EMU_HIP_BF16_H
#include "../cuda_bf16.h"
#ifdef __cplusplus
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
typedef __nv_bfloat16 hip_bfloat16;
#endif
#endif
