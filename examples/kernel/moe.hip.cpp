// A mixture-of-experts layer: tokens go to the experts that a gate has chosen for them, and the results come back.
//
//   dushcc -O2 moe.hip.cpp -o moe && dushrun -n 4 ./moe
//
// Each PE has tokens and some of the experts. A token goes to two of them; some experts are more popular than others,
// so what two PEs have to send each other differs in every layer. Four kernels in a stream do a layer:
//
//   count     counts the own tokens of each expert, sends the counts to all, waits for everybody's, and works out
//             where in the memory of the experts' PEs the own tokens belong: rows without gaps, expert after expert
//   dispatch  a block a token: puts it into its rows, each put with a signal that counts at the expert
//   expert    waits until as many rows have arrived as were counted, multiplies each by the expert's matrix, and puts
//             the result back to the token's PE, with a signal that counts at the token
//   combine   a block a token: waits for its results, and adds them up with the gate's weights
//
// No kernel waits for a kernel behind it in another PE's stream, so plain launches do. The counts have two places
// in turn: a PE that sends those of layer l has everybody's of l - 1, and whoever sent these had read those of l - 2.
// The rows have one: a PE that knows all counts of a layer knows that all have finished the layer before.
//
// The check: each PE computes the layer for its tokens alone. All numbers are whole and small: sums are exact.
#include "program.h"
#include <nvshmem.h>
#include <nvshmemx.h>

static uint64_t size = 40, width = 32, local = 2, layers = 3;

enum { THREADS = 64, CHOICES = 2, HEAD = 4 };

// What is sent of a token: where it is from, then its numbers. A row has HEAD + width words of 4 bytes.
struct Row {
  int32_t pe, place, unused[HEAD - 2];
  float token[1];
};

struct Layer {
  const float *tokens;  // [token][width]
  const int *choice;    // [token][CHOICES]: experts, numbered through all PEs
  const float *gate;    // [token][CHOICES]
  const float *weights; // [own expert][width][width]
  float *out;           // [token][width]
  int *counts;          // [PE][expert], from each PE
  uint64_t *counted;    // [PE]: layers whose counts are here
  uint64_t *cursor;     // [expert]: row of the next own token there
  uint64_t *first;      // [own expert + 1]: its first row
  uint64_t *expected;   // [own expert]: rows that have been announced, in all layers
  char *sent, *rows;    // [token][CHOICES] and [row]: a Row each
  uint64_t *arrived;    // [own expert]: rows that are here, in all layers
  float *results;       // [row][width]
  float *back;          // [token][CHOICES][width]
  uint64_t *returned;   // [token]: results that are here, in all layers
  uint64_t number, size, width, local;
};

__host__ __device__ static inline uint64_t row_bytes(uint64_t width) { return (HEAD + width) * sizeof(float); }

__global__ void count(Layer l) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  const uint64_t experts = (uint64_t)n * l.local;
  int *mine = l.counts + (uint64_t)me * experts;
  for (uint64_t e = threadIdx.x; e < experts; e += blockDim.x) mine[e] = 0;
  __syncthreads();
  for (uint64_t i = threadIdx.x; i < l.size * CHOICES; i += blockDim.x) atomicAdd(&mine[l.choice[i]], 1);
  __syncthreads();
  for (int i = 1; i < n; i++)
    nvshmemx_int_put_signal_nbi_block(mine, mine, experts, &l.counted[me], l.number, NVSHMEM_SIGNAL_SET, (me + i) % n);
  for (int pe = (int)threadIdx.x; pe < n; pe += (int)blockDim.x)
    if (pe != me) nvshmem_signal_wait_until(&l.counted[pe], NVSHMEM_CMP_GE, l.number);
  __syncthreads();
  // Rows of an expert: first those of the experts before it on its PE, then those of the PEs before this one.
  for (uint64_t e = threadIdx.x; e < experts; e += blockDim.x) {
    uint64_t row = 0;
    for (uint64_t other = e - e % l.local; other < e; other++)
      for (int pe = 0; pe < n; pe++) row += (uint64_t)l.counts[(uint64_t)pe * experts + other];
    const bool own = e / l.local == (uint64_t)me;
    if (own) l.first[e % l.local] = row;
    for (int pe = 0; pe < n; pe++) {
      if (pe == me) l.cursor[e] = row;
      row += (uint64_t)l.counts[(uint64_t)pe * experts + e];
    }
    if (!own) continue;
    l.expected[e % l.local] += row - l.first[e % l.local];
    if (e % l.local + 1 == l.local) l.first[l.local] = row;
  }
  if (threadIdx.x == 0) nvshmem_quiet();
}

