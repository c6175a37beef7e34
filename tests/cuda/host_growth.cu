// The heap grows while it is used: objects of all sizes, made and freed in the same order everywhere, keep their
// addresses and contents, and peers and kernels reach what was added.
#include "patterns.h"

__global__ void send(unsigned char *dest, const unsigned char *source, size_t bytes, int pe) {
  dushmemx_putmem_block(dest, source, bytes, pe);
}

struct Object {
  unsigned char *at;
  size_t bytes;
  unsigned salt;
};

// Kernels go where hosts' puts go.
static void exchange(const Object &object, bool by_kernel) {
  static unsigned char *staging = nullptr;
  const size_t part = object.bytes < 4096 ? object.bytes : 4096;
  if (staging == nullptr) CUDA(cudaMalloc((void **)&staging, 4096));
  fill(staging, pattern(me, part, object.salt));
  unsigned char *last = object.at + object.bytes - part;
  if (by_kernel) {
    send<<<1, 64, 0, stream>>>(last, staging, part, right_of(me));
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(stream));
  } else {
    dushmem_putmem(last, staging, part, right_of(me));
  }
}
static void check(const Object &object) {
  const size_t part = object.bytes < 4096 ? object.bytes : 4096;
  compare("the end of an object of " + std::to_string(object.bytes) + " bytes", object.at + object.bytes - part,
          pattern(left_of(me), part, object.salt));
}

static void random_calls() {
  std::vector<Object> live;
  unsigned long long state = 12345; // the same on every PE
  const auto next = [&](unsigned long long below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % below;
  };
  for (unsigned call = 1; call <= 120; call++) {
    if (live.size() > 25 || (!live.empty() && next(3) == 0)) {
      const size_t which = (size_t)next(live.size());
      check(live[which]);
      dushmem_barrier_all();
      dushmem_free(live[which].at);
      live[which] = live.back();
      live.pop_back();
      continue;
    }
    const size_t kind = (size_t)next(4);
    const size_t bytes = kind == 0 ? 1 + next(100) : kind == 1 ? 1 + next(100000) : 1 + next(kind == 2 ? 3 << 20 : 30 << 20);
    Object made{nullptr, bytes, call};
    if (call % 3 == 0) {
      made.at = (unsigned char *)dushmem_calloc(bytes, 1);
      if (made.at) compare("calloc", made.at + bytes - 1, Bytes(1, 0));
    } else if (call % 3 == 1) {
      made.at = (unsigned char *)dushmem_align(4096, bytes);
      expect_host("align", (long long)((uintptr_t)made.at % 4096), 0, call);
    } else {
      made.at = (unsigned char *)dushmem_malloc(bytes);
    }
    expect_host("an object", made.at != nullptr, 1, (long long)bytes);
    if (made.at == nullptr) continue;
    dushmem_barrier_all();
    exchange(made, call % 2);
    live.push_back(made);
    dushmem_barrier_all();
  }
  for (const Object &object : live) check(object);
  dushmem_barrier_all();
  for (const Object &object : live) dushmem_free(object.at);
}

// Zero bytes are NULL; what is far too large is NULL everywhere, and the next object is made.
static void limits() {
  expect_host("malloc of 0", dushmem_malloc(0) == nullptr, 1);
  expect_host("malloc of 2^50", dushmem_malloc((size_t)1 << 50) == nullptr, 1);
  expect_host("calloc of 2^40 * 2^40", dushmem_calloc((size_t)1 << 40, (size_t)1 << 40) == nullptr, 1);
  int *word = zeroed<int>(1);
  dushmem_int_p(word, me + 7, right_of(me));
  dushmem_barrier_all();
  expect_host("a word after that", look(word), left_of(me) + 7);
  dushmem_free(word);
  dushmem_free(nullptr);
}

int main() {
  begin();
  random_calls();
  limits();
  return verdict();
}
