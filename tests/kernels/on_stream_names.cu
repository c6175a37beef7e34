// Every call on a stream of both families, captured into one graph that is launched three times. Each case has a
// buffer of its own, which is cleared before each launch, and checks what it holds after it.
#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <hip/hip_runtime.h>
#include <dushmem.h>
#include <dushmemx.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include "memory.h"

static int me, n, failures, round_now;
static const int K = 3;
static hipStream_t stream;
static char *arena;  // symmetric
static char *mirror; // of the host: filled before a launch, compared after it
static size_t used;
static const size_t ARENA = 8 << 20;

static int right() { return (me + 1) % n; }
static int left() { return (me + n - 1) % n; }

static void *take(size_t bytes) {
  void *at = arena + used;
  used += (bytes + 15) / 16 * 16;
  return used <= ARENA ? at : nullptr;
}

// What stands in the mirror for an address of the arena.
template <class T> static T *here(T *at) { return (T *)(mirror + ((char *)at - arena)); }

// Small whole numbers, which all types can hold.
template <class T> static T make(int v) { return (T)v; }
template <> dushmem_impl_bfloat16 make(int v) {
  const float f = (float)v;
  dushmem_impl_bfloat16 made;
  std::memcpy((void *)&made, (const char *)&f + 2, 2);
  return made;
}
template <> dushmem_impl_half make(int v) {
  uint16_t bits = 0;
  if (v != 0) {
    int exponent = 0;
    while (v >> (exponent + 1)) exponent++;
    bits = (uint16_t)((exponent + 15) << 10 | ((v << 10 >> exponent) & 0x3ff));
  }
  dushmem_impl_half made;
  std::memcpy((void *)&made, &bits, 2);
  return made;
}

// A type of elements: its size, and how a number is stored.
struct Type {
  size_t bytes;
  void (*store)(void *at, int v);
  char *moved;   // symmetric: n * K elements to move
  char *reduced; // symmetric: n * K elements to reduce
};

static std::vector<Type *> types;

template <class T> static void store(void *at, int v) {
  const T made = make<T>(v);
  std::memcpy(at, (const void *)&made, sizeof made);
}
template <size_t bytes> static void store_bytes(void *at, int v) { std::memset(at, v, bytes); }

static Type *new_type(size_t bytes, void (*how)(void *, int)) {
  const size_t all = bytes * (size_t)(n * K);
  types.push_back(new Type{bytes, how, (char *)take(all), (char *)take(all)});
  return types.back();
}
template <class T> static Type *type_of() {
  static Type *const type = new_type(sizeof(T), store<T>);
  return type;
}
template <size_t bytes> static Type *bytes_of() {
  static Type *const type = new_type(bytes, store_bytes<bytes>);
  return type;
}

static int moved(int pe, int i) { return 1 + (pe * 16 + i * 5 + round_now * 3) % 100; }
static int reduced(int pe, int i) { return 1 + (pe + i + round_now) % 3; }

// The result of the reduction that the name names.
static int reduction(const char *name, int i) {
  int all = reduced(0, i);
  for (int pe = 1; pe < n; pe++) {
    const int v = reduced(pe, i);
    if (std::strstr(name, "_and_")) all &= v;
    if (std::strstr(name, "_or_")) all |= v;
    if (std::strstr(name, "_xor_")) all ^= v;
    if (std::strstr(name, "_max_")) all = v > all ? v : all;
    if (std::strstr(name, "_min_")) all = v < all ? v : all;
    if (std::strstr(name, "_sum_")) all += v;
    if (std::strstr(name, "_prod_")) all *= v;
  }
  return all;
}

// The shapes of the calls, with addresses of any type.
typedef void (*Function)();
typedef void (*Move)(void *, const void *, size_t, int, void *);
typedef void (*Strided)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int, void *);
typedef void (*Signalled)(void *, const void *, size_t, uint64_t *, uint64_t, int, int, void *);
typedef int (*Collective)(int32_t, void *, const void *, size_t, void *);
typedef int (*Rooted)(int32_t, void *, const void *, size_t, int, void *);

