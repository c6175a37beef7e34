/* Requests to the proxy: how a kernel reaches a PE whose memory it can't load and store.
 *
 * A request is a descriptor in a ring in memory that kernels and host share. A thread of this PE, the proxy,
 * takes descriptors in the order of their tickets and makes the library's calls. The layout is that of
 * crates/core/src/proxy/ring.rs; why the protocol is right stands in docs/design/proxy.md.
 *
 * All functions are for one calling thread each, and any number of threads may call at the same time. PE
 * numbers are the world's, addresses are this PE's own. `ctx` is a context's handle: 0 and 1 are the default
 * one, INT_MAX stands for all in fence and quiet and for the default one elsewhere, others are made on first
 * use. Wrong arguments end the job with a line that names the call, the argument and its value. */
#ifndef DUSHMEM_IMPL_PROXY_H
#define DUSHMEM_IMPL_PROXY_H

#include "proxy_mem.h"

/* Ring of crates/core/src/proxy/ring.rs: fields are added at the end; the version counts other changes. */
#define DUSHMEM_IMPL_PROXY_MAGIC 0x647573686d707831ull
#define DUSHMEM_IMPL_PROXY_VERSION 1u

struct alignas(64) dushmem_impl_proxy_ring {
  uint64_t magic;
  uint32_t version;
  uint32_t size;        /* bytes of this struct */
  uint32_t slots;       /* a power of two */
  uint32_t shift;       /* its logarithm */
  uint64_t descriptors; /* as kernels see them */
  uint64_t replies;
  uint64_t host;        /* emulator: what its functions take */
  uint64_t reserved[2];
  alignas(64) uint64_t head; /* the next ticket, or what kernels that count elsewhere show of it */
  alignas(64) uint32_t armed; /* nonzero: the proxy sleeps and wants to be woken */
};

struct alignas(64) dushmem_impl_proxy_descriptor {
  uint64_t seq; /* ticket + 1: the descriptor of that ticket is complete */
  uint64_t word[7];
};

struct alignas(32) dushmem_impl_proxy_reply {
  uint64_t turn; /* twice the requests that this slot has seen end; odd: a result waits for its owner */
  uint64_t value[2];
  uint64_t reserved;
};

