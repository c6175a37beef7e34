/* Barriers and collectives: over teams where the library has them, else over active sets; the active-set
 * forms by themselves too. Roots rotate, so that no PE runs far ahead. */
#ifndef BESIDE_COLLECTIVES_H
#define BESIDE_COLLECTIVES_H

#if !defined(RAW) && (defined(ACTIVE_SETS) || !HAS_TEAMS)
#define WITH_ACTIVE_SETS 1
#else
#define WITH_ACTIVE_SETS 0
#endif

static long calls;

static int next_root(void) { return (int)(calls++ % n_pes); }

/* ---- active sets: sixteen work arrays in turn, as the standard asks of calls back to back ---- */

#if WITH_ACTIVE_SETS
enum { SYNCS = 16 };
static long *p_sync[SYNCS], *p_work[2];

static void allocate_collectives(void) {
  const size_t sizes[] = {SHMEM_REDUCE_SYNC_SIZE, SHMEM_COLLECT_SYNC_SIZE, SHMEM_BCAST_SYNC_SIZE,
                          SHMEM_ALLTOALL_SYNC_SIZE, SHMEM_BARRIER_SYNC_SIZE};
  size_t most = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i] > most) most = sizes[i];
  for (int i = 0; i < SYNCS; i++) {
    p_sync[i] = symmetric(most * sizeof(long));
    for (size_t j = 0; j < most; j++) p_sync[i][j] = SHMEM_SYNC_VALUE;
  }
  size_t work = buffer_bytes() / 2 + (SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1) * sizeof(long);
  for (int i = 0; i < 2; i++) p_work[i] = symmetric(work);
}

static void run_active_barrier(long n) {
  for (long i = 0; i < n; i++) shmem_barrier(0, 0, n_pes, p_sync[calls++ % SYNCS]);
}
static void run_active_sync(long n) {
  for (long i = 0; i < n; i++) shmem_sync(0, 0, n_pes, p_sync[calls++ % SYNCS]);
}
static void run_active_broadcast(long n) {
  for (long i = 0; i < n; i++) {
    long call = calls;
    int root = next_root();
    shmem_broadcast64(to, from, bytes / 8, root, 0, 0, n_pes, p_sync[call % SYNCS]);
  }
}
static void run_active_sum(long n) {
  for (long i = 0; i < n; i++, calls++)
    shmem_long_sum_to_all((long *)to, (long *)from, (int)(bytes / 8), 0, 0, n_pes, p_work[calls % 2],
                          p_sync[calls % SYNCS]);
}
static void run_active_fcollect(long n) {
  for (long i = 0; i < n; i++) shmem_fcollect64(to, from, bytes / 8, 0, 0, n_pes, p_sync[calls++ % SYNCS]);
}
static void run_active_alltoall(long n) {
  for (long i = 0; i < n; i++) shmem_alltoall64(to, from, bytes / 8, 0, 0, n_pes, p_sync[calls++ % SYNCS]);
}
#else
static void allocate_collectives(void) {}
#endif

/* ---- what the rows are about ---- */

static void run_barrier_all(long n) {
  for (long i = 0; i < n; i++) shmem_barrier_all();
}
static void run_sync_all(long n) {
  for (long i = 0; i < n; i++) shmem_sync_all();
}

#if HAS_TEAMS
static void run_broadcast(long n) {
  for (long i = 0; i < n; i++) shmem_broadcastmem(SHMEM_TEAM_WORLD, to, from, bytes, next_root());
}
static void run_sum(long n) {
  for (long i = 0; i < n; i++) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, (long *)to, (long *)from, bytes / 8);
}
static void run_fcollect(long n) {
  for (long i = 0; i < n; i++) shmem_fcollectmem(SHMEM_TEAM_WORLD, to, from, bytes);
}
static void run_alltoall(long n) {
  for (long i = 0; i < n; i++) shmem_alltoallmem(SHMEM_TEAM_WORLD, to, from, bytes);
}
#else
#define run_broadcast run_active_broadcast
#define run_sum run_active_sum
#define run_fcollect run_active_fcollect
#define run_alltoall run_active_alltoall
#endif

/* ---- checks ---- */

/* Nobody leaves before everybody has come: each PE writes its round to all, and finds all after the call. */
static long check_meeting(batch meet) {
  long wrong = 0;
  memset(reports, 0, (size_t)n_pes * sizeof *reports);
  shmem_barrier_all();
  for (long round = 1; round <= 8; round++) {
    for (int pe = 0; pe < n_pes; pe++) shmem_long_p(&reports[me], round, pe);
    shmem_quiet();
    meet(1);
    for (int pe = 0; pe < n_pes; pe++) {
      long seen = ((volatile long *)reports)[pe];
      wrong += seen < round || seen > round + 1;
    }
  }
  shmem_barrier_all();
  return wrong;
}

/* Three calls back to back, with other data each. */
static long check_of(batch call, long (*is_wrong)(long round)) {
  long wrong = 0;
  for (long round = 0; round < 3; round++) {
    fill(from, bytes * (size_t)n_pes, me, round);
    memset(to, 0, bytes * (size_t)n_pes);
    shmem_barrier_all();
    call(1);
    wrong += is_wrong(round);
    shmem_barrier_all();
  }
  return wrong;
}

static int team_form; /* a broadcast over a team also writes the root's own block */

static long wrong_broadcast(long round) {
  int root = (int)((calls - 1) % n_pes);
  return root == me && !team_form ? 0 : differs(to, bytes, root, round);
}
static long wrong_fcollect(long round) {
  long wrong = 0;
  for (int pe = 0; pe < n_pes; pe++) wrong += differs(to + (size_t)pe * bytes, bytes, pe, round);
  return wrong;
}
static long wrong_alltoall(long round) {
  long wrong = 0;
  for (int pe = 0; pe < n_pes; pe++)
    for (size_t i = 0; i < bytes; i++)
      wrong += ((volatile char *)to)[(size_t)pe * bytes + i] != pattern((size_t)me * bytes + i, pe, round);
  return wrong;
}
static long wrong_sum(long round) {
  long wrong = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t sum = 0, got;
    for (int pe = 0; pe < n_pes; pe++) {
      uint64_t word;
      char text[8];
      for (size_t j = 0; j < 8; j++) text[j] = pattern(i + j, pe, round);
      memcpy(&word, text, 8);
      sum += word;
    }
    memcpy(&got, to + i, 8);
    wrong += got != sum;
  }
  return wrong;
}

static long check_barrier_all(void) { return check_meeting(run_barrier_all); }
static long check_sync_all(void) { return check_meeting(run_sync_all); }
static long check_broadcast(void) {
  team_form = HAS_TEAMS;
  return check_of(run_broadcast, wrong_broadcast);
}
static long check_sum(void) { return check_of(run_sum, wrong_sum); }
static long check_fcollect(void) { return check_of(run_fcollect, wrong_fcollect); }
static long check_alltoall(void) { return check_of(run_alltoall, wrong_alltoall); }

#if WITH_ACTIVE_SETS
static long check_active_barrier(void) { return check_meeting(run_active_barrier); }
static long check_active_sync(void) { return check_meeting(run_active_sync); }
static long check_active_broadcast(void) {
  team_form = 0;
  return check_of(run_active_broadcast, wrong_broadcast);
}
static long check_active_sum(void) { return check_of(run_active_sum, wrong_sum); }
static long check_active_fcollect(void) { return check_of(run_active_fcollect, wrong_fcollect); }
static long check_active_alltoall(void) { return check_of(run_active_alltoall, wrong_alltoall); }
#endif

#endif
