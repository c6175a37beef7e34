/* Gathers words of a distributed table by a list of random places, as sparse matrices and graphs do.
 *
 *   dushcc -O2 gather.c -o gather && dushrun -n 8 ./gather
 *   dushrun -n 8 ./gather 4000000 --batch 512
 *
 * The table lies in equal blocks on the PEs. Every word is fetched by a get of its own, non-blocking, so that
 * many are under way at a time; a quiet after each thousand bounds how many. They go by a context of their
 * own: its quiet waits for these gets and nothing else.
 * On a network one message a word is dear: with --batch a PE collects what it wants from the same owner,
 * sends the list by a put with signal, and the owner answers likewise.
 *
 * The check: what a word of the table holds follows from its place, so each PE knows what it must have got.
 */
#include "program.h"

enum { WINDOW = 1024 };

static uint64_t words = 1 << 20, gathers = 1 << 23, batch = 0;
static uint64_t block, *table; /* words a PE, and its own */

static uint64_t value_at(uint64_t place) { return random_at(1, place); }
static uint64_t place_of(uint64_t g) { return below(random_at(2, g), words); }

static void gather_each(uint64_t *got, const uint64_t *places, uint64_t count) {
  shmem_ctx_t gets;
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &gets) != 0) gets = SHMEM_CTX_DEFAULT;
  for (uint64_t i = 0; i < count; i++) {
    shmem_ctx_uint64_get_nbi(gets, &got[i], &table[places[i] % block], 1, (int)(places[i] / block));
    if ((i + 1) % WINDOW == 0) {
      shmem_ctx_quiet(gets);
      progress("words of PE 0", i, count);
    }
  }
  shmem_ctx_quiet(gets);
  if (gets != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(gets);
}

/* Rounds of one list from every PE to every PE, and an answer to each. A PE sends the lists of the next round
 * when it has all answers of this one, so the places that lists and answers arrive at are free by then. */
static void gather_in_batches(uint64_t *got, const uint64_t *places, uint64_t count) {
  const uint64_t last = (uint64_t)1 << 31;
  size_t pes = (size_t)n;
  uint64_t *wanted = symmetric(pes * batch, sizeof *wanted),
           *answers = symmetric(pes * batch, sizeof *answers);
  uint64_t *asked = symmetric(pes, sizeof *asked); /* round << 32 | the sender's last round << 31 | length */
  uint64_t *answered = symmetric(pes, sizeof *answered);
  uint64_t *list = private_memory(pes * batch, sizeof *list), *reply = private_memory(batch, sizeof *reply);
  uint64_t *back = private_memory(pes * batch, sizeof *back), *length = private_memory(pes, sizeof *length);
  uint64_t next = 0;
  int more = 1;
  for (uint64_t round = 1; more; round++) {
    memset(length, 0, pes * sizeof *length);
    for (; next < count; next++) {
      uint64_t owner = places[next] / block;
      if (length[owner] == batch) break;
      uint64_t at = owner * batch + length[owner]++;
      list[at] = places[next] % block;
      back[at] = next;
    }
    for (int k = 0; k < n; k++) {
      int pe = (me + k) % n; /* not all to the same PE at a time */
      uint64_t word = round << 32 | (next == count ? last : 0) | length[pe];
      shmem_uint64_put_signal(wanted + (size_t)me * batch, list + (size_t)pe * batch, length[pe], &asked[me],
                              word, SHMEM_SIGNAL_SET, pe);
    }
    more = 0;
    for (int k = 0; k < n; k++) {
      int pe = (me + n - k) % n;
      uint64_t word = shmem_signal_wait_until(&asked[pe], SHMEM_CMP_GE, round << 32),
               asks = word & (last - 1);
      more |= (word & last) == 0; /* the same on all PEs, so all stop in the same round */
      for (uint64_t i = 0; i < asks; i++) reply[i] = table[wanted[(size_t)pe * batch + i]];
      shmem_uint64_put_signal(answers + (size_t)me * batch, reply, asks, &answered[me], round,
                              SHMEM_SIGNAL_SET, pe);
    }
    for (int k = 0; k < n; k++) {
      int pe = (me + k) % n;
      shmem_signal_wait_until(&answered[pe], SHMEM_CMP_GE, round);
      for (uint64_t at = (size_t)pe * batch, i = 0; i < length[pe]; i++) got[back[at + i]] = answers[at + i];
    }
    progress("words of PE 0", next, count);
  }
  free(length);
  free(back);
  free(reply);
  free(list);
}

int main(int argc, char **argv) {
  const Setting settings[] = {
      {"size", &gathers, 1, (uint64_t)1 << 40, "words that all PEs together gather"},
      {"table", &words, 1, (uint64_t)1 << 32, "words of the table"},
      {"batch", &batch, 0, 1 << 20, "places that are sent together, 0: gets instead"},
  };
  start(argc, argv, "gather", "fetches words of a distributed table by a list of places", settings,
        sizeof settings / sizeof *settings);
  block = (words + (uint64_t)n - 1) / (uint64_t)n;
  table = symmetric(block, sizeof *table);
  for (uint64_t i = 0; i < block; i++) table[i] = value_at((uint64_t)me * block + i);
  uint64_t from = first_of(me, n, gathers), count = first_of(me + 1, n, gathers) - from;
  uint64_t *places = private_memory(count, sizeof *places), *got = private_memory(count, sizeof *got);
  for (uint64_t i = 0; i < count; i++) places[i] = place_of(from + i);
  uint64_t *sum = symmetric(1, sizeof *sum), *checksum = symmetric(1, sizeof *checksum);
  shmem_barrier_all();

  double began = now();
  (batch ? gather_in_batches : gather_each)(got, places, count);
  shmem_barrier_all();
  double seconds = now() - began;

  for (uint64_t i = 0; i < count; i++) {
    if (got[i] != value_at(places[i]))
      wrong("word %" PRIu64 " is %016" PRIx64 ", not %016" PRIx64, places[i], got[i], value_at(places[i]));
    *sum ^= mark(from + i, got[i]);
  }
  shmem_uint64_xor_reduce(SHMEM_TEAM_WORLD, checksum, sum, 1);
  free(got);
  free(places);
  return finish(gathers, "words", seconds, "%" PRIu64 " of %" PRIu64 " words, checksum %016" PRIx64, gathers,
                words, *checksum);
}
