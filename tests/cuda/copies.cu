// Put and get by every scope, with all alignments of both sides and sizes around those at which the way of copying
// changes. What a put has written is read by plain loads at the peer, and so is what lies around it; elements that are
// aligned on both sides are seen old or new by a reader who doesn't wait. On one PE or more, whose memory kernels reach.
// With -DDUSHMEM_IMPL_COPY_AS_ON_GPU the CPU's kernels copy as those of a GPU do.
// With an argument: every so-manieth case only.
#include "../kernels/verdict.h"

using namespace dushmem::device;

struct unit {
  int number, count, rank, size;
};
__device__ static unit who(scope::thread) {
  return {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(gridDim.x * blockDim.x), 0, 1};
}
__device__ static unit who(scope::warp) {
  const int warp = (int)threadIdx.x / warpSize, warps = ((int)blockDim.x + warpSize - 1) / warpSize;
  const int left = (int)blockDim.x - warp * warpSize;
  return {(int)blockIdx.x * warps + warp, (int)gridDim.x * warps, (int)threadIdx.x % warpSize, left < warpSize ? left : warpSize};
}
__device__ static unit who(scope::block) { return {(int)blockIdx.x, (int)gridDim.x, (int)threadIdx.x, (int)blockDim.x}; }

__device__ static unsigned char pattern(unsigned seed, size_t i) {
  return (unsigned char)((seed * 2654435761u + (unsigned)i * 40503u) >> 13);
}

enum : size_t { AROUND = 64 };

// Sizes that a scope copies: small ones, and up to several times what it has under way.
template <class S> struct most;
template <> struct most<scope::thread> {
  static constexpr size_t value = 700;
};
template <> struct most<scope::warp> {
  static constexpr size_t value = 9000;
};
template <> struct most<scope::block> {
  static constexpr size_t value = 70000;
};
__device__ static size_t size_of_case(int number) {
  const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 20, 23, 24, 30, 31, 32, 33, 40, 45, 46,
                          47, 48, 49, 56, 63, 64, 65, 79, 80, 81, 96, 127, 128, 160, 161, 192, 255, 256, 257, 320,
                          336, 500, 512, 527, 528, 700, 1023, 1024, 1536, 1552, 2048, 2063, 2064, 4096, 4111, 4112,
                          4128, 8192, 8200, 9000, 12288, 12304, 16384, 16400, 32768, 32783, 32784, 65536, 65552,
                          70000};
  return number < (int)(sizeof sizes / sizeof *sizes) ? sizes[number] : (size_t)-1;
}

// Large copies with a few alignments only.
__device__ static bool chosen(size_t bytes, int to, int from) {
  return bytes < 1000 || (from * 5 + to) % 7 == (int)(bytes % 7) || (to < 2 && from < 2);
}

template <class S> __device__ static void meet(S s) { impl::sync(s); }

template <class S>
__global__ void __launch_bounds__(1024) copies(unsigned char *heap, unsigned char *local, size_t room, int every, unsigned long long *bad) {
  const S s{};
  const unit me = who(s);
  const int pe = (dushmem_my_pe() + 1) % dushmem_n_pes();
  unsigned char *const far = heap + (size_t)me.number * room, *const source = local + (size_t)me.number * 2 * room;
  unsigned char *const back = source + room;
  unsigned char *const there = (unsigned char *)dushmem_ptr(far, pe);
  if (there == nullptr) {
    holds(bad, "the peer's memory is reachable", false);
    return;
  }
  unsigned seed = 0;
  for (int pair = me.number; pair < 256; pair += me.count) {
    const int to = pair / 16, from = pair % 16;
    for (int number = 0; size_of_case(number) <= most<S>::value; number++) {
      const size_t bytes = size_of_case(number);
      seed++;
      // Where both sides are aligned to 16 bytes, all sizes: most copies are of that kind, and there are most ways.
      if (pair != 0 && (!chosen(bytes, to, from) || (pair * 31 + number) % every != 0)) continue;
      unsigned char *const dest = far + AROUND + to, *const at = source + AROUND + from;
      for (size_t i = me.rank; i < bytes + 2 * AROUND; i += me.size) {
        ((volatile unsigned char *)there)[to + i] = 0xee;
        at[i - AROUND] = pattern(seed, i - AROUND);
      }
      meet(s);
      impl::fence_system();
      put<S>(dest, at, bytes, pe);
      quiet<S>();
      for (size_t i = me.rank; i < bytes + 2 * AROUND; i += me.size) {
        const bool inside = i >= AROUND && i < AROUND + bytes;
        expect(bad, "byte after a put", ((volatile unsigned char *)there)[to + i],
               inside ? pattern(seed, i - AROUND) : 0xee, (long long)(bytes * 1000000 + to * 1000 + from));
        back[i + from] = 0x77;
      }
      meet(s);
      // From there to a place that is aligned as the source was.
      get<S>(back + AROUND + from, dest, bytes, pe);
      for (size_t i = me.rank; i < bytes + 2 * AROUND; i += me.size) {
        const bool inside = i >= AROUND && i < AROUND + bytes;
        expect(bad, "byte after a get", ((volatile unsigned char *)back)[from + i],
               inside ? pattern(seed, i - AROUND) : 0x77, (long long)(bytes * 1000000 + to * 1000 + from));
      }
      meet(s);
    }
  }
}

