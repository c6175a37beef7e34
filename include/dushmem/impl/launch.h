/* Launches on the emulator: what launcher.h, and with it what dushcc writes, stands on. Arguments are copied
 * when the launch is made, and once more for each GPU thread. */
#ifndef DUSHMEM_IMPL_LAUNCH_H
#define DUSHMEM_IMPL_LAUNCH_H

#include "emu_abi.h"
#include "emu_types.h"
#include <cstdio>
#include <tuple>
#include <type_traits>
#include <utility>

/* Written by the scheduler before a GPU thread runs on. */
inline thread_local uint3 threadIdx{0, 0, 0};
inline thread_local uint3 blockIdx{0, 0, 0};
inline thread_local dim3 blockDim{1, 1, 1};
inline thread_local dim3 gridDim{1, 1, 1};
/* 32, or 64 if DUSHMEM_EMU_WARP says so. Not a constant expression in CUDA either. */
inline const int warpSize = dushmem_emu_warp_size();

namespace dushmem {
namespace emu {

inline thread_local void *shared_base = nullptr;
inline thread_local bool kernel_runs = false;

/* The call of the library that the running GPU thread is in, as the program names it, or null: what messages say, and
 * by what is seen that only some threads of a block make a call. */
inline thread_local const char *call_name = nullptr;

/* Its arguments, until its threads meet; or null. */
inline thread_local const dushmem_emu_arguments *call_arguments = nullptr;

/* True on an OS thread that runs a kernel. */
inline bool in_kernel() { return kernel_runs; }

/* A call, for as long as it takes. One that another call makes goes by the name of that. */
struct in_call {
  explicit in_call(const char *name) : outer(call_name) {
    if (outer == nullptr) call_name = name;
  }
  ~in_call() { call_name = outer; }
  in_call(const in_call &) = delete;

private:
  const char *const outer;
};

inline void locate(dushmem_emu_place *place) {
  place->thread = &threadIdx;
  place->block = &blockIdx;
  place->block_dim = &blockDim;
  place->grid_dim = &gridDim;
  place->shared = &shared_base;
  if (place->size >= offsetof(dushmem_emu_place, call)) place->in_kernel = &kernel_runs;
  if (place->size >= offsetof(dushmem_emu_place, arguments)) place->call = &call_name;
  if (place->size >= sizeof *place) place->arguments = &call_arguments;
}

/* How the units of the program are compiled: bit 0 with fibers, bit 1 with OS threads for GPU threads. */
inline unsigned &unit_kinds() {
  static unsigned kinds = 0;
  return kinds;
}

#ifdef DUSHMEM_EMU_OS_THREADS
constexpr unsigned unit_kind = 2;
#else
constexpr unsigned unit_kind = 1;
#endif

namespace {
[[maybe_unused]] const bool unit_is_known = ((unit_kinds() |= unit_kind) != 0);
}

/* Flags of a launch. In a program of both kinds every launch is refused. */
inline unsigned unit_flags(unsigned kind) {
  if (unit_kinds() == 3) return DUSHMEM_EMU_LAUNCH_MIXED;
  return kind == 2 ? DUSHMEM_EMU_LAUNCH_OS_THREADS : 0;
}

/* What stands between <<< and >>>. */
struct config {
  dim3 grid, block;
  size_t shared = 0;
  CUstream_st *stream = nullptr;
  unsigned flags = 0;
  unsigned unit = unit_flags(unit_kind);
  /* The kernel's address, where it is known; whether that is null. */
  const void *kernel = nullptr;
  bool null = false;
  /* What is done with the launch, if not to put it into the stream. */
  int (*take)(const dushmem_emu_launch_t *launch, void *data) = nullptr;
  void *data = nullptr;

  config(dim3 g, dim3 b) : grid(g), block(b) {}
  template <class Bytes>
  config(dim3 g, dim3 b, Bytes bytes, CUstream_st *on = nullptr)
      : grid(g), block(b), shared(static_cast<size_t>(bytes)), stream(on) {}

