/* beside: one measuring program for any OpenSHMEM library, to be run in turn with another build of itself.
 *
 * Built three ways from the same text:
 *   dushcc -O2 beside.c     a library with teams and put_signal (OpenSHMEM 1.5 and later)
 *   oshcc  -O2 beside.c     a 1.4 library: active sets, and put + fence + p in place of put_signal
 *   cc -O2 -DRAW beside.c   no library: forked processes over one mapping, plain loads, stores, locked
 *                           instructions and memcpy (raw.h); what the machine gives
 * -DACTIVE_SETS also builds the active-set forms where the library has teams.
 *
 * Usage: beside [-b MICROSECONDS] [-r BATCHES] OPERATION[:BYTES] ...
 * Each operation moves data that is checked once before it is timed. Prints, tab separated:
 *   row <operation> <bytes> <median> <minimum> <unit>     over the batches of this run
 *   none <operation>                                      this build does not have it
 *   wrong <operation> <bytes> <count>                     the check found wrong words; the program ends with 3
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef RAW
#include "raw.h"
#else
#include <shmem.h>
#endif

#if defined(SHMEM_MAJOR_VERSION) && (SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5)
#define HAS_TEAMS 1
#else
#define HAS_TEAMS 0
#endif

#include "timing.h"
#include "onesided.h"
#include "collectives.h"
#include "resources.h"

/* How an operation is measured. */
enum how {
  SOLO,     /* by PE 0, while the others sit in a barrier */
  MEMCPY,   /* so, and in turn with memcpy of as many bytes */
  TOGETHER, /* by all PEs */
  SPECIAL   /* by a function of its own */
};

struct operation {
  const char *name;
  enum how how;
  batch run;            /* n times the operation */
  batch reference;      /* MEMCPY: n times memcpy */
  long (*check)(void);  /* words that are wrong on this PE; all PEs call it */
  int least_pes;
};

static const struct operation operations[] = {
    {"p", SOLO, run_p, 0, check_p, 2},
    {"p_quiet", SOLO, run_p_quiet, 0, check_p, 2},
    {"g", SOLO, run_g, 0, check_g, 2},
    {"put", SOLO, run_put, 0, check_put, 2},
    {"put_quiet", SOLO, run_put_quiet, 0, check_put, 2},
    {"put_nbi", SOLO, run_put_nbi, 0, check_put_nbi, 2},
    {"fetch_add", SOLO, run_fetch_add, 0, check_fetch_add, 2},
    {"compare_swap", SOLO, run_compare_swap, 0, check_compare_swap, 2},
    {"put_large", MEMCPY, run_put, run_memcpy_out, check_put, 2},
    {"get_large", MEMCPY, run_get, run_memcpy_in, check_get, 2},
    {"ping_pong", TOGETHER, run_ping_pong, 0, check_ping_pong, 2},
    {"put_signal", TOGETHER, run_put_signal, 0, check_put_signal, 2},
    {"barrier_all", TOGETHER, run_barrier_all, 0, check_barrier_all, 1},
    {"sync_all", TOGETHER, run_sync_all, 0, check_sync_all, 1},
    {"broadcast", TOGETHER, run_broadcast, 0, check_broadcast, 1},
    {"sum_reduce", TOGETHER, run_sum, 0, check_sum, 1},
    {"fcollect", TOGETHER, run_fcollect, 0, check_fcollect, 1},
    {"alltoall", TOGETHER, run_alltoall, 0, check_alltoall, 1},
#if WITH_ACTIVE_SETS
    {"active_barrier", TOGETHER, run_active_barrier, 0, check_active_barrier, 1},
    {"active_sync", TOGETHER, run_active_sync, 0, check_active_sync, 1},
    {"active_broadcast", TOGETHER, run_active_broadcast, 0, check_active_broadcast, 1},
    {"active_sum", TOGETHER, run_active_sum, 0, check_active_sum, 1},
    {"active_fcollect", TOGETHER, run_active_fcollect, 0, check_active_fcollect, 1},
    {"active_alltoall", TOGETHER, run_active_alltoall, 0, check_active_alltoall, 1},
#endif
#ifndef RAW /* there a wait only spins */
    {"waiters", SPECIAL, run_waiters, 0, 0, 2},
#endif
};

static const struct operation *find(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
    if (strlen(operations[i].name) == length && !strncmp(operations[i].name, name, length)) return &operations[i];
  return NULL;
}

/* The check, on all PEs; true where nobody found a wrong word. */
static int is_right(const struct operation *operation) {
  if (!operation->check) return 1;
  long wrong = operation->check();
  shmem_barrier_all();
  shmem_long_p(&reports[me], wrong, 0);
  shmem_barrier_all();
  long sum = 0;
  for (int pe = 0; me == 0 && pe < n_pes; pe++) sum += reports[pe];
  for (int pe = 0; me == 0 && pe < n_pes; pe++) shmem_long_p(&agreed[0], sum, pe);
  shmem_barrier_all();
  sum = *(volatile long *)&agreed[0];
  if (sum != 0 && me == 0) {
    printf("wrong\t%s\t%zu\t%ld\n", operation->name, bytes, sum);
    fflush(stdout);
  }
  shmem_barrier_all();
  return sum == 0;
}

/* How many blocks of the operation's size a buffer has to hold. */
static size_t blocks(const struct operation *operation) {
  if (operation->run == run_put_nbi) return WORDS;
  return operation->how == TOGETHER ? (size_t)n_pes : 1;
}

static int measure(const char *word) {
  const char *colon = strchr(word, ':');
  size_t length = colon ? (size_t)(colon - word) : strlen(word);
  bytes = colon ? strtoul(colon + 1, NULL, 10) : 0;
  const struct operation *operation = find(word, length);
  if (!operation || n_pes < operation->least_pes) {
    if (me == 0) printf("none\t%s\n", word);
    return 1;
  }
  size_t most = buffer_bytes() / blocks(operation);
  if (bytes > most || bytes % 8 != 0) {
    if (me == 0) fprintf(stderr, "beside: %s: a multiple of 8, at most %zu, with %d PEs\n", word, most, n_pes);
    return 0;
  }
  if (!is_right(operation)) return 0;
  switch (operation->how) {
    case SOLO: time_solo(operation->name, operation->run, NULL); break;
    case MEMCPY: time_solo(operation->name, operation->run, operation->reference); break;
    case TOGETHER: time_together(operation->name, operation->run); break;
    case SPECIAL: operation->run(1); break;
  }
  return 1;
}

int main(int argc, char **argv) {
  int option;
  while ((option = getopt(argc, argv, "+b:r:")) != -1) switch (option) {
      case 'b': batch_ns = 1e3 * atof(optarg); break;
      case 'r': batches = atoi(optarg); break;
      default: return 2;
    }
  if (batch_ns <= 0 || batches < 1 || batches > MOST_BATCHES) {
    fprintf(stderr, "beside: -b above 0 and -r from 1 to %d\n", MOST_BATCHES);
    return 2;
  }
  shmem_init();
  me = shmem_my_pe();
  n_pes = shmem_n_pes();
  int code = 0;
  if (optind + 1 == argc && !strcmp(argv[optind], "empty")) {
    /* Start to end is what the caller times. */
  } else if (optind + 1 == argc && !strcmp(argv[optind], "memory")) {
    report_memory();
  } else {
    allocate();
    for (int i = optind; i < argc && code == 0; i++) code = measure(argv[i]) ? 0 : 3;
    shmem_barrier_all();
  }
  shmem_finalize();
  return code;
}
