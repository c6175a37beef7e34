/* Short calls in one step: 8 bytes of data and the number of the call travel in one access of 16 bytes.
 *
 * Who sees the number has the data, so nothing needs a fence, which costs more than the way there and back. Each member
 * has two buffers of such words at each, itself included, used in turn. A member that has sent something in call k has
 * done with the buffers of call k - 1. So where everybody sends to everybody, the next call needs no more. Where not
 * (broadcast), each says `here`, and in the next call who sends looks for that. The numbers have 64 bits, are never used
 * again, and are written to places that hold nothing but numbers: what an earlier call has left is never taken for data.
 *
 * On the CPU a fence costs nothing, and one thread that waits is better than many: there the tests use this only. */
#ifndef DUSHMEM_IMPL_COLL_LL_H
#define DUSHMEM_IMPL_COLL_LL_H

namespace dushmem {
namespace device {
namespace impl {

#if !defined(DUSHMEM_EMU) || defined(DUSHMEM_FLAGGED_WORDS)
constexpr bool flagged_words = true;
#else
constexpr bool flagged_words = false;
#endif

/* Bytes that a member can send to each. */
DUSHMEM_IMPL_FN size_t flagged_bytes(const members &team) { return team.cell / 2; }
DUSHMEM_IMPL_FN bool goes_flagged(const members &team, size_t bytes) {
  return flagged_words && team.direct() && bytes <= flagged_bytes(team);
}

/* Words that a thread has under way: so many of each of so many members. A thread alone has many of its own to wait
 * for; of those of a warp or block each has few. */
template <class S> struct under_way {
  static constexpr int words = 1, members = 8;
};
template <> struct under_way<scope::thread> {
  static constexpr int words = 4, members = 2;
};

/* ---- 8 bytes of the caller's data, or the fewer that are left ---- */

template <class U> DUSHMEM_IMPL_FN unsigned long long gather(const char *from, size_t count) {
  unsigned long long all = 0;
  DUSHMEM_IMPL_ROLLED
  for (size_t i = 0; i * sizeof(U) < count; i++)
    all |= (unsigned long long)load_fresh((const U *)from + i) << (8 * sizeof(U) * i);
  return all;
}
template <class U> DUSHMEM_IMPL_FN void scatter(char *to, unsigned long long all, size_t count) {
  DUSHMEM_IMPL_ROLLED
  for (size_t i = 0; i * sizeof(U) < count; i++) ((U *)to)[i] = (U)(all >> (8 * sizeof(U) * i));
}
/* Functions of their own: what is not aligned, or shorter, is rare. */
DUSHMEM_IMPL_APART unsigned long long load_part(const char *from, size_t count) {
  const size_t bytes = count < 8 ? count : 8;
  return ((uintptr_t)from | bytes) % 4 == 0 ? gather<unit4>(from, bytes) : gather<unit1>(from, bytes);
}
DUSHMEM_IMPL_APART void store_part(char *to, unsigned long long value, size_t count) {
  const size_t bytes = count < 8 ? count : 8;
  ((uintptr_t)to | bytes) % 4 == 0 ? scatter<unit4>(to, value, bytes) : scatter<unit1>(to, value, bytes);
}
DUSHMEM_IMPL_FN unsigned long long load_word(const char *from, size_t count) {
  if (DUSHMEM_IMPL_IS((uintptr_t)from % 8 == 0 && count >= 8)) return load_fresh((const unit8 *)from);
  if (DUSHMEM_IMPL_IS((uintptr_t)from % 4 == 0 && count == 4)) return load_fresh((const unit4 *)from);
  return load_part(from, count);
}
DUSHMEM_IMPL_FN void store_word(char *to, unsigned long long value, size_t count) {
  if (DUSHMEM_IMPL_IS((uintptr_t)to % 8 == 0 && count >= 8))
    *(unit8 *)to = value;
  else if (DUSHMEM_IMPL_IS((uintptr_t)to % 4 == 0 && count == 4))
    *(unit4 *)to = (unit4)value;
  else
    store_part(to, value, count);
}

/* ---- Sending ---- */

/* What all threads of the scope load before they synchronise for the first time, and look at when they have loaded their data,
 * too: both take as long as one of them. */
struct flagged_counts {
  uint64_t calls, by_all;
};
DUSHMEM_IMPL_FN flagged_counts counts_of(const members &team) {
  return flagged_counts{own_count(team.flagged_calls()), own_count(team.flagged_by_all())};
}
struct flagged_call {
  uint64_t number;
  bool after_all; /* in the call before, everybody sent to everybody */
};
DUSHMEM_IMPL_FN flagged_call next_flagged(const flagged_counts &counts) {
  return flagged_call{counts.calls + 1, counts.by_all == counts.calls};
}

/* After that synchronisation: notes the call, and waits until the buffers may be written. */
template <class S>
DUSHMEM_IMPL_FN void begin_flagged(const members &team, const flagged_call &is, bool by_all, bool sends, const char *call, S s) {
  if (leads(s)) {
    own_count(team.flagged_calls(), is.number);
    if (by_all) own_count(team.flagged_by_all(), is.number);
  }
  if (is.after_all || !sends) return;
  for (others o = mine(s); o.more(team); o.next())
    wait_word(team.at(words::here, team.pe(o.rank(team))), DUSHMEM_CMP_GE, is.number - 1, call);
  sync(s);
}

/* From the buffers for even numbers to those for this one. */
DUSHMEM_IMPL_FN unsigned buffers_of(const members &team, uint64_t number) {
  return (number & 1) != 0 ? (unsigned)team.n * (team.cell / (unsigned)sizeof(chunk)) : 0;
}

/* Own words in the buffers of members from `first` on, for even numbers. inbox: those of rank 0 in the own buffers. */
template <int Targets>
DUSHMEM_IMPL_FN void find_buffers(const members &team, chunk *inbox, int first, chunk *(&to)[Targets]) {
  chunk *const own = inbox + (size_t)team.me * (team.cell / sizeof(chunk));
  for (int k = 0; k < Targets; k++)
    if (first + k < team.n) to[k] = (chunk *)moved_to(own, team.pe(first + k));
}

/* Begins the call, and sends to each member what begins at source + rank * step. The number of the call; and for threads that
 * have a share where the words of rank 0 come to, for even numbers. Places are found while the counts and the first data are on
 * their way. */
template <class S>
DUSHMEM_IMPL_FN uint64_t send_words(const members &team, const flagged_counts &counts, const char *source, size_t bytes, size_t step,
                                    bool by_all, const char *call, S s, const chunk *&words) {
  constexpr int at_once = under_way<S>::words, targets = 4;
  const size_t lanes = size(s), count = (bytes + 7) / 8;
  unsigned long long value[at_once] = {};
  for (int i = 0; i < at_once; i++) {
    const size_t at = (rank(s) + (size_t)i * lanes) * 8;
    if (at < bytes) value[i] = load_word(source + at, bytes - at);
  }
  chunk *to[targets] = {}, *inbox = nullptr;
  if (rank(s) < count) {
    inbox = team.flagged(0, 0);
    find_buffers(team, inbox, 0, to);
  }
  words = inbox;
  const flagged_call is = next_flagged(counts);
  begin_flagged(team, is, by_all, true, call, s);
  for (others o = mine(s); o.more(team); o.next()) ring(team.pe(o.rank(team)));
  if (rank(s) >= count) return is.number;
  const unsigned from = buffers_of(team, is.number);
  /* What is loaded is all, and for few members. */
  if (step == 0 && team.n <= targets && count <= at_once * lanes) {
    for (int k = 0; k < targets; k++)
      for (int i = 0; i < at_once; i++) {
        const size_t at = rank(s) + (size_t)i * lanes;
        if (k < team.n && (i == 0 || at < count)) store_flagged(to[k] + from + at, chunk{value[i], is.number});
      }
    return is.number;
  }
  bool loaded = true;
  for (int first = 0; first < team.n; first += targets) {
    if (first != 0) find_buffers(team, inbox, first, to);
    for (size_t w = rank(s); w < count; w += at_once * lanes)
      for (int k = 0; k < targets; k++) {
        if (first + k >= team.n) break;
        if (!loaded && (k == 0 || step != 0))
          for (int i = 0; i < at_once; i++) {
            const size_t at = (w + (size_t)i * lanes) * 8;
            if (at < bytes) value[i] = load_word(source + (size_t)(first + k) * step + at, bytes - at);
          }
        loaded = false;
        for (int i = 0; i < at_once; i++) {
          const size_t at = w + (size_t)i * lanes;
          if (at < count) store_flagged(to[k] + from + at, chunk{value[i], is.number});
        }
      }
  }
  return is.number;
}
template <class S>
DUSHMEM_IMPL_APART uint64_t send_flagged(const members &team, const flagged_counts &counts, const char *source, size_t bytes,
                                         size_t step, bool by_all, const char *call, S s) {
  const chunk *words;
  return send_words(team, counts, source, bytes, step, by_all, call, s, words);
}

/* ---- Receiving ---- */

/* Words of some members, one every `lanes`, are there: `got[i * Members + k]` is word i of member k. Where there are fewer
 * members the first one's word is loaded in their places, since loads under conditions of their own are made one after the
 * other, each look as long as all of them. */
template <int Words, int Members> struct flagged_there {
  const chunk *at;
  size_t lanes, count; /* words from `at` on, of which there is one */
  size_t apart;        /* from a member's buffer to the next one's */
  int members;
  uint64_t number;
  unsigned long long *got;

  DUSHMEM_IMPL_MEMBER bool operator()() const {
    chunk found[Words * Members] = {};
    bool all = true;
    for (int i = 0; i < Words; i++)
      if (i == 0 || (size_t)i * lanes < count)
        for (int k = 0; k < Members; k++)
          found[i * Members + k] = load_flagged(at + (k < members ? (size_t)k * apart : 0) + (size_t)i * lanes);
    for (int i = 0; i < Words; i++)
      if (i == 0 || (size_t)i * lanes < count)
        for (int k = 0; k < Members; k++) {
          got[i * Members + k] = found[i * Members + k].low;
          all = all & (found[i * Members + k].high == number);
        }
    return all;
  }
};

/* dest = the operands of all members, combined by rank. Elements of up to 8 bytes, in words; all members' at a time, or
 * where they are Several times as many, so many of them. */
template <int Words, int Members, bool Several, class Op, class T, class S>
DUSHMEM_IMPL_FN void combine_words(const members &team, const chunk *inbox, uint64_t number, char *dest, size_t bytes,
                                   const char *call, S s) {
  constexpr size_t parts = 8 / sizeof(T);
  const size_t lanes = size(s), count = (bytes + 7) / 8, apart = team.cell / sizeof(chunk);
  for (size_t w = rank(s); w < count; w += (size_t)Words * lanes) {
    unsigned long long all[Words] = {};
    for (int first = 0; first < (Several ? team.n : 1); first += Members) {
      unsigned long long got[Words * Members] = {};
      const chunk *const at = inbox + (size_t)first * apart + w;
      const int left = team.n - first;
      wait(call, &at->high, number, flagged_there<Words, Members>{at, lanes, count - w, apart, left, number, got});
      for (int k = 0; k < Members; k++)
        for (int i = 0; i < Words; i++) {
          if (k >= left || (i != 0 && w + (size_t)i * lanes >= count)) continue;
          T left_part[parts], right[parts];
          memcpy((void *)left_part, &all[i], 8);
          memcpy((void *)right, &got[i * Members + k], 8);
          for (size_t e = 0; e < parts; e++) left_part[e] = first + k == 0 ? right[e] : Op::apply(left_part[e], right[e]);
          memcpy(&all[i], (const void *)left_part, 8);
        }
    }
    for (int i = 0; i < Words; i++) {
      const size_t at = (w + (size_t)i * lanes) * 8;
      if (at < bytes) store_word(dest + at, all[i], bytes - at);
    }
  }
}
template <class Op, class T, class S>
DUSHMEM_IMPL_FN void combine_flagged(const members &team, const chunk *inbox, uint64_t number, char *dest, size_t bytes,
                                     const char *call, S s, std::true_type) {
  constexpr int words = under_way<S>::words, ranks = under_way<S>::members;
  if (rank(s) * (size_t)8 >= bytes) return;
  inbox += buffers_of(team, number);
  if (words != 1 && bytes > 8 * size(s))
    combine_words<words, ranks, true, Op, T>(team, inbox, number, dest, bytes, call, s);
  else if (team.n <= 2)
    combine_words<1, 2, false, Op, T>(team, inbox, number, dest, bytes, call, s);
  else if (team.n <= 4)
    combine_words<1, 4, false, Op, T>(team, inbox, number, dest, bytes, call, s);
  else
    combine_words<1, 8, true, Op, T>(team, inbox, number, dest, bytes, call, s);
}
/* Larger ones are several words. */
template <class Op, class T, class S>
DUSHMEM_IMPL_FN void combine_flagged(const members &team, const chunk *inbox, uint64_t number, char *dest, size_t bytes,
                                     const char *call, S s, std::false_type) {
  constexpr size_t words = sizeof(T) / 8;
  inbox += buffers_of(team, number);
  for (size_t i = rank(s); i < bytes / sizeof(T); i += size(s)) {
    T all{};
    for (int r = 0; r < team.n; r++) {
      unsigned long long bits[words] = {};
      const chunk *const at = inbox + (size_t)r * (team.cell / sizeof(chunk)) + i * words;
      wait(call, &at->high, number, flagged_there<(int)words, 1>{at, 1, words, 0, 1, number, bits});
      T next;
      memcpy((void *)&next, bits, sizeof next);
      all = r == 0 ? next : Op::apply(all, next);
    }
    memcpy((void *)(dest + i * sizeof(T)), &all, sizeof all);
  }
}

/* What the members from `from` on, before `to`, have sent goes to dest + rank * step. */
template <int Ranks, class S>
DUSHMEM_IMPL_APART void unpack_flagged(const members &team, uint64_t number, int from, int to, char *dest, size_t bytes,
                                       size_t step, const char *call, S s) {
  constexpr int at_once = 4;
  const size_t lanes = size(s), count = (bytes + 7) / 8;
  for (size_t w = rank(s); w < count; w += (size_t)at_once * lanes)
    for (int first = from; first < to; first += Ranks) {
      unsigned long long got[at_once * Ranks] = {};
      const chunk *const at = team.flagged(number, first) + w;
      wait(call, &at->high, number,
           flagged_there<at_once, Ranks>{at, lanes, count - w, team.cell / sizeof(chunk), to - first, number, got});
      for (int k = 0; k < Ranks; k++) {
        if (first + k >= to) break;
        for (int i = 0; i < at_once; i++) {
          const size_t byte = (w + (size_t)i * lanes) * 8;
          if (byte < bytes) store_word(dest + (size_t)(first + k) * step + byte, got[i * Ranks + k], bytes - byte);
        }
      }
    }
}

/* ---- Calls: they synchronise the scope at their begin and at their end ---- */

/* Block j of each member becomes block `me` of the member j, as exchange_blocks does it. */
template <class S>
DUSHMEM_IMPL_APART void exchange_flagged(const members &team, char *dest, const char *source, size_t bytes, size_t step,
                                         const char *call, S s) {
  const flagged_counts counts = counts_of(team);
  sync(s);
  const uint64_t number = send_flagged(team, counts, source, bytes, step, true, call, s);
  /* In place. */
  if (dest == source) sync(s);
  unpack_flagged<2>(team, number, 0, team.n, dest, bytes, bytes, call, s);
  sync(s);
}

/* Known: the team, or where it is known without memory. All of it in one function: a call with few elements is over before
 * others would have kept their registers. */
struct the_world {
  DUSHMEM_IMPL_MEMBER operator members() const { return world_team(); }
};
template <class Op, class T, class S, class Known>
DUSHMEM_IMPL_APART void reduce_flagged(Known known, T *dest, const T *source, size_t bytes, size_t step, const char *call, S s) {
  const members team = known;
  const flagged_counts counts = counts_of(team);
  sync(s);
  const chunk *inbox;
  const uint64_t number = send_words(team, counts, (const char *)source, bytes, step, true, call, s, inbox);
  /* What a thread overwrites in place it has sent itself, except where words are divided in another way. */
  if (step != 0 || sizeof(T) > 8) sync(s);
  combine_flagged<Op, T>(team, inbox, number, (char *)dest, bytes, call, s, std::integral_constant<bool, sizeof(T) <= 8>{});
  sync(s);
}

template <class S>
DUSHMEM_IMPL_APART void broadcast_flagged(const members &team, char *dest, const char *source, size_t bytes, int root,
                                          const char *call, S s) {
  const flagged_counts counts = counts_of(team);
  sync(s);
  const flagged_call is = next_flagged(counts);
  if (team.me != root) begin_flagged(team, is, false, false, call, s);
  for (others o = mine(s); o.more(team); o.next())
    tell(own_word(team, words::here), is.number, team.pe(o.rank(team)), call);
  if (team.me == root) send_flagged(team, counts, source, bytes, 0, false, call, s);
  /* In place. */
  if (dest == source) sync(s);
  unpack_flagged<1>(team, is.number, root, root + 1, dest, bytes, 0, call, s);
  sync(s);
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