struct Case {
  const char *name;
  Function function;
  Type *type;
  size_t elements;                  // of the buffer
  void (*enqueue)(const Case &);
  int (*expect)(const Case &, int); // the number in this element of the buffer; 0: cleared
  char *buffer;
  uint64_t *sig;
  uint64_t signalled;
};

static std::vector<Case> cases;

static void add(const char *name, Function function, Type *type, size_t elements, void (*enqueue)(const Case &),
                int (*expect)(const Case &, int), uint64_t signalled = 0) {
  char *const buffer = (char *)take(type->bytes * elements);
  uint64_t *const sig = (uint64_t *)take(sizeof(uint64_t));
  cases.push_back(Case{name, function, type, elements, enqueue, expect, buffer, sig, signalled});
}

// GPUs have no long double: there these calls say so, and do nothing.
static bool is_refused(const Case &c) {
#ifdef __CUDACC__
  return std::strstr(c.name, "_longdouble_") && std::strstr(c.name, "_reduce");
#else
  (void)c;
  return false;
#endif
}

static void must(const Case &c, int status) {
  if ((status != 0) == is_refused(c)) return;
  failures++;
  std::printf("PE %d: %s gave %d\n", me, c.name, status);
}

static int of_left(const Case &, int i) { return moved(left(), i); }
static int of_right(const Case &, int i) { return moved(right(), i); }
static int strided_left(const Case &, int i) { return i % 2 ? 0 : moved(left(), i / 2); }
static int strided_right(const Case &, int i) { return i % 2 ? 0 : moved(right(), i / 2); }
static int nine(const Case &, int) { return 9; }

static void put_it(const Case &c) { ((Move)c.function)(c.buffer, c.type->moved, K, right(), stream); }
static void iput_it(const Case &c) { ((Strided)c.function)(c.buffer, c.type->moved, 2, 1, K, right(), stream); }
static void put_signal_it(const Case &c) {
  ((Signalled)c.function)(c.buffer, c.type->moved, K, c.sig, 5, DUSHMEM_SIGNAL_ADD, right(), stream);
}
static void collect_it(const Case &c) {
  must(c, ((Collective)c.function)(DUSHMEM_TEAM_WORLD, c.buffer, c.type->moved, K, stream));
}
static void reduce_it(const Case &c) {
  must(c, ((Collective)c.function)(DUSHMEM_TEAM_WORLD, c.buffer, c.type->reduced, K, stream));
}
static void broadcast_it(const Case &c) {
  must(c, ((Rooted)c.function)(DUSHMEM_TEAM_WORLD, c.buffer, c.type->moved, K, n - 1, stream));
}
static int of_all(const Case &, int i) { return moved(i / K, i % K); }
static int for_me(const Case &, int i) { return moved(i / K, me * K + i % K); }
static int of_root(const Case &, int i) { return moved(n - 1, i); }
static int reduced_it(const Case &c, int i) { return is_refused(c) ? 0 : reduction(c.name, i); }
static int my_part(const Case &c, int i) { return is_refused(c) ? 0 : reduction(c.name, me * K + i); }

#define MOVE(NAME, PARAMS, ELEMENTS, ENQUEUE, EXPECT, SIGNALLED)                                               \
  template <class T> static void add_##NAME(const char *name, void(*function) PARAMS) {                        \
    add(name, (Function)function, type_of<T>(), (size_t)(ELEMENTS), ENQUEUE, EXPECT, SIGNALLED);               \
  }
#define PLAIN (T *, const T *, size_t, int, void *)
#define STRIDED (T *, const T *, ptrdiff_t, ptrdiff_t, size_t, int, void *)
#define SIGNAL (T *, const T *, size_t, uint64_t *, uint64_t, int, int, void *)
MOVE(put, PLAIN, K, put_it, of_left, 0)
MOVE(put_nbi, PLAIN, K, put_it, of_left, 0)
MOVE(get, PLAIN, K, put_it, of_right, 0)
MOVE(get_nbi, PLAIN, K, put_it, of_right, 0)
MOVE(iput, STRIDED, 2 * K, iput_it, strided_left, 0)
MOVE(iget, STRIDED, 2 * K, iput_it, strided_right, 0)
MOVE(put_signal, SIGNAL, K, put_signal_it, of_left, 5)
MOVE(put_signal_nbi, SIGNAL, K, put_signal_it, of_left, 5)

