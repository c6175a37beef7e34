/* Numbers of the bfloat16 format, the upper half of a float, as CUDA has them, on the CPU. */
#ifndef DUSHMEM_EMU_CUDA_BF16_H
#define DUSHMEM_EMU_CUDA_BF16_H

#ifdef __cplusplus
#include "../impl/emu_half.h"

#define __CUDA_BF16_TYPES_EXIST__
#define H __nv_bfloat16
#define H2 __nv_bfloat162
#define H_RAW __nv_bfloat16_raw
#define H2_RAW __nv_bfloat162_raw
#define H_FORMAT ::dushmem::emu::bfloat16
#define HN(before, after) before##bfloat16##after
#include "../impl/emu_half.inc"
#undef H
#undef H2
#undef H_RAW
#undef H2_RAW
#undef H_FORMAT
#undef HN

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7fff)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3f80)
#endif
#endif
