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
 *   here   the last call with data and flag in one word that it has begun, where it sent nothing (coll_ll.h)
 *   grid   for each block of a grid: how far that PE's block is (coll_grid.h)
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

enum class words : unsigned { sent, got, sync, note, mail, room, here, stream_epoch, graph_ready, graph_done, grid };

struct members {
  int me, n;           /* ranks */
  const uint32_t *pes; /* null: those of the world */
  char *slot;
  uint32_t stride; /* words of an array */
  uint32_t cell;   /* bytes of a buffer */
  uint32_t flags;

  /* World number of a rank. */
  DUSHMEM_IMPL_MEMBER int pe(int rank) const { return pes ? (int)pes[rank] : rank; }
  DUSHMEM_IMPL_MEMBER bool direct() const { return (flags & DUSHMEM_IMPL_TEAM_DIRECT) != 0; }
  DUSHMEM_IMPL_MEMBER uint32_t blocks() const { return flags >> DUSHMEM_IMPL_TEAM_BLOCKS; }
  DUSHMEM_IMPL_MEMBER uint64_t *at(words array, int world) const {
    return (uint64_t *)(slot + 64) + blocks() + (size_t)array * stride + world;
  }
  /* This PE's calls that needed a number, where the counts began, and the counts of coll_ll.h and coll_grid.h. */
  DUSHMEM_IMPL_MEMBER uint64_t *calls() const { return (uint64_t *)slot; }
  DUSHMEM_IMPL_MEMBER uint64_t *began() const { return (uint64_t *)slot + 1; }
  DUSHMEM_IMPL_MEMBER uint64_t *flagged_calls() const { return (uint64_t *)slot + 2; }
  DUSHMEM_IMPL_MEMBER uint64_t *flagged_by_all() const { return (uint64_t *)slot + 3; }
  DUSHMEM_IMPL_MEMBER uint64_t *grid_calls(unsigned block) const { return (uint64_t *)(slot + 64) + block; }
  /* The flag that PE `world` sets for a block of a grid. */
  DUSHMEM_IMPL_MEMBER uint64_t *grid(unsigned block, int world) const {
    return at(words::grid, world) + (size_t)block * stride;
  }
  /* The buffer for message `count` of the member `from`, in every member's slot. */
  DUSHMEM_IMPL_MEMBER char *buffer(uint64_t count, int from) const {
    return (char *)grid(blocks(), 0) + ((count & 1) * (size_t)n + (size_t)from) * cell;
  }
  /* The same for calls with data and flag in one word. */
  DUSHMEM_IMPL_MEMBER chunk *flagged(uint64_t count, int from) const {
    const size_t messages = 2 * (stride * (size_t)256 > 65536 ? stride * (size_t)256 : (size_t)65536);
    return (chunk *)(buffer(count, from) + messages);
  }
};

/* Words that only this PE writes, in one call after the other. */
DUSHMEM_IMPL_FN uint64_t own_count(const uint64_t *word) { return *(const volatile uint64_t *)word; }
DUSHMEM_IMPL_FN void own_count(uint64_t *word, uint64_t value) { *(volatile uint64_t *)word = value; }

/* One line about a team that is none, or about a root that is no PE of the `n` of a team. */
#ifdef DUSHMEM_EMU
DUSHMEM_IMPL_COLD void no_team(const char *call, int handle) {
  /* Before init and after finalize nothing is this PE's own: that ends the job. */
  if (state().n_pes == 0) own_elsewhere(nullptr, sizeof handle, sizeof handle, call, "team");
  dushmem_emu_no_team(call, handle);
}
#define DUSHMEM_IMPL_NO_TEAM(CALL, HANDLE) ::dushmem::device::impl::no_team(CALL, HANDLE)
#define DUSHMEM_IMPL_NO_ROOT(CALL, ROOT, N) dushmem_emu_no_root(CALL, ROOT, N)
#else
DUSHMEM_IMPL_COLD void no_team(const char *call, const char *arg, int value, const char *why) {
  check_state(call);
  printf("dushmem: PE %d: %s: %s = %d: %s\n", state().my_pe, call, arg, value, why);
}
#define DUSHMEM_IMPL_NO_TEAM(CALL, HANDLE)                  \
  ::dushmem::device::impl::no_team(CALL, "team", HANDLE,    \
                                   "no team of this PE: never made, destroyed, or this PE is not a member")