#define COLLECTIVE(NAME, ELEMENTS, ENQUEUE, EXPECT)                                                            \
  template <class T>                                                                                           \
  static void add_##NAME(const char *name, int (*function)(int32_t, T *, const T *, size_t, void *)) {         \
    add(name, (Function)function, type_of<T>(), (size_t)(ELEMENTS), ENQUEUE, EXPECT);                          \
  }
COLLECTIVE(fcollect, n * K, collect_it, of_all)
COLLECTIVE(alltoall, n * K, collect_it, for_me)
COLLECTIVE(reduce, K, reduce_it, reduced_it)
COLLECTIVE(reducescatter, K, reduce_it, my_part)
template <class T>
static void add_broadcast(const char *name, int (*function)(int32_t, T *, const T *, size_t, int, void *)) {
  add(name, (Function)function, type_of<T>(), K, broadcast_it, of_root);
}

template <class T> static void add_p(const char *name, void (*function)(T *, T, int, void *)) {
  add(name, (Function)function, type_of<T>(), 1,
      [](const Case &c) { ((void (*)(T *, T, int, void *))c.function)((T *)c.buffer, make<T>(9), right(), stream); },
      nine);
}

// A graph copies from memory that the device addresses only, and none can be allocated while one is made.
enum { SOURCES = 1 << 20 };
static char *sources;
static size_t sources_used;

// Waits for what the neighbour puts, then copies what is there.
static void nines(const Case &c, int count) {
  char *source = sources + sources_used;
  sources_used += (c.type->bytes * (size_t)count + 15) / 16 * 16;
  if (sources_used > SOURCES) return void(failures++);
  for (int i = 0; i < count; i++) c.type->store(source + c.type->bytes * (size_t)i, 9);
  dushmemx_putmem_on_stream(c.buffer, source, c.type->bytes * (size_t)count, right(), stream);
  dushmemx_quiet_on_stream(stream);
}
static void copied(const Case &c, int count) {
  const size_t bytes = c.type->bytes * (size_t)count;
  if (hipMemcpyAsync(c.buffer + bytes, c.buffer, bytes, hipMemcpyDefault, stream) != hipSuccess) failures++;
}
template <class T> static void add_wait_until(const char *name, void (*function)(T *, int, T, void *)) {
  add(name, (Function)function, type_of<T>(), 2,
      [](const Case &c) {
        nines(c, 1);
        ((void (*)(T *, int, T, void *))c.function)((T *)c.buffer, DUSHMEM_CMP_EQ, make<T>(9), stream);
        copied(c, 1);
      },
      nine);
}
template <class T>
static void add_wait_until_all(const char *name, void (*function)(T *, size_t, const int *, int, T, void *)) {
  add(name, (Function)function, type_of<T>(), 2 * K,
      [](const Case &c) {
        nines(c, K);
        ((void (*)(T *, size_t, const int *, int, T, void *))c.function)((T *)c.buffer, K, nullptr, DUSHMEM_CMP_GE,
                                                                        make<T>(9), stream);
        copied(c, K);
      },
      nine);
}
template <class T>
static void add_wait_until_all_vector(const char *name,
                                      void (*function)(T *, size_t, const int *, int, T *, void *)) {
  add(name, (Function)function, type_of<T>(), 2 * K,
      [](const Case &c) {
        static T values[K] = {make<T>(9), make<T>(9), make<T>(9)};
        nines(c, K);
        ((void (*)(T *, size_t, const int *, int, T *, void *))c.function)((T *)c.buffer, K, nullptr,
                                                                          DUSHMEM_CMP_EQ, values, stream);
        copied(c, K);
      },
      nine);
}

// It returns the value, so it can't be captured: called by itself after each launch.
struct Fetch {
  const char *name;
  Type *type;
  Function function;
  void (*fetch)(const Fetch &, void *to);
};
static std::vector<Fetch> fetches;
template <class T> static void add_g(const char *name, T (*function)(const T *, int, void *)) {
  fetches.push_back(Fetch{name, type_of<T>(), (Function)function, [](const Fetch &f, void *to) {
                            const T got =
                                ((T(*)(const T *, int, void *))f.function)((const T *)f.type->moved, right(), stream);
                            std::memcpy(to, (const void *)&got, sizeof got);
                          }});
}