  void locate_kernel(const void *address) {
    kernel = address;
    null = address == nullptr;
  }
};

/* Dynamic shared memory of the running block: what extern __shared__ T name[] becomes. */
template <class T> struct dynamic_shared {
  operator T *() const { return static_cast<T *>(shared_base); }
  T *operator&() const { return static_cast<T *>(shared_base); }
};

template <class T> T *dynamic_shared_pointer() { return static_cast<T *>(shared_base); }

#ifdef DUSHMEM_EMU_OS_THREADS
/* The block's variable of a type that only one declaration has: what __shared__ T name becomes. */
template <class Only> Only &block_shared(Only *) {
  static const char key = 0;
  return *static_cast<Only *>(dushmem_emu_shared(&key, sizeof(Only), alignof(Only)));
}

template <class T> struct member_of;
template <class Only, class T> struct member_of<T Only::*> {
  using only = Only;
  using type = T;
};

/* The same at namespace scope: an object that finds the block's variable at each use. */
template <auto member> struct block_shared_member {
  using only = typename member_of<decltype(member)>::only;
  using type = typename member_of<decltype(member)>::type;
  static type &get() { return block_shared(static_cast<only *>(nullptr)).*member; }
  operator type &() const { return get(); }
  type *operator&() const { return &get(); }
  template <class V> const block_shared_member &operator=(const V &value) const {
    get() = value;
    return *this;
  }
  template <class V> decltype(auto) operator+=(const V &value) const { return get() += value; }
  template <class V> decltype(auto) operator-=(const V &value) const { return get() -= value; }
  decltype(auto) operator++() const { return ++get(); }
  decltype(auto) operator--() const { return --get(); }
  decltype(auto) operator++(int) const { return get()++; }
  decltype(auto) operator--(int) const { return get()--; }
};
#endif

template <class Function, class... Args> struct closure {
  Function function;
  std::tuple<Args...> args;

  /* An exception that a kernel lets out ends the process where it was thrown. */
  static void body(void *self) noexcept {
    auto &me = *static_cast<closure *>(self);
    std::apply([&me](auto &...a) { me.function(a...); }, me.args);
  }
  static void release(void *self) { delete static_cast<closure *>(self); }
  static size_t parameters(void *self, void **addresses, size_t most) {
    auto &me = *static_cast<closure *>(self);
    std::apply(
        [=](auto &...a) {
          size_t at = 0;
          ((at < most ? void(addresses[at] = const_cast<void *>(static_cast<const void *>(&a))) : void(), at++), ...);
        },
        me.args);
    return sizeof...(Args);
  }
};

inline int start(const char *name, const config &how, void (*body)(void *), void *args, void (*release)(void *),
                 size_t (*parameters)(void *, void **, size_t)) {
  dushmem_emu_launch_t l = {};
  l.size = sizeof l;
  l.flags = how.flags | how.unit;
  l.name = name;
  l.body = body;
  l.args = args;
  l.release = release;
  l.locate = locate;
  l.grid = {how.grid.x, how.grid.y, how.grid.z};
  l.block = {how.block.x, how.block.y, how.block.z};
  l.shared = how.shared;
  l.stream = DUSHMEM_EMU_STREAM(how.stream);
  l.abi = DUSHMEM_EMU_ABI;
  l.kernel = how.kernel;
  l.parameters = parameters;
  return how.take != nullptr ? how.take(&l, how.data) : dushmem_emu_launch(&l);
}

/* Errors become the thread's last error, as with a real launch. */
template <class Function, class... Args>
void launch(const char *name, const config &how, Function function, Args... args) {
  using Closure = closure<Function, Args...>;
  if (how.null) {
    start(name, how, nullptr, nullptr, nullptr, nullptr);
    return;
  }
  auto *made = new Closure{std::move(function), std::tuple<Args...>(std::move(args)...)};
  start(name, how, Closure::body, made, Closure::release, Closure::parameters);
}

template <class T> struct same {
  using type = T;
};

/* With a known signature: arguments are converted when the launch is made, a literal 0 to a pointer too. */
template <class... Params>
int launch_typed(const char *name, config how, void (*kernel)(Params...), typename same<Params>::type... args) {
  if (kernel == nullptr) return start(name, how, nullptr, nullptr, nullptr, nullptr);
  how.kernel = reinterpret_cast<const void *>(kernel);
  auto call = [kernel](auto &...a) { kernel(a...); };
  using Closure = closure<decltype(call), std::decay_t<Params>...>;
  auto *made = new Closure{call, std::tuple<std::decay_t<Params>...>(std::move(args)...)};
  return start(name, how, Closure::body, made, Closure::release, Closure::parameters);
}

/* Kernels whose address a program has only as a void pointer: dushcc registers them behind their definition, with
 * ::dushmem::emu::registration; others are known once they have been passed with their type. */
struct known_kernel {
  const void *kernel;
  int (*start)(const config &, const void *, void **);
  /* Null where it isn't known. */
  const char *name;
  const known_kernel *next;
};

inline const known_kernel *&known_kernels() {
  static const known_kernel *first = nullptr;
  return first;
}

inline const known_kernel *find_kernel(const void *kernel) {
  const known_kernel *one = __atomic_load_n(&known_kernels(), __ATOMIC_ACQUIRE);
  while (one != nullptr && one->kernel != kernel) one = one->next;
  return one;
}

inline void add_kernel(known_kernel *made) {
  made->next = __atomic_load_n(&known_kernels(), __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(&known_kernels(), &made->next, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
}

/* What messages call a kernel that is launched by address. */
struct label {
  char text[24];
  const char *name;

  explicit label(const void *kernel) : text() {
    const known_kernel *known = find_kernel(kernel);
    name = known == nullptr ? nullptr : known->name;
    if (name == nullptr) std::snprintf(text, sizeof text, "%p", kernel);
  }
  const char *shown() const { return name != nullptr ? name : text; }
};

/* Launch by name with an array of pointers to the arguments. */
template <class... Params, size_t... I>
int start_array(const config &how, void (*kernel)(Params...), [[maybe_unused]] void **args, std::index_sequence<I...>) {
  if (args == nullptr && sizeof...(Params) != 0) return dushmem_emu_fail(1, "args is NULL");
  const label called(reinterpret_cast<const void *>(kernel));
  return launch_typed(called.shown(), how, kernel, *static_cast<std::decay_t<Params> *>(args[I])...);
}

struct registration : known_kernel {
  template <class... Params> explicit registration(void (*known)(Params...), const char *called = nullptr) {
    kernel = reinterpret_cast<const void *>(known);
    name = called;
    start = [](const config &how, const void *address, void **args) {
      auto *typed = reinterpret_cast<void (*)(Params...)>(const_cast<void *>(address));
      return start_array(how, typed, args, std::index_sequence_for<Params...>{});
    };
    add_kernel(this);
  }
};

/* From here on the kernel is known by its address: for ever, as it may be launched at any time. */
template <class... Params> void note_kernel(void (*kernel)(Params...)) {
  if (kernel != nullptr && find_kernel(reinterpret_cast<const void *>(kernel)) == nullptr) new registration(kernel);
}
inline void note_kernel(const void *) {}

template <class... Params> int launch_array(const config &how, void (*kernel)(Params...), void **args) {
  if (kernel == nullptr) return start("kernel", how, nullptr, nullptr, nullptr, nullptr);
  note_kernel(kernel);
  return start_array(how, kernel, args, std::index_sequence_for<Params...>{});
}

/* What is wrong with an address that is no known kernel's. */
struct unknown_kernel_text {
  char text[240];
  explicit unknown_kernel_text(const void *kernel) : text() {
    std::snprintf(text, sizeof text,
                  "func = %p: no kernel is known by this address; pass a template's instance, or a kernel of another "
                  "file, with its type: my_kernel<3>, not (const void *)my_kernel<3>",
                  kernel);
  }
};

/* A device would run it: what only the emulator refuses is told on standard error, too. */
inline int launch_array(const config &how, const void *kernel, void **args) {
  if (kernel == nullptr) return start("kernel", how, nullptr, nullptr, nullptr, nullptr);
  if (const known_kernel *known = find_kernel(kernel)) return known->start(how, kernel, args);
  const unknown_kernel_text why(kernel);
  dushmem_emu_say("a launch by address", why.text);
  return dushmem_emu_fail(98, why.text);
}

} // namespace emu
} // namespace dushmem
#include "launcher.h"
#endif
