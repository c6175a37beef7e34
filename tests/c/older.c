/* A program of the time before OpenSHMEM 1.2: no init, no finalize, names without prefix, atomics and waits
 * by their old names. Every PE gives the next one something to do. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "PE %d: %s:%d: %s\n", _my_pe(), __FILE__, __LINE__, #condition); \
      shmem_global_exit(1); \
    } \
  } while (0)

/* Removed names, which no header declares. */
#ifdef __cplusplus
extern "C" {
#endif
void shmem_set_cache_inv(void);
void shmem_clear_cache_inv(void);
void shmem_set_cache_line_inv(void *dest);
void shmem_clear_cache_line_inv(void *dest);
void shmem_udcflush(void);
void shmem_udcflush_line(void *dest);
#ifdef __cplusplus
}
#endif

long pSync[_SHMEM_BARRIER_SYNC_SIZE];
static long ready;
static short short_flag;
static int int_flag;
static long long longlong_flag;
static uint64_t signals;
static double real;

/* Generic names, where the language has them. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define GENERIC 1
#endif

#define OLD_ATOMICS(NAME, T) \
  do { \
    T *word = (T *)shmalloc(sizeof(T)); \
    *word = 5; \
    shmem_barrier_all(); \
    shmem_##NAME##_inc(word, right); \
    shmem_##NAME##_add(word, (T)2, right); \
    shmem_barrier_all(); \
    CHECK(*word == 8); \
    shmem_barrier_all(); \
    CHECK(shmem_##NAME##_finc(word, right) == 8); \
    CHECK(shmem_##NAME##_fadd(word, (T)3, right) == 9); \
    CHECK(shmem_##NAME##_fetch(word, right) == 12); \
    CHECK(shmem_##NAME##_swap(word, (T)20, right) == 12); \
    CHECK(shmem_##NAME##_cswap(word, (T)20, (T)21, right) == 20); \
    CHECK(shmem_##NAME##_cswap(word, (T)20, (T)22, right) == 21); \
    shmem_##NAME##_set(word, (T)7, right); \
    shmem_quiet(); \
    CHECK(shmem_##NAME##_fetch(word, right) == 7); \
    shmem_barrier_all(); \
    OLD_GENERIC(T); \
    shfree(word); \
  } while (0)

#ifdef GENERIC
#define OLD_GENERIC(T) \
  do { \
    CHECK(shmem_finc(word, right) == 7 && shmem_fadd(word, (T)2, right) == 8); \
    CHECK(shmem_fetch((const T *)word, right) == 10 && shmem_swap(word, (T)1, right) == 10); \
    CHECK(shmem_cswap(word, (T)1, (T)2, right) == 1); \
    shmem_inc(word, right); \
    shmem_add(word, (T)4, right); \
    shmem_quiet(); \
    CHECK(shmem_fetch(word, right) == 7); \
    shmem_set(word, (T)0, right); \
    shmem_barrier_all(); \
    CHECK(*word == 0); \
    shmem_barrier_all(); \
  } while (0)
#else
#define OLD_GENERIC(T) (void)0
#endif

int main(int argc, char **argv) {
  int me, n, right, initialized = 0;
  int *array;
  char name[_SHMEM_MAX_NAME_LEN];
  start_pes(0);
  start_pes(argc * 1000);
  me = _my_pe();
  n = _num_pes();
  right = (me + 1) % n;
  CHECK(me == shmem_my_pe() && n == shmem_n_pes() && me >= 0 && me < n);
  shmem_query_initialized(&initialized);
  CHECK(initialized == 1);

  array = (int *)shmalloc(4 * sizeof *array);
  array[3] = me;
  array = (int *)shrealloc(array, 1000 * sizeof *array);
  CHECK(array != NULL && array[3] == me);
  shfree(array);
  array = (int *)shmemalign(4096, 16);
  CHECK(array != NULL && (uintptr_t)array % 4096 == 0);
  shfree(array);

  OLD_ATOMICS(int, int);
  OLD_ATOMICS(long, long);
  OLD_ATOMICS(longlong, long long);
  OLD_ATOMICS(uint, unsigned int);
  OLD_ATOMICS(uint64, uint64_t);
  OLD_ATOMICS(ptrdiff, ptrdiff_t);
  shmem_double_set(&real, 1.5, right);
  shmem_barrier_all();
  CHECK(shmem_double_swap(&real, -2.5, right) == 1.5 && shmem_double_fetch(&real, right) == -2.5);
  shmem_barrier_all();
#ifdef GENERIC
  CHECK(shmem_fetch(&real, right) == -2.5);
#endif

  /* Waits: for another value, and for a comparison. */
  shmem_long_p(&ready, 3, right);
  shmem_wait(&ready, 0);
  CHECK(ready == 3);
  shmem_barrier_all();
  shmem_long_p(&ready, 4, right);
  (shmem_wait_until)(&ready, _SHMEM_CMP_GE, 4);
  CHECK(ready == 4);
  shmem_barrier_all();
  shmem_long_p(&ready, 9, right);
  shmem_long_wait(&ready, 4);
  shmem_short_p(&short_flag, 1, right);
  shmem_short_wait(&short_flag, 0);
  shmem_int_p(&int_flag, 1, right);
  shmem_int_wait(&int_flag, 0);
  shmem_longlong_p(&longlong_flag, 1, right);
  shmem_longlong_wait(&longlong_flag, 0);
  CHECK(ready == 9 && short_flag == 1 && int_flag == 1 && longlong_flag == 1);
  shmem_short_wait_until(&short_flag, _SHMEM_CMP_LT, 2);
  shmem_barrier_all();
  CHECK((shmem_swap)(&ready, 10, right) == 9);
  shmem_barrier_all();
  CHECK(ready == 10);
