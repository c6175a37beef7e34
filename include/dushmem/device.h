/* The device API: what kernels call. dushmem.h and nvshmem.h include it where kernels are compiled.
 *
 * | file     | holds                                                                       |
 * |----------|-----------------------------------------------------------------------------|
 * | team.h   | who am I, how many are there, addresses of peers                            |
 * | rma.h    | put, get, p, g, strided copies                                              |
 * | amo.h    | atomic memory operations                                                    |
 * | signal.h | put with signal, signal words                                               |
 * | sync.h   | fence, quiet, waiting for and testing words                                 |
 * | coll.h   | barrier, broadcast, fcollect, collect, alltoall, reductions, prefix sums    |
 * | launch.h | kernels of which all blocks, of all PEs, run at the same time             |
 *
 * The others declare templates in namespace dushmem::device, with their contracts. The typed names of both
 * families (dushmem_int_p, nvshmem_int_p, ...) are wrappers around them: impl/device_names.h. Everything
 * else is in impl/. There is nothing to link on the device side: no relocatable device code is needed, and
 * it does no harm.
 *
 * On a GPU the names are functions for host and device. On the CPU emulator a kernel is host code, so they
 * are the library's host functions, and the templates call those. */
#ifndef DUSHMEM_DEVICE_H
#define DUSHMEM_DEVICE_H

#include <dushmem/gen/constants.h>

#include <dushmem/scope.h>
#include <dushmem/team.h>

#include <dushmem/rma.h>

#include <dushmem/amo.h>
#include <dushmem/signal.h>
#include <dushmem/sync.h>

#include <dushmem/coll.h>

#include <dushmem/launch.h>
#endif
