// Every kind of writer wakes a PE that sleeps in a wait: of each pair of PEs one waits, for longer than any spin
// lasts, while the other writes; then the other way round. A PE without a partner is its own, through a thread.
#include <cstdio>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <pthread.h>
#include <unistd.h>
#include "memory.h"

static int me, n, failures;
static long *word;
static uint64_t *sig;
static long value;
static cudaStream_t stream;

static void wrong(const char *what, long got) {
  failures++;
  std::printf("PE %d: %s: %ld instead of %ld\n", me, what, got, value);
}

__global__ void put_of_a_kernel(long *to, long what, int pe) { dushmem_long_p(to, what, pe); }
__global__ void add_of_a_kernel(long *to, int pe) { dushmem_long_atomic_inc(to, pe); }
__global__ void signal_of_a_kernel(uint64_t *to, long what, int pe) {
  dushmemx_signal_op(to, (uint64_t)what, DUSHMEM_SIGNAL_SET, pe);
}
__global__ void store_of_a_kernel(volatile long *to, long what) { *to = what; }

static void finish() {
  if (cudaStreamSynchronize(stream) != cudaSuccess) wrong("stream", 0);
}

// Writers: each makes *word == value on that PE, or *sig == value.
static void p(int pe) { dushmem_long_p(word, value, pe); }
static void put(int pe) { dushmem_long_put(word, &value, 1, pe); }
static void putmem(int pe) { dushmem_putmem(word, &value, sizeof value, pe); }
static void iput(int pe) { dushmem_long_iput(word, &value, 1, 1, 1, pe); }
static void put_nbi(int pe) {
  dushmem_long_put_nbi(word, &value, 1, pe);
  dushmem_quiet();
}
static void large_put(int pe) {
  // The word is the last of many.
  static long many[5000];
  many[4999] = value;
  dushmem_long_put(word - 4999, many, 5000, pe);
}
static void atomic_set(int pe) { dushmem_long_atomic_set(word, value, pe); }
static void atomic_add(int pe) { dushmem_long_atomic_add(word, 1, pe); }
static void atomic_fetch_inc(int pe) { dushmem_long_atomic_fetch_inc(word, pe); }
static void atomic_swap(int pe) { dushmem_long_atomic_swap(word, value, pe); }
static void atomic_compare_swap(int pe) { dushmem_long_atomic_compare_swap(word, value - 1, value, pe); }
static void context(int pe) {
  dushmem_ctx_t ctx;
  if (dushmem_ctx_create(0, &ctx) != 0) wrong("ctx_create", 0);
  dushmem_ctx_long_p(ctx, word, value, pe);
  dushmem_ctx_destroy(ctx);
}
/* On a GPU a copy is what the host has for a store. */
static void write_to(long *there) {
#ifdef DUSHMEM_EMU
  *(volatile long *)there = value;
#else
  put_here(there, value);
#endif
}
static void store(int pe) {
  long *there = (long *)dushmem_ptr(word, pe);
  if (there)
    write_to(there);
  else
    dushmem_long_p(word, value, pe);
}
static void signal_set(int pe) { dushmemx_signal_op(sig, (uint64_t)value, DUSHMEM_SIGNAL_SET, pe); }
static void signal_add(int pe) { dushmemx_signal_op(sig, 1, DUSHMEM_SIGNAL_ADD, pe); }
static void put_signal(int pe) {
  long other = -value;
  dushmem_long_put_signal(word + 1, &other, 1, sig, (uint64_t)value, DUSHMEM_SIGNAL_SET, pe);
}
static void put_signal_nbi(int pe) {
  static long other;
  other = -value;
  dushmem_long_put_signal_nbi(word + 1, &other, 1, sig, 1, DUSHMEM_SIGNAL_ADD, pe);
  dushmem_quiet();
}
static void kernel_p(int pe) {
  put_of_a_kernel<<<1, 1, 0, stream>>>(word, value, pe);
  finish();
}
static void kernel_add(int pe) {
  add_of_a_kernel<<<1, 1, 0, stream>>>(word, pe);
  finish();
}
static void kernel_signal(int pe) {
  signal_of_a_kernel<<<1, 1, 0, stream>>>(sig, value, pe);
  finish();
}
static void kernel_store(int pe) {
  long *there = (long *)dushmem_ptr(word, pe);
  if (!there) return kernel_p(pe);
  store_of_a_kernel<<<1, 1, 0, stream>>>(there, value);
  finish();
}
static void on_stream_p(int pe) {
  dushmemx_long_p_on_stream(word, value, pe, stream);
  finish();
}
static void on_stream_put(int pe) {
  dushmemx_long_put_on_stream(word, &value, 1, pe, stream);
  finish();
}
static void on_stream_signal(int pe) {
  dushmemx_signal_op_on_stream(sig, (uint64_t)value, DUSHMEM_SIGNAL_SET, pe, stream);
  finish();
}

