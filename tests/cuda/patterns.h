/* What the suites of tests/cuda share: contents that depend on PE, place and round, and buffers that are compared with
 * them through copies, since symmetric memory may lie where the host can't read. */
#ifndef PATTERNS_H
#define PATTERNS_H
#include "../kernels/verdict.h"
#include <cstring>
#include <string>

typedef std::vector<unsigned char> Bytes;

static inline unsigned char byte_of(int pe, size_t i, unsigned salt) {
  const unsigned long long x = (i + 1) * 0x9e3779b97f4a7c15ull + (unsigned)pe * 0x85ebca6bull + salt * 0x27d4eb2full;
  return (unsigned char)(x >> 29 ^ x >> 47);
}
static inline Bytes pattern(int pe, size_t bytes, unsigned salt, size_t first = 0) {
  Bytes made(bytes);
  for (size_t i = 0; i < bytes; i++) made[i] = byte_of(pe, first + i, salt);
  return made;
}

static inline int right_of(int pe) { return (pe + 1) % n; }
static inline int left_of(int pe) { return (pe + n - 1) % n; }

/* Stores to, and compares, memory of any kind. */
static inline void fill(void *at, const Bytes &bytes) { copy_now(at, bytes.data(), bytes.size()); }
static inline void compare(const std::string &what, const void *at, const Bytes &wanted) {
  const Bytes got = look((const unsigned char *)at, wanted.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] == wanted[i]) continue;
    expect_host((what + ", byte").c_str(), got[i], wanted[i], (long long)i);
    return;
  }
}

template <class T> static inline Bytes as_bytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), (const void *)values.data(), bytes.size());
  return bytes;
}

/* Small whole numbers: every type holds them and their sums. */
template <class T> static inline std::vector<T> numbers(int pe, size_t count, int round) {
  std::vector<T> made(count);
  for (size_t i = 0; i < count; i++) made[i] = (T)((i * 7 + (size_t)pe * 3 + (size_t)round) % 5 + 1);
  return made;
}

template <class T>
static inline void compare_values(const std::string &what, const T *at, const std::vector<T> &wanted) {
  const std::vector<T> got = look(at, wanted.size());
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] == wanted[i]) continue;
    expect_host((what + ", element").c_str(), (long long)got[i], (long long)wanted[i], (long long)i);
    return;
  }
}

/* Memory that is not symmetric: pageable, pinned, and the device's. */
struct Local {
  std::vector<unsigned char> pages;
  unsigned char *pinned = nullptr, *device = nullptr;
  explicit Local(size_t bytes) : pages(bytes) {
    CUDA(cudaMallocHost((void **)&pinned, bytes));
    CUDA(cudaMalloc((void **)&device, bytes));
  }
  ~Local() {
    cudaFreeHost(pinned);
    cudaFree(device);
  }
  Local(const Local &) = delete;
  Local &operator=(const Local &) = delete;
  unsigned char *at(int kind) { return kind == 0 ? pages.data() : kind == 1 ? pinned : device; }
  static const char *name(int kind) { return kind == 0 ? "pageable memory" : kind == 1 ? "pinned memory" : "device memory"; }
};
#endif
