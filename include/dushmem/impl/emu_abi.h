/* The functions of the library that the emulator's headers call: crates/emu/src/abi.
 * Programs use the hip... and cuda... names. Structs begin with their size, so that fields can be added. */
#ifndef DUSHMEM_IMPL_EMU_ABI_H
#define DUSHMEM_IMPL_EMU_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
struct CUevent_st;

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t size, warp, threads_per_block, block[3], grid[3];
  uint32_t multiprocessors, blocks_per_multiprocessor, cpus;
  uint64_t shared, shared_opt_in, memory;
} dushmem_emu_properties;

typedef struct {
  uint32_t x, y, z;
} dushmem_emu_dim3;

/* Addresses of the calling thread's threadIdx, blockIdx, blockDim, gridDim, dynamic shared memory, and mark that it
 * runs a kernel. The library sets size. */
typedef struct {
  size_t size;
  void *thread, *block, *block_dim, *grid_dim;
  void **shared;
  bool *in_kernel;
} dushmem_emu_place;

/* Counts incompatible changes of these structs. */
#define DUSHMEM_EMU_ABI 2u

typedef struct {
  uint32_t size, flags;
  const char *name;
  void (*body)(void *args);
  void *args;
  void (*release)(void *args);
  void (*locate)(dushmem_emu_place *place);
  dushmem_emu_dim3 grid, block;
  size_t shared;
  struct CUstream_st *stream;
  uint32_t abi;
} dushmem_emu_launch_t;

#define DUSHMEM_EMU_COOPERATIVE 1u

/* A lane comes to an operation of its warp. `part` begins with a word that receives the lanes that took part;
 * `act` is called once, when all are there, with the parts at the places of their lanes. */
typedef struct {
  uint32_t size, line;
  uint64_t mask; /* 0: the lanes that come to this line together */
  const char *call, *file;
  void (*act)(void *const *parts, uint64_t members);
  void *part;
} dushmem_emu_meeting;

/* All int results: 0, or the error code that both families of names use. */
int dushmem_emu_device_count(int *count);
int dushmem_emu_device_select(int device);
int dushmem_emu_device_current(int *device);
int dushmem_emu_device_properties(dushmem_emu_properties *properties, int device);
int dushmem_emu_device_synchronize(void);
int dushmem_emu_device_reset(void);
int dushmem_emu_memory_info(size_t *free_bytes, size_t *total_bytes);

/* kind: 1 pinned host memory, 2 device memory, 3 managed memory */
int dushmem_emu_malloc(void **ptr, size_t bytes, int kind);
int dushmem_emu_free(void *ptr, int kind);
int dushmem_emu_free_later(void *ptr, struct CUstream_st *stream);
int dushmem_emu_copy(void *dest, size_t dest_pitch, const void *source, size_t source_pitch, size_t width,
                     size_t rows, int direction, struct CUstream_st *stream, int later);
int dushmem_emu_fill(void *dest, size_t pitch, int value, size_t width, size_t rows, struct CUstream_st *stream,
                     int later);
void dushmem_emu_pointer_info(const void *ptr, int *kind, int *device);

int dushmem_emu_stream_create(struct CUstream_st **stream, unsigned flags, int priority);
int dushmem_emu_stream_destroy(struct CUstream_st *stream);
int dushmem_emu_stream_synchronize(struct CUstream_st *stream);
int dushmem_emu_stream_query(struct CUstream_st *stream);
int dushmem_emu_stream_info(struct CUstream_st *stream, unsigned *flags, int *priority, int *device);
int dushmem_emu_stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event);
int dushmem_emu_stream_call(struct CUstream_st *stream, void (*function)(void *), void *data);

int dushmem_emu_event_create(struct CUevent_st **event, unsigned flags);
int dushmem_emu_event_destroy(struct CUevent_st *event);
int dushmem_emu_event_record(struct CUevent_st *event, struct CUstream_st *stream);
int dushmem_emu_event_synchronize(struct CUevent_st *event);
int dushmem_emu_event_query(struct CUevent_st *event);
int dushmem_emu_event_elapsed(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end);

int dushmem_emu_last_error(int clear);
const char *dushmem_emu_error_text(int code);
const char *dushmem_emu_error_name(int code, int hip);
int dushmem_emu_fail(int code, const char *detail);

int dushmem_emu_launch(const dushmem_emu_launch_t *launch);
int dushmem_emu_allow_shared(const void *kernel, size_t bytes);
void dushmem_emu_sync_threads(void);
/* Lower half: threads that said yes; upper half: threads that were there. */
uint64_t dushmem_emu_sync_threads_vote(int yes);
void dushmem_emu_sync_grid(void);
int dushmem_emu_warp_size(void);
void dushmem_emu_warp_meet(const dushmem_emu_meeting *meeting);
void dushmem_emu_yield(void);
int dushmem_emu_in_kernel(void);
/* Ends the kernel of the calling GPU thread with an error code that later calls return. */
__attribute__((noreturn)) void dushmem_emu_trap(int code, const char *what);
__attribute__((noreturn)) void dushmem_emu_assert_failed(const char *what, const char *file, unsigned line,
                                                         const char *function);
/* Ends the process: "kernel k, block b, thread t: call: what". */
__attribute__((noreturn)) void dushmem_emu_kernel_error(const char *call, const char *what);

/* For the device API: crates/emu/src/abi/kernel.rs. */
void *dushmem_emu_reach(const char *call, const char *arg, const void *address, size_t bytes, size_t align, int pe);
void dushmem_emu_own(const char *call, const char *arg, const void *address, size_t bytes, size_t align);
__attribute__((__noreturn__)) void dushmem_emu_fault(const char *call, const char *arg, int64_t value, const char *why);
void dushmem_emu_wait(const char *call, const void *address, uint64_t detail, int (*ready)(void *), void *closure);
void dushmem_emu_ring(int pe);
void *dushmem_emu_ptr(const void *address, int pe);
void dushmem_emu_global_exit(int status);

#ifdef __cplusplus
}
#endif
#endif
