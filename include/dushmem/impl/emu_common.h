/* What both runtime headers of the emulator stand on. */
#ifndef DUSHMEM_IMPL_EMU_COMMON_H
#define DUSHMEM_IMPL_EMU_COMMON_H

#if defined(__CUDACC__) || defined(__HIPCC__)
#error "this folder is for the CPU emulator: a device compiler must find its own runtime headers"
#endif

#include "emu_abi.h"
#include "emu_types.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
#include "launch.h"
#endif
#endif