// By size: the name tells it, in bits; names that end in mem count bytes.
static Type *sized(const char *name) {
  const char *digit = std::strpbrk(std::strstr(name, "x_"), "0123456789");
  switch (digit == nullptr ? 8 : std::atoi(digit)) {
  case 16: return bytes_of<2>();
  case 32: return bytes_of<4>();
  case 64: return bytes_of<8>();
  case 128: return bytes_of<16>();
  default: return bytes_of<1>();
  }
}
#define SIZED(NAME, ELEMENTS, ENQUEUE, EXPECT, SIGNALLED)                                                      \
  template <class F> static void add_sized_##NAME(const char *name, F function) {                              \
    add(name, (Function)function, sized(name), (size_t)(ELEMENTS), ENQUEUE, EXPECT, SIGNALLED);                \
  }
SIZED(put, K, put_it, of_left, 0)
SIZED(put_nbi, K, put_it, of_left, 0)
SIZED(get, K, put_it, of_right, 0)
SIZED(get_nbi, K, put_it, of_right, 0)
SIZED(iput, 2 * K, iput_it, strided_left, 0)
SIZED(iget, 2 * K, iput_it, strided_right, 0)
SIZED(put_signal, K, put_signal_it, of_left, 5)
SIZED(put_signal_nbi, K, put_signal_it, of_left, 5)
SIZED(fcollect, n * K, collect_it, of_all, 0)
SIZED(alltoall, n * K, collect_it, for_me, 0)
SIZED(broadcast, K, broadcast_it, of_root, 0)

// The others
static void add_signal_op(const char *name, void (*function)(uint64_t *, uint64_t, int, int, void *)) {
  add(name, (Function)function, bytes_of<1>(), 0,
      [](const Case &c) {
        ((void (*)(uint64_t *, uint64_t, int, int, void *))c.function)(c.sig, 7, DUSHMEM_SIGNAL_SET, right(), stream);
      },
      nine, 7);
}
static void add_signal_wait_until(const char *name, void (*function)(uint64_t *, int, uint64_t, void *)) {
  add(name, (Function)function, type_of<uint64_t>(), 1,
      [](const Case &c) {
        dushmemx_signal_op_on_stream(c.sig, 9, DUSHMEM_SIGNAL_ADD, right(), stream);
        ((void (*)(uint64_t *, int, uint64_t, void *))c.function)(c.sig, DUSHMEM_CMP_EQ, 9, stream);
        if (hipMemcpyAsync(c.buffer, c.sig, sizeof *c.sig, hipMemcpyDefault, stream) != hipSuccess) failures++;
      },
      nine, 9);
}
// What the neighbour has put is there behind the call: a copy of it is made.
static void arrived(const Case &c) {
  nines(c, 1);
  if (std::strstr(c.name, "quiet") || std::strstr(c.name, "_all"))
    ((void (*)(void *))c.function)(stream);
  else
    must(c, ((int (*)(int32_t, void *))c.function)(DUSHMEM_TEAM_WORLD, stream));
  if (std::strstr(c.name, "quiet")) dushmemx_sync_all_on_stream(stream);
  copied(c, 1);
}
template <class F> static void add_meeting(const char *name, F function) {
  add(name, (Function)function, type_of<int>(), 2, arrived, nine);
}
#define add_quiet add_meeting
#define add_barrier add_meeting
#define add_barrier_all add_meeting
#define add_team_sync add_meeting
#define add_sync_all add_meeting

static void wrong(const char *name, int at, const char *got, const char *want, size_t bytes) {
  if (failures++ > 20) return;
  std::printf("PE %d, launch %d: %s: element %d is", me, round_now, name, at);
  for (size_t i = 0; i < bytes; i++) std::printf(" %02x", (unsigned char)got[i]);
  std::printf(" and not");
  for (size_t i = 0; i < bytes; i++) std::printf(" %02x", (unsigned char)want[i]);
  std::printf("\n");
}