__global__ void dispatch(Layer l) {
  const int me = nvshmem_my_pe();
  __shared__ unsigned long long row;
  for (uint64_t i = blockIdx.x; i < l.size * CHOICES; i += gridDim.x) {
    const uint64_t expert = (uint64_t)l.choice[i];
    Row *sent = (Row *)(l.sent + i * row_bytes(l.width));
    if (threadIdx.x == 0) {
      row = atomicAdd((unsigned long long *)&l.cursor[expert], 1ull);
      sent->pe = me;
      sent->place = (int32_t)i;
    }
    for (uint64_t j = threadIdx.x; j < l.width; j += blockDim.x) sent->token[j] = l.tokens[i / CHOICES * l.width + j];
    __syncthreads();
    nvshmemx_putmem_signal_nbi_block(l.rows + row * row_bytes(l.width), sent, row_bytes(l.width),
                                     &l.arrived[expert % l.local], 1, NVSHMEM_SIGNAL_ADD, (int)(expert / l.local));
    __syncthreads(); // everybody has read `row`
  }
  if (threadIdx.x == 0) nvshmem_quiet();
}

// Blocks with the same y share the rows of an expert.
__global__ void expert(Layer l) {
  const uint64_t e = blockIdx.y;
  if (threadIdx.x == 0) nvshmem_signal_wait_until(&l.arrived[e], NVSHMEM_CMP_GE, l.expected[e]);
  __syncthreads();
  for (uint64_t i = l.first[e] + blockIdx.x; i < l.first[e + 1]; i += gridDim.x) {
    const Row *row = (const Row *)(l.rows + i * row_bytes(l.width));
    for (uint64_t y = threadIdx.x; y < l.width; y += blockDim.x) {
      float sum = 0;
      for (uint64_t x = 0; x < l.width; x++) sum += l.weights[(e * l.width + y) * l.width + x] * row->token[x];
      l.results[i * l.width + y] = sum;
    }
    __syncthreads();
    nvshmemx_float_put_signal_nbi_block(l.back + (uint64_t)row->place * l.width, l.results + i * l.width, l.width,
                                        &l.returned[row->place / CHOICES], 1, NVSHMEM_SIGNAL_ADD, row->pe);
  }
  if (threadIdx.x == 0) nvshmem_quiet();
}

__global__ void combine(Layer l) {
  for (uint64_t i = blockIdx.x; i < l.size; i += gridDim.x) {
    if (threadIdx.x == 0) nvshmem_signal_wait_until(&l.returned[i], NVSHMEM_CMP_GE, CHOICES * l.number);
    __syncthreads();
    for (uint64_t j = threadIdx.x; j < l.width; j += blockDim.x) {
      float sum = 0;
      for (uint64_t k = i * CHOICES; k < (i + 1) * CHOICES; k++) sum += l.gate[k] * l.back[k * l.width + j];
      l.out[i * l.width + j] = sum;
    }
  }
}

static float weight(uint64_t expert, uint64_t y, uint64_t x) {
  return small_number(50, (expert * width + y) * width + x, 2);
}

// The numbers of one PE for all layers.
struct Numbers {
  std::vector<float> tokens, gates;
  std::vector<int> choices;

  Numbers() : tokens(layers * size * width), gates(layers * size * CHOICES), choices(gates.size()) {
    const uint64_t experts = (uint64_t)n * local, from = (uint64_t)me << 32;
    for (uint64_t i = 0; i < tokens.size(); i++) tokens[i] = small_number(1, from + i, 4);
    for (uint64_t i = 0; i < gates.size(); i++) {
      // The product of two random numbers: low experts are popular. Nobody has the same one twice.
      const uint64_t a = random_at(2, from + i) >> 48, b = random_at(3, from + i) >> 48;
      uint64_t choice = a * b * experts >> 32;
      if (i % CHOICES == 1 && choice == (uint64_t)choices[i - 1]) choice = (choice + 1) % experts;
      choices[i] = (int)choice;
      gates[i] = (float)(1 + random_at(4, from + i) % 3);
    }
  }
};

