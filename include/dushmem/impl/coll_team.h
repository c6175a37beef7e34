/* What collectives are made of: a team's flags and buffers, and messages between its members.
 *
 * In its slot of the team (crates/core/src/coll/device_slot.rs) a PE has, for each PE of the world, words that only
 * that PE writes, and words of its own that count the same things:
 *
 *   sync   the last synchronisation in which that PE has told this one that it is there
 *   note   the last step of a call that puts into destinations directly: what came before it has arrived
 *   mail   messages that it has put into this PE's buffers        got   of these, read here
 *   room   messages of this PE that it has read                   sent  messages to that PE
 *
 * Members have two buffers at each other, used in turn, so message k may be sent when k - 2 has been read. All counts
 * go up for ever, and those of a team begin at the same number on all members. */
#ifndef DUSHMEM_IMPL_COLL_TEAM_H
#define DUSHMEM_IMPL_COLL_TEAM_H

/* A function of its own on GPUs, where the compilers would copy it into every call. */
#ifdef DUSHMEM_EMU
#define DUSHMEM_IMPL_APART DUSHMEM_IMPL_FN
#else
#define DUSHMEM_IMPL_APART static __device__ __attribute__((__noinline__, __unused__))
#endif

namespace dushmem {
namespace device {
namespace impl {

/* Up to so many bytes a message is put by one thread of the scope, and each thread serves other members. */
constexpr size_t lane_bytes = 128;

enum class words : unsigned { sync, note, mail, room, sent, got };

struct members {
  int me, n;           /* ranks */
  const uint32_t *pes; /* null: those of the world */
  char *slot;
  uint32_t stride; /* words of an array */
  uint32_t cell;   /* bytes of a buffer */

  /* World number of a rank. */
  DUSHMEM_IMPL_MEMBER int pe(int rank) const { return pes ? (int)pes[rank] : rank; }
  DUSHMEM_IMPL_MEMBER uint64_t *at(words array, int world) const {
    return (uint64_t *)(slot + 64) + (size_t)array * stride + world;
  }
  /* This PE's calls that needed a number, and where the counts began. */
  DUSHMEM_IMPL_MEMBER uint64_t *calls() const { return (uint64_t *)slot; }
  DUSHMEM_IMPL_MEMBER uint64_t *began() const { return (uint64_t *)slot + 1; }
  /* The buffer for message `count` of the member `from`, in every member's slot. */
  DUSHMEM_IMPL_MEMBER char *buffer(uint64_t count, int from) const {
    return (char *)at(words::sync, 0) + 6 * 8 * (size_t)stride + ((count & 1) * (size_t)n + (size_t)from) * cell;
  }
};

/* Words that only this PE writes, in one call after the other. */
DUSHMEM_IMPL_FN uint64_t own_count(const uint64_t *word) { return *(const volatile uint64_t *)word; }
DUSHMEM_IMPL_FN void own_count(uint64_t *word, uint64_t value) { *(volatile uint64_t *)word = value; }

/* One line about a team that is none. */
DUSHMEM_IMPL_COLD void no_team(const char *call, const char *arg, int value, const char *why) {
#ifdef DUSHMEM_EMU
  fprintf(stderr, "dushmem: PE %d: %s: %s = %d: %s\n", state().my_pe, call, arg, value, why);
#else
  printf("dushmem: PE %d: %s: %s = %d: %s\n", state().my_pe, call, arg, value, why);
#endif
}

/* The team of that handle, for all threads of the scope; false after a line where there is none for this PE. */
template <class S> DUSHMEM_IMPL_APART bool open(int32_t handle, members &team, const char *call) {
  const dushmem_impl_kernel_state &s = state();
  const dushmem_impl_kernel_team *entry =
      (const dushmem_impl_kernel_team *)(uintptr_t)s.teams + (handle & DUSHMEM_IMPL_TEAM_SLOT);
  if (!DUSHMEM_IMPL_IS(handle >= 0 && (uint64_t)(handle & DUSHMEM_IMPL_TEAM_SLOT) < s.team_count &&
                       *(const volatile int32_t *)&entry->handle == handle)) {
    if (leads(S{}))
      no_team(call, "team", handle, "no team of this PE: never made, destroyed, or this PE is not a member");
    return false;
  }
  team.me = entry->my_pe;
  team.n = entry->n_pes;
  team.pes = (const uint32_t *)(uintptr_t)entry->pes;
  team.slot = (char *)(uintptr_t)entry->slot;
  team.stride = entry->words;
  team.cell = entry->cell;
  return true;
}

/* The other members, beginning behind the own rank, so that not all turn to the same one at once: those that the
 * calling thread serves, or all of them. */
struct others {
  int step, k;
  DUSHMEM_IMPL_MEMBER bool more(const members &team) const { return k < team.n; }
  DUSHMEM_IMPL_MEMBER int rank(const members &team) const {
    return team.me + k < team.n ? team.me + k : team.me + k - team.n;
  }
  DUSHMEM_IMPL_MEMBER void next() { k += step; }
};
template <class S> DUSHMEM_IMPL_FN others mine(S s) { return others{(int)size(s), 1 + (int)rank(s)}; }
DUSHMEM_IMPL_FN others each() { return others{1, 1}; }

/* ---- Moving bytes ---- */

DUSHMEM_IMPL_FN size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Of `total`, the at most `most` from `from` on. */
DUSHMEM_IMPL_FN size_t rest(size_t total, size_t from, size_t most) { return from < total ? least(total - from, most) : 0; }

template <class S> DUSHMEM_IMPL_APART void put_apart(void *dest, const void *source, size_t bytes, int pe, const char *call) {
  put_bytes<S>(dest, source, bytes, pe, call);
}

/* To all other members. */
template <class S>
DUSHMEM_IMPL_APART void put_all(const members &team, char *dest, const char *source, size_t bytes, const char *call) {
  for (others o = each(); o.more(team); o.next()) put_apart<S>(dest, source, bytes, team.pe(o.rank(team)), call);
}

/* Copies in the own memory; all threads of the scope. */
template <class S> DUSHMEM_IMPL_APART void copy_own(void *dest, const void *source, size_t bytes, S s) {
  if (dest != source && bytes != 0) copy_lean((char *)dest, (const char *)source, bytes, s);
}

/* ---- Messages ---- */

/* What goes to the members: of block r, which begins at r * step and ends after `block` bytes, or where all data end,
 * the at most `most` bytes from `at` on. */
struct load {
  const char *source;
  size_t block, step, total, at, most;