// The source is memory of the thread, or of the block; and so is what a get writes to.
template <class S> __global__ void __launch_bounds__(1024) other_memory(unsigned char *heap, size_t room, unsigned long long *bad) {
  const S s{};
  const unit me = who(s);
  const int pe = (dushmem_my_pe() + 1) % dushmem_n_pes();
  unsigned char *const far = heap + (size_t)me.number * room;
  __shared__ unsigned char shared[1024], again[1024];
  for (int to = 0; to < 16; to += 3)
    for (int from = 0; from < 16; from++)
      for (size_t bytes : {size_t(1), size_t(8), size_t(15), size_t(64), size_t(333), size_t(900)}) {
        if (me.number != 0) continue;
        const unsigned seed = (unsigned)(to * 1000 + from + bytes * 77);
        for (size_t i = me.rank; i < bytes; i += me.size) shared[from + i] = pattern(seed, i);
        meet(s);
        put<S>(far + to, shared + from, bytes, pe);
        quiet<S>();
        get<S>(again + from, far + to, bytes, pe);
        for (size_t i = me.rank; i < bytes; i += me.size)
          expect(bad, "byte by way of the block's memory", again[from + i], pattern(seed, i), (long long)bytes);
        meet(s);
      }
}
__global__ void own_memory(unsigned char *heap, size_t room, unsigned long long *bad) {
  const unit me = who(scope::thread{});
  const int pe = (dushmem_my_pe() + 1) % dushmem_n_pes();
  unsigned char *const far = heap + (size_t)me.number * room;
  unsigned char mine[80], again[80];
  for (int to = 0; to < 16; to += 3)
    for (int from = 0; from < 16; from++)
      for (int bytes = 1; bytes < 64; bytes += 9) {
        for (int i = 0; i < 80; i++) mine[i] = pattern((unsigned)(to + from + me.number), (size_t)i), again[i] = 0;
        put(far + to, mine + from, (size_t)bytes, pe);
        quiet();
        get(again + from, far + to, (size_t)bytes, pe);
        for (int i = 0; i < 80; i++)
          expect(bad, "byte by way of the thread's memory", again[i], i >= from && i < from + bytes ? mine[i] : 0, bytes);
      }
}

// By way of shared memory that the caller gives: none, little, and enough; long copies, and such as can't go that way.
extern __shared__ unsigned char given[];
template <class S>
__global__ void by_scratch(unsigned char *heap, unsigned char *local, size_t most, uint64_t *signal, unsigned long long *bad) {
  const S s{};
  const int pe = (dushmem_my_pe() + 1) % dushmem_n_pes();
  const bool mine = who(s).number == 0;
  unsigned char *const source = local, *const back = local + most, *const there = (unsigned char *)dushmem_ptr(heap, pe);
  const size_t sizes[] = {100, 4096, 5003, 40000, 65536, 262144 + 77}, rooms[] = {0, 700, 8192, 40000};
  const int offsets[][2] = {{0, 0}, {5, 5}, {8, 8}, {0, 3}};
  unsigned seed = 0;
  for (size_t bytes : sizes)
    for (const auto &off : offsets)
      for (size_t room : rooms) {
        unsigned char *const dest = heap + AROUND + off[0], *const at = source + AROUND + off[1];
        seed++;
        __syncthreads();
        for (size_t i = threadIdx.x; i < bytes + 2 * AROUND; i += blockDim.x) {
          at[i - AROUND] = pattern(seed, i);
          ((volatile unsigned char *)there)[off[0] + i] = 0xee;
          back[off[1] + i] = 0x77;
        }
        for (size_t i = threadIdx.x; i < room; i += blockDim.x) given[i] = 0x55;
        impl::fence_system();
        __syncthreads();
        if (mine) {
          unsigned char *const scratch = room == 0 ? nullptr : given + seed % 5;
          if (seed % 2)
            put_scratch<S>(dest, at, bytes, pe, scratch, room);
          else
            put_signal_scratch<S>(dest, at, bytes, signal, seed, DUSHMEM_SIGNAL_SET, pe, scratch, room);
          quiet<S>();
          get_scratch<S>(back + AROUND + off[1], dest, bytes, pe, scratch, room);
        }
        __syncthreads();
        for (size_t i = threadIdx.x; i < bytes + 2 * AROUND; i += blockDim.x) {
          const bool inside = i >= AROUND && i < AROUND + bytes;
          expect(bad, "byte after a put by scratch", ((volatile unsigned char *)there)[off[0] + i],
                 inside ? pattern(seed, i) : 0xee, (long long)(bytes * 1000 + room));
          expect(bad, "byte after a get by scratch", ((volatile unsigned char *)back)[off[1] + i],
                 inside ? pattern(seed, i) : 0x77, (long long)(bytes * 1000 + room));
        }
      }
}

