/* Puts, gets, atomics, and the round trips between PEs 0 and 1. PE 0 is the origin, PE 1 the target. */
#ifndef BESIDE_ONESIDED_H
#define BESIDE_ONESIDED_H

enum { TARGET = 1 };

static volatile long sink;

/* What byte i of a buffer of PE pe holds in round r. */
static char pattern(size_t i, int pe, long r) { return (char)(i * 7 + (i >> 8) * 31 + (size_t)pe * 101 + (size_t)r * 13 + 1); }

static void fill(char *buffer, size_t size, int pe, long round) {
  for (size_t i = 0; i < size; i++) buffer[i] = pattern(i, pe, round);
}

static long differs(const char *buffer, size_t size, int pe, long round) {
  long wrong = 0;
  for (size_t i = 0; i < size; i++) wrong += ((volatile const char *)buffer)[i] != pattern(i, pe, round);
  return wrong;
}

/* ---- words ---- */

static void run_p(long n) {
  for (long i = 0; i < n; i++) shmem_long_p(&words[i % WORDS], i, TARGET);
  shmem_quiet();
}
static void run_p_quiet(long n) {
  for (long i = 0; i < n; i++) {
    shmem_long_p(&words[i % WORDS], i, TARGET);
    shmem_quiet();
  }
}
static long check_p(void) {
  memset(words, 0, WORDS * sizeof *words);
  shmem_barrier_all();
  for (long i = 0; me == 0 && i < WORDS; i++) shmem_long_p(&words[i], 1000 + i * i, TARGET);
  shmem_barrier_all();
  long wrong = 0;
  for (long i = 0; me == TARGET && i < WORDS; i++) wrong += ((volatile long *)words)[i] != 1000 + i * i;
  return wrong;
}

static void run_g(long n) {
  long sum = 0;
  for (long i = 0; i < n; i++) sum += shmem_long_g(&words[i % WORDS], TARGET);
  sink = sum;
}
static long check_g(void) {
  for (long i = 0; i < WORDS; i++) words[i] = 77 * i + me;
  shmem_barrier_all();
  long wrong = 0;
  for (long i = 0; me == 0 && i < WORDS; i++) wrong += shmem_long_g(&words[i], TARGET) != 77 * i + TARGET;
  return wrong;
}

static void run_fetch_add(long n) {
  for (long i = 0; i < n; i++) sink = shmem_long_atomic_fetch_add(words, 1, TARGET);
}
static long check_fetch_add(void) {
  words[0] = 5;
  shmem_barrier_all();
  long wrong = 0;
  for (long i = 0; me == 0 && i < 100; i++) wrong += shmem_long_atomic_fetch_add(words, 3, TARGET) != 5 + 3 * i;
  shmem_barrier_all();
  return wrong + (*(volatile long *)words != (me == TARGET ? 305 : 5));
}

static void run_compare_swap(long n) {
  long old = shmem_long_g(words, TARGET);
  for (long i = 0; i < n; i++) {
    long seen = shmem_long_atomic_compare_swap(words, old, old + 1, TARGET);
    old = seen + (seen == old);
  }
}
static long check_compare_swap(void) {
  words[0] = 0;
  shmem_barrier_all();
  long wrong = 0;
  if (me == 0) {
    for (long i = 0; i < 100; i++) wrong += shmem_long_atomic_compare_swap(words, i, i + 1, TARGET) != i;
    /* One that must fail and leave the word. */
    wrong += shmem_long_atomic_compare_swap(words, 7, 1, TARGET) != 100;
  }
  shmem_barrier_all();
  return wrong + (*(volatile long *)words != (me == TARGET ? 100 : 0));
}

/* ---- blocks ---- */

static void run_put(long n) {
  for (long i = 0; i < n; i++) {
    shmem_putmem(to, from, bytes, TARGET);
    KEEP;
  }
  shmem_quiet();
}
static void run_put_quiet(long n) {
  for (long i = 0; i < n; i++) {
    shmem_putmem(to, from, bytes, TARGET);
    shmem_quiet();
  }
}
static long check_put(void) {
  fill(from, bytes, me, 1);
  memset(to, 0, bytes + 1);
  shmem_barrier_all();
  if (me == 0) shmem_putmem(to, from, bytes, TARGET);
  shmem_barrier_all();
  return me == TARGET ? differs(to, bytes, 0, 1) + (to[bytes] != 0) : 0;
}

