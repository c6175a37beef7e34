/* Counts the nodes of an unbalanced tree; PEs that run out of work steal it from others.
 *
 *   dushcc -O2 work_stealing.c -o work_stealing && dushrun -n 8 ./work_stealing
 *   dushrun -n 8 ./work_stealing 1000000 --locks 1
 *
 * A node's number decides how many children it has, so nobody knows in advance where the work is. A PE keeps
 * its tasks in a deque of its own, which costs no synchronisation, and offers some of the oldest (they lead
 * to the largest trees) on a shelf in symmetric memory. One word says what lies there: `generation << 32 |
 * tasks`. Whoever lowers the number has taken the tasks at the end: by compare_swap, or with --locks 1 under
 * the lock of that shelf. The generation changes with each filling, so that a compare_swap that comes late
 * fails. A shelf is filled again when all that was taken has been copied, which the takers count in `copied`.
 *
 * The end: `busy` on PE 0 counts the PEs that have tasks, in the deque or on the shelf. A thief that sees
 * tasks adds itself before it takes them, so a task always belongs to a PE that is counted: 0 means that
 * there are none, and as only tasks make tasks there never will be. Nobody waits for anything that another PE
 * may not do.
 *
 * The check: PE 0 counts the tree alone; number, depth, and checksum of the nodes must be the same, so no
 * task was lost or done twice.
 */
#include "program.h"

enum { SHELF = 64, CHILDREN = 8 };

typedef struct {
  uint64_t number, depth;
} Task;

/* What is known of the nodes visited. */
typedef struct {
  uint64_t nodes, depth, sum;
} Tree;

/* Tasks of this PE: it takes the youngest, which are at the end, and gives away the oldest. */
typedef struct {
  Task *tasks;
  size_t first, end, room;
} Deque;

static uint64_t size = 1000000, grain = 20, locks = 0;

static void push(Deque *deque, Task task) {
  if (deque->first == deque->end) deque->first = deque->end = 0;
  if (deque->end == deque->room) {
    deque->room = deque->room ? 2 * deque->room : 1024;
    deque->tasks = realloc(deque->tasks, deque->room * sizeof task);
    if (!deque->tasks) shmem_global_exit(1);
  }
  deque->tasks[deque->end++] = task;
}

static size_t left(const Deque *deque) { return deque->end - deque->first; }

/* Visits a node and pushes its children: the root has as many as it takes for a tree of about `size` nodes,
 * others have 8 with a probability of 1 in 8.4, and mostly none. */
static void visit(Task task, Tree *tree, Deque *deque) {
  uint64_t random = task.number;
  for (uint64_t i = 0; i <= grain; i++) random = random_at(1, random);
  tree->nodes++;
  tree->depth = task.depth > tree->depth ? task.depth : tree->depth;
  tree->sum += random;
  uint64_t children = task.depth == 0 ? size / 21 + 1 : below(random, 84) < 10 ? CHILDREN : 0;
  for (uint64_t i = 0; i < children; i++) push(deque, (Task){random_at(2, random + i), task.depth + 1});
}

/* In symmetric memory, one on every PE. */
static Task shelf[SHELF];
static uint64_t lying, copied, busy; /* `busy` counts on PE 0 */
static long *lock;                   /* for the shelf of each PE */

/* Takes half of what lies on PE `pe`'s shelf, or all of the own. Returns how many tasks that were. */
static size_t take(int pe, Deque *deque) {
  Task taken[SHELF];
  if (locks) shmem_set_lock(&lock[pe]);
  uint64_t word = shmem_uint64_atomic_fetch(&lying, pe), there, count;
  for (;;) {
    there = word & 0xffffffff;
    count = pe == me ? there : (there + 1) / 2;
    if (count == 0) break;
    if (locks) {
      shmem_uint64_atomic_set(&lying, word - count,
                              pe); /* nobody else changes it; clear_lock completes this */
      break;
    }
    uint64_t seen = shmem_uint64_atomic_compare_swap(&lying, word, word - count, pe);
    if (seen == word) break;
    word = seen;
  }
  if (count > 0) {
    shmem_getmem(taken, &shelf[there - count], count * sizeof *taken, pe);
    shmem_uint64_atomic_fetch_add(&copied, count, pe);
  }
  if (locks) shmem_clear_lock(&lock[pe]);
  for (size_t i = 0; i < count; i++) push(deque, taken[i]);
  return count;
}