// Block 0 puts elements whose bytes are all equal, again and again; block 1 looks at them meanwhile.
template <class S, class T, class Whole>
__global__ void __launch_bounds__(1024) tearing(unsigned char *heap, unsigned char *local, int *stop, int rounds, unsigned long long *bad) {
  const S s{};
  const int pe = (dushmem_my_pe() + 1) % dushmem_n_pes();
  const int elements = 61, to = 1, from = 3; // in elements: not aligned alike, but each is aligned
  T *const dest = (T *)(heap + AROUND) + to;
  if (blockIdx.x == 0) {
    // Each warp or thread of the block would write the same place: one unit does.
    const unit me = who(s);
    if (me.number != 0) return;
    T *const source = (T *)(local + AROUND) + from;
    for (int round = 0; round < rounds; round++) {
      for (int i = me.rank; i < elements; i += me.size) memset(source + i, round & 1 ? 0xff : 0, sizeof(T));
      meet(s);
      // An odd number of bytes: what is left at the end must not cut the elements before it.
      if (round & 2)
        put<S>((unsigned char *)dest, (const unsigned char *)source, (size_t)(elements - 1) * sizeof(T) + 1, pe);
      else
        put<S>(dest, source, (size_t)(elements - 1), pe);
    }
    quiet<S>();
    meet(s);
    if (me.rank == 0) atomicExch(stop, 1);
    return;
  }
  const T *const there = (const T *)dushmem_ptr(dest, pe);
  const int i = (int)threadIdx.x;
  while (i < elements - 1 && atomicAdd(stop, 0) == 0) {
    const Whole seen = *(const volatile Whole *)(there + i);
    expect(bad, "a torn element", seen == 0 || seen == (Whole)~(Whole)0, 1, (long long)sizeof(T));
    idle();
  }
}

static int units_of(scope::thread, int threads) { return threads; }
static int units_of(scope::warp, int threads) { return (threads + 31) / 32; }
static int units_of(scope::block, int) { return 1; }

// Chosen by the number of threads: partial warps, and blocks with them, share the work otherwise.
template <class S> static void run(int blocks, int threads, int every) {
  const size_t room = (most<S>::value + 2 * AROUND + 64 + 255) / 256 * 256;
  const size_t bytes = (size_t)blocks * (size_t)units_of(S{}, threads) * room;
  unsigned char *heap = zeroed<unsigned char>(bytes), *local;
  CUDA(cudaMalloc((void **)&local, 2 * bytes));
  int *stop;
  CUDA(cudaMalloc((void **)&stop, sizeof *stop));
  dushmem_barrier_all();
  copies<S><<<blocks, threads, 0, stream>>>(heap, local, room, every, bad);
  finish_kernels();
  other_memory<S><<<1, threads, 0, stream>>>(heap, room, bad);
  finish_kernels();
  const auto torn = [&](auto kernel) {
    CUDA(cudaMemsetAsync(stop, 0, sizeof *stop, stream));
    CUDA(cudaMemsetAsync(heap, 0, room, stream));
    finish_kernels();
    kernel<<<2, threads, 0, stream>>>(heap, local, stop, 400, bad);
    finish_kernels();
  };
  torn(tearing<S, unsigned short, unsigned short>);
  torn(tearing<S, unsigned int, unsigned int>);
  torn(tearing<S, unsigned long long, unsigned long long>);
  CUDA(cudaFree(stop));
  CUDA(cudaFree(local));
  dushmem_free(heap);
}

template <class S> static void run_scratch(int threads) {
  const size_t most = 262144 + 1024;
  unsigned char *heap = zeroed<unsigned char>(most), *local;
  uint64_t *signal = zeroed<uint64_t>(1);
  CUDA(cudaMalloc((void **)&local, 2 * most));
  dushmem_barrier_all();
  by_scratch<S><<<1, threads, 40016, stream>>>(heap, local, most, signal, bad);
  finish_kernels();
  CUDA(cudaFree(local));
  dushmem_free(signal);
  dushmem_free(heap);
}

int main(int argc, char **argv) {
  begin();
  const int every = argc > 1 ? std::atoi(argv[1]) : 1;
  run<scope::thread>(4, 32, every);
  run<scope::warp>(4, 64, every);
  run<scope::warp>(4, 45, every * 3);
  for (int threads : {32, 96, 256, 1000, 1024}) run<scope::block>(4, threads, every * (threads == 256 ? 1 : 5));
  run_scratch<scope::thread>(64);
  run_scratch<scope::warp>(64);
  run_scratch<scope::block>(256);
  unsigned char *heap = zeroed<unsigned char>(64 * 256);
  dushmem_barrier_all();
  own_memory<<<1, 64, 0, stream>>>(heap, 256, bad);
  finish_kernels();
  dushmem_free(heap);
  return verdict();
}
