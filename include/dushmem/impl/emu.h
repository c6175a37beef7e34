/* Included before anything else in sources with kernels that are compiled for the CPU (dushcc does it):
 * the language that nvcc and hipcc add to C++. */
#ifndef DUSHMEM_IMPL_EMU_H
#define DUSHMEM_IMPL_EMU_H

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "kernels on the CPU need C++17: compile with dushcc, which adds -std=c++17"
#endif

#define DUSHMEM_EMU 1

/* What the device compilers make known without an include. <memory> uses a spelling of an attribute that
 * is a macro below, so it has to come first. */
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#ifdef DUSHMEM_EMU_OS_THREADS
/* dushcc has rewritten the declarations that it saw; where this stands, it saw none. */
#define __shared__ dushcc_has_not_seen_this_shared_variable
#else
/* In a function a thread_local variable is static; one OS thread runs one block at a time. */
#define __shared__ thread_local
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#include "launch.h"

#include "../emu/cuda_runtime.h"
#include "../emu/hip/hip_runtime.h"

#include "emu_kernel.h"
#include "emu_warp.h"
#endif