#ifdef GENERIC
  shmem_wait_until(&ready, SHMEM_CMP_EQ, 10);
  shmem_wait_until(&int_flag, SHMEM_CMP_NE, 0);
#endif

  shmemx_signal_set(&signals, 5, right);
  shmem_barrier_all();
  shmemx_signal_add(&signals, 2, right);
  shmem_barrier_all();
  CHECK(signals == 7);

  shmem_set_cache_inv();
  shmem_clear_cache_inv();
  shmem_set_cache_line_inv(&ready);
  shmem_clear_cache_line_inv(&ready);
  shmem_udcflush();
  shmem_udcflush_line(&ready);
  shmem_pcontrol(1);
  shmem_pcontrol(2, "more", 3.5, 7);

  CHECK(_SHMEM_MAJOR_VERSION == 1 && _SHMEM_MINOR_VERSION == 6);
  CHECK(_SHMEM_SYNC_VALUE == 0 && _SHMEM_BCAST_SYNC_SIZE > 0 && _SHMEM_REDUCE_SYNC_SIZE > 0);
  CHECK(_SHMEM_COLLECT_SYNC_SIZE > 0 && _SHMEM_REDUCE_MIN_WRKDATA_SIZE > 0 && SHMEM_ALLTOALL_SYNC_SIZE > 0);
  CHECK(SHMEM_ALLTOALLS_SYNC_SIZE > 0 && SHMEM_SYNC_SIZE >= _SHMEM_BARRIER_SYNC_SIZE);
  CHECK(_SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE && _SHMEM_CMP_LE == SHMEM_CMP_LE);
  CHECK(_SHMEM_CMP_GT == SHMEM_CMP_GT);
  shmem_info_get_name(name);
  CHECK(strcmp(name, _SHMEM_VENDOR_STRING) == 0);
  CHECK(pSync[0] == _SHMEM_SYNC_VALUE);

  if (argc > 1 && strcmp(argv[1], "finalize") == 0) {
    shmem_finalize();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "exit") == 0) exit(0);
  /* PE 0 is done at once; the others still read what it has. */
  if (me != 0) {
    volatile int i;
    for (i = 0; i < 10000000 * me; i++) continue;
    CHECK(shmem_long_g(&ready, 0) == 10);
  }
  return 0;
}