/* Lays the oldest tasks on the own shelf, if it is empty and what was taken from it has been copied. */
static void offer(Deque *deque) {
  static uint64_t generation, laid;
  if (shmem_uint64_atomic_fetch(&copied, me) != laid) return;
  size_t count = left(deque) / 2 < SHELF ? left(deque) / 2 : SHELF;
  memcpy(shelf, deque->tasks + deque->first, count * sizeof *shelf);
  deque->first += count;
  laid += count;
  shmem_fence(); /* the tasks before the word */
  if (locks) shmem_set_lock(&lock[me]);
  shmem_uint64_atomic_swap(&lying, ++generation << 32 | count, me);
  if (locks) shmem_clear_lock(&lock[me]);
}

/* Looks for tasks at the others' until it has some (1), or there are none anywhere (0). */
static int steal(Deque *deque) {
  static uint64_t tries;
  long pause = 1000;
  for (;;) {
    int first = (int)below(random_at(3 + (uint64_t)me % 64, tries++), (uint64_t)n);
    for (int k = 0; k < n; k++) {
      int pe = (first + k) % n;
      if (pe == me || (shmem_uint64_atomic_fetch(&lying, pe) & 0xffffffff) == 0) continue;
      shmem_uint64_atomic_fetch_add(&busy, 1, 0);
      if (take(pe, deque) > 0) return 1;
      shmem_uint64_atomic_fetch_add(&busy, (uint64_t)-1, 0);
    }
    if (shmem_uint64_atomic_fetch(&busy, 0) == 0) return 0;
    nanosleep(&(struct timespec){.tv_nsec = pause}, NULL); /* the CPU is for those who have work */
    pause = pause < 500000 ? 2 * pause : pause;
  }
}

static Tree work(uint64_t *steals) {
  Tree tree = {0};
  Deque deque = {0};
  if (me == 0) push(&deque, (Task){0});
  for (int counted = me == 0;; counted = 1) {
    while (left(&deque) > 0) {
      visit(deque.tasks[--deque.end], &tree, &deque);
      if (left(&deque) >= 8 && tree.nodes % 16 == 0) offer(&deque);
      if (tree.nodes % 1024 == 0) progress("nodes of PE 0", tree.nodes, size);
    }
    if (take(me, &deque) > 0) continue;
    if (counted) shmem_uint64_atomic_fetch_add(&busy, (uint64_t)-1, 0);
    if (!steal(&deque)) break;
    ++*steals;
  }
  free(deque.tasks);
  return tree;
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &size, 1, (uint64_t)1 << 40, "nodes of the tree, roughly"},
      {"grain", &grain, 0, 1 << 30, "work in a node, in random numbers"},
      {"locks", &locks, 0, 1, "1: tasks are taken under locks, 0: by compare_swap"},
  };
  start(argc, argv, "work_stealing", "counts the nodes of an unbalanced tree", settings,
        sizeof settings / sizeof *settings);
  lock = symmetric((uint64_t)n, sizeof *lock);
  uint64_t *mine = symmetric(3, sizeof *mine), *all = symmetric(3, sizeof *all);
  uint64_t *deep = symmetric(1, sizeof *deep), *deepest = symmetric(1, sizeof *deepest);
  busy = 1; /* PE 0 begins with the root */
  shmem_barrier_all();
  double began = now();
  Tree tree = work(&mine[2]);
  shmem_barrier_all();
  double seconds = now() - began;

  mine[0] = tree.nodes;
  mine[1] = tree.sum;
  *deep = tree.depth;
  shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 3);
  shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, deepest, deep, 1);
  if (me == 0) {
    Tree alone = {0};
    Deque deque = {0};
    push(&deque, (Task){0});
    while (left(&deque) > 0) {
      visit(deque.tasks[--deque.end], &alone, &deque);
      if (alone.nodes % 1024 == 0) progress("nodes of the check", alone.nodes, all[0]);
    }
    free(deque.tasks);
    if (all[0] != alone.nodes)
      wrong("%" PRIu64 " nodes were visited, the tree has %" PRIu64, all[0], alone.nodes);
    if (all[1] != alone.sum) wrong("the checksum should be %016" PRIx64, alone.sum);
    if (*deepest != alone.depth) wrong("the depth should be %" PRIu64, alone.depth);
    printf("%" PRIu64 " thefts\n", all[2]);
  }
  return finish(all[0], "nodes", seconds, "%" PRIu64 " nodes, depth %" PRIu64 ", checksum %016" PRIx64,
                all[0], *deepest, all[1]);
}
