// Calls every name of a family that kernels may call, and says which of them did not do what they should.
//
//   program        prints "N names, all right", or the names that are not
//   program exit   a kernel ends the job with status 7
//   program host   a name that exists in kernels only is called on the host
#if defined(FAMILY_DUSHMEM)
#include <dushmem.h>

#include <dushmemx.h>

#include "gen/dushmem.h"
#define F(NAME) dushmem_##NAME
#define FX(NAME) dushmemx_##NAME
#else
#include <nvshmem.h>

#include <nvshmemx.h>

#include "gen/nvshmem.h"
#define F(NAME) nvshmem_##NAME
#define FX(NAME) nvshmemx_##NAME
#endif
#include "cases.h"

#include <stdlib.h>

constexpr size_t COUNT = sizeof names / sizeof *names;

#define DECLARE(RUN) void RUN(const State &s, hipStream_t stream);
EACH_SOURCE(DECLARE)

__global__ void ends() { F(global_exit)(7); }

static void must(hipError_t error, const char *what) {
  if (error == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
  exit(1);
}

int main(int argc, char **argv) {
  F(init)();
  const int me = F(my_pe)(), n = F(n_pes)();
  if (argc > 1 && strcmp(argv[1], "exit") == 0) {
    ends<<<1, 1>>>();
    must(hipDeviceSynchronize(), "the kernel that ends the job");
    F(barrier_all)();
    return 1;
  }
#ifdef DUSHMEM_EMU
  if (argc > 1 && strcmp(argv[1], "host") == 0) {
    int word = 0;
    FX(int_put_block)(&word, &word, 1, me);
    return 1;
  }
#else
  (void)argv;
#endif
  if (n > MOST_PES) {
    fprintf(stderr, "at most %d PEs\n", MOST_PES);
    return 1;
  }

  State s{};
  s.me = me;
  s.n = n;
  s.right = (me + 1) % n;
  s.left = (me + n - 1) % n;
  // Device memory may be out of the host's reach: everything goes by copies.
  s.parts = (char *)F(malloc)(COUNT * PART);
  unsigned char *mine = (unsigned char *)F(malloc)(PATTERN), bytes[PATTERN];
  for (int i = 0; i < PATTERN; i++) bytes[i] = pattern(me, i);
  s.pattern = mine;
  must(hipMemset(s.parts, 0, COUNT * PART), "hipMemset");
  must(hipMemcpy(mine, bytes, PATTERN, hipMemcpyHostToDevice), "hipMemcpy");
  unsigned *results = nullptr;
  must(hipMalloc((void **)&results, COUNT * sizeof *results), "hipMalloc");
  must(hipMemset(results, 0, COUNT * sizeof *results), "hipMemset");
  s.results = results;
  int *handles = nullptr, *pairs = nullptr;
  if (FX(qp_create)(2, &handles) != 0) return 1;
  must(hipMalloc((void **)&pairs, 2 * sizeof *pairs), "hipMalloc");
  must(hipMemcpy(pairs, handles, 2 * sizeof *pairs, hipMemcpyHostToDevice), "hipMemcpy");
  free(handles);
  s.pairs = pairs;

  hipStream_t stream;
  must(hipStreamCreate(&stream), "hipStreamCreate");
  must(hipDeviceSynchronize(), "hipDeviceSynchronize");
  F(barrier_all)();
#define START(RUN) RUN(s, stream);
  EACH_SOURCE(START)
  must(hipGetLastError(), "launch");
  must(hipStreamSynchronize(stream), "the kernels");
  F(barrier_all)();

  unsigned *found = (unsigned *)calloc(COUNT, sizeof *found);
  must(hipMemcpy(found, results, COUNT * sizeof *found, hipMemcpyDeviceToHost), "hipMemcpy");
  size_t bad = 0;
  for (size_t i = 0; i < COUNT; i++) {
    if (found[i] == 1) continue;
    bad++;
    printf("PE %d of %d: %s: %s\n", me, n, names[i], found[i] == 0 ? "not called" : "not what it should do");
  }
  free(found);
  if (me == 0 && bad == 0) printf("%zu names, all right\n", COUNT);
  fflush(stdout);
  must(hipStreamDestroy(stream), "hipStreamDestroy");
  must(hipFree(results), "hipFree");
  must(hipFree(pairs), "hipFree");
  F(free)(mine);
  F(free)(s.parts);
  F(finalize)();
  return bad != 0;
}
