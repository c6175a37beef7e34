// Both heaps in one program: shmem_malloc's objects lie in host memory, dushmem_malloc's on the device where there is one.
// Data goes between them, by hosts, kernels and collectives, and C globals are sources, too.
#include "patterns.h"
#include <shmem.h>

static const size_t SIZE = 70001;
static unsigned char global[SIZE];

static void copies(unsigned char *host, unsigned char *device) {
  std::memcpy(global, pattern(me, SIZE, 1).data(), SIZE);
  dushmem_putmem(device, global, SIZE, right_of(me));
  dushmem_barrier_all();
  compare("a global to the device's heap", device, pattern(left_of(me), SIZE, 1));
  // The host's heap is plain memory.
  std::memset(host, 0, SIZE);
  dushmem_barrier_all();
  dushmem_putmem(host, device, SIZE, right_of(me));
  dushmem_barrier_all();
  const Bytes twice = pattern(left_of(left_of(me)), SIZE, 1);
  expect_host("the device's heap to the host's", std::memcmp(host, twice.data(), SIZE), 0);
  dushmem_getmem(device, host, SIZE, left_of(me));
  compare("the host's heap to the device's", device, pattern(left_of(left_of(left_of(me))), SIZE, 1));
  shmem_barrier_all();
  // By the other family's calls.
  shmem_getmem(global, device, SIZE, left_of(me));
  expect_host("shmem_getmem", std::memcmp(global, pattern(left_of(left_of(left_of(left_of(me)))), SIZE, 1).data(), SIZE), 0);
  shmem_barrier_all();
}

static void words(uint64_t *host, uint64_t *device) {
  *host = 0;
  put_here(device, (uint64_t)0);
  dushmem_barrier_all();
  for (int i = 0; i < 20; i++) {
    shmem_uint64_atomic_inc(host, 0);
    shmem_uint64_atomic_add(device, 2, 0);
  }
  dushmem_barrier_all();
  if (me == 0) expect_host("a word of the host's heap", (long long)*host, 20 * n);
  if (me == 0) expect_host("a word of the device's heap", (long long)look(device), 40 * n);
  dushmem_barrier_all();
  // Data in one heap, its signal in the other.
  dushmem_putmem_signal(device + 1, &global[8 * me], 8, host + 1, 5, DUSHMEM_SIGNAL_SET, right_of(me));
  shmem_signal_wait_until(host + 1, SHMEM_CMP_EQ, 5);
  uint64_t wanted[8];
  shmem_getmem(wanted, device + 1, 8, me);
  expect_host("data before a signal in the other heap", (long long)look(device + 1), (long long)wanted[0]);
  dushmem_barrier_all();
}

static void collectives(long *host, long *device) {
  for (int which = 0; which < 2; which++) {
    long *source = which ? host : device, *dest = which ? device : host;
    for (long i = 0; i < 1000; i++) put_here(source + i, i * (me + 1));
    dushmem_barrier_all();
    // Where the device doesn't address the host's heap it says so, and the job goes on.
    if (dushmem_long_sum_reduce(DUSHMEM_TEAM_WORLD, dest, source, 1000) == 0) {
      for (long i = 0; i < 1000; i += 111) expect_host("a sum", look(dest + i), i * n * (n + 1) / 2, i);
    } else if (me == 0) {
      std::printf("collectives between the heaps are refused\n");
    }
    dushmem_barrier_all();
    expect_host("in one heap", dushmem_long_max_reduce(DUSHMEM_TEAM_WORLD, source + 500, source, 500), 0);
    expect_host("a maximum", look(source + 999), 499 * n);
    dushmem_barrier_all();
  }
}

int main() {
  begin();
  unsigned char *host = (unsigned char *)shmem_malloc(SIZE), *device = zeroed<unsigned char>(SIZE);
  uint64_t *host_words = (uint64_t *)shmem_calloc(2, sizeof(uint64_t)), *device_words = zeroed<uint64_t>(2);
  long *host_longs = (long *)shmem_calloc(1000, sizeof(long)), *device_longs = zeroed<long>(1000);
  copies(host, device);
  words(host_words, device_words);
  collectives(host_longs, device_longs);
  // Either family frees.
  dushmem_free(host_longs);
  shmem_free(device_longs);
  shmem_free(host_words);
  dushmem_free(device_words);
  shmem_free(host);
  dushmem_free(device);
  return verdict();
}
