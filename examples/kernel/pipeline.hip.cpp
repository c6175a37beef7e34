// A pipeline with a stage on each PE: items pass through all of them, in slices, with a put and its signal a slice.
//
//   dushcc -O2 pipeline.hip.cpp -o pipeline && dushrun -n 4 ./pipeline
//
// PE 0 makes the items and applies its stage, the next PE applies its own, and so on; the last one sends the
// results back to PE 0. A slice of the items has a block on each PE, so the slices run side by side.
//
// Between two PEs a slice has a ring of `depth` slots at the receiver. A slot has a word, `arrived`, that tells which
// item is in it: the signal of the put. Each has its own, since a signal follows its data, but two puts arrive in any
// order. `freed` counts at the sender what the receiver has taken out: credits. A sender that is `depth` items ahead
// waits for a credit, so a slow stage holds up those before it, and nothing is overwritten.
//
// A credit for a slot says, too, that the put which filled it has left the staging slot of the sender. That is why
// the puts may be non-blocking, and nobody calls quiet between them.
//
// The check: PE 0 applies all stages to all items on the host.
#include "program.h"

static uint64_t size = 4096, items = 50, slices = 4, depth = 2;

enum { THREADS = 128 };

struct Pipeline {
  uint64_t *slots, *staging;  // [slice][depth][words of a slice]
  uint64_t *arrived;          // [slice][depth]: number of the last item that came, from 1
  uint64_t *freed;            // [slice]: slots that the next PE has read
  uint64_t *results;          // [item][word], on PE 0
  uint64_t size, items, slices, depth, longest;
};

__host__ __device__ static inline uint64_t stage(uint64_t pe, uint64_t item, uint64_t word) {
  return (word ^ item) * (2 * pe + 3) + pe;
}

// One slice of all items on this PE. Blocks with y = 0 apply the stage; those with y = 1 take the results, on PE 0.
__global__ void run(Pipeline p) {
  const int me = dushmem_my_pe(), n = dushmem_n_pes();
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  const bool source = me == 0 && blockIdx.y == 0, sink = me == 0 && blockIdx.y == 1;
  if (blockIdx.y == 1 && !sink) return;
  const uint64_t slice = blockIdx.x;
  const uint64_t first = first_of(slice, p.slices, p.size), count = first_of(slice + 1, p.slices, p.size) - first;
  for (uint64_t item = 0; item < p.items; item++) {
    const uint64_t slot = slice * p.depth + item % p.depth, at = slot * p.longest;
    if (threadIdx.x == 0) {
      if (!source) dushmem_signal_wait_until(&p.arrived[slot], DUSHMEM_CMP_GE, item + 1);
      if (!sink && item >= p.depth)
        dushmem_signal_wait_until(&p.freed[slice], DUSHMEM_CMP_GE, item - p.depth + 1);
    }
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
      const uint64_t place = item * p.size + first + i;
      if (sink) p.results[place] = p.slots[at + i];
      else p.staging[at + i] = stage((uint64_t)me, item, source ? random_at(1, place) : p.slots[at + i]);
    }
    __syncthreads();
    if (!sink)
      dushmemx_putmem_signal_nbi_block(p.slots + at, p.staging + at, count * sizeof(uint64_t), &p.arrived[slot],
                                       item + 1, DUSHMEM_SIGNAL_SET, next);
    if (!source && threadIdx.x == 0) dushmemx_signal_op(&p.freed[slice], 1, DUSHMEM_SIGNAL_ADD, before);
  }
  if (threadIdx.x == 0) dushmem_quiet(); // the staging slots are the program's again
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 24, "words of an item"},
      {"items", &items, 1, 1 << 20, "items that pass through the pipeline"},
      {"slices", &slices, 1, 64, "slices of an item, each with a block"},
      {"depth", &depth, 1, 1024, "slots of a slice between two PEs"},
  };
  start(argc, argv, "pipeline", "stages on PEs, joined by rings of slots with credits", settings);
  Pipeline p = {};
  p.size = size, p.items = items, p.slices = slices, p.depth = depth;
  p.longest = (size + slices - 1) / slices;
  p.slots = symmetric<uint64_t>(slices * depth * p.longest);
  p.staging = symmetric<uint64_t>(slices * depth * p.longest);
  p.arrived = symmetric<uint64_t>(slices * depth);
  p.freed = symmetric<uint64_t>(slices);
  if (me == 0) CHECK(hipMalloc((void **)&p.results, items * size * sizeof(uint64_t)));

  // Blocks wait for each other, so all of them have to run at the same time.
  void *args[] = {&p};
  const double seconds = timed([&] {
    CHECK(dushmemx_collective_launch((const void *)run, dim3((unsigned)slices, 2), dim3(THREADS), args, 0, stream));
  });

  if (me == 0) {
    const std::vector<uint64_t> results = to_host(p.results, items * size);
    for (uint64_t i = 0; i < items * size; i++) {
      uint64_t word = random_at(1, i);
      for (int pe = 0; pe < n; pe++) word = stage((uint64_t)pe, i / size, word);
      if (results[i] != word)
        wrong("item %" PRIu64 " word %" PRIu64 " is %016" PRIx64 ", not %016" PRIx64, i / size, i % size, results[i],
              word);
    }
    CHECK(hipFree(p.results));
  }
  return finish(seconds, "%" PRIu64 " items of %" PRIu64 " words in %" PRIu64 " slices", items, size, slices);
}
