/* Trap 29: sizes, strides and offsets beyond 2^31. Needs a heap of 6 GiB, of which it touches little, and with the
 * argument `touch` somewhat more than 2 GiB. */
#include "trap.h"

#define GIB ((size_t)1 << 30)

static char *block;
static long *word_at(size_t offset) { return (long *)(block + offset); }

static void trap_29_offsets(void) {
  const size_t offsets[] = {0, 2 * GIB - 8, 2 * GIB, 4 * GIB - 8, 4 * GIB, 4 * GIB + 8, 5 * GIB - 64};
  for (size_t i = 0; i < COUNT(offsets); i++) {
    long *word = word_at(offsets[i]), value = (long)(1000 * i) + me, back[3];
    shmem_long_p(word, value, next);
    shmem_quiet();
    CHECK(shmem_long_g(word, next) == value);
    shmem_barrier_all();
    CHECK(shmem_long_atomic_fetch_add(word, 5, next) == value);
    shmem_putmem((char *)word + 1, &value, 3, next);
    shmem_quiet();
    shmem_getmem(back, word, 8, next);
    CHECK(memcmp((char *)back + 1, &value, 3) == 0);
    shmem_long_put_signal(word, &value, 1, (uint64_t *)(word_at(5 * GIB - 8)), i + 1, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until((uint64_t *)(word_at(5 * GIB - 8)), SHMEM_CMP_EQ, i + 1);
    CHECK(peek(word) == (long)(1000 * i) + prev);
    const long *there = (const long *)shmem_ptr(word, next);
    CHECK(shmem_addr_accessible(word, next) == 1 && (there == NULL || peek(there) == value));
    shmem_barrier_all();
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word, word, 1) == 0);
    CHECK(peek(word) == (long)(1000 * i) * n + (long)n * (n - 1) / 2);
    shmem_barrier_all();
  }
}

static void trap_29_strides(void) {
  const ptrdiff_t far = (ptrdiff_t)(2 * GIB / sizeof(long)) + 3;
  long source[3] = {me + 1, me + 2, me + 3}, back[5] = {0};
  shmem_long_iput(word_at(64), source, far, 1, 3, next);
  shmem_quiet();
  shmem_long_iget(back, word_at(64), 2, far, 3, next);
  CHECK(back[0] == me + 1 && back[1] == 0 && back[2] == me + 2 && back[4] == me + 3);
  CHECK(shmem_long_g(word_at(64) + 2 * far, next) == me + 3);
  shmem_barrier_all();
  shmem_iput128(word_at(128), word_at(128), (ptrdiff_t)(2 * GIB / 16), (ptrdiff_t)(GIB / 16), 2, next);
  shmem_barrier_all();
}

/* More than 2^31 bytes, and more than 2^31 elements, in one call. */
static void trap_29_lengths(void) {
  const size_t len = 2 * GIB + 4096;
  char *source = (char *)calloc(len, 1); /* untouched but for a few pages */
  CHECK(source != NULL);
  if (me == 0 && source) {
    source[0] = 1, source[2 * GIB] = 2, source[len - 1] = 3;
    shmem_putmem(block, source, len, n - 1);
    shmem_quiet();
    CHECK(shmem_char_g(block, n - 1) == 1 && shmem_char_g(block + 2 * GIB, n - 1) == 2);
    CHECK(shmem_char_g(block + len - 1, n - 1) == 3 && shmem_char_g(block + len, n - 1) == 0);
    source[2 * GIB] = 9;
    shmem_uint8_put((uint8_t *)block + 7, (const uint8_t *)source, len - 16, n - 1);
    shmem_quiet();
    CHECK(shmem_char_g(block + 2 * GIB + 7, n - 1) == 9 && shmem_char_g(block + 2 * GIB, n - 1) == 0);
  }
  shmem_barrier_all();
  if (n == 1) {
    block[len - 1] = 5;
    CHECK(shmem_uint8_sum_reduce(SHMEM_TEAM_WORLD, (uint8_t *)block, (uint8_t *)block, len) == 0);
    CHECK(block[len - 1] == 5);
  }
  free(source);
}

int main(int argc, char **argv) {
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  where = "heap";
  /* Twice, so that the second block's address shows whether the size was kept whole. */
  char *before = (char *)shmem_malloc(64);
  block = (char *)shmem_malloc(5 * GIB);
  char *after = (char *)shmem_malloc(64);
  CHECK(block && before && after && (after < block || after >= block + 5 * GIB));
  if (!block) return verdict();
  trap_29_offsets();
  memset(block, 0, 4096);
  shmem_barrier_all();
  trap_29_strides();
  if (argc > 1 && !strcmp(argv[1], "touch")) trap_29_lengths();
  shmem_barrier_all();
  block = (char *)shmem_realloc(block, 3 * GIB);
  CHECK(block != NULL && shmem_malloc(2 * GIB) != NULL);
  return verdict();
}
