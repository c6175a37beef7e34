/* The functions of the library that the emulator's headers call: crates/emu/src/abi.
 * Programs use the hip... and cuda... names. Structs begin with their size, so that fields can be added. */
#ifndef DUSHMEM_IMPL_EMU_ABI_H
#define DUSHMEM_IMPL_EMU_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t size, warp, threads_per_block, block[3], grid[3];
  uint32_t multiprocessors, blocks_per_multiprocessor, cpus;
  uint64_t shared, shared_opt_in, memory;
  uint32_t threads_per_multiprocessor, shared_per_multiprocessor;
} dushmem_emu_properties;

typedef struct {
  uint32_t x, y, z;
} dushmem_emu_dim3;

/* What the arguments of a call are that all threads of a block or warp make alike. Those of one thread: where that stands,
 * and behind it so many values of 64 bits. */
typedef struct {
  const char *names; /* "dest, source, nelems, pe" */
  uint32_t count, addresses; /* bit i: value i is an address */
} dushmem_emu_parameters;
typedef struct {
  const dushmem_emu_parameters *are;
} dushmem_emu_arguments;

/* Addresses of the calling thread's threadIdx, blockIdx, blockDim, gridDim, dynamic shared memory, mark that it runs a
 * kernel, name of the call that it is in, and that call's arguments, which the library takes where the threads first meet.
 * The library sets size. */
typedef struct {
  size_t size;
  void *thread, *block, *block_dim, *grid_dim;
  void **shared;
  bool *in_kernel;
  const char **call;
  const dushmem_emu_arguments **arguments;
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
  const void *kernel; /* its address, or NULL */
  /* writes the addresses of the arguments, at most so many; gives their number */
  size_t (*parameters)(void *args, void **addresses, size_t most);
} dushmem_emu_launch_t;

/* planes of rows */
typedef struct {
  void *dest;
  size_t dest_pitch, dest_plane;
  const void *source;
  size_t source_pitch, source_plane;
  size_t width, rows, planes;
  int direction;
} dushmem_emu_copy_t;

typedef struct {
  void *dest;
  size_t pitch;
  uint32_t value, elem;
  size_t width, rows;
} dushmem_emu_fill_t;

/* What a node of a graph does; which fields count depends on the kind, a node type of both families. */
typedef struct {
  uint32_t size;
  int kind;
  dushmem_emu_launch_t launch;
  dushmem_emu_copy_t copy;
  dushmem_emu_fill_t fill;
  void (*function)(void *data);
  void *data;
  struct CUgraph_st *child;
  struct CUevent_st *event;
  void *memory;
  size_t bytes;
  void **arguments; /* set by dushmem_emu_node_get */
} dushmem_emu_node_t;

typedef struct {
  uint32_t size;
  int status; /* 0 none, 1 active, 2 invalidated */
  uint64_t id;
  struct CUgraph_st *graph;
  struct CUgraphNode_st *const *after; /* valid until the thread asks again */
  size_t count;
} dushmem_emu_capture_t;

#define DUSHMEM_EMU_COOPERATIVE 1u
/* A priority of its own, 0 to -5, instead of the stream's. */
#define DUSHMEM_EMU_PRIORITY(priority) ((1u + (unsigned)-(priority)) << 8)
/* Compiled with an OS thread for each GPU thread; another part of the program was compiled without that. */
#define DUSHMEM_EMU_LAUNCH_OS_THREADS 2u
#define DUSHMEM_EMU_LAUNCH_MIXED 4u

/* A lane comes to an operation of its warp. `part` begins with a word that receives the lanes that took part;
 * `act` is called once, when all are there, with the parts at the places of their lanes. */
typedef struct {
  uint32_t size, line;
  uint64_t mask; /* 0: the lanes that come to this line together */
  const char *call, *file;
  void (*act)(void *const *parts, uint64_t members);
  void *part;
} dushmem_emu_meeting;

/* A collective that a kernel begins, and the team on which it does; pes is NULL where the members are the world's. */
typedef struct {
  uint32_t size;
  int me, n;
  const uint32_t *pes;
  const void *slot;
  const char *call;
  size_t nelems, elem; /* elements that all members must have, and the bytes of each */
  uint64_t argument;   /* what else they have to agree on */
} dushmem_emu_collective;

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
int dushmem_emu_malloc_later(void **ptr, size_t bytes, struct CUstream_st *stream);
int dushmem_emu_free_later(void *ptr, struct CUstream_st *stream);
int dushmem_emu_copy(void *dest, size_t dest_pitch, const void *source, size_t source_pitch, size_t width,
                     size_t rows, int direction, struct CUstream_st *stream, int later);