  DUSHMEM_IMPL_MEMBER size_t bytes(int rank) const {
    return rest(rest(total, (size_t)rank * step, block), at, most);
  }
  DUSHMEM_IMPL_MEMBER const char *from(int rank) const { return source + ((size_t)rank * step + at); }
};

DUSHMEM_IMPL_FN uint64_t *own_word(const members &team, words array) { return team.at(array, state().my_pe); }

/* Waits until the next message to PE `pe` has a buffer. */
DUSHMEM_IMPL_APART void await_room(const members &team, int pe, const char *call) {
  const uint64_t sent = own_count(team.at(words::sent, pe));
  if (sent - own_count(team.began()) >= 2) wait_word(team.at(words::room, pe), DUSHMEM_CMP_GE, sent - 1, call);
}

DUSHMEM_IMPL_APART void post(const members &team, int pe, const char *call) {
  const uint64_t sent = own_count(team.at(words::sent, pe)) + 1;
  own_count(team.at(words::sent, pe), sent);
  set_word(own_word(team, words::mail), sent, pe, call);
}

/* Sends one message to each other member. The scope has synchronised since the data were written, and since its
 * threads last looked at a count. */
template <class S> DUSHMEM_IMPL_APART void mail(const members &team, const load &what, const char *call, S s) {
  const bool alone = size(s) == 1 || least(what.block - what.at, what.most) <= lane_bytes;
  for (others o = mine(s); o.more(team); o.next()) {
    const int to = o.rank(team), pe = team.pe(to);
    await_room(team, pe, call);
    if (!alone) continue;
    if (const size_t bytes = what.bytes(to))
      put_apart<scope::thread>(team.buffer(own_count(team.at(words::sent, pe)), team.me), what.from(to), bytes, pe, call);
    post(team, pe, call);
  }
  if (alone) return;
  sync(s);
  for (others o = each(); o.more(team); o.next()) {
    const int to = o.rank(team), pe = team.pe(to);
    if (const size_t bytes = what.bytes(to))
      put_apart<S>(team.buffer(own_count(team.at(words::sent, pe)), team.me), what.from(to), bytes, pe, call);
  }
  publish(s);
  for (others o = mine(s); o.more(team); o.next()) post(team, team.pe(o.rank(team)), call);
}

DUSHMEM_IMPL_APART void await_mail(const members &team, int pe, const char *call) {
  wait_word(team.at(words::mail, pe), DUSHMEM_CMP_GE, own_count(team.at(words::got, pe)) + 1, call);
}

/* Waits for one message of each other member, and synchronises the scope. */
template <class S> DUSHMEM_IMPL_APART void await_all_mail(const members &team, const char *call, S s) {
  for (others o = mine(s); o.more(team); o.next()) await_mail(team, team.pe(o.rank(team)), call);
  sync(s);
}

/* The message of a member that was waited for. */
DUSHMEM_IMPL_FN char *message(const members &team, int rank) {
  return team.buffer(own_count(team.at(words::got, team.pe(rank))), rank);
}

/* It has been read: its buffer may be written again. */
DUSHMEM_IMPL_APART void done_with(const members &team, int pe, const char *call) {
  const uint64_t got = own_count(team.at(words::got, pe)) + 1;
  own_count(team.at(words::got, pe), got);
  set_word(own_word(team, words::room), got, pe, call);
}

/* After a synchronisation of the scope, as all that follows the reading. */
template <class S> DUSHMEM_IMPL_APART void done_with_all(const members &team, const char *call, S s) {
  for (others o = mine(s); o.more(team); o.next()) done_with(team, team.pe(o.rank(team)), call);
}

/* ---- Direct puts: notes after them. Calls that use notes have a number; a call has up to three steps. ---- */

DUSHMEM_IMPL_FN uint64_t note_of(uint64_t call_number, unsigned step) { return call_number << 2 | step; }

/* To the calling thread's share of the other members; the scope has published what was put. */
template <class S>
DUSHMEM_IMPL_APART void note_all(const members &team, uint64_t number, unsigned step, const char *call, S s) {
  for (others o = mine(s); o.more(team); o.next())
    set_word(own_word(team, words::note), note_of(number, step), team.pe(o.rank(team)), call);
}

template <class S>
DUSHMEM_IMPL_APART void await_all_notes(const members &team, uint64_t number, unsigned step, const char *call, S s) {
  for (others o = mine(s); o.more(team); o.next())
    wait_word(team.at(words::note, team.pe(o.rank(team))), DUSHMEM_CMP_GE, note_of(number, step), call);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
