/* The device API: what kernels call. dushmem.h and nvshmem.h include it where kernels are compiled.
 *
 * | file     | holds                                                                              |
 * |----------|------------------------------------------------------------------------------------|
 * | scope.h  | who makes a call together: thread, warp, warp group, block; contexts               |
 * | team.h   | who am I, how many are there, addresses of peers                                   |
 * | rma.h    | put, get, p, g, strided copies                                                     |
 * | amo.h    | atomic memory operations                                                           |
 * | remote.h | a PE's copy of an array, found once                                                |
 * | signal.h | put with signal, signal words                                                      |
 * | sync.h   | fence, quiet, waiting for and testing words                                        |
 * | coll.h   | barriers and collectives                                                           |
 * | launch.h | for the host: kernels of which all blocks, of all PEs, run at the same time        |
 *
 * The others declare templates in namespace dushmem::device, with their contracts; bodies are in impl/. The typed names
 * of both families (dushmem_int_p, nvshmemx_int_put_block, ...) are wrappers around them, generated: gen/device_*.h.
 * There is nothing to link on the device side: no relocatable device code is needed, and it does no harm.
 *
 * Names that exist on the host, too, are functions for host and device: in a kernel the template, elsewhere the
 * library's function. On the CPU emulator a kernel is host code, and the choice is made when the name is called.
 * Kernels there run the same templates as on a GPU; impl/target.h holds all that differs. */
#ifndef DUSHMEM_DEVICE_H
#define DUSHMEM_DEVICE_H

#include <dushmem/gen/constants.h>

#include <dushmem/scope.h>
#include <dushmem/team.h>

#include <dushmem/rma.h>

#include <dushmem/amo.h>
#include <dushmem/remote.h>
#include <dushmem/signal.h>
#include <dushmem/sync.h>

#include <dushmem/coll.h>

#include <dushmem/launch.h>
#endif
