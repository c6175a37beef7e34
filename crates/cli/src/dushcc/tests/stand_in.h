// Just enough of a device language to run rewritten sources: launches run at once, one thread a block.
#pragma once
#include <cstddef>
#include <cstdio>

#define __global__
#define __device__
#define __shared__ thread_local
#define __align__(n) __attribute__((aligned(n)))

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
inline thread_local dim3 blockIdx, gridDim, blockDim;
typedef struct stream_of *stream_t;

namespace dushmem {
namespace emu {
alignas(64) inline thread_local char shared_memory[1024];
template <class T> struct dynamic_shared {
    operator T *() const { return reinterpret_cast<T *>(shared_memory); }
};
struct config {
    dim3 grid, block;
    std::size_t bytes;
    stream_t stream;
    void locate_kernel(const void *) {}
    template <class Bytes = int>
    config(dim3 g, dim3 b, Bytes n = 0, stream_t s = nullptr) : grid(g), block(b), bytes(n), stream(s) {}
};
template <class F, class... A> void launch(const char *name, const config &c, F f, A... a) {
    std::printf("%s[%u,%u,%u|%u|%zu] ", name, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.bytes);
    gridDim = c.grid;
    blockDim = c.block;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) f(a...);
}
} // namespace emu
} // namespace dushmem

#include "launcher.h"