int dushmem_emu_copy_planes(const dushmem_emu_copy_t *copy, struct CUstream_st *stream, int later);
int dushmem_emu_fill(void *dest, size_t pitch, int value, size_t width, size_t rows, struct CUstream_st *stream,
                     int later);
int dushmem_emu_limit(int which, size_t *value, int set);
int dushmem_emu_host_register(void *ptr, size_t bytes);
int dushmem_emu_host_unregister(void *ptr);
int dushmem_emu_peer_access(int *can, int device, int peer);
int dushmem_emu_peer_enable(int peer, int enable);
void dushmem_emu_pointer_info(const void *ptr, int *kind, int *device);

int dushmem_emu_stream_create(struct CUstream_st **stream, unsigned flags, int priority);
int dushmem_emu_stream_destroy(struct CUstream_st *stream);
int dushmem_emu_stream_synchronize(struct CUstream_st *stream);
int dushmem_emu_stream_query(struct CUstream_st *stream);
int dushmem_emu_stream_info(struct CUstream_st *stream, unsigned *flags, int *priority, int *device);
int dushmem_emu_stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags);
int dushmem_emu_stream_call(struct CUstream_st *stream, void (*function)(void *), void *data, int captures);

int dushmem_emu_event_create(struct CUevent_st **event, unsigned flags);
int dushmem_emu_event_destroy(struct CUevent_st *event);
int dushmem_emu_event_record(struct CUevent_st *event, struct CUstream_st *stream, unsigned flags);
int dushmem_emu_event_synchronize(struct CUevent_st *event);
int dushmem_emu_event_query(struct CUevent_st *event);
int dushmem_emu_event_elapsed(float *milliseconds, struct CUevent_st *start, struct CUevent_st *end);

int dushmem_emu_graph_create(struct CUgraph_st **graph);
int dushmem_emu_graph_destroy(struct CUgraph_st *graph);
int dushmem_emu_graph_clone(struct CUgraph_st **clone, struct CUgraph_st *graph);
int dushmem_emu_graph_add(struct CUgraphNode_st **node, struct CUgraph_st *graph, struct CUgraphNode_st *const *after,
                          size_t count, const dushmem_emu_node_t *what);
int dushmem_emu_graph_nodes(struct CUgraph_st *graph, int roots, struct CUgraphNode_st **nodes, size_t *count);
int dushmem_emu_graph_edges(struct CUgraph_st *graph, struct CUgraphNode_st **from, struct CUgraphNode_st **to,
                            size_t *count);
int dushmem_emu_graph_connect(struct CUgraph_st *graph, struct CUgraphNode_st *const *from,
                              struct CUgraphNode_st *const *to, size_t count, int remove);
int dushmem_emu_node_set(struct CUgraphNode_st *node, const dushmem_emu_node_t *what);
int dushmem_emu_node_get(struct CUgraphNode_st *node, dushmem_emu_node_t *what);
int dushmem_emu_node_kind(struct CUgraphNode_st *node, int *kind);
int dushmem_emu_node_links(struct CUgraphNode_st *node, int dependents, struct CUgraphNode_st **nodes, size_t *count);
int dushmem_emu_node_destroy(struct CUgraphNode_st *node);
int dushmem_emu_node_in_clone(struct CUgraphNode_st **node, struct CUgraphNode_st *original, struct CUgraph_st *clone);
int dushmem_emu_graph_instantiate(struct CUgraphExec_st **exec, struct CUgraph_st *graph, uint64_t flags);
int dushmem_emu_graph_launch(struct CUgraphExec_st *exec, struct CUstream_st *stream);
int dushmem_emu_exec_check(struct CUgraphExec_st *exec);
int dushmem_emu_exec_destroy(struct CUgraphExec_st *exec);
int dushmem_emu_exec_set(struct CUgraphExec_st *exec, struct CUgraphNode_st *node, const dushmem_emu_node_t *what);
int dushmem_emu_exec_update(struct CUgraphExec_st *exec, struct CUgraph_st *graph, int *result,
                            struct CUgraphNode_st **node);
