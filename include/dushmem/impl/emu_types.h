/* dim3 and the vector types (int2, float4, ...), as CUDA and HIP name them. */
#ifndef DUSHMEM_IMPL_EMU_TYPES_H
#define DUSHMEM_IMPL_EMU_TYPES_H

#ifdef __cplusplus
#define DUSHMEM_EMU_MAKE static constexpr inline
#else
#define DUSHMEM_EMU_MAKE static inline
#endif

#define DUSHMEM_EMU_VECTORS(T, name, a1, a2, a3, a4)                                              \
  typedef struct a1 name##1 {                                                                     \
    T x;                                                                                          \
  } name##1;                                                                                      \
  typedef struct a2 name##2 {                                                                     \
    T x, y;                                                                                       \
  } name##2;                                                                                      \
  typedef struct a3 name##3 {                                                                     \
    T x, y, z;                                                                                    \
  } name##3;                                                                                      \
  typedef struct a4 name##4 {                                                                     \
    T x, y, z, w;                                                                                 \
  } name##4;                                                                                      \
  DUSHMEM_EMU_MAKE name##1 make_##name##1(T x) {                                                  \
    name##1 v = {x};                                                                              \
    return v;                                                                                     \
  }                                                                                               \
  DUSHMEM_EMU_MAKE name##2 make_##name##2(T x, T y) {                                             \
    name##2 v = {x, y};                                                                           \
    return v;                                                                                     \
  }                                                                                               \
  DUSHMEM_EMU_MAKE name##3 make_##name##3(T x, T y, T z) {                                        \
    name##3 v = {x, y, z};                                                                        \
    return v;                                                                                     \
  }                                                                                               \
  DUSHMEM_EMU_MAKE name##4 make_##name##4(T x, T y, T z, T w) {                                   \
    name##4 v = {x, y, z, w};                                                                     \
    return v;                                                                                     \
  }
#define DUSHMEM_EMU_AL(n) __attribute__((aligned(n)))
#define DUSHMEM_EMU_NO

/* Alignments are those of the device compilers, so that structs have the same layout. */
DUSHMEM_EMU_VECTORS(signed char, char, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(2), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(4))
DUSHMEM_EMU_VECTORS(unsigned char, uchar, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(2), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(4))
DUSHMEM_EMU_VECTORS(short, short, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(4), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(8))
DUSHMEM_EMU_VECTORS(unsigned short, ushort, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(4), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(8))
DUSHMEM_EMU_VECTORS(int, int, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(8), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(unsigned int, uint, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(8), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(long, long, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(unsigned long, ulong, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(long long, longlong, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(unsigned long long, ulonglong, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(float, float, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(8), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))
DUSHMEM_EMU_VECTORS(double, double, DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16), DUSHMEM_EMU_NO, DUSHMEM_EMU_AL(16))

#undef DUSHMEM_EMU_VECTORS
#undef DUSHMEM_EMU_AL
#undef DUSHMEM_EMU_NO
#undef DUSHMEM_EMU_MAKE

#ifdef __cplusplus
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
};
#else
typedef struct {
  unsigned x, y, z;
} dim3;
#endif
#endif