#define DUSHMEM_IMPL_NO_ROOT(CALL, ROOT, N) ::dushmem::device::impl::no_team(CALL, "PE_root", ROOT, "no PE of the team")
#endif

/* What is done between the loads of a team's entry and the first look at what they give, and takes about as long. */
struct nothing {
  DUSHMEM_IMPL_MEMBER void operator()() const {}
};

/* The state knows the world's team: without a load. (On the CPU it is the record of the library, which may end before it.) */
DUSHMEM_IMPL_FN bool is_world(int32_t handle) {
#ifdef DUSHMEM_EMU
  if (state().size < sizeof(dushmem_impl_kernel_state)) return false;
#endif
  return handle == 0 && state().world.n_pes != 0;
}
DUSHMEM_IMPL_FN members world_team() {
  const dushmem_impl_kernel_team &world = state().world;
  return members{world.my_pe, world.n_pes, nullptr, (char *)(uintptr_t)world.slot, world.words, world.cell, world.flags};
}

/* The team of that handle, for all threads of the scope; false after a line where there is none for this PE. */
template <class S, class Meanwhile>
DUSHMEM_IMPL_FN bool open_while(int32_t handle, members &team, const char *call, const Meanwhile &meanwhile) {
  const dushmem_impl_kernel_state &s = state();
  const dushmem_impl_kernel_team *const entry =
      (const dushmem_impl_kernel_team *)(uintptr_t)s.teams + (handle & DUSHMEM_IMPL_TEAM_SLOT);
  const bool in_table = handle >= 0 && (uint64_t)(handle & DUSHMEM_IMPL_TEAM_SLOT) < s.team_count;
  if (DUSHMEM_IMPL_IS(in_table)) {
    const int32_t found = *(const volatile int32_t *)&entry->handle;
    team.me = *(const volatile int32_t *)&entry->my_pe;
    team.n = *(const volatile int32_t *)&entry->n_pes;
    team.pes = (const uint32_t *)(uintptr_t) * (const volatile uint64_t *)&entry->pes;
    team.slot = (char *)(uintptr_t) * (const volatile uint64_t *)&entry->slot;
    team.stride = *(const volatile uint32_t *)&entry->words;
    team.cell = *(const volatile uint32_t *)&entry->cell;
    team.flags = *(const volatile uint32_t *)&entry->flags;
    meanwhile();
    if (DUSHMEM_IMPL_IS(found == handle)) return true;
  }
  if (leads(S{})) DUSHMEM_IMPL_NO_TEAM(call, handle);
  return false;
}
template <class S> DUSHMEM_IMPL_APART bool open_by_table(int32_t handle, members &team, const char *call) {
  return open_while<S>(handle, team, call, nothing{});
}
template <class S> DUSHMEM_IMPL_FN bool open(int32_t handle, members &team, const char *call) {
  if (!is_world(handle)) return open_by_table<S>(handle, team, call);
  team = world_team();
  return true;
}

/* On the CPU members find out where they make different calls: each says which one it begins. Nothing of that is compiled for
 * GPUs, nor with the library's own kernels, which have it defined empty. */
#ifdef DUSHMEM_IMPL_ANNOUNCE
#elif defined(DUSHMEM_EMU)
template <class S>
DUSHMEM_IMPL_FN void announce(const members &team, const char *call, size_t nelems, size_t elem, uint64_t argument) {
  if (team.n == 1 || !leads(S{})) return;
  const dushmem_emu_collective what{sizeof what, team.me, team.n, team.pes, team.slot, call, nelems, elem, argument};
  dushmem_emu_announce(&what);
}
#define DUSHMEM_IMPL_ANNOUNCE(...) ::dushmem::device::impl::announce<S>(__VA_ARGS__)

/* What members of a reduction have to agree on besides its length. */
template <class Op> struct op_number {
  static constexpr uint64_t value = 0;
};
#define DUSHMEM_IMPL_OP_NUMBER(OP, NUMBER)        \
  template <> struct op_number<OP> {              \
    static constexpr uint64_t value = NUMBER;     \
  };