/* To 64 places in turn, with a quiet after each 64. */
static void run_put_nbi(long n) {
  for (long i = 0; i < n; i++) {
    shmem_putmem_nbi(to + (size_t)(i % WORDS) * bytes, from, bytes, TARGET);
    if (i % WORDS == WORDS - 1) shmem_quiet();
  }
  shmem_quiet();
}
static long check_put_nbi(void) {
  fill(from, WORDS * bytes, me, 2);
  memset(to, 0, WORDS * bytes);
  shmem_barrier_all();
  for (size_t i = 0; me == 0 && i < WORDS; i++) shmem_putmem_nbi(to + i * bytes, from + i * bytes, bytes, TARGET);
  shmem_barrier_all();
  return me == TARGET ? differs(to, WORDS * bytes, 0, 2) : 0;
}

static void run_get(long n) {
  for (long i = 0; i < n; i++) {
    shmem_getmem(from, to, bytes, TARGET);
    KEEP;
  }
}
static long check_get(void) {
  fill(to, bytes, me, 3);
  memset(from, 0, bytes + 1);
  shmem_barrier_all();
  if (me == 0) shmem_getmem(from, to, bytes, TARGET);
  return me == 0 ? differs(from, bytes, TARGET, 3) + (from[bytes] != 0) : 0;
}

/* As many bytes between two blocks of the own heap. */
static void run_memcpy_out(long n) {
  for (long i = 0; i < n; i++) {
    memcpy(aside, from, bytes);
    KEEP;
  }
}
static void run_memcpy_in(long n) {
  for (long i = 0; i < n; i++) {
    memcpy(from, aside, bytes);
    KEEP;
  }
}

/* ---- round trips ---- */

static long ping_pongs, signals;

static void run_ping_pong(long n) {
  int other = 1 - me;
  for (long i = 0; me < 2 && i < n; i++) {
    long turn = ++ping_pongs;
    if (me == 0) shmem_long_p(flag, turn, other);
    shmem_long_wait_until(flag, SHMEM_CMP_GE, turn);
    if (me == 1) shmem_long_p(flag, turn, other);
  }
}
static long check_ping_pong(void) {
  long wrong = 0;
  for (long i = 0; i < 16; i++) {
    run_ping_pong(1);
    /* PE 0 may have begun the next turn by now. */
    long seen = *(volatile long *)flag;
    wrong += me < 2 && (seen < ping_pongs || seen > ping_pongs + (me == 1));
  }
  return wrong;
}

/* Block, then signal. */
static void send_with_signal(int other) {
#if HAS_TEAMS
  shmem_putmem_signal(to, from, bytes, signal_word, (uint64_t)signals, SHMEM_SIGNAL_SET, other);
#else
  shmem_putmem(to, from, bytes, other);
  shmem_fence();
  shmem_long_p((long *)signal_word, signals, other);
#endif
}
static void await_signal(void) {
#if HAS_TEAMS
  shmem_signal_wait_until(signal_word, SHMEM_CMP_GE, (uint64_t)signals);
#else
  shmem_long_wait_until((long *)signal_word, SHMEM_CMP_GE, signals);
#endif
}
static void run_put_signal(long n) {
  for (long i = 0; me < 2 && i < n; i++) {
    signals++;
    if (me == 0) send_with_signal(1);
    await_signal();
    if (me == 1) send_with_signal(0);
  }
}
static long check_put_signal(void) {
  long wrong = 0;
  for (long i = 0; i < 16; i++) {
    /* The block of round i must be there when its signal is. */
    fill(from, bytes, me, i);
    run_put_signal(1);
    wrong += me < 2 ? differs(to, bytes, 1 - me, i) : 0;
    shmem_barrier_all();
  }
  return wrong;
}

#endif
