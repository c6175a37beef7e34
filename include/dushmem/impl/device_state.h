/* What a kernel knows of its PE. */
#ifndef DUSHMEM_IMPL_DEVICE_STATE_H
#define DUSHMEM_IMPL_DEVICE_STATE_H

/* The same as KernelState and KernelTeam of crates/core/src/kernel_state.rs. Fields are added at the end;
 * DUSHMEM_IMPL_STATE_ABI counts incompatible changes. */
#define DUSHMEM_IMPL_STATE_ABI 3u
#define DUSHMEM_IMPL_STATE_MAGIC 0x647573686d656d31ull
#define DUSHMEM_IMPL_UNREACHABLE INT64_MIN
/* The number of all contexts: crates/core/src/proxy/request.rs. */
#define DUSHMEM_IMPL_EVERY_CONTEXT 0x7fffffff
/* Low bits of a team's handle. */
#define DUSHMEM_IMPL_TEAM_SLOT 0xfff

struct dushmem_impl_kernel_team {
  int32_t my_pe, n_pes;
  uint64_t pes;  /* world numbers of the members (32 bits each), or 0: they are the world's */
  uint64_t slot; /* own address of the team's slot for kernels, in the internals */
  int32_t handle;
  uint32_t words; /* of each array of flags in the slot */
  uint32_t cell;  /* bytes of the buffer that each member has at each other */
  uint32_t flags; /* DUSHMEM_IMPL_TEAM_DIRECT, or 0; above DUSHMEM_IMPL_TEAM_BLOCKS bits: blocks of a grid's flags */
};
/* Kernels of all members load and store the memory of all members. */
#define DUSHMEM_IMPL_TEAM_DIRECT 1u
#define DUSHMEM_IMPL_TEAM_BLOCKS 8

/* So many PEs' entries of the table `delta` stand in the state itself. */
#define DUSHMEM_IMPL_FIRST_PES 64

/* All zero, or with n_pes 0, before the library is initialised. */
struct dushmem_impl_kernel_state {
  uint64_t magic;
  uint32_t abi, size;
  int32_t my_pe, n_pes;
  uint64_t heap, heap_len;
  uint64_t delta; /* by world PE: from an own heap address to the PE's copy (64 bits each) */
  uint64_t teams, team_count; /* by slot */
  uint64_t proxy;             /* ring of requests, or 0 */
  uint64_t internals;         /* first byte of the library's part of the slice, which ends at the heap */
  uint64_t doorbell;          /* own address of a 32-bit word that is not 0 while somebody sleeps for a write */
  uint32_t remote;            /* PEs that are not reachable by load and store */
  uint32_t flags;             /* DUSHMEM_IMPL_FLAG_... */
  uint64_t other_heap, other_heap_len; /* a second heap that kernels reach, or 0 */
  uint64_t other_delta;                /* as delta, for that heap */
  uint32_t sharing;                    /* how PEs share the device: 0 not, 1 threads of a process, 2 processes whose
                                          kernels run at the same time, 3 processes that take turns */
  uint32_t queue_pairs; /* queue pairs have the numbers below it */
  uint64_t notice; /* a word of the host, for kernels that have lost their turn while they waited, where PEs take turns; or 0 */
  /* Entries of `delta` with the highest bit inverted: 0 is UNREACHABLE, or nothing known, as in the states of libraries that
   * end before it. The last one is always 0. */
  uint64_t first_delta[DUSHMEM_IMPL_FIRST_PES + 1];
  dushmem_impl_kernel_team world; /* what the table says about team 0, which lives as long as the state; or n_pes 0 */
  uint64_t tickets; /* where kernels count requests, a multiple of 64, plus the logarithm of the ring's slots; or 0: the ring
                       says both */
};

/* Where PEs take turns, a kernel that loses its turn while it waits is an error. */
#define DUSHMEM_IMPL_FLAG_STRICT 1u
/* All PEs are threads of this process and use this device, and the heap is the device's: what is ordered on the device is
 * ordered for all of them. */
#define DUSHMEM_IMPL_FLAG_NEAR 2u
/* Atomic operations of kernels on words of the heap, or of the second heap, would not be atomic against those of the
 * host: the proxy performs them. */
#define DUSHMEM_IMPL_FLAG_HEAP_BY_PROXY 4u
#define DUSHMEM_IMPL_FLAG_OTHER_BY_PROXY 8u
/* The second heap, or what kernels lack of it, could not be pinned for them. */
#define DUSHMEM_IMPL_FLAG_NO_OTHER 32u

/* Without the magic number: PEs are threads of the process, and this unit is linked into it, once for all of them. */
#define DUSHMEM_IMPL_FLAG_OF_MANY 16u

#ifdef DUSHMEM_EMU

extern "C" const dushmem_impl_kernel_state *const dushmem_emu_state;

#else

/* What a translation unit registers: Module of crates/core/src/kernel_state.rs. */
struct dushmem_impl_module {
  uint32_t size, abi;
  const char *header;
  int (*push)(const dushmem_impl_kernel_state *state, size_t bytes, void *stream);
};

/* The library sets it before the unit's first kernel runs, and when it changes. In constant memory, so that reading
 * it costs nothing, and compilers know that no store of a kernel changes it. */
static __constant__ dushmem_impl_kernel_state dushmem_impl_state;

extern "C" {
void dushmem_impl_register_module(const dushmem_impl_module *module);
void dushmem_impl_unregister_module(const dushmem_impl_module *module);
}

#ifndef DUSHMEM_IMPL_ON_DEVICE
/* Compiled into the unit, so that the state goes through the program's own runtime. */
static inline int dushmem_impl_push_state(const dushmem_impl_kernel_state *state, size_t bytes, void *stream) {
  const size_t known = bytes < sizeof *state ? bytes : sizeof *state;
#if defined(__HIPCC__)
  return (int)hipMemcpyToSymbolAsync(HIP_SYMBOL(dushmem_impl_state), state, known, 0, hipMemcpyHostToDevice,
                                     (hipStream_t)stream);
#else
  return (int)cudaMemcpyToSymbolAsync(dushmem_impl_state, state, known, 0, cudaMemcpyHostToDevice,
                                      (cudaStream_t)stream);
#endif
}

namespace {
struct dushmem_impl_registration {
  dushmem_impl_module module;
  dushmem_impl_registration()
      : module{(uint32_t)sizeof module, DUSHMEM_IMPL_STATE_ABI, __FILE__, dushmem_impl_push_state} {
    dushmem_impl_register_module(&module);
  }
  ~dushmem_impl_registration() { dushmem_impl_unregister_module(&module); }
  dushmem_impl_registration(const dushmem_impl_registration &) = delete;
  dushmem_impl_registration &operator=(const dushmem_impl_registration &) = delete;
};
dushmem_impl_registration dushmem_impl_registered;
} // namespace
#endif
#endif

namespace dushmem {
namespace device {
namespace impl {

DUSHMEM_IMPL_FN const dushmem_impl_kernel_state &state() {
#ifdef DUSHMEM_EMU
  return *dushmem_emu_state;
#else
  return dushmem_impl_state;
#endif
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
