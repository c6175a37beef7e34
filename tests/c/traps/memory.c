/* Traps 39 to 45: memory management. 46, the size of the heap, is a matter of settings and tested with those. */
#include "trap.h"
#include <limits.h>

/* Fails unless all PEs have the same number. */
static void same_everywhere(uint64_t mine) {
  static uint64_t in, all[64];
  in = mine;
  shmem_sync_all();
  CHECK(n <= 64 && shmem_uint64_fcollect(SHMEM_TEAM_WORLD, all, &in, 1) == 0);
  for (int pe = 0; pe < n; pe++) CHECK(all[pe] == mine);
  shmem_sync_all();
}
static uint64_t offset(const void *block) { return block ? (uint64_t)((const char *)block - heap_area) : UINT64_MAX; }

/* Calls that allocate or free nothing don't wait for anybody: here PE 0 comes when all others have been. */
static void trap_40_nothing_is_no_barrier(void) {
  int *passed = TAKE(int, 1);
  for (int round = 1; round <= 3; round++) {
    if (me == 0) shmem_int_wait_until(passed, SHMEM_CMP_EQ, round * (n - 1));
    CHECK(shmem_malloc(0) == NULL);
    CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL && shmem_calloc(0, 0) == NULL);
    CHECK(shmem_align(64, 0) == NULL && shmem_align(4096, 0) == NULL);
    CHECK(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL && shmem_malloc_with_hints(0, 0) == NULL);
    CHECK(shmem_realloc(NULL, 0) == NULL);
    shmem_free(NULL);
    if (me != 0) shmem_int_atomic_inc(passed, 0);
    shmem_barrier_all();
  }
}

/* Who returns from an allocation may write to the others' blocks at once; zeroes don't come late. */
static void trap_40_barrier_at_the_end_of_malloc(void) {
  for (int round = 0; round < 30; round++) {
    size_t count = (size_t)(round * 97 % 700 + n);
    if (me == round % n) nap(200);
    long *block = round % 3 == 0   ? (long *)shmem_calloc(count, sizeof(long))
                  : round % 3 == 1 ? (long *)shmem_malloc(count * sizeof(long))
                                   : (long *)shmem_align(256, count * sizeof(long));
    for (int pe = 0; pe < n; pe++) shmem_long_p(block + me, round * 100 + me, pe);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++) CHECK(peek(block + pe) == round * 100 + pe);
    if (round % 3 == 0) CHECK(wrong_words(block + n, count - (size_t)n, 0, 0) == 0);
    memset(block, 0xEE, count * sizeof(long));
    shmem_free(block);
  }
}

/* What is on its way to a block arrives before the block is freed: never in its successor. */
static void trap_40_barrier_at_the_beginning_of_free(void) {
  for (int round = 0; round < 30; round++) {
    long *block = (long *)shmem_malloc(100 * sizeof(long)), source[100];
    fill_words(source, 100, -1, 0);
    shmem_long_put(block, source, 100, next);
    if (me == round % n) nap(200);
    shmem_free(block);
    long *after = (long *)shmem_calloc(100, sizeof(long));
    CHECK(wrong_words(after, 100, 0, 0) == 0);
    shmem_barrier_all();
    CHECK(wrong_words(after, 100, 0, 0) == 0);
    shmem_free(after);
  }
}

/* Where there is no room, everybody gets NULL, meets as often as otherwise, and goes on with equal heaps. */
static void trap_41_out_of_memory(void) {
  long *data = TAKE(long, 1);
  char *kept = (char *)shmem_malloc(1000);
  memset(kept, 7, 1000);
  for (int round = 0; round < 2; round++) {
    shmem_long_p(data, round + 1, next);
    CHECK(shmem_malloc((size_t)1 << 45) == NULL);
    CHECK(peek(data) == round + 1); /* the barrier was there */
    CHECK(shmem_malloc(SIZE_MAX) == NULL && shmem_malloc(SIZE_MAX / 2) == NULL);
    CHECK(shmem_calloc(SIZE_MAX, 2) == NULL && shmem_calloc(SIZE_MAX / 2 + 2, 2) == NULL);
    CHECK(shmem_calloc((size_t)1 << 32, (size_t)1 << 32) == NULL);
    CHECK(shmem_align(64, (size_t)1 << 45) == NULL && shmem_align(64, SIZE_MAX - 10) == NULL);
    CHECK(shmem_malloc_with_hints((size_t)1 << 45, 0) == NULL);
    CHECK(shmem_realloc(kept, (size_t)1 << 45) == NULL && shmem_realloc(kept, SIZE_MAX) == NULL);
    void *block = shmem_malloc(100);
    CHECK(block != NULL);
    same_everywhere(offset(block));
    shmem_free(block);
  }
  for (int i = 0; i < 1000; i++) CHECK(kept[i] == 7);
  shmem_free(kept);
}