int dushmem_emu_capture_begin(struct CUstream_st *stream, int mode, struct CUgraph_st *graph,
                              struct CUgraphNode_st *const *after, size_t count);
int dushmem_emu_capture_end(struct CUstream_st *stream, struct CUgraph_st **graph);
int dushmem_emu_capture_info(struct CUstream_st *stream, dushmem_emu_capture_t *info);
int dushmem_emu_capture_update(struct CUstream_st *stream, struct CUgraphNode_st *const *nodes, size_t count,
                               unsigned replace);
int dushmem_emu_capture_mode(int *mode);

int dushmem_emu_last_error(int clear);
const char *dushmem_emu_error_text(int code);
const char *dushmem_emu_error_name(int code, int hip);
int dushmem_emu_fail(int code, const char *detail);
void dushmem_emu_say(const char *call, const char *text);

int dushmem_emu_launch(const dushmem_emu_launch_t *launch);
int dushmem_emu_allow_shared(const void *kernel, size_t bytes);
size_t dushmem_emu_shared_limit(const void *kernel);
int dushmem_emu_occupancy(int *blocks, const void *kernel, int threads, size_t shared);
int dushmem_emu_best_block(int *grid, int *block, size_t shared, int limit, size_t (*shared_of)(int, void *),
                           void *data);
void dushmem_emu_sync_threads(void);
/* Lower half: threads that said yes; upper half: threads that were there. */
uint64_t dushmem_emu_sync_threads_vote(int yes);
/* After it one thread acts for all: bit 0, the caller. Bit 1: the others run meanwhile. */
int dushmem_emu_sync_once(void);
void dushmem_emu_sync_grid(void);
int dushmem_emu_cooperative(void); /* 1 where dushmem_emu_sync_grid may be called */
int dushmem_emu_warp_size(void);
void dushmem_emu_warp_meet(const dushmem_emu_meeting *meeting);
void dushmem_emu_yield(void);
void *dushmem_emu_shared(const void *key, size_t bytes, size_t align);
int dushmem_emu_in_kernel(void);
/* Ends the kernel of the calling GPU thread with an error code that later calls return. */
__attribute__((noreturn)) void dushmem_emu_trap(int code, const char *what);
__attribute__((noreturn)) void dushmem_emu_assert_failed(const char *what, const char *file, unsigned line,
                                                         const char *function);
/* Ends the process: "kernel k, block b, thread t: call: what". */
__attribute__((noreturn)) void dushmem_emu_kernel_error(const char *call, const char *what);

/* For the device API: crates/emu/src/abi/kernel.rs. */
void *dushmem_emu_reach(const char *call, const char *arg, const void *address, size_t bytes, size_t align, int pe);
void dushmem_emu_queue_pair(int handle);
void dushmem_emu_own(const char *call, const char *arg, const void *address, size_t bytes, size_t align);
__attribute__((__noreturn__)) void dushmem_emu_fault(const char *call, const char *arg, int64_t value, const char *why);
__attribute__((__noreturn__)) void dushmem_emu_too_many(const char *call, const char *arg, size_t n, size_t elem);
/* End the job where strides and count, or both buffers, are not what they have to be. */
void dushmem_emu_strides(const char *call, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t elem);
void dushmem_emu_overlap(const char *call, const void *dest, size_t dest_bytes, const void *source, size_t source_bytes,
                         int in_place);
void dushmem_emu_wait(const char *call, const void *address, unsigned kind, uint64_t value, int (*ready)(void *),
                      void *closure);
/* Print a line. */
void dushmem_emu_no_team(const char *call, int handle);
void dushmem_emu_no_root(const char *call, int root, int n);
void dushmem_emu_announce(const dushmem_emu_collective *what);
void dushmem_emu_ring(int pe);
void *dushmem_emu_ptr(const void *address, int pe);
void dushmem_emu_global_exit(int status);

#ifdef __cplusplus
}
#endif

/* What the null stream is: the default stream of the calling thread, where the program asks for it. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(HIP_API_PER_THREAD_DEFAULT_STREAM)
#define DUSHMEM_EMU_STREAM(stream) ((stream) ? (stream) : (struct CUstream_st *)2)
#else
#define DUSHMEM_EMU_STREAM(stream) (stream)
#endif
#endif
