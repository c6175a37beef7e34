/* What the test programs share. A program is compiled once for each name family (-DFAMILY_DUSHMEM,
 * -DFAMILY_NVSHMEM, else shmem_), checks itself, and says on one line what did not hold. */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* fork, setenv, popen */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(FAMILY_DUSHMEM)
#include <dushmem.h>
#include <dushmemx.h>
#define F(name) dushmem_##name
#define FX(name) dushmemx_##name
#define FT(type, op) dushmem_##type##_##op
#define FCT(type, op) dushmem_ctx_##type##_##op
#define K(name) DUSHMEM_##name
#define KX(name) DUSHMEMX_##name
#define HAVE_CTX 1
#define HAVE_LONGDOUBLE 1
#elif defined(FAMILY_NVSHMEM)
#include <nvshmem.h>
#include <nvshmemx.h>
#define F(name) nvshmem_##name
#define FX(name) nvshmemx_##name
#define FT(type, op) nvshmem_##type##_##op
#define K(name) NVSHMEM_##name
#define KX(name) NVSHMEMX_##name
#define HAVE_CTX 0
#define HAVE_LONGDOUBLE 0
#else
#define FAMILY_SHMEM 1
#include <shmem.h>
#include <shmemx.h>
#define F(name) shmem_##name
#define FX(name) shmemx_##name
#define FT(type, op) shmem_##type##_##op
#define FCT(type, op) shmem_ctx_##type##_##op
#define K(name) SHMEM_##name
#define KX(name) SHMEMX_##name
#define HAVE_CTX 1
#define HAVE_LONGDOUBLE 1
#endif

static int failures;

static inline void failed(const char *file, int line, const char *what, const char *detail) {
  if (failures++ < 10)
    fprintf(stderr, "PE %d: %s:%d: %s (%s)\n", F(my_pe)(), file, line, what, detail);
}
#define CHECK_IN(detail, ...) ((__VA_ARGS__) ? (void)0 : failed(__FILE__, __LINE__, #__VA_ARGS__, detail))
#define CHECK(...) CHECK_IN("", __VA_ARGS__)

/* Globals are symmetric in the shmem_ family; in the others where the variable says so. */
static inline int globals_are_symmetric(void) {
#ifdef FAMILY_SHMEM
  return 1;
#else
  const char *value = getenv("DUSHMEM_STATIC");
  return value != NULL && value[0] == '1';
#endif
}

/* 0 when everything held, else ends the whole job with 1. */
static inline int verdict(void) {
  F(barrier_all)();
  if (failures) {
    fflush(NULL);
    F(global_exit)(1);
  }
  F(finalize)();
  return 0;
}

#define NUMBER_TYPES(X)                                                                                       \
  X(float, float) X(double, double) X(char, char) X(schar, signed char) X(short, short) X(int, int)           \
  X(long, long) X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short)                      \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t)              \
  X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t)                 \
  X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t)
#if HAVE_LONGDOUBLE
#define LONGDOUBLE(X) X(longdouble, long double)
#define PTRDIFF_REDUCE(X) X(ptrdiff, ptrdiff_t)
#else
#define LONGDOUBLE(X)
#define PTRDIFF_REDUCE(X)
#endif
#define RMA_TYPES(X) NUMBER_TYPES(X) X(ptrdiff, ptrdiff_t) LONGDOUBLE(X)
#define BIT_AMO_TYPES(X)                                                                                      \
  X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)            \
  X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(int, int) X(long, long) X(longlong, long long)
#define AMO_TYPES(X) BIT_AMO_TYPES(X) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define EXT_AMO_TYPES(X) AMO_TYPES(X) X(float, float) X(double, double)

#endif