namespace dushmem {
namespace device {
namespace impl {
namespace proxy {

enum : uint32_t {
  op_put = 1,         /* a: dest, source, bytes */
  op_put_inline = 2,  /* a: dest, then the data; small: bytes, up to 24 */
  op_get = 3,         /* a: dest, source, bytes */
  op_get_small = 4,   /* a: source; small: bytes, up to 16; result */
  op_iput = 5,        /* a: dest, source, dst, sst, nelems; small: bytes of an element */
  op_iget = 6,        /* as iput */
  op_amo = 7,         /* a: word, value, cond; small: amo_... | amo_wide; result if flagged */
  op_signal = 8,      /* a: word, value, signal operator */
  op_put_signal = 9,  /* a: dest, source, bytes, signal word, value; small: signal operator */
  op_fence = 10,
  op_quiet = 11,
  op_exit = 12        /* a: status */
};

enum : uint32_t {
  flag_nbi = 1,      /* the local buffer is in use until quiet, and nobody waits for the request */
  flag_internal = 2, /* the address belongs to the library's part of a slice, or to the heap */
  flag_scalar = 4,   /* p or g; of a signal: put_signal. What the call is named in an error */
  flag_result = 8    /* the slot stays taken until its owner has read the result */
};

enum : uint32_t {
  amo_fetch = 0,
  amo_set = 1,
  amo_swap = 2,
  amo_compare_swap = 3,
  amo_add = 4,
  amo_and = 5,
  amo_or = 6,
  amo_xor = 7,
  amo_wide = 16 /* a word of 8 bytes, otherwise of 4 */
};

/* Most bytes of a put that travel in its descriptor, and of a get that come in its reply. */
static const size_t inline_put = 24, inline_get = 16;

struct request {
  uint32_t op, flags, small;
  int32_t ctx, pe;
  uint64_t a[5];
};

struct result {
  uint64_t value[2];
};

DUSHMEM_IMPL_COLD void no_proxy() {
  fault("a request to the proxy", nullptr, 0, "a PE's memory is out of the kernel's reach, and no proxy runs");
}

/* Where the parts of a ring lie. */
struct parts {
  dushmem_impl_proxy_ring *header;
  dushmem_impl_proxy_descriptor *descriptors;
  dushmem_impl_proxy_reply *replies;
  uint32_t slots, shift;
  uint64_t *head;  /* the next ticket */
  uint64_t *shown; /* the host's word for that, where it is another one; or nullptr */
};

/* On a GPU the header lies across a bus, so kernels count tickets in their own memory, and know the rest without a look. */
DUSHMEM_IMPL_FN parts ring() {
  const dushmem_impl_kernel_state &s = state();
  dushmem_impl_proxy_ring *r = (dushmem_impl_proxy_ring *)(uintptr_t)s.proxy;
  if (!DUSHMEM_IMPL_IS(r != nullptr)) no_proxy();
  if (s.tickets == 0) {
    dushmem_impl_proxy_descriptor *const first = (dushmem_impl_proxy_descriptor *)(uintptr_t)r->descriptors;
    const parts here = {r, first, (dushmem_impl_proxy_reply *)(uintptr_t)r->replies, r->slots, r->shift, &r->head, nullptr};
    return here;
  }
  const uint32_t shift = (uint32_t)(s.tickets & 63), slots = 1u << shift;
  dushmem_impl_proxy_descriptor *const first = (dushmem_impl_proxy_descriptor *)(r + 1);
  uint64_t *const head = (uint64_t *)(uintptr_t)(s.tickets - shift);
  const parts far = {r, first, (dushmem_impl_proxy_reply *)(first + slots), slots, shift, head, &r->head};
  return far;
}

DUSHMEM_IMPL_FN request make(uint32_t op, uint32_t flags, uint32_t small, int ctx, int pe, uint64_t a = 0,
                             uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0) {
  request q = {op, flags, small, ctx, pe, {a, b, c, d, e}};
  return q;
}

DUSHMEM_IMPL_FN dushmem_impl_proxy_reply *reply_of(const parts &r, uint64_t ticket) {
  return r.replies + (ticket & (r.slots - 1));
}

/* The turn at which the slot of a ticket is free for it. The request has been executed when the turn is
 * larger. */
DUSHMEM_IMPL_FN uint64_t turn_of(const parts &r, uint64_t ticket) { return 2 * (ticket >> r.shift); }

/* One attempt to get a ticket and to post the request with it: false where the ring is full, or another
 * thread was faster. A ticket is taken only when its slot is free, and nothing waits between taking it and
 * publishing: a thread that is stopped in a wait never holds up those behind it. */
DUSHMEM_IMPL_FN bool try_post(const parts &r, const request &q, uint64_t *ticket) {
  const uint64_t t = mem::load_relaxed(r.head);
  *ticket = t;
  if (mem::load_acquire(&reply_of(r, t)->turn) < turn_of(r, t)) return false;
  if (mem::compare_exchange(r.head, t, t + 1) != t) return false;
  /* Before the descriptor is published: a host that knows of this thread's request has to wait for it. */
  if (r.shown != nullptr) mem::raise(r.shown, t + 1);
  dushmem_impl_proxy_descriptor *d = r.descriptors + (t & (r.slots - 1));
  const uint64_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const uint64_t block = ((uint64_t)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint64_t place = block < 0xffffff ? block : 0xffffff;
  mem::store_relaxed(&d->word[0], q.op | q.flags << 8 | thread << 16 | (uint64_t)(uint32_t)q.ctx << 32);
  mem::store_relaxed(&d->word[1], (uint32_t)q.pe | (uint64_t)q.small << 32 | place << 40);
  for (int i = 0; i < 5; i++) mem::store_relaxed(&d->word[2 + i], q.a[i]);
  mem::store_release(&d->seq, t + 1);
  mem::wake(r.header);
  return true;
}

/* The ring is full at this ticket, or was: waits until its slot is free. */
DUSHMEM_IMPL_FN void wait_for_room(const parts &r, uint64_t ticket) {
  mem::pause(r.header, &reply_of(r, ticket)->turn, turn_of(r, ticket));
}

/* Posts a request that has no result. */
DUSHMEM_IMPL_FN uint64_t post(const request &q) {
  const parts r = ring();
  uint64_t ticket;
  while (!try_post(r, q, &ticket)) wait_for_room(r, ticket);
  return ticket;
}

DUSHMEM_IMPL_FN bool executed(uint64_t ticket) {
  const parts r = ring();
  return mem::load_acquire(&reply_of(r, ticket)->turn) > turn_of(r, ticket);
}

/* Waits until the request has been executed: its source may be reused, its dest is filled, and for quiet
 * everything before it is complete. For requests without flag_result. */
DUSHMEM_IMPL_FN void wait(uint64_t ticket) {
  const parts r = ring();
  while (!executed(ticket)) mem::pause(r.header, &reply_of(r, ticket)->turn, turn_of(r, ticket) + 1);
}

/* Posts a request with a result and waits for that. One loop does both: where the threads of a warp can't
 * go separate ways, those that have posted would otherwise keep their slots while they wait for those that
 * find the ring full. */
DUSHMEM_IMPL_FN result fetch(request q) {
  const parts r = ring();
  q.flags |= flag_result;
  result out = {{0, 0}};
  uint64_t ticket = 0;
  bool posted = false;
  for (;;) {
    if (!posted) {
      posted = try_post(r, q, &ticket);
      if (!posted) wait_for_room(r, ticket);
    } else {
      dushmem_impl_proxy_reply *reply = reply_of(r, ticket);
      const uint64_t turn = turn_of(r, ticket);
      if (mem::load_acquire(&reply->turn) == turn + 1) {
        out.value[0] = mem::load_relaxed(&reply->value[0]);
        out.value[1] = mem::load_relaxed(&reply->value[1]);
        mem::store_release(&reply->turn, turn + 2);
        mem::freed(r.header);
        break;
      }
      mem::pause(r.header, &reply->turn, turn + 1);
    }
  }
  return out;
}

/* ---- the operations ---- */

DUSHMEM_IMPL_FN uint64_t address(const void *p) { return (uint64_t)(uintptr_t)p; }

/* Data of up to 24 bytes, in the descriptor. Never waits but for room in the ring. */
DUSHMEM_IMPL_FN void put_inline(int ctx, void *dest, const void *source, size_t bytes, int pe, uint32_t flags) {
  uint64_t data[3] = {0, 0, 0};
  mem::copy_small(data, source, bytes);
  post(make(op_put_inline, flags, (uint32_t)bytes, ctx, pe, address(dest), data[0], data[1], data[2]));
}

/* Copies `bytes` bytes to PE `pe`. Returns when `source` may be reused, with flag_nbi at once. */
DUSHMEM_IMPL_FN void put(int ctx, void *dest, const void *source, size_t bytes, int pe, uint32_t flags = 0) {
  if (bytes <= inline_put && source != nullptr) return put_inline(ctx, dest, source, bytes, pe, flags);
  if (mem::hidden_from_host(source)) {
    for (size_t done = 0; done < bytes; done += inline_put)
      put_inline(ctx, (char *)dest + done, (const char *)source + done,
                 bytes - done < inline_put ? bytes - done : inline_put, pe, flags);
    return;
  }
  const uint64_t t = post(make(op_put, flags, 0, ctx, pe, address(dest), address(source), bytes));
  if (!(flags & flag_nbi)) wait(t);
}

DUSHMEM_IMPL_FN void get_small(int ctx, void *dest, const void *source, size_t bytes, int pe, uint32_t flags) {
  const result r = fetch(make(op_get_small, flags & ~(uint32_t)flag_nbi, (uint32_t)bytes, ctx, pe, address(source)));
  mem::copy_small(dest, r.value, bytes);
}

/* Copies `bytes` bytes from PE `pe`. Returns when they are there, with flag_nbi at once. */
DUSHMEM_IMPL_FN void get(int ctx, void *dest, const void *source, size_t bytes, int pe, uint32_t flags = 0) {
  if (bytes <= inline_get && dest != nullptr && !(flags & flag_nbi))
    return get_small(ctx, dest, source, bytes, pe, flags);
  if (mem::hidden_from_host(dest)) {
    for (size_t done = 0; done < bytes; done += inline_get)
      get_small(ctx, (char *)dest + done, (const char *)source + done,
                bytes - done < inline_get ? bytes - done : inline_get, pe, flags);
    return;
  }
  const uint64_t t = post(make(op_get, flags, 0, ctx, pe, address(dest), address(source), bytes));
  if (!(flags & flag_nbi)) wait(t);
}

/* One value of up to 16 bytes. */
template <class T> DUSHMEM_IMPL_FN void p(int ctx, T *dest, T value, int pe) {
  static_assert(sizeof(T) <= inline_put, "a scalar");
  put_inline(ctx, dest, &value, sizeof value, pe, flag_scalar);
}
template <class T> DUSHMEM_IMPL_FN T g(int ctx, const T *source, int pe) {
  static_assert(sizeof(T) <= inline_get, "a scalar");
  T value;
  get_small(ctx, &value, source, sizeof value, pe, flag_scalar);
  return value;
}

/* Strides and nelems in elements of `elem` bytes. iput returns when `source` may be reused, iget when the
 * data is there. */
DUSHMEM_IMPL_FN void iput(int ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                          size_t elem, int pe) {
  if (mem::hidden_from_host(source) && dst >= 1 && sst >= 1) {
    for (size_t i = 0; i < nelems; i++)
      put_inline(ctx, (char *)dest + i * (size_t)dst * elem, (const char *)source + i * (size_t)sst * elem, elem, pe, 0);
    return;
  }
  wait(post(make(op_iput, 0, (uint32_t)elem, ctx, pe, address(dest), address(source), (uint64_t)dst, (uint64_t)sst,
                 nelems)));
}
DUSHMEM_IMPL_FN void iget(int ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                          size_t elem, int pe) {
  if (mem::hidden_from_host(dest) && dst >= 1 && sst >= 1) {
    for (size_t i = 0; i < nelems; i++)
      get_small(ctx, (char *)dest + i * (size_t)dst * elem, (const char *)source + i * (size_t)sst * elem, elem, pe, 0);
    return;
  }
  wait(post(make(op_iget, 0, (uint32_t)elem, ctx, pe, address(dest), address(source), (uint64_t)dst, (uint64_t)sst,
                 nelems)));
}

/* An atomic operation on a word of `wide` ? 8 : 4 bytes; operands and result as bits, zero-extended. The
 * first gives the old value, the second returns before the operation is done. */
DUSHMEM_IMPL_FN uint64_t amo(int ctx, uint32_t kind, bool wide, void *word, uint64_t value, uint64_t cond, int pe) {
  return fetch(make(op_amo, 0, kind | (wide ? (uint32_t)amo_wide : 0u), ctx, pe, address(word), value, cond)).value[0];
}
DUSHMEM_IMPL_FN void amo_post(int ctx, uint32_t kind, bool wide, void *word, uint64_t value, int pe,
                              uint32_t flags = 0) {
  post(make(op_amo, flags, kind | (wide ? (uint32_t)amo_wide : 0u), ctx, pe, address(word), value, 0));
}

/* Updates a signal word: op is SIGNAL_SET or SIGNAL_ADD. Returns before it is done. */
DUSHMEM_IMPL_FN void signal_op(int ctx, uint64_t *signal, uint64_t value, int op, int pe, uint32_t flags = 0) {
  post(make(op_signal, flags, 0, ctx, pe, address(signal), value, (uint64_t)(int64_t)op));
}

/* Copies, then updates the signal word there: who sees the signal sees the data. Returns when `source` may
 * be reused, with flag_nbi at once. */
DUSHMEM_IMPL_FN void put_signal(int ctx, void *dest, const void *source, size_t bytes, uint64_t *signal,
                                uint64_t value, int op, int pe, uint32_t flags = 0) {
  const bool known = op == DUSHMEM_SIGNAL_SET || op == DUSHMEM_SIGNAL_ADD;
  if (!known || (bytes != 0 && mem::hidden_from_host(source))) {
    if (known) {
      put(ctx, dest, source, bytes, pe, flags);
      post(make(op_fence, 0, 0, ctx, -1));
    }
    return signal_op(ctx, signal, value, op, pe, flags | flag_scalar);
  }
  const uint64_t t = post(make(op_put_signal, flags, (uint32_t)op & 0xff, ctx, pe, address(dest), address(source),
                               bytes, address(signal), value));
  if (!(flags & flag_nbi)) wait(t);
}

/* Puts, atomics and signals on `ctx` before it reach each PE before those after it. Returns at once: the
 * proxy keeps the order. */
DUSHMEM_IMPL_FN void fence(int ctx) { post(make(op_fence, 0, 0, ctx, -1)); }

/* Returns when everything on `ctx` whose call came before, of any thread of this PE, is complete. */
DUSHMEM_IMPL_FN void quiet(int ctx) { wait(post(make(op_quiet, 0, 0, ctx, -1))); }

/* Returns when all that was posted before has been executed, without a request of its own. */
DUSHMEM_IMPL_FN void settle() {
  const uint64_t head = mem::load_relaxed(ring().head);
  if (head != 0) wait(head - 1);
}

/* Ends the job; the proxy makes the call. */
DUSHMEM_IMPL_FN void global_exit(int status) { post(make(op_exit, 0, 0, 0, -1, (uint64_t)(int64_t)status)); }

/* For collectives: a word of the internals or of the heap, after all earlier puts of this thread to that PE. */
DUSHMEM_IMPL_FN void set_word(int ctx, uint64_t *word, uint64_t value, int pe) {
  fence(ctx);
  amo_post(ctx, amo_set, true, word, value, pe, flag_internal);
}

} // namespace proxy

/* The names that collectives and operations are written against. */
typedef proxy::request request;
DUSHMEM_IMPL_FN uint64_t proxy_post(const request &q) { return proxy::post(q); }
DUSHMEM_IMPL_FN void proxy_wait(uint64_t ticket) { proxy::wait(ticket); }

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
