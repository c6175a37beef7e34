/* The CUDA runtime's calls and types, on the CPU. */
#ifndef DUSHMEM_EMU_CUDA_RUNTIME_H
#define DUSHMEM_EMU_CUDA_RUNTIME_H

#include "../impl/emu_common.h"

#define CUDART_VERSION 12000
#define CUDART_CB

#define RT(name) cuda##name
#define RT2(cuda_name, hip_name) cuda_name
#define RT_HIP 0
#include "../impl/emu_runtime.inc"
#include "../impl/emu_graph.inc"
#include "../impl/emu_launch_ex.inc"
#undef RT_DEFAULT
#undef RT_STREAM
#undef RT
#undef RT2
#undef RT_HIP

#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#endif
