/* The HIP runtime's calls and types, on the CPU. */
#ifndef DUSHMEM_EMU_HIP_RUNTIME_H
#define DUSHMEM_EMU_HIP_RUNTIME_H

#include "../../impl/emu_common.h"

#define RT(name) hip##name
#define RT2(cuda_name, hip_name) hip_name
#define RT_HIP 1
#include "../../impl/emu_runtime.inc"
#include "../../impl/emu_graph.inc"
#include "../../impl/emu_launch_ex.inc"
#undef RT_DEFAULT
#undef RT_STREAM
#undef RT
#undef RT2
#undef RT_HIP

#define hipStreamPerThread ((hipStream_t)0x2)
#define hipErrorMemoryAllocation hipErrorOutOfMemory
#define hipErrorInvalidResourceHandle hipErrorInvalidHandle
#define hipErrorInitializationError hipErrorNotInitialized

static inline hipError_t hipFreeHost(void *ptr) { return hipHostFree(ptr); }

#ifdef __cplusplus
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, ...) DUSHMEM_EMU_GGL((kernel), __VA_ARGS__)
#define DUSHMEM_EMU_GGL(kernel, grid, block, shared, stream, ...)                                             \
  (::dushmem::emu::launcher(#kernel, ::dushmem::emu::config{grid, block, shared, stream},                     \
                            [=](auto dushmem_f) -> decltype(dushmem_f(kernel)) { return dushmem_f(kernel); },  \
                            [=](auto... dushmem_a) { kernel(dushmem_a...); })(__VA_ARGS__))
#endif
#endif