// Of a long double, ten bytes count.
static size_t counting(const Type *type) { return type == type_of<long double>() ? 10 : type->bytes; }

static void check(const Case &c) {
  char want[32] = {};
  for (size_t i = 0; i < c.elements; i++) {
    std::memset(want, 0, sizeof want);
    const int v = c.expect(c, (int)i);
    if (v != 0) c.type->store(want, v);
    const char *got = here(c.buffer) + i * c.type->bytes;
    if (std::memcmp(got, want, counting(c.type)) != 0) wrong(c.name, (int)i, got, want, c.type->bytes);
  }
  if (*here(c.sig) != c.signalled) wrong(c.name, -1, (const char *)here(c.sig), (const char *)&c.signalled, sizeof *c.sig);
}

// Arguments: the first case, and the one behind the last, of those that are to be made: all.
int main(int argc, char **argv) {
  dushmem_init();
  if (hipHostMalloc((void **)&sources, SOURCES) != hipSuccess) return 3;
  me = dushmem_my_pe();
  n = dushmem_n_pes();
  arena = (char *)dushmem_calloc(1, ARENA);
  mirror = (char *)std::calloc(1, ARENA);
  if (arena == nullptr || mirror == nullptr || hipStreamCreate(&stream) != hipSuccess) return 2;

#define CASE(kind, name) add_##kind(#name, name);
#include "on_stream_names.inc"
#undef CASE
  if (used > ARENA) return 3;

  const size_t first = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const size_t last = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : cases.size();
  const auto made = [&](const Case &c) { return (size_t)(&c - &cases[0]) >= first && (size_t)(&c - &cases[0]) < last; };
  // Where PEs take turns on a GPU a launch takes long.
  const auto begun = std::chrono::steady_clock::now();
  const auto so_far = [&](const std::string &what) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::fprintf(stderr, "PE %d: %s after %.1f s\n", me, what.c_str(), seconds);
  };
  hipGraph_t graph;
  hipGraphExec_t exec;
  if (hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) != hipSuccess) return 4;
  for (const Case &c : cases)
    if (made(c)) c.enqueue(c);
  dushmemx_barrier_all_on_stream(stream);
  if (hipStreamEndCapture(stream, &graph) != hipSuccess) return 5;
  so_far("captured");
  if (hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) != hipSuccess) return 6;
  so_far("instantiated");
  for (round_now = 1; round_now <= 3; round_now++) {
    for (const Case &c : cases) {
      std::memset(here(c.buffer), 0, c.elements * c.type->bytes);
      *here(c.sig) = 0;
    }
    for (const Type *type : types)
      for (int i = 0; i < n * K; i++) {
        type->store(here(type->moved) + (size_t)i * type->bytes, moved(me, i));
        type->store(here(type->reduced) + (size_t)i * type->bytes, reduced(me, i));
      }
    copy_now(arena, mirror, used);
    dushmem_barrier_all();
    if (hipGraphLaunch(exec, stream) != hipSuccess) return 7;
    so_far("launch " + std::to_string(round_now) + " of 3 is in the stream");
    if (hipStreamSynchronize(stream) != hipSuccess) return 8;
    copy_now(mirror, arena, used);
    for (const Case &c : cases)
      if (made(c)) check(c);
    for (const Fetch &f : fetches) {
      char got[32] = {}, want[32] = {};
      f.fetch(f, got);
      f.type->store(want, moved(right(), 0));
      if (std::memcmp(got, want, counting(f.type)) != 0) wrong(f.name, 0, got, want, f.type->bytes);
    }
    dushmem_barrier_all();
    so_far("launch " + std::to_string(round_now) + " of 3 is over");
  }
  if (hipGraphExecDestroy(exec) != hipSuccess || hipGraphDestroy(graph) != hipSuccess) return 9;
  size_t calls = fetches.size();
  for (const Case &c : cases) calls += made(c);
  uint64_t *all = (uint64_t *)dushmem_calloc(1, sizeof(uint64_t));
  dushmem_uint64_atomic_add(all, (uint64_t)failures, 0);
  dushmem_barrier_all();
  if (me == 0 && look(all) == 0) std::printf("%d calls: all right\n", (int)calls);
  dushmem_finalize();
  return failures != 0;
}
