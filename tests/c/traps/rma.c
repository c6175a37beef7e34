/* Traps 20 to 28 and 31 and 32: arguments of put and get, and addresses. Trap 29 is in large.c, 30 in idioms.c. */
#include "trap.h"
#include <sys/mman.h>

#define SIZES(X) X(8) X(16) X(32) X(64) X(128)

/* Wherever there is a length, it may be 0, and then the pointers may be NULL. */
static uint64_t *zero_sig, zero_count;
#define ZERO_TYPE(NAME, T)                                                                                    \
  shmem_##NAME##_put(NULL, NULL, 0, next);                                                                    \
  shmem_##NAME##_get(NULL, NULL, 0, next);                                                                    \
  shmem_##NAME##_put_nbi(NULL, NULL, 0, next);                                                                \
  shmem_##NAME##_get_nbi(NULL, NULL, 0, next);                                                                \
  shmem_##NAME##_iput(NULL, NULL, 1, 1, 0, next);                                                             \
  shmem_##NAME##_iget(NULL, NULL, 1, 1, 0, next);                                                             \
  shmem_##NAME##_put_signal(NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                              \
  shmem_##NAME##_put_signal_nbi(NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                          \
  shmem_ctx_##NAME##_put(ctx, NULL, NULL, 0, next);                                                           \
  shmem_ctx_##NAME##_get(ctx, NULL, NULL, 0, next);                                                           \
  shmem_ctx_##NAME##_put_nbi(ctx, NULL, NULL, 0, next);                                                       \
  shmem_ctx_##NAME##_get_nbi(ctx, NULL, NULL, 0, next);                                                       \
  shmem_ctx_##NAME##_iput(ctx, NULL, NULL, 1, 1, 0, next);                                                    \
  shmem_ctx_##NAME##_iget(ctx, NULL, NULL, 1, 1, 0, next);                                                    \
  shmem_ctx_##NAME##_put_signal(ctx, NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                     \
  shmem_ctx_##NAME##_put_signal_nbi(ctx, NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                 \
  CHECK(shmem_##NAME##_broadcast(SHMEM_TEAM_WORLD, NULL, NULL, 0, n - 1) == 0);                               \
  CHECK(shmem_##NAME##_fcollect(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                       \
  CHECK(shmem_##NAME##_alltoall(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                       \
  CHECK(shmem_##NAME##_alltoalls(SHMEM_TEAM_WORLD, NULL, NULL, 1, 1, 0) == 0);                                \
  CHECK(shmem_##NAME##_collect(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                        \
  zero_count += 4;
#define ZERO_SIZE(BITS)                                                                                       \
  shmem_put##BITS(NULL, NULL, 0, next);                                                                       \
  shmem_get##BITS(NULL, NULL, 0, next);                                                                       \
  shmem_put##BITS##_nbi(NULL, NULL, 0, next);                                                                 \
  shmem_get##BITS##_nbi(NULL, NULL, 0, next);                                                                 \
  shmem_iput##BITS(NULL, NULL, 1, 1, 0, next);                                                                \
  shmem_iget##BITS(NULL, NULL, 1, 1, 0, next);                                                                \
  shmem_put##BITS##_signal(NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                               \
  shmem_put##BITS##_signal_nbi(NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                           \
  shmem_ctx_put##BITS(ctx, NULL, NULL, 0, next);                                                              \
  shmem_ctx_get##BITS##_nbi(ctx, NULL, NULL, 0, next);                                                        \
  shmem_ctx_put##BITS##_signal(ctx, NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);                      \
  zero_count += 3;
#define ZERO_REDUCE(NAME, T)                                                                                  \
  CHECK(shmem_##NAME##_sum_reduce(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                     \
  CHECK(shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                     \
  CHECK(shmem_##NAME##_sum_inscan(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);                                     \
  CHECK(shmem_##NAME##_sum_exscan(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);

static void trap_20_zero_length_with_null(void) {
  shmem_ctx_t ctx;
  zero_sig = TAKE(uint64_t, 1);
  zero_count = 0;
  CHECK(shmem_ctx_create(0, &ctx) == 0);
  RMA_TYPES(ZERO_TYPE)
  SIZES(ZERO_SIZE)
  NUMBER_TYPES(ZERO_REDUCE)
  shmem_putmem(NULL, NULL, 0, next);
  shmem_getmem(NULL, NULL, 0, next);
  shmem_putmem_nbi(NULL, NULL, 0, next);
  shmem_ctx_getmem_nbi(ctx, NULL, NULL, 0, next);
  shmem_putmem_signal(NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);
  shmem_ctx_putmem_signal_nbi(ctx, NULL, NULL, 0, zero_sig, 1, SHMEM_SIGNAL_ADD, next);
  CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, NULL, NULL, 0, 0) == 0);
  CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
  CHECK(shmem_collectmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
  CHECK(shmem_alltoallmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
  CHECK(shmem_alltoallsmem(SHMEM_TEAM_WORLD, NULL, NULL, 1, 1, 0) == 0);
  /* A pointer to anywhere is as good as NULL. */
  char local;
  shmem_putmem(&local, &local, 0, next);
  shmem_getmem(&local, &local, 0, next);
  /* Trap 21: the signal of a put of nothing arrives. */
  zero_count += 2;
  CHECK(shmem_signal_wait_until(zero_sig, SHMEM_CMP_GE, zero_count) == zero_count);
  shmem_ctx_destroy(ctx);
}

static void trap_21_signal_without_data(void) {
  uint64_t *sig = TAKE(uint64_t, 4);
  shmem_int_put_signal(NULL, NULL, 0, sig, 77, SHMEM_SIGNAL_SET, next);
  shmem_putmem_signal_nbi(NULL, NULL, 0, sig + 1, 78, SHMEM_SIGNAL_SET, next);
  shmem_put64_signal(NULL, NULL, 0, sig + 2, 79, SHMEM_SIGNAL_ADD, next);
  shmem_double_put_signal_nbi(NULL, NULL, 0, sig + 3, 80, SHMEM_SIGNAL_ADD, next);
  for (uint64_t i = 0; i < 4; i++) CHECK(shmem_signal_wait_until(sig + i, SHMEM_CMP_NE, 0) == 77 + i);
}

/* Strides count elements, at the target and at the source; what lies between stays as it was. */
#define STRIDED(NAME, T)                                                                                      \
  static void strided_##NAME(int dst, int sst) {                                                              \
    enum { LEN = 9 };                                                                                         \
    T *data = TAKE(T, LEN * 5), source[LEN * 5], back[LEN * 5];                                               \
    memset(data, 0x11, LEN * 5 * sizeof(T));                                                                  \
    memset(back, 0x11, sizeof back);                                                                          \
    for (int i = 0; i < LEN * 5; i++) source[i] = (T)(i + 1 + me % 3);                                        \
    T filler;                                                                                                 \
    memset(&filler, 0x11, sizeof filler);                                                                     \
    shmem_barrier_all();                                                                                      \
    shmem_##NAME##_iput(data, source, dst, sst, LEN, next);                                                   \
    shmem_quiet();                                                                                            \
    shmem_##NAME##_iget(back, data, sst, dst, LEN, next);                                                     \
    for (int i = 0; i < LEN; i++) CHECK_IN(#NAME, back[i * sst] == source[i * sst]);                          \
    for (int i = 0; i < LEN * sst; i++)                                                                       \
      if (i % sst) CHECK_IN(#NAME, memcmp(back + i, &filler, sizeof(T) < 10 ? sizeof(T) : 10) == 0);          \
    shmem_barrier_all();                                                                                      \
    for (int i = 0; i < LEN * 5; i++) {                                                                       \
      T expected = (T)(i / dst * sst + 1 + prev % 3);                                                         \
      int written = i % dst == 0 && i / dst < LEN;                                                            \
      CHECK_IN(#NAME, written ? data[i] == expected                                                           \
                              : memcmp(data + i, &filler, sizeof(T) < 10 ? sizeof(T) : 10) == 0);             \
    }                                                                                                         \
  }
RMA_TYPES(STRIDED)
static void trap_22_strides_are_elements(void) {
#define RUN_STRIDED(NAME, T) strided_##NAME(3, 2), strided_##NAME(1, 5), strided_##NAME(4, 1);
  RMA_TYPES(RUN_STRIDED)
}

#define STRIDED_SIZE(BITS)                                                                                    \
  do {                                                                                                        \
    enum { BYTES = BITS / 8, LEN = 6 };                                                                       \
    unsigned char source[BYTES * LEN * 3] __attribute__((aligned(16))), back[BYTES * LEN * 3];                \
    unsigned char *data = TAKE(unsigned char, BYTES *LEN * 3);                                                \
    memset(back, 0xAB, sizeof back);                                                                          \
    for (int i = 0; i < BYTES * LEN * 3; i++) source[i] = (unsigned char)(i * 7 + me);                        \
    shmem_iput##BITS(data, source, 2, 3, LEN, next);                                                          \
    shmem_quiet();                                                                                            \
    shmem_iget##BITS(back, data, 3, 2, LEN, next);                                                            \
    for (int i = 0; i < BYTES * LEN * 3; i++)                                                                 \
      CHECK_IN(#BITS, back[i] == (i / BYTES % 3 ? 0xAB : source[i]));                                         \
    shmem_barrier_all();                                                                                      \
    for (int i = 0; i < BYTES * LEN * 3; i++) {                                                               \
      int at = i / BYTES, from = at / 2 * 3 * BYTES + i % BYTES;                                              \
      CHECK_IN(#BITS, data[i] == (at % 2 || at / 2 >= LEN ? 0 : (unsigned char)(from * 7 + prev)));           \
    }                                                                                                         \
  } while (0);
static void trap_22_strides_of_sized_forms(void) { SIZES(STRIDED_SIZE) }

/* Blocks of elements: strides lie between the beginnings of blocks, which may follow each other without a gap. A
 * block of one element is an element. */
#define BLOCKS(NAME, T)                                                                                       \
  static void blocks_##NAME(int bsize, int dst, int sst) {                                                    \
    enum { BLOCKS = 4, LEN = BLOCKS * 6 };                                                                    \
    T *data = TAKE(T, LEN), source[LEN], back[LEN];                                                           \
    memset(back, 0, sizeof back);                                                                             \
    for (int i = 0; i < LEN; i++) source[i] = (T)(i + 1 + me % 3), data[i] = 99;                              \
    shmem_barrier_all();                                                                                      \
    shmem_##NAME##_ibput(data, source, dst, sst, (size_t)bsize, BLOCKS, next);                                \
    shmem_quiet();                                                                                            \
    shmem_ctx_##NAME##_ibget(SHMEM_CTX_DEFAULT, back, data, sst, dst, (size_t)bsize, BLOCKS, next);           \
    shmem_barrier_all();                                                                                      \
    for (int i = 0; i < LEN; i++) {                                                                           \
      int block = i / dst, at = i % dst, from = i / sst;                                                      \
      T expected = block < BLOCKS && at < bsize ? (T)(block * sst + at + 1 + prev % 3) : (T)99;               \
      CHECK_IN(#NAME, data[i] == expected);                                                                   \
      CHECK_IN(#NAME, back[i] == (from < BLOCKS && i % sst < bsize ? source[i] : (T)0));                      \
    }                                                                                                         \
  }
RMA_TYPES(BLOCKS)
static void trap_22_blocks(void) {
#define RUN_BLOCKS(NAME, T) blocks_##NAME(2, 3, 5), blocks_##NAME(3, 3, 3), blocks_##NAME(1, 4, 2);
  RMA_TYPES(RUN_BLOCKS)
  uint32_t *data = TAKE(uint32_t, 20), source[] = {1, 2, 3, 4, 5, 6};
  shmem_ibput32(data, source, 5, 2, 2, 3, next);
  shmem_ibput128(data, source, 1, 1, 1, 0, next);
  shmem_ibget8(NULL, NULL, 1, 1, 1, 0, next);
  shmem_long_ibput(NULL, NULL, 2, 2, 1, 0, next);
  shmem_barrier_all();
  for (int i = 0; i < 6; i++) CHECK(data[i / 2 * 5 + i % 2] == source[i]);
  CHECK(data[2] == 0 && data[12] == 0);
}

/* The mem forms take any address and any number of bytes. */
static void trap_23_mem_forms_are_unaligned(void) {
  unsigned char *data = TAKE(unsigned char, 256), *all = TAKE(unsigned char, n * 64), local[256], back[256];
  uint64_t *sig = TAKE(uint64_t, 1), signals = 0;
  for (int bytes = 1; bytes <= 67; bytes += bytes < 20 ? 1 : 11)
    for (int at = 0; at < 17; at += 1 + at % 3) {
      unsigned char *source = local + (at * 5 + 1) % 16;
      for (int i = 0; i < bytes; i++) source[i] = (unsigned char)(me + bytes * 3 + at + i);
      switch (at % 4) {
      case 0: shmem_putmem(data + at, source, (size_t)bytes, next); break;
      case 1: shmem_putmem_nbi(data + at, source, (size_t)bytes, next); break;
      default:
        shmem_putmem_signal(data + at, source, (size_t)bytes, sig, 1, SHMEM_SIGNAL_ADD, next);
        signals++;
      }
      shmem_quiet();
      back[bytes + 3] = 0xC3;
      if (at % 2) shmem_getmem(back + 3, data + at, (size_t)bytes, next);
      else shmem_getmem_nbi(back + 3, data + at, (size_t)bytes, next), shmem_quiet();
      CHECK(memcmp(back + 3, source, (size_t)bytes) == 0 && back[bytes + 3] == 0xC3);
    }
  shmem_signal_wait_until(sig, SHMEM_CMP_GE, signals);
  shmem_barrier_all();
  for (int i = 0; i < 256; i++) data[i] = (unsigned char)(i + me);
  shmem_barrier_all();
  CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, all + 1, data + 3, 61, n - 1) == 0);
  for (int i = 0; i < 61; i++) CHECK(all[i + 1] == (unsigned char)(i + 3 + n - 1));
  shmem_barrier_all();
  CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, all + 5, data + 7, 13) == 0);
  for (int i = 0; i < 13 * n; i++) CHECK(all[i + 5] == (unsigned char)(i % 13 + 7 + i / 13));
}

/* Sized and typed forms at the alignment that they need, and no more: every element of an array is one. */
static void trap_23_natural_alignment(void) {
#define AT_EACH(BITS)                                                                                         \
  do {                                                                                                        \
    enum { BYTES = BITS / 8 };                                                                                \
    unsigned char *data = TAKE(unsigned char, BYTES * 16), back[BYTES * 16] __attribute__((aligned(16)));     \
    unsigned char source[BYTES] __attribute__((aligned(16)));                                                 \
    for (int i = 0; i < BYTES; i++) source[i] = (unsigned char)(i + 1);                                       \
    for (int at = 0; at < 16; at++) shmem_put##BITS(data + at * BYTES, source, 1, next);                      \
    shmem_quiet();                                                                                            \
    for (int at = 0; at < 16; at++) shmem_get##BITS(back + at * BYTES, data + at * BYTES, 1, next);           \
    for (int i = 0; i < BYTES * 16; i++) CHECK_IN(#BITS, back[i] == i % BYTES + 1);                           \
  } while (0);
  SIZES(AT_EACH)
}

/* The local side is any memory at all. */
static void trap_24_local_side_is_any_memory(void) {
  enum { BYTES = 64 };
  static const char constant[BYTES] = "a constant of the program, in memory that can only be read";
  char stack[BYTES], *heap = (char *)malloc(BYTES), *own = TAKE(char, BYTES), *other = TAKE_OTHER(char, BYTES);
  char *pages = (char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static __thread char mine[BYTES];
  char *data = TAKE(char, BYTES * 8), *locals[] = {stack, heap, own, other, pages, mine};
  for (size_t i = 0; i < COUNT(locals); i++) {
    memset(locals[i], (int)i + 1, BYTES);
    shmem_putmem(data + i * BYTES, locals[i], BYTES, next);
    shmem_putmem_nbi(data + i * BYTES, locals[i], BYTES, next);
  }
  shmem_putmem(data + 7 * BYTES, constant, BYTES, next);
  shmem_quiet();
  for (size_t i = 0; i < COUNT(locals); i++) {
    memset(locals[i], 0, BYTES);
    shmem_getmem(locals[i], data + i * BYTES, BYTES, next);
    for (int k = 0; k < BYTES; k++) CHECK(locals[i][k] == (char)(i + 1));
    shmem_getmem_nbi(locals[i], data + 7 * BYTES, BYTES, next);
    shmem_quiet();
    CHECK(strcmp(locals[i], constant) == 0);
  }
  CHECK(munmap(pages, 4096) == 0);
  free(heap);
}

/* To itself, and over itself: undefined, but what memmove does. */
static void trap_24_own_memory_overlaps(void) {
  char *data = TAKE(char, 400);
  for (int shift = -7; shift <= 7; shift++)
    for (int bytes = 1; bytes <= 300; bytes = bytes * 3 + 1)
      for (int get = 0; get < 2; get++) {
        char expected[400];
        for (int i = 0; i < 400; i++) data[i] = expected[i] = (char)(i * 7 + bytes);
        memmove(expected + 20 + shift, expected + 20, (size_t)bytes);
        if (get) shmem_getmem(data + 20 + shift, data + 20, (size_t)bytes, me);
        else shmem_putmem(data + 20 + shift, data + 20, (size_t)bytes, me);
        shmem_quiet();
        CHECK(memcmp(data, expected, 400) == 0);
      }
}

/* Buffers of non-blocking calls are free after the quiet, at once. */
static void trap_26_buffers_after_quiet(void) {
  enum { LEN = 50 };
  long *data = TAKE(long, LEN), *sum = TAKE(long, 1), source[LEN], back[LEN], old[LEN];
  for (long round = 1; round <= 20; round++) {
    fill_words(source, LEN, round, 1);
    shmem_long_put_nbi(data, source, LEN, next);
    shmem_quiet();
    memset(source, 0xDD, sizeof source);
    memset(back, 0xDD, sizeof back);
    shmem_long_get_nbi(back, data, LEN, next);
    for (int i = 0; i < LEN; i++) shmem_long_atomic_fetch_add_nbi(old + i, sum, 1, next);
    shmem_quiet();
    CHECK(wrong_words(back, LEN, round, 1) == 0);
    long total = 0;
    for (int i = 0; i < LEN; i++) total += old[i];
    CHECK(total == LEN * (round - 1) * LEN + LEN * (LEN - 1) / 2);
    memset(back, 0xDD, sizeof back);
  }
}

/* Any address inside an object will do, and it is the own one: it is never sent anywhere. */
static void trap_27_interior_addresses(void) {
  typedef struct {
    char name[13];
    struct { double x[3]; int k; } in[4];
    long last;
  } record_t;
  record_t *record = TAKE(record_t, 20), *far = TAKE_OTHER(record_t, 20);
  for (int i = 0; i < 20; i++)
    for (int which = 0; which < 2; which++) {
      record_t *at = (which ? far : record) + i;
      shmem_putmem(at->name + 1, "text", 5, next);
      shmem_double_p(&at->in[i % 4].x[2], i * 0.5 + me, next);
      shmem_int_atomic_add(&at->in[3 - i % 4].k, i + 1, next);
      shmem_long_atomic_set(&at->last, me * 100 + i, next);
    }
  shmem_barrier_all();
  for (int i = 0; i < 20; i++)
    for (int which = 0; which < 2; which++) {
      record_t *at = (which ? far : record) + i;
      CHECK(at->name[0] == 0 && strcmp(at->name + 1, "text") == 0 && at->in[i % 4].x[2] == i * 0.5 + prev);
      CHECK(at->in[3 - i % 4].k == i + 1 && at->last == prev * 100 + i && at->in[i % 4].x[1] == 0);
      CHECK(shmem_long_g(&at->last, next) == me * 100 + i);
    }
}

/* PE numbers are those of the context's team, in every call that has one. */
static void trap_28_pe_numbers_of_the_team(void) {
  struct { int start, stride, size; } shapes[] = {
      {n - 1, -1, n}, {0, 2, (n + 1) / 2}, {n - 1, -2, (n + 1) / 2}, {n / 2, 1, n - n / 2}}, *shape = shapes;
  for (; shape < shapes + COUNT(shapes); shape++) {
    long *data = TAKE(long, 16), old = -1, source[2] = {-5, -6}, back[2];
    uint64_t *sig = TAKE(uint64_t, 2);
    shmem_team_t team;
    shmem_ctx_t ctx;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, shape->start, shape->stride, shape->size, NULL, 0, &team) == 0);
    if (team != SHMEM_TEAM_INVALID) {
      int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team), to = (rank + 1) % size;
      int world = shmem_team_translate_pe(team, to, SHMEM_TEAM_WORLD), from = (rank + size - 1) % size;
      CHECK(me == shape->start + rank * shape->stride && world == shape->start + to * shape->stride);
      CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
      data[15] = 1000 + me;
      shmem_team_sync(team);
      shmem_ctx_long_p(ctx, data, rank, to);
      shmem_ctx_long_put(ctx, data + 1, source, 1, to);
      shmem_ctx_long_put_nbi(ctx, data + 2, source + 1, 1, to);
      shmem_ctx_long_iput(ctx, data + 3, source, 2, 1, 2, to);
      shmem_ctx_putmem_signal(ctx, data + 6, source, 8, sig, 3, SHMEM_SIGNAL_SET, to);
      shmem_ctx_signal_add(ctx, sig + 1, 4, to);
      shmem_ctx_long_atomic_add(ctx, data + 7, 7, to);
      CHECK(shmem_ctx_long_atomic_fetch_add(ctx, data + 8, 8, to) == 0);
      shmem_ctx_long_atomic_fetch_add_nbi(ctx, &old, data + 9, 9, to);
      CHECK(shmem_ctx_long_atomic_swap(ctx, data + 10, 10, to) == 0);
      CHECK(shmem_ctx_long_atomic_compare_swap(ctx, data + 11, 0, 11, to) == 0);
      shmem_ctx_quiet(ctx);
      CHECK(old == 0 && shmem_long_g(data, world) == rank && shmem_ctx_long_g(ctx, data + 15, to) == 1000 + world);
      CHECK(shmem_ctx_long_atomic_fetch(ctx, data + 11, to) == 11);
      shmem_ctx_long_get(ctx, back, data + 10, 2, to);
      CHECK(back[0] == 10 && back[1] == 11);
      shmem_ctx_long_iget(ctx, back, data + 7, 1, 2, 2, to);
      CHECK(back[0] == 7 && back[1] == 9);
      shmem_ctx_getmem_nbi(ctx, back, data + 1, 16, to);
      shmem_ctx_quiet(ctx);
      CHECK(back[0] == -5 && back[1] == -6);
      shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 3);
      shmem_signal_wait_until(sig + 1, SHMEM_CMP_EQ, 4);
      shmem_team_sync(team);
      CHECK(data[0] == from && data[3] == -5 && data[4] == 0 && data[5] == -6 && data[6] == -5 && data[9] == 9);
      shmem_ctx_destroy(ctx);
      shmem_team_destroy(team);
    }
    shmem_barrier_all();
  }
}

/* ptr gives an address to load and store, or NULL; the own copy's is the own address. */
static void trap_31_ptr(void) {
  long *data = TAKE(long, 8), local = 0;
  fill_words(data, 8, me * 10, 1);
  shmem_barrier_all();
  int shared = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  CHECK(shmem_ptr(data, me) == (void *)data && shmem_ptr(data + 3, me) == (void *)(data + 3));
  CHECK(shmem_ptr(&local, next) == NULL && shmem_ptr(NULL, me) == NULL && shmem_ptr(&local, me) == NULL);
  for (int pe = 0; pe < n; pe++) {
    const long *there = (const long *)shmem_ptr(data, pe), *third = (const long *)shmem_ptr(data + 3, pe);
    CHECK((there == NULL) == (third == NULL) && (there != NULL || over_loopback()));
    if (there) CHECK(third == there + 3 && wrong_words(there, 8, pe * 10, 1) == 0);
    CHECK((const void *)there == shmem_team_ptr(SHMEM_TEAM_WORLD, data, pe));
    /* Whoever is in the shared team has a pointer to every object of the heap. */
    int in_shared = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED);
    if (in_shared >= 0) {
      CHECK(shmem_ptr(heap_area, pe) != NULL);
      CHECK(shmem_team_ptr(SHMEM_TEAM_SHARED, heap_area, in_shared) == shmem_ptr(heap_area, pe));
    }
  }
  CHECK(shared >= 1 && shared <= n && shmem_team_my_pe(SHMEM_TEAM_SHARED) >= 0);
  shmem_barrier_all();
}

/* What is written through ptr is there for all calls, and the other way round. */
static void trap_31_ptr_and_calls_see_the_same(void) {
  long *data = TAKE(long, 4);
  long *there = (long *)shmem_ptr(data, next);
  if (there) {
    there[0] = me + 1;
    shmem_quiet();
    CHECK(shmem_long_g(data, next) == me + 1);
    shmem_long_atomic_add(data + 1, 5, next);
    shmem_long_p(data + 2, 6, next);
    shmem_quiet();
    CHECK(peek(there + 1) == 5 && peek(there + 2) == 6);
  }
}

static void trap_32_accessible(void) {
  long *data = TAKE(long, 4), *far = TAKE_OTHER(long, 4), local = 0;
  static const int constant = 5;
  void *mine = malloc(100);
  for (int pe = 0; pe < n; pe++) {
    CHECK(shmem_pe_accessible(pe) == 1);
    CHECK(shmem_addr_accessible(data, pe) == 1 && shmem_addr_accessible(data + 3, pe) == 1);
    CHECK(shmem_addr_accessible(far, pe) == 1 && shmem_addr_accessible(heap_area + AREA - 1, pe) == 1);
    CHECK(shmem_addr_accessible(&local, pe) == 0 && shmem_addr_accessible(mine, pe) == 0);
    CHECK(shmem_addr_accessible(NULL, pe) == 0);
  }
  (void)constant;
  CHECK(shmem_pe_accessible(-1) == 0 && shmem_pe_accessible(n) == 0 && shmem_addr_accessible(data, n) == 0);
  CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, data, 0) == NULL);
  free(mine);
}

static const trap_t traps[] = {
    TRAP(trap_20_zero_length_with_null),
    TRAP(trap_21_signal_without_data),
    TRAP(trap_22_strides_are_elements),
    TRAP(trap_22_strides_of_sized_forms),
    TRAP(trap_22_blocks),
    TRAP(trap_23_mem_forms_are_unaligned),
    TRAP(trap_23_natural_alignment),
    TRAP(trap_24_local_side_is_any_memory),
    TRAP(trap_24_own_memory_overlaps),
    TRAP(trap_26_buffers_after_quiet),
    TRAP(trap_27_interior_addresses),
    TRAP(trap_28_pe_numbers_of_the_team),
    TRAP(trap_31_ptr),
    TRAP(trap_31_ptr_and_calls_see_the_same),
    TRAP(trap_32_accessible),
};
MAIN(traps)