DUSHMEM_IMPL_OP_NUMBER(op_and, 1)
DUSHMEM_IMPL_OP_NUMBER(op_or, 2)
DUSHMEM_IMPL_OP_NUMBER(op_xor, 3)
DUSHMEM_IMPL_OP_NUMBER(op_max, 4)
DUSHMEM_IMPL_OP_NUMBER(op_min, 5)
DUSHMEM_IMPL_OP_NUMBER(op_sum, 6)
DUSHMEM_IMPL_OP_NUMBER(op_prod, 7)
DUSHMEM_IMPL_OP_NUMBER(op_maxloc, 8)
#undef DUSHMEM_IMPL_OP_NUMBER
template <class Op, class T> constexpr uint64_t reduces() {
  const uint64_t kind = std::is_integral<T>::value                  ? (std::is_signed<T>::value ? 1 : 2)
                        : std::is_floating_point<T>::value          ? 3
                        : std::is_same<T, dushmem_impl_half>::value ? 4
                                                                    : 5;
  return op_number<Op>::value << 16 | kind << 8 | sizeof(T);
}
#else
#define DUSHMEM_IMPL_ANNOUNCE(...)
#endif

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

/* ---- Words of others ---- */

/* Sets a word of PE pe. Before it a thread calls fence_release, once for all that it tells: what it has written, and
 * what others have with which it has synchronised since, is seen by who sees the word. A fence for each word, or by
 * each thread that has written, would be the longest part of a small call. */
DUSHMEM_IMPL_APART void tell(uint64_t *word, uint64_t value, int pe, const char *call) {
  if (uint64_t *to = peer_internal(word, sizeof *word, pe, call)) {
    store_relaxed((unsigned long long *)to, (unsigned long long)value);
    ring(pe);
  } else {
    remote_fence(context{0});
    remote_signal(context{0}, word, value, DUSHMEM_SIGNAL_SET, pe);
  }
}

/* The fence for the threads that have something to tell to their share of the members. */
template <class S> DUSHMEM_IMPL_FN void before_telling(const members &team, S s) {
  if (mine(s).more(team)) fence_release();
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

/* After fence_release. */
DUSHMEM_IMPL_APART void post(const members &team, int pe, const char *call) {
  const uint64_t sent = own_count(team.at(words::sent, pe)) + 1;
  own_count(team.at(words::sent, pe), sent);
  tell(own_word(team, words::mail), sent, pe, call);
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
  }
  if (alone) {
    before_telling(team, s);
    for (others o = mine(s); o.more(team); o.next()) post(team, team.pe(o.rank(team)), call);
    return;
  }
  sync(s);
  for (others o = each(); o.more(team); o.next()) {
    const int to = o.rank(team), pe = team.pe(to);
    if (const size_t bytes = what.bytes(to))
      put_apart<S>(team.buffer(own_count(team.at(words::sent, pe)), team.me), what.from(to), bytes, pe, call);
  }
  publish(s);
  before_telling(team, s);
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

/* It has been read: its buffer may be written again. After fence_release. */
DUSHMEM_IMPL_APART void done_with(const members &team, int pe, const char *call) {
  const uint64_t got = own_count(team.at(words::got, pe)) + 1;
  own_count(team.at(words::got, pe), got);
  tell(own_word(team, words::room), got, pe, call);
}

/* After a synchronisation of the scope, as all that follows the reading. */
template <class S> DUSHMEM_IMPL_APART void done_with_all(const members &team, const char *call, S s) {
  before_telling(team, s);
  for (others o = mine(s); o.more(team); o.next()) done_with(team, team.pe(o.rank(team)), call);
}

/* ---- Direct puts: notes after them. Calls that use notes have a number; a call has up to three steps. ---- */

DUSHMEM_IMPL_FN uint64_t note_of(uint64_t call_number, unsigned step) { return call_number << 2 | step; }

/* To the calling thread's share of the other members; the scope has synchronised since data were put. */
template <class S>
DUSHMEM_IMPL_APART void note_all(const members &team, uint64_t number, unsigned step, const char *call, S s) {
  before_telling(team, s);
  for (others o = mine(s); o.more(team); o.next())
    tell(own_word(team, words::note), note_of(number, step), team.pe(o.rank(team)), call);
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
