/* Random updates of a distributed table: each xors a random number into a random word of the table.
 *
 *   dushcc -O2 gups.c -o gups && dushrun -n 8 ./gups
 *   dushrun -n 8 ./gups 4000000 --bucket 512
 *
 * The table lies in equal blocks on the PEs. An update is one atomic xor, which needs no answer, so nothing
 * waits for it; the barrier behind all of them completes them. That is best where a PE can reach the word
 * itself. On a network one message a word is dear: with --bucket a PE collects what goes to the same owner,
 * and sends it by a put with signal. The owner applies it to its own memory, without atomics.
 *
 * The check: xor changes a checksum of the table by what every PE can compute from its own updates alone. And
 * all updates once more must give the first table again.
 */
#include "program.h"

static uint64_t words = 1 << 20, updates = 1 << 23, bucket = 0;
static uint64_t block, *table; /* words a PE, and its own */

static uint64_t update(uint64_t u) { return random_at(1, u); }
static uint64_t place(uint64_t random) { return below(random, words); }

static void update_each(uint64_t from, uint64_t to) {
  for (uint64_t u = from; u < to; u++) {
    uint64_t random = update(u), at = place(random);
    shmem_uint64_atomic_xor(&table[at % block], random, (int)(at / block));
    if (u % 4096 == 0) progress("updates of PE 0", u - from, to - from);
  }
  shmem_barrier_all();
}

/* Rounds of one bucket from every PE to every PE. There are two inboxes, used in turn: a PE sends the buckets
 * of round r + 2 when it has all of round r + 1, whose senders had emptied their inbox of round r. No
 * barrier. */
static void update_in_buckets(uint64_t from, uint64_t to) {
  static uint64_t round = 1, *inbox, *arrived, *out, *fill;
  const uint64_t last = (uint64_t)1 << 31, first = from;
  size_t pes = (size_t)n;
  if (!inbox) {
    inbox = symmetric(2 * pes * bucket, sizeof *inbox);
    arrived = symmetric(2 * pes, sizeof *arrived); /* round << 32 | the sender's last round << 31 | updates */
    out = private_memory(pes * bucket, sizeof *out);
    fill = private_memory(pes, sizeof *fill);
  }
  for (int more = 1; more; round++) {
    memset(fill, 0, pes * sizeof *fill);
    for (; from < to; from++) {
      uint64_t random = update(from), owner = place(random) / block;
      if (fill[owner] == bucket) break;
      out[owner * bucket + fill[owner]++] = random;
    }
    uint64_t *box = inbox + round % 2 * pes * bucket, *signal = arrived + round % 2 * pes;
    for (int k = 0; k < n; k++) {
      int pe = (me + k) % n; /* not all to the same PE at a time */
      uint64_t word = round << 32 | (from == to ? last : 0) | fill[pe];
      shmem_uint64_put_signal(box + (size_t)me * bucket, out + (size_t)pe * bucket, fill[pe], &signal[me],
                              word, SHMEM_SIGNAL_SET, pe);
    }
    more = 0;
    for (int k = 0; k < n; k++) {
      int pe = (me + n - k) % n;
      uint64_t word = shmem_signal_wait_until(&signal[pe], SHMEM_CMP_GE, round << 32);
      more |= (word & last) == 0; /* the same on all PEs, so all stop in the same round */
      const uint64_t *theirs = box + (size_t)pe * bucket;
      for (uint64_t i = 0; i < (word & (last - 1)); i++) table[place(theirs[i]) % block] ^= theirs[i];
    }
    progress("updates of PE 0", from - first, to - first);
  }
  shmem_barrier_all();
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &words, 1, (uint64_t)1 << 32, "words of the table"},
      {"updates", &updates, 1, (uint64_t)1 << 48, "updates of all PEs together"},
      {"bucket", &bucket, 0, 1 << 20, "updates that are sent together, 0: atomics instead"},
  };
  start(argc, argv, "gups", "random updates of a distributed table", settings,
        sizeof settings / sizeof *settings);
  block = (words + (uint64_t)n - 1) / (uint64_t)n;
  table = symmetric(block, sizeof *table);
  uint64_t *sums = symmetric(2, sizeof *sums), *all = symmetric(2, sizeof *all);
  uint64_t begin = (uint64_t)me * block < words ? (uint64_t)me * block : words;
  uint64_t mine = words - begin < block ? words - begin : block;
  for (uint64_t i = 0; i < mine; i++) table[i] = begin + i;
  uint64_t from = first_of(me, n, updates), to = first_of(me + 1, n, updates);
  shmem_barrier_all();

  double began = now();
  (bucket ? update_in_buckets : update_each)(from, to);
  double seconds = now() - began;

  for (uint64_t i = 0; i < mine; i++) {
    sums[0] ^= mark(begin + i, table[i]);
    sums[1] ^= mark(begin + i, begin + i);
  }
  for (uint64_t u = from; u < to; u++) sums[1] ^= mark(place(update(u)), update(u));
  shmem_uint64_xor_reduce(SHMEM_TEAM_WORLD, all, sums, 2);
  if (me == 0 && all[0] != all[1]) wrong("the checksum should be %016" PRIx64, all[1]);

  (bucket ? update_in_buckets : update_each)(from, to);
  for (uint64_t i = 0; i < mine; i++)
    if (table[i] != begin + i)
      wrong("word %" PRIu64 " is %" PRIu64 " after all updates twice", begin + i, table[i]);
  return finish(updates, "updates", seconds, "%" PRIu64 " words, %" PRIu64 " updates, checksum %016" PRIx64,
                words, updates, all[0]);
}