struct Writer {
  const char *name;
  void (*write)(int pe);
  bool signals;
};
static const Writer writers[] = {
    {"p", p, false},
    {"put", put, false},
    {"putmem", putmem, false},
    {"iput", iput, false},
    {"put_nbi and quiet", put_nbi, false},
    {"a large put", large_put, false},
    {"atomic_set", atomic_set, false},
    {"atomic_add", atomic_add, false},
    {"atomic_fetch_inc", atomic_fetch_inc, false},
    {"atomic_swap", atomic_swap, false},
    {"atomic_compare_swap", atomic_compare_swap, false},
    {"p on a context", context, false},
    {"a store through ptr", store, false},
    {"signal_set", signal_set, true},
    {"signal_add", signal_add, true},
    {"put_signal", put_signal, true},
    {"put_signal_nbi", put_signal_nbi, true},
    {"p of a kernel", kernel_p, false},
    {"atomic of a kernel", kernel_add, false},
    {"signal of a kernel", kernel_signal, true},
    {"a store of a kernel", kernel_store, false},
    {"p on a stream", on_stream_p, false},
    {"put on a stream", on_stream_put, false},
    {"signal on a stream", on_stream_signal, true},
};

static void *store_here(void *) {
  usleep(15000);
  write_to(word);
  return nullptr;
}

static void wait_for(const Writer &writer) {
  if (writer.signals) {
    uint64_t seen = dushmem_signal_wait_until(sig, DUSHMEM_CMP_EQ, (uint64_t)value);
    if ((long)seen != value) wrong(writer.name, (long)seen);
  } else {
    dushmem_long_wait_until(word, DUSHMEM_CMP_EQ, value);
    if (look(word) != value) wrong(writer.name, look(word));
  }
}

int main() {
  dushmem_init();
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  word = (long *)dushmem_calloc(5001, sizeof(long)) + 4999;
  sig = (uint64_t *)dushmem_calloc(1, sizeof(uint64_t));
  if (cudaStreamCreate(&stream) != cudaSuccess) return 2;
  const int partner = me ^ 1;
  for (int turn = 0; turn < 2; turn++)
    for (const Writer &writer : writers) {
      value = turn * 1000 + (&writer - writers) + 10;
      put_here(word, value - 1);
      put_here(sig, (uint64_t)value - 1);
      dushmem_barrier_all();
      if (partner < n && me % 2 == turn) {
        wait_for(writer);
      } else if (partner < n) {
        usleep(15000);
        writer.write(partner);
      }
      dushmem_barrier_all();
    }
  // A store of the own process, by another of its threads, which the library does not see.
  for (int round = 0; round < 3; round++) {
    value = 5000 + round;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, store_here, nullptr)) return 3;
    dushmem_long_wait_until(word, DUSHMEM_CMP_EQ, value);
    pthread_join(thread, nullptr);
  }
  dushmem_barrier_all();
  put_here(sig, (uint64_t)0);
  dushmem_barrier_all();
  dushmem_uint64_atomic_add(sig, (uint64_t)failures, 0);
  dushmem_barrier_all();
  if (me == 0 && look(sig) == 0) std::printf("all right\n");
  dushmem_finalize();
  return failures != 0;
}
