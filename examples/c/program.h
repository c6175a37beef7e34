/* What the larger programs of this folder share: settings from the command line, random numbers that do not
 * depend on the number of PEs, a line of progress, and the verdict. */
#ifndef PROGRAM_H
#define PROGRAM_H
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A number that the user can set. The first setting can also be given without its name. */
typedef struct {
  const char *name;
  uint64_t *value, least, most;
  const char *meaning;
} Setting;

static const char *program;
static int me, n; /* this PE, and how many there are */

static inline void leave(int code) {
  shmem_finalize();
  exit(code);
}

static inline void usage(const char *about, const Setting *settings, size_t count) {
  printf("%s: %s\n\nusage: dushrun -n PES ./%s [%s] [--NAME NUMBER ...]\n", program, about, program,
         settings->name);
  for (size_t i = 0; i < count; i++)
    printf("  --%-8s %s; %" PRIu64 " to %" PRIu64 ", %" PRIu64 " if not given\n", settings[i].name,
           settings[i].meaning, settings[i].least, settings[i].most, *settings[i].value);
}

/* Joins the job and reads the command line. A wrong word ends the job with code 2 and one line. */
static inline void start(int argc, char **argv, const char *name, const char *about, const Setting *settings,
                         size_t count) {
  shmem_init();
  program = name;
  me = shmem_my_pe();
  n = shmem_n_pes();
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      if (me == 0) usage(about, settings, count);
      leave(0);
    }
    int named = strncmp(argv[i], "--", 2) == 0;
    size_t at = 0;
    while (named && at < count && strcmp(argv[i] + 2, settings[at].name) != 0) at++;
    if (at == count) {
      if (me == 0) fprintf(stderr, "%s: there is no option %s; see --help\n", program, argv[i]);
      leave(2);
    }
    const Setting *setting = &settings[at];
    const char *word = named ? (i + 1 < argc ? argv[++i] : "nothing") : argv[i];
    char *end;
    errno = 0;
    uint64_t value = strtoull(word, &end, 10);
    if (!isdigit((unsigned char)*word) || *end != '\0' || errno != 0 || value < setting->least ||
        value > setting->most) {
      if (me == 0)
        fprintf(stderr, "%s: --%s takes a number from %" PRIu64 " to %" PRIu64 ", not %s\n", program,
                setting->name, setting->least, setting->most, word);
      leave(2);
    }
    *setting->value = value;
  }
}

/* Zeroed memory, as much on every PE; finalize gives it back. Where there is no room the library has said so,
 * and all PEs get NULL. */
static inline void *symmetric(uint64_t count, size_t size) {
  void *block = shmem_calloc(count ? count : 1, size);
  if (!block) leave(1);
  return block;
}

/* Zeroed memory of this PE only. */
static inline void *private_memory(uint64_t count, size_t size) {
  void *block = calloc(count ? count : 1, size);
  if (!block) {
    fprintf(stderr, "%s: PE %d: no memory for %" PRIu64 " x %zu bytes\n", program, me, count, size);
    shmem_global_exit(1);
  }
  return block;
}

/* The first of `all` items that part `part` of `parts` has; those of the next part begin where it ends. */
static inline uint64_t first_of(int part, int parts, uint64_t all) {
  return (uint64_t)part * (all / (uint64_t)parts) +
         (uint64_t)part * (all % (uint64_t)parts) / (uint64_t)parts;
}

/* Random number i of a stream: a function of its number, so it does not matter which PE asks for it. */
static inline uint64_t random_at(uint64_t stream, uint64_t i) {
  uint64_t x = (stream << 56) + (i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/* A number below `bound`, which is at most 2^32, from a random one. */
static inline uint64_t below(uint64_t random, uint64_t bound) { return (random >> 32) * bound >> 32; }

/* The xor of these over all places is a checksum that shows words which are wrong or at a wrong place. In
 * whichever order and on whichever PE they are added, it is the same. */
static inline uint64_t mark(uint64_t place, uint64_t word) {
  unsigned turn = (unsigned)((place * 0x9e3779b97f4a7c15) >> 58);
  return word << turn | word >> ((64 - turn) & 63);
}

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* For long runs: PE 0 says every two seconds how far it is. */
static inline void progress(const char *what, uint64_t done, uint64_t all) {
  static double last;
  if (me != 0) return;
  if (last == 0) last = now();
  if (now() - last < 2) return;
  last = now();
  fprintf(stderr, "%s: %s: %" PRIu64 " of %" PRIu64 "\n", program, what, done, all);
}

/* What finish adds up; globals are symmetric. */
static uint64_t errors, all_errors;
static double duration, longest;

/* Notes that something is not as it should be. The first three are shown. */
__attribute__((format(printf, 1, 2))) static inline void wrong(const char *format, ...) {
  if (errors++ >= 3) return;
  va_list words;
  va_start(words, format);
  char line[200];
  vsnprintf(line, sizeof line, format, words);
  va_end(words);
  fprintf(stderr, "%s: PE %d: %s\n", program, me, line);
}

/* The last line, and the exit code: what was computed, whether it is right, and how fast it was. The time is
 * that of the PE which took longest: others may have left the barrier before it later. */
__attribute__((format(printf, 4, 5))) static inline int finish(uint64_t items, const char *unit,
                                                               double seconds, const char *format, ...) {
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all_errors, &errors, 1);
  duration = seconds;
  shmem_double_max_reduce(SHMEM_TEAM_WORLD, &longest, &duration, 1);
  if (me == 0) {
    va_list words;
    va_start(words, format);
    printf("%s: ", program);
    vprintf(format, words);
    va_end(words);
    if (all_errors) printf(": %" PRIu64 " error%s\n", all_errors, all_errors == 1 ? "" : "s");
    else
      printf(": verified, %.3g %s/s with %d %s\n", (double)items / longest, unit, n, n == 1 ? "PE" : "PEs");
  }
  int code = all_errors ? EXIT_FAILURE : EXIT_SUCCESS;
  shmem_finalize();
  return code;
}
#endif