/* Until the heap is full, and again after all has been freed: with the same number of blocks at equal places. */
static void trap_41_fill_and_empty(void) {
  enum { MOST = 1000 };
  static void *block[MOST];
  int counts[2];
  for (int round = 0; round < 2; round++) {
    int count = 0;
    while (count < MOST && (block[count] = shmem_malloc(((size_t)1 << 20) + (size_t)count * 64)) != NULL) count++;
    CHECK(count > 3 && count < MOST);
    same_everywhere((uint64_t)count);
    for (int i = 0; i < count; i++) same_everywhere(offset(block[(i * 7 + 1) % count]));
    for (int i = 0; i < count; i++) shmem_free(block[round ? count - 1 - i : i]);
    counts[round] = count;
  }
  CHECK(counts[0] == counts[1]);
}

static void trap_42_realloc(void) {
  const size_t sizes[] = {1, 100, 5000, 300000, 40, 64, 65, 4096, 1, 200000};
  unsigned char *block = (unsigned char *)shmem_realloc(NULL, sizes[0]), *wall = NULL;
  CHECK(block != NULL);
  block[0] = (unsigned char)me;
  for (size_t i = 1; i < COUNT(sizes); i++) {
    size_t kept = sizes[i - 1] < sizes[i] ? sizes[i - 1] : sizes[i];
    /* Now and then something stands behind the block, which has to move. */
    if (i % 3 == 0) shmem_free(wall), wall = (unsigned char *)shmem_malloc(128);
    if (wall) memset(wall, 0x5A, 128);
    block = (unsigned char *)shmem_realloc(block, sizes[i]);
    CHECK(block != NULL && (uintptr_t)block % 16 == 0);
    for (size_t k = 0; k < kept; k++)
      if (block[k] != (unsigned char)((size_t)me + k * (i - 1))) {
        CHECK(block[k] == (unsigned char)((size_t)me + k * (i - 1)));
        break;
      }
    for (size_t k = 0; k < sizes[i]; k++) block[k] = (unsigned char)((size_t)me + k * i);
    for (int k = 0; wall && k < 128; k++) CHECK(wall[k] == 0x5A);
    same_everywhere(offset(block));
    /* The others' copies move along. */
    size_t last = sizes[i] - 1;
    shmem_barrier_all();
    CHECK(shmem_uchar_g(block + last, next) == (unsigned char)((size_t)next + last * i));
    shmem_barrier_all();
  }
  shmem_free(wall);
  CHECK(shmem_realloc(block, 0) == NULL);
  /* It was freed: the place is had again. */
  void *again = shmem_malloc(200000);
  CHECK(again != NULL);
  shmem_free(again);
  /* Hints and alignments don't get in the way. */
  void *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_SIGNAL_REMOTE), *aligned = shmem_align(65536, 10);
  hinted = shmem_realloc(hinted, 100000);
  aligned = shmem_realloc(aligned, 100000);
  CHECK(hinted != NULL && aligned != NULL);
  shmem_free(hinted);
  shmem_free(aligned);
}

/* What is on its way to a block when it is reallocated is moved with the rest. */
static void trap_42_realloc_completes(void) {
  for (int round = 0; round < 20; round++) {
    long *block = (long *)shmem_calloc(100, sizeof(long)), source[100], *wall = (long *)shmem_malloc(64);
    fill_words(source, 100, round + 1, 2);
    shmem_long_put(block, source, 100, next);
    block = (long *)shmem_realloc(block, 50000);
    CHECK(wrong_words(block, 100, round + 1, 2) == 0);
    shmem_long_p(block + 6000, me, next);
    shmem_barrier_all();
    CHECK(peek(block + 6000) == prev);
    shmem_free(block);
    shmem_free(wall);
  }
}