template <class T> static T *on_device(const std::vector<T> &host) {
  T *device = nullptr;
  CHECK(hipMalloc((void **)&device, host.size() * sizeof(T)));
  to_device(device, host);
  return device;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 1 << 20, "tokens of each PE"},
      {"width", &width, 1, 1 << 12, "numbers of a token"},
      {"experts", &local, 1, 64, "experts of each PE"},
      {"layers", &layers, 1, 1000, "layers, one after the other"},
  };
  start(argc, argv, "moe", "a mixture of experts on all PEs", settings);
  const uint64_t pes = (uint64_t)n, experts = pes * local, rows = pes * size * CHOICES;
  const Numbers numbers;
  std::vector<float> weights(local * width * width);
  for (uint64_t i = 0; i < weights.size(); i++)
    weights[i] = weight((uint64_t)me * local + i / width / width, i / width % width, i % width);

  Layer l = {};
  float *const tokens = on_device(numbers.tokens), *const gates = on_device(numbers.gates);
  int *const choices = on_device(numbers.choices);
  float *const out = on_device(std::vector<float>(numbers.tokens.size()));
  float *const matrices = on_device(weights);
  int *const counts = symmetric<int>(2 * pes * experts);
  l.weights = matrices;
  l.counted = symmetric<uint64_t>(pes);
  l.cursor = symmetric<uint64_t>(experts);
  l.first = symmetric<uint64_t>(local + 1);
  l.expected = symmetric<uint64_t>(local);
  l.sent = symmetric<char>(size * CHOICES * row_bytes(width));
  l.rows = symmetric<char>(rows * row_bytes(width)); // room for all, should they all come here
  l.arrived = symmetric<uint64_t>(local);
  l.results = symmetric<float>(rows * width);
  l.back = symmetric<float>(size * CHOICES * width);
  l.returned = symmetric<uint64_t>(size);
  l.size = size, l.width = width, l.local = local;

  const unsigned blocks = size < 32 ? (unsigned)size : 32;
  const double seconds = timed([&] {
    for (uint64_t layer = 0; layer < layers; layer++) {
      l.number = layer + 1;
      l.tokens = tokens + layer * size * width;
      l.choice = choices + layer * size * CHOICES;
      l.gate = gates + layer * size * CHOICES;
      l.out = out + layer * size * width;
      l.counts = counts + layer % 2 * pes * experts;
      count<<<1, THREADS, 0, stream>>>(l);
      dispatch<<<blocks, THREADS, 0, stream>>>(l);
      expert<<<dim3(4, (unsigned)local), THREADS, 0, stream>>>(l);
      combine<<<blocks, THREADS, 0, stream>>>(l);
    }
  });

  const std::vector<float> found = to_host(out, numbers.tokens.size());
  for (uint64_t i = 0; i < layers * size; i++)
    for (uint64_t y = 0; y < width; y++) {
      float sum = 0;
      for (uint64_t k = i * CHOICES; k < (i + 1) * CHOICES; k++) {
        float product = 0;
        for (uint64_t x = 0; x < width; x++)
          product += weight((uint64_t)numbers.choices[k], y, x) * numbers.tokens[i * width + x];
        sum += numbers.gates[k] * product;
      }
      if (found[i * width + y] != sum)
        wrong("layer %" PRIu64 " token %" PRIu64 " number %" PRIu64 " is %g, not %g", i / size, i % size, y,
              (double)found[i * width + y], (double)sum);
    }
  CHECK(hipFree(matrices));
  CHECK(hipFree(out));
  CHECK(hipFree(choices));
  CHECK(hipFree(gates));
  CHECK(hipFree(tokens));
  return finish(seconds, "%" PRIu64 " tokens of %" PRIu64 " numbers, %" PRIu64 " experts, %" PRIu64 " layers",
                pes * size, width, experts, layers);
}
