/* Sorts random integers: keys go to the PE of their range, which sorts them.
 *
 *   dushcc -O2 bucket_sort.c -o bucket_sort && dushrun -n 8 ./bucket_sort
 *
 * An alltoall of counts tells every PE how many keys come from each; it adds up where their places begin, and
 * a second alltoall returns those to the senders. So each sender puts its keys where they belong, all at once
 * and without a word from the receiver, and a barrier completes them. How much room that takes depends on the
 * keys (try --skew 1): the PEs agree on the largest by a reduction before they allocate.
 *
 * The check: every key is in its PE's range and not below the one before it, and the sum over a hash of all
 * keys is the same as before.
 */
#include "program.h"

static uint64_t size = 1 << 23, skew = 0;

static uint32_t key_at(uint64_t i) {
  uint64_t random = random_at(1, i);
  return (uint32_t)(skew ? below(random, (uint32_t)random) : random >> 32);
}

/* The PE whose range a key is in. */
static int owner(uint32_t key) { return (int)((uint64_t)key * (uint64_t)n >> 32); }

/* Sorts by eleven bits at a time, from the lowest. */
static void sort(uint32_t *keys, uint32_t *other, size_t count) {
  for (int shift = 0; shift < 33; shift += 11) {
    size_t place[2048] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) place[keys[i] >> shift & 2047]++;
    for (size_t digit = 0; digit < 2048; digit++) {
      size_t with_it = place[digit];
      place[digit] = sum;
      sum += with_it;
    }
    for (size_t i = 0; i < count; i++) other[place[keys[i] >> shift & 2047]++] = keys[i];
    uint32_t *swap = keys;
    keys = other;
    other = swap;
    progress("bits sorted by PE 0", (uint64_t)shift + 11, 33);
  }
  memcpy(other, keys,
         count * sizeof *keys); /* three times is an odd number: the result is in the other array */
}

/* Numbers before each one added up; returns the sum of all. */
static size_t running_sum(size_t *sums, const size_t *counts) {
  size_t sum = 0;
  for (int pe = 0; pe < n; pe++) {
    sums[pe] = sum;
    sum += counts[pe];
  }
  return sum;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, (uint64_t)1 << 40, "keys of all PEs together"},
      {"skew", &skew, 0, 1, "1: small keys are more frequent, so the first PEs get more"},
  };
  start(argc, argv, "bucket_sort", "sorts random integers", settings, sizeof settings / sizeof *settings);
  size_t pes = (size_t)n;
  size_t *counts = symmetric(pes, sizeof *counts), *coming = symmetric(pes, sizeof *coming);
  size_t *begins = symmetric(pes, sizeof *begins), *places = symmetric(pes, sizeof *places);
  size_t *received = symmetric(1, sizeof *received), *most = symmetric(1, sizeof *most);
  size_t *before = private_memory(pes, sizeof *before), *next = private_memory(pes, sizeof *next);
  uint64_t *hashes = symmetric(2, sizeof *hashes), *sums = symmetric(2, sizeof *sums);
  uint64_t from = first_of(me, n, size), to = first_of(me + 1, n, size);
  uint32_t *mine = private_memory(to - from, sizeof *mine),
           *grouped = private_memory(to - from, sizeof *mine);
  for (uint64_t i = from; i < to; i++) {
    mine[i - from] = key_at(i);
    hashes[0] += random_at(2, mine[i - from]);
    if (i % 65536 == 0) progress("keys of PE 0", i - from, to - from);
  }
  shmem_barrier_all();

  double began = now();
  for (size_t i = 0; i < to - from; i++) counts[owner(mine[i])]++;
  shmem_size_alltoall(SHMEM_TEAM_WORLD, coming, counts, 1);
  *received = running_sum(begins, coming);
  shmem_size_alltoall(SHMEM_TEAM_WORLD, places, begins, 1);
  shmem_size_max_reduce(SHMEM_TEAM_WORLD, most, received, 1);
  uint32_t *keys = symmetric(*most, sizeof *keys);

  running_sum(before, counts);
  memcpy(next, before, pes * sizeof *next);
  for (size_t i = 0; i < to - from; i++) grouped[next[owner(mine[i])]++] = mine[i];
  for (int k = 0; k < n; k++) {
    int pe = (me + k) % n; /* not all to the same PE at a time */
    shmem_uint32_put_nbi(keys + places[pe], grouped + before[pe], counts[pe], pe);
  }
  shmem_barrier_all();
  uint32_t *other = private_memory(*received, sizeof *other);
  sort(keys, other, *received);
  shmem_barrier_all();
  double seconds = now() - began;

  size_t *all = symmetric(pes, sizeof *all); /* keys of each PE: those of PEs before this one come first */
  shmem_size_fcollect(SHMEM_TEAM_WORLD, all, received, 1);
  size_t total = running_sum(before, all);
  uint64_t *sum = symmetric(1, sizeof *sum), *checksum = symmetric(1, sizeof *checksum);
  for (size_t i = 0; i < *received; i++) {
    if (owner(keys[i]) != me) wrong("key %" PRIu32 " belongs to PE %d", keys[i], owner(keys[i]));
    if (i > 0 && keys[i] < keys[i - 1]) wrong("key %" PRIu32 " comes behind %" PRIu32, keys[i], keys[i - 1]);
    hashes[1] += random_at(2, keys[i]);
    *sum ^= mark(before[me] + i, keys[i]);
  }
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums, hashes, 2);
  shmem_uint64_xor_reduce(SHMEM_TEAM_WORLD, checksum, sum, 1);
  if (me == 0 && total != size) wrong("%zu keys have arrived", total);
  if (me == 0 && sums[0] != sums[1]) wrong("the keys are not those from before");
  free(other);
  free(grouped);
  free(mine);
  free(next);
  free(before);
  return finish(size, "keys", seconds, "%" PRIu64 " keys%s, checksum %016" PRIx64, size,
                skew ? " (skewed)" : "", *checksum);
}