static void trap_43_alignment(void) {
  char *odd = (char *)shmem_malloc(1);
  for (size_t align = sizeof(void *); align <= (size_t)1 << 20; align *= 2) {
    char *block = (char *)shmem_align(align, align / 2 + 3);
    CHECK(block != NULL && (uintptr_t)block % align == 0);
    same_everywhere(offset(block));
    /* Aligned in everybody's eyes, which is what needs equally aligned heaps. */
    char *there = (char *)shmem_ptr(block, next);
    if (there && align <= 4096) CHECK((uintptr_t)there % align == 0);
    shmem_free(block);
  }
  for (size_t size = 1; size < 300; size += 37) {
    char *block = (char *)shmem_malloc(size), *zero = (char *)shmem_calloc(size, 3);
    CHECK((uintptr_t)block % _Alignof(max_align_t) == 0 && (uintptr_t)zero % _Alignof(max_align_t) == 0);
    shmem_free(block);
    shmem_free(zero);
  }
  /* No powers of two, or less than a pointer needs: NULL everywhere, and nothing is lost. */
  const size_t wrong[] = {0, 1, 3, 4, 24, 4095};
  for (size_t i = 0; i < COUNT(wrong); i++) CHECK(shmem_align(wrong[i], 100) == NULL);
  shmem_free(odd);
}

/* Offsets depend on the sequence of calls alone: not on what else PEs do, in which order threads run, on time. */
static void *noise(void *argument) {
  void *kept[50];
  for (int i = 0; i < 50; i++) kept[i] = malloc((size_t)(me * 1000 + i * 77 + 1));
  for (int i = 0; i < 50; i++) free(kept[i]);
  nap(me * 100);
  return argument;
}
static void trap_44_offsets_are_equal(void) {
  enum { MOST = 40 };
  void *block[MOST] = {NULL};
  uint64_t random = 12345, sum = 0;
  for (int step = 0; step < 400; step++) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    size_t at = (random >> 33) % MOST, size = (random >> 45) % 3000 + 1;
    if (block[at] && random >> 63) {
      block[at] = shmem_realloc(block[at], size);
    } else {
      shmem_free(block[at]);
      block[at] = step % 5 == 0   ? shmem_align((size_t)64 << at % 6, size)
                  : step % 5 == 1 ? shmem_calloc(size, 2)
                                  : shmem_malloc(size);
    }
    CHECK(block[at] != NULL);
    sum = sum * 31 + offset(block[at]);
    if (step % 100 == 7) {
      pthread_t thread;
      CHECK(pthread_create(&thread, NULL, noise, NULL) == 0);
      if (me % 2) pthread_join(thread, NULL);
      else pthread_detach(thread);
    }
  }
  same_everywhere(sum);
  for (int i = 0; i < MOST; i++) shmem_free(block[i]);
}

static void trap_45_unknown_hints(void) {
  const long hints[] = {0,  SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                        -1, 1l << 40, LONG_MIN, 1l << 17 | 3};
  for (size_t i = 0; i < COUNT(hints); i++) {
    long *block = (long *)shmem_malloc_with_hints(1000 * sizeof(long), hints[i]);
    CHECK(block != NULL);
    block[0] = 0;
    shmem_barrier_all();
    shmem_long_atomic_add(block, me + 1, 0);
    shmem_barrier_all();
    if (me == 0) CHECK(peek(block) == (long)n * (n + 1) / 2);
    shmem_free(block);
  }
}

static const trap_t traps[] = {
    TRAP(trap_40_nothing_is_no_barrier),
    TRAP(trap_40_barrier_at_the_end_of_malloc),
    TRAP(trap_40_barrier_at_the_beginning_of_free),
    TRAP(trap_41_out_of_memory),
    TRAP(trap_41_fill_and_empty),
    TRAP(trap_42_realloc),
    TRAP(trap_42_realloc_completes),
    TRAP(trap_43_alignment),
    TRAP(trap_44_offsets_are_equal),
    TRAP(trap_45_unknown_hints),
};
MAIN(traps)
