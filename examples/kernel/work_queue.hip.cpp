// A queue of tasks on each PE, from which blocks of all PEs take: the number of ways to place queens on a board.
//
//   dushcc -O2 work_queue.hip.cpp -o work_queue && dushrun -n 4 ./work_queue
//
// A task is a board with queens in its first rows. Whoever has it places the next queen, and pushes what comes of that;
// boards with `rows` queens are finished by a thread each. A block that finds the queue of its PE empty steals
// from the others. A queue is a ring with a ticket to push and a ticket to take: who gets a ticket, by compare_swap, owns
// its slot. The slot's word tells what is in it: 2 g if it is free for turn g of the ring, 2 g + 1 if it is filled, so
// that nobody reads a task before it is there, nor overwrites one that has not been read. If a queue is full, the
// thread does the task at once.
//
// The end: a counter on PE 0 has the tasks that are not done. A task counts from before it is pushed until after
// its own ones were; so whoever brings the counter to 0 has done the last, and tells all PEs.
//
// The check: PE 0 counts the ways alone.
#include "program.h"
#include <nvshmem.h>
#include <nvshmemx.h>

static uint64_t size = 9, rows = 3, blocks = 2, slots = 256;

enum { THREADS = 32 };

struct Queue {
  uint64_t *pushed, *taken;   // tickets
  uint64_t *state, *task;     // [slot]
  uint64_t *open;             // on PE 0: tasks that are not done
  uint64_t *end;              // 1 when all are done
  uint64_t *ways, *stolen;    // on PE 0: solutions; tasks that another PE's block took
  uint64_t size, rows, slots;
};

// A board in a word: columns, and the two diagonals, that are taken in the next row, 16 bits each; its number.
__host__ __device__ static inline uint64_t place(uint64_t board, uint64_t bit) {
  const uint64_t columns = (board & 0xffff) | bit, left = ((board >> 16 & 0xffff) | bit) << 1 & 0xffff,
                 right = ((board >> 32 & 0xffff) | bit) >> 1;
  return columns | left << 16 | right << 32 | ((board >> 48) + 1) << 48;
}
__host__ __device__ static inline bool taken(uint64_t board, uint64_t bit) {
  return ((board | board >> 16 | board >> 32) & bit) != 0;
}

// Ways to fill the rest of the board, by trying column after column: at[row] is the next one to try.
__host__ __device__ static uint64_t solve(uint64_t board, uint64_t size) {
  uint64_t boards[17], next[17], ways = 0;
  int depth = 0;
  boards[0] = board;
  next[0] = 1;
  while (depth >= 0) {
    const uint64_t now = boards[depth], bit = next[depth];
    if (now >> 48 == size) ways++;
    if (now >> 48 == size || bit >> size != 0) {
      depth--;
      continue;
    }
    next[depth] = bit << 1;
    if (taken(now, bit)) continue;
    boards[++depth] = place(now, bit);
    next[depth] = 1;
  }
  return ways;
}

// Pushes a task into the queue of this PE; false if it is full.
__device__ static bool push(const Queue &q, uint64_t task) {
  const int me = nvshmem_my_pe();
  for (;;) {
    const uint64_t ticket = nvshmem_uint64_atomic_fetch(q.pushed, me), slot = ticket % q.slots;
    const uint64_t state = nvshmem_uint64_atomic_fetch(&q.state[slot], me), turn = ticket / q.slots;
    if (state < 2 * turn) return false;
    if (state > 2 * turn || nvshmem_uint64_atomic_compare_swap(q.pushed, ticket, ticket + 1, me) != ticket) continue;
    nvshmem_uint64_p(&q.task[slot], task, me);
    nvshmem_fence(); // the task before its state
    nvshmem_uint64_atomic_set(&q.state[slot], 2 * turn + 1, me);
    return true;
  }
}

// Takes a task out of the queue of a PE; false if there is none.
__device__ static bool take(const Queue &q, uint64_t *task, int pe) {
  for (;;) {
    const uint64_t ticket = nvshmem_uint64_atomic_fetch(q.taken, pe), slot = ticket % q.slots;
    const uint64_t state = nvshmem_uint64_atomic_fetch(&q.state[slot], pe), turn = ticket / q.slots;
    if (state < 2 * turn + 1) return false;
    if (state > 2 * turn + 1 || nvshmem_uint64_atomic_compare_swap(q.taken, ticket, ticket + 1, pe) != ticket) continue;
    *task = nvshmem_uint64_g(&q.task[slot], pe);
    nvshmem_uint64_atomic_set(&q.state[slot], 2 * turn + 2, pe);
    return true;
  }
}

