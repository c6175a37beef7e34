/* Put, get, p, g, iput, iget and the nbi forms of every type and size, on the heap and on globals. */
#include "check.h"

enum { SPAN = 64 };
static int me, n, next, prev;
static void *heap;

#if HAVE_CTX
static F(ctx_t) ctx;
#endif

#define RMA(NAME, T)                                                                                          \
  static T value_##NAME(int pe, int i) { return (T)((pe * 31 + i * 7) % 101 + 1); }                           \
  static void on_##NAME(T *dest, const char *where) {                                                         \
    static T source[SPAN], back[SPAN];                                                                        \
    for (int i = 0; i < SPAN; i++) {                                                                          \
      source[i] = value_##NAME(me, i);                                                                        \
      dest[i] = 0;                                                                                            \
    }                                                                                                         \
    F(barrier_all)();                                                                                         \
    FT(NAME, put)(dest, source, 15, next);                                                                    \
    FT(NAME, p)(dest + 16, source[16], next);                                                                 \
    FT(NAME, iput)(dest + 20, source + 20, 2, 3, 5, next);                                                    \
    FT(NAME, put_nbi)(dest + 32, source + 32, 8, next);                                                       \
    FT(NAME, put)(dest + 63, source, 0, next);                                                                \
    F(barrier_all)();                                                                                         \
    for (int i = 0; i < 15; i++) CHECK_IN(where, dest[i] == value_##NAME(prev, i));                           \
    CHECK_IN(where, dest[15] == 0 && dest[16] == value_##NAME(prev, 16));                                     \
    for (int i = 0; i < 5; i++)                                                                               \
      CHECK_IN(where, dest[20 + 2 * i] == value_##NAME(prev, 20 + 3 * i) && dest[21 + 2 * i] == 0);           \
    for (int i = 32; i < 40; i++) CHECK_IN(where, dest[i] == value_##NAME(prev, i));                          \
    CHECK_IN(where, dest[40] == 0 && dest[63] == 0);                                                          \
    memset(back, 0, sizeof back);                                                                             \
    FT(NAME, get)(back, dest, 15, next);                                                                      \
    CHECK_IN(where, FT(NAME, g)(dest + 16, next) == value_##NAME(me, 16));                                    \
    FT(NAME, iget)(back + 20, dest + 20, 3, 2, 5, next);                                                      \
    FT(NAME, get_nbi)(back + 40, dest + 32, 8, next);                                                         \
    F(quiet)();                                                                                               \
    for (int i = 0; i < 15; i++) CHECK_IN(where, back[i] == value_##NAME(me, i));                             \
    for (int i = 0; i < 5; i++)                                                                               \
      CHECK_IN(where, back[20 + 3 * i] == value_##NAME(me, 20 + 3 * i) && back[21 + 3 * i] == 0);             \
    for (int i = 0; i < 8; i++) CHECK_IN(where, back[40 + i] == value_##NAME(me, 32 + i));                    \
    /* A PE is its own neighbour, too. */                                                                     \
    FT(NAME, p)(dest + 60, source[3], me);                                                                    \
    F(quiet)();                                                                                               \
    CHECK_IN(where, FT(NAME, g)(dest + 60, me) == source[3] && dest[60] == source[3]);                        \
    CONTEXT(NAME)                                                                                             \
    F(barrier_all)();                                                                                         \
  }                                                                                                           \
  static void check_##NAME(void) {                                                                            \
    static T in_bss[SPAN], in_data[SPAN] = {1};                                                               \
    on_##NAME((T *)heap, #NAME " heap");                                                                      \
    if (globals_are_symmetric()) {                                                                            \
      on_##NAME(in_bss, #NAME " bss");                                                                        \
      on_##NAME(in_data, #NAME " data");                                                                      \
    }                                                                                                         \
  }

#if HAVE_CTX
#define CONTEXT(NAME)                                                                                         \
  F(barrier_all)();                                                                                           \
  FCT(NAME, put)(ctx, dest, source + 1, 15, next);                                                            \
  FCT(NAME, p)(ctx, dest + 16, source[17], next);                                                             \
  FCT(NAME, iput)(ctx, dest + 20, source + 21, 2, 3, 5, next);                                                \
  FCT(NAME, put_nbi)(ctx, dest + 32, source + 33, 8, next);                                                   \
  F(ctx_quiet)(ctx);                                                                                          \
  F(barrier_all)();                                                                                           \
  for (int i = 0; i < 15; i++) CHECK_IN(where, dest[i] == value_##NAME(prev, i + 1));                         \
  CHECK_IN(where, dest[16] == value_##NAME(prev, 17));                                                        \
  for (int i = 0; i < 5; i++) CHECK_IN(where, dest[20 + 2 * i] == value_##NAME(prev, 21 + 3 * i));            \
  for (int i = 32; i < 40; i++) CHECK_IN(where, dest[i] == value_##NAME(prev, i + 1));                        \
  FCT(NAME, get)(ctx, back, dest, 15, next);                                                                  \
  FCT(NAME, iget)(ctx, back + 20, dest + 20, 3, 2, 5, next);                                                  \
  FCT(NAME, get_nbi)(ctx, back + 40, dest + 32, 8, next);                                                     \
  CHECK_IN(where, FCT(NAME, g)(ctx, dest + 16, next) == value_##NAME(me, 17));                                \
  F(ctx_quiet)(ctx);                                                                                          \
  for (int i = 0; i < 15; i++) CHECK_IN(where, back[i] == value_##NAME(me, i + 1));                           \
  for (int i = 0; i < 5; i++) CHECK_IN(where, back[20 + 3 * i] == value_##NAME(me, 21 + 3 * i));              \
  for (int i = 0; i < 8; i++) CHECK_IN(where, back[40 + i] == value_##NAME(me, 33 + i));
#else
#define CONTEXT(NAME)
#endif

RMA_TYPES(RMA)

/* Elements of 8 to 128 bits, whose bytes are compared. */
#define SIZED(BITS)                                                                                           \
  static void sized_##BITS(void) {                                                                            \
    enum { B = BITS / 8 };                                                                                    \
    unsigned char source[SPAN * B], back[SPAN * B], *dest = (unsigned char *)heap;                            \
    for (int i = 0; i < SPAN * B; i++) source[i] = (unsigned char)(me * 13 + i);                              \
    memset(dest, 0, SPAN * B);                                                                                \
    memset(back, 0, SPAN * B);                                                                                \
    F(barrier_all)();                                                                                         \
    F(put##BITS)(dest, source, 16, next);                                                                     \
    F(put##BITS##_nbi)(dest + 16 * B, source + 16 * B, 8, next);                                              \
    F(iput##BITS)(dest + 32 * B, source + 32 * B, 3, 2, 4, next);                                             \
    F(barrier_all)();                                                                                         \
    for (int i = 0; i < 24 * B; i++) CHECK(dest[i] == (unsigned char)(prev * 13 + i));                        \
    for (int i = 0; i < 4 * B; i++)                                                                           \
      CHECK(dest[(32 + i / B * 3) * B + i % B] == (unsigned char)(prev * 13 + (32 + i / B * 2) * B + i % B)); \
    CHECK(dest[33 * B] == 0);                                                                                 \
    F(get##BITS)(back, dest, 16, next);                                                                       \
    F(get##BITS##_nbi)(back + 16 * B, dest + 16 * B, 8, next);                                                \
    F(iget##BITS)(back + 32 * B, dest + 32 * B, 2, 3, 4, next);                                               \
    F(quiet)();                                                                                               \
    CHECK(memcmp(back, source, 24 * B) == 0);                                                                 \
    for (int i = 0; i < 4; i++) CHECK(memcmp(back + (32 + 2 * i) * B, source + (32 + 2 * i) * B, B) == 0);    \
    F(barrier_all)();                                                                                         \
  }
SIZED(8)
SIZED(16)
SIZED(32)
SIZED(64)
SIZED(128)

/* Lengths about every boundary at which the library may change its way of copying, at odd places. */
static void lengths(void) {
  static const size_t length[] = {0,  1,   2,   3,   4,   5,   7,    8,    9,    15,   16,   17,   31,       32,          33,
                                  63, 64,  65,  127, 128, 129, 255,  256,  257,  511,  1023, 1025, 2047,     2048,        2049,
                                  4095, 4096, 4097, 65537, (1 << 20) + 3};
  enum { MOST = (1 << 20) + 64 };
  unsigned char *dest = (unsigned char *)F(calloc)(2, MOST), *source = (unsigned char *)malloc(MOST),
                *back = (unsigned char *)malloc(MOST);
  for (size_t l = 0; l < sizeof length / sizeof *length; l++) {
    size_t bytes = length[l];
    int shift = (int)(l % 8);
    for (size_t i = 0; i < bytes; i++) source[shift + i] = (unsigned char)(i * 17 + i / 251 + (size_t)me + l);
    memset(dest + 3, 0xEE, bytes + 2);
    F(barrier_all)();
    F(putmem)(dest + 4, source + shift, bytes, next);
    F(barrier_all)();
    int wrong = 0;
    for (size_t i = 0; i < bytes; i++) wrong += dest[4 + i] != (unsigned char)(i * 17 + i / 251 + (size_t)prev + l);
    CHECK(wrong == 0 && dest[3] == 0xEE && dest[4 + bytes] == 0xEE);
    memset(back, 0xAA, bytes + 9);
    F(getmem)(back + 1, dest + 4, bytes, next);
    CHECK(memcmp(back + 1, source + shift, bytes) == 0 && back[0] == 0xAA && back[bytes + 1] == 0xAA);
    memset(back, 0xAA, bytes + 9);
    F(getmem_nbi)(back + 1, dest + 4, bytes, next);
    F(putmem_nbi)(dest + MOST, source + shift, bytes, next);
    F(quiet)();
    CHECK(memcmp(back + 1, source + shift, bytes) == 0);
    F(barrier_all)();
    CHECK(memcmp(dest + MOST, dest + 4, bytes) == 0);
  }
  F(barrier_all)();
  F(free)(dest);
  free(source);
  free(back);
}

/* Nothing to transfer: any addresses are legal, NULL too. */
static void nothing(void) {
  F(putmem)(NULL, NULL, 0, next);
  F(getmem)(NULL, NULL, 0, next);
  F(putmem_nbi)(NULL, NULL, 0, next);
  F(getmem_nbi)(NULL, NULL, 0, next);
  FT(int, put)(NULL, NULL, 0, next);
  FT(int, get)(NULL, NULL, 0, next);
  FT(int, iput)(NULL, NULL, 1, 1, 0, next);
  FT(int, iget)(NULL, NULL, 1, 1, 0, next);
  F(quiet)();
}

int main(void) {
  F(init)();
  me = F(my_pe)();
  n = F(n_pes)();
  next = (me + 1) % n;
  prev = (me + n - 1) % n;
  heap = F(malloc)(SPAN * 16);
#if HAVE_CTX
  CHECK(F(ctx_create)(0, &ctx) == 0);
#endif
#define RUN(NAME, T) check_##NAME();
  RMA_TYPES(RUN)
  sized_8();
  sized_16();
  sized_32();
  sized_64();
  sized_128();
  lengths();
  nothing();
#if HAVE_CTX
  F(ctx_destroy)(ctx);
#endif
  F(free)(heap);
  return verdict();
}
