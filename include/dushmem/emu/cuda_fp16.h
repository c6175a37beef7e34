/* Numbers of IEEE 754's binary16 format, as CUDA has them, on the CPU. */
#ifndef DUSHMEM_EMU_CUDA_FP16_H
#define DUSHMEM_EMU_CUDA_FP16_H

#ifdef __cplusplus
#include "../impl/emu_half.h"

#define __CUDA_FP16_TYPES_EXIST__
#define H __half
#define H2 __half2
#define H_RAW __half_raw
#define H2_RAW __half2_raw
#define H_FORMAT ::dushmem::emu::binary16
#define HN(before, after) before##half##after
#include "../impl/emu_half.inc"
#undef H
#undef H2
#undef H_RAW
#undef H2_RAW
#undef H_FORMAT
#undef HN

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

inline __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
inline __half2 __half2half2(__half a) { return __half2(a, a); }

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3c00)
#endif
#endif