// Looks for a task here, then at the others, beginning with another one each time. False when all are done.
__device__ static bool find(const Queue &q, uint64_t *task, uint64_t *looked, uint64_t *stolen) {
  const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
  for (;;) {
    if (take(q, task, me)) return true;
    const int first = (int)(random_at((uint64_t)me, blockIdx.x + ++*looked * gridDim.x) % (uint64_t)n);
    for (int i = 0; i < n; i++) {
      const int victim = (first + i) % n;
      if (victim == me || !take(q, task, victim)) continue;
      ++*stolen;
      return true;
    }
    if (nvshmem_uint64_test(q.end, NVSHMEM_CMP_EQ, 1)) return false;
    idle();
  }
}

// Counts tasks that are done; after the last one, tells all PEs.
__device__ static void done(const Queue &q, uint64_t tasks) {
  if (nvshmem_uint64_atomic_fetch_add(q.open, 0 - tasks, 0) != tasks) return;
  for (int pe = 0; pe < nvshmem_n_pes(); pe++) nvshmem_uint64_atomic_set(q.end, 1, pe);
}

__global__ void work(Queue q) {
  __shared__ uint64_t task;
  __shared__ int more;
  __shared__ unsigned int children, at_once;
  uint64_t ways = 0, looked = 0, stolen = 0;
  if (nvshmem_my_pe() == 0 && blockIdx.x == 0 && threadIdx.x == 0) push(q, 0); // the empty board
  for (;;) {
    if (threadIdx.x == 0) {
      uint64_t found = 0;
      more = find(q, &found, &looked, &stolen);
      task = found;
      children = at_once = 0;
    }
    __syncthreads();
    if (!more) break;
    // A column each.
    const uint64_t bit = (uint64_t)1 << threadIdx.x;
    const bool fits = threadIdx.x < q.size && !taken(task, bit);
    const uint64_t child = place(task, bit);
    const bool pushes = fits && child >> 48 < q.rows;
    if (pushes) atomicAdd(&children, 1u);
    else if (fits) ways += solve(child, q.size);
    __syncthreads();
    // They count before anybody can take them: so this has to be complete, which a fetching atomic is.
    if (threadIdx.x == 0 && children != 0) nvshmem_uint64_atomic_fetch_add(q.open, children, 0);
    __syncthreads();
    if (pushes && !push(q, child)) {
      ways += solve(child, q.size);
      atomicAdd(&at_once, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) done(q, 1 + at_once);
  }
  if (ways != 0) nvshmem_uint64_atomic_add(q.ways, ways, 0);
  if (stolen != 0) nvshmem_uint64_atomic_add(q.stolen, stolen, 0);
  nvshmem_quiet();
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, 16, "rows and columns of the board"},
      {"rows", &rows, 1, 16, "queens on a board that a thread finishes"},
      {"blocks", &blocks, 1, 64, "blocks of each PE"},
      {"slots", &slots, 1, 1 << 24, "slots of each queue"},
  };
  start(argc, argv, "work_queue", "queues of tasks, and blocks that steal from them", settings);
  if (rows > size) rows = size;
  Queue q = {};
  q.pushed = symmetric<uint64_t>(1);
  q.taken = symmetric<uint64_t>(1);
  q.state = symmetric<uint64_t>(slots);
  q.task = symmetric<uint64_t>(slots);
  q.open = symmetric<uint64_t>(1);
  q.end = symmetric<uint64_t>(1);
  q.ways = symmetric<uint64_t>(1);
  q.stolen = symmetric<uint64_t>(1);
  q.size = size, q.rows = rows, q.slots = slots;
  to_device(q.open, std::vector<uint64_t>{1}); // the empty board

  void *args[] = {&q};
  const double seconds = timed([&] {
    CHECK(nvshmemx_collective_launch((const void *)work, dim3((unsigned)blocks), dim3(THREADS), args, 0, stream));
  });

  dushmemx_barrier_all_on_stream(stream);
  const uint64_t ways = to_host(q.ways, 1)[0], stolen = to_host(q.stolen, 1)[0], open = to_host(q.open, 1)[0];
  if (me == 0) {
    const uint64_t expected = solve(0, size);
    if (ways != expected) wrong("%" PRIu64 " ways were found, but %" PRIu64 " alone", ways, expected);
    if (open != 0) wrong("%" PRIu64 " tasks are not done", open);
  }
  return finish(seconds, "%" PRIu64 " ways for %" PRIu64 " queens, %" PRIu64 " tasks stolen", ways, size, stolen);
}
