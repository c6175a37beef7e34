/* Reductions. Types and operations by number; a grid of blocks of 512 threads. The members reach each other by loads and
 * stores. */
#include "flagged.h"

namespace {

/* In one step: block_op says what is computed. */
__device__ void by_block(const members &team, char *dest, const char *source, size_t bytes, size_t elem, size_t step,
                         const char *call) {
  if (elem == 16)
    reduce_flagged<op_of_block>(team, (chunk *)dest, (const chunk *)source, bytes, step, call, block_scope{});
  else
    reduce_flagged<op_of_block>(team, (unit8 *)dest, (const unit8 *)source, bytes, step, call, block_scope{});
}

} // namespace

/* kind 0: dest gets the n elements of all members combined; 1: of n elements for each member, those of the own block.
 * dest and source are symmetric, and may be the same. */
DUSHMEM_KERNEL dushmem_k_reduce(int32_t handle, uint64_t dest, uint64_t source, uint64_t n, uint32_t type, uint32_t op,
                                uint32_t kind) {
  members team;
  const char *const call = kind == 0 ? "reduce" : "reducescatter";
  if (n == 0 || !opened(handle, team, call)) return;
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source;
  const typed_op how{type, op};
  const size_t elem = element_bytes(type), bytes = n * elem;
  if (in_one_step(team, bytes)) {
    if (threadIdx.x == 0) block_op() = how;
    sync(block_scope{});
    return by_block(team, to, from, bytes, elem, kind == 0 ? 0 : bytes, call);
  }
  grid_call is;
  if (!begin_grid(is, team, call)) return;
  if (kind != 0 && dest == source)
    grid_reducescatter_in_place(is, to, bytes, how);
  else
    grid_reduce(is, to, from, bytes, how, kind != 0);
}

namespace {

__device__ inline unsigned long long added(unsigned long long a, unsigned long long b) {
  const float low = bits<float>((unsigned)a) + bits<float>((unsigned)b);
  const float high = bits<float>((unsigned)(a >> 32)) + bits<float>((unsigned)(b >> 32));
  return bits<unsigned>(low) | (unsigned long long)bits<unsigned>(high) << 32;
}

typedef unsigned long long few_operands[dushmem_k_most_few];

/* A word of all members, which begins at `at` in the buffer of rank 0. */
__device__ inline void receive_operands(const dushmem_k_few &few, const chunk *at, uint64_t number, few_operands &got,
                                        const char *call) {
  const size_t apart = few.cell / sizeof(chunk);
  if (few.n <= 2)
    wait(call, &at->high, number, flagged_there<1, 2>{at, 1, 1, apart, few.n, number, got});
  else if (few.n <= 4)
    wait(call, &at->high, number, flagged_there<1, 4>{at, 1, 1, apart, few.n, number, got});
  else
    wait(call, &at->high, number, flagged_there<1, dushmem_k_most_few>{at, 1, 1, apart, few.n, number, got});
}

/* Combined by rank. Apart: what it calls keeps operands from staying in registers. */
DUSHMEM_IMPL_APART unsigned long long combine_operands(const few_operands &got, int n, typed_op how) {
  chunk all{got[0], 0};
  DUSHMEM_IMPL_ROLLED
  for (int k = 1; k < n; k++) all = apply_typed(all, chunk{got[k], 0}, how);
  return all.low;
}

/* Words of the vectors, combined, to dest. */
template <bool Floats>
__device__ inline void few_combine(const dushmem_k_few &few, const few_words &all, uint64_t number, char *dest, typed_op how,
                                   const char *call) {
  const char *const from = (const char *)few_buffer(few, number, 0);
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = threadIdx.x * 8; at < all.bytes; at += blockDim.x * 8) {
    few_operands got = {};
    receive_operands(few, (const chunk *)(from + 2 * at), number, got, call);
    unsigned long long result = got[0];
    if (!Floats) result = combine_operands(got, few.n, how);
    for (int k = 1; Floats && k < dushmem_k_most_few; k++)
      if (k < few.n) result = added(result, got[k]);
    store_word(dest + at, result, all.bytes - at);
  }
}

} // namespace

/* As dushmem_k_reduce for few members, and elements of up to 8 bytes. bytes: of a member's vector, or with own_block of the
 * block for each; at most half a buffer. shift: few_words of that. */
DUSHMEM_KERNEL_FEW dushmem_k_few_reduce(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source, uint32_t bytes,
                                        uint32_t shift, uint32_t type, uint32_t op, uint32_t own_block) {
  const char *const call = own_block == 0 ? "reduce" : "reducescatter";
  const few_words all{shift, bytes};
  const flagged_call is = few_next(few);
  few_send(few, all, is, (const char *)(uintptr_t)source, own_block == 0 ? 0 : bytes, call);
  few_note(few, is, true);
  char *const to = (char *)(uintptr_t)dest;
  if (type == (uint32_t)element::f32 && op == (uint32_t)operation::sum)
    few_combine<true>(few, all, is.number, to, typed_op{type, op}, call);
  else
    few_combine<false>(few, all, is.number, to, typed_op{type, op}, call);
}

namespace {

/* Combined by rank: two members' words, several of a thread at a time. */
template <bool Floats>
__device__ inline void flagged_combine_two(const flagged_call_of_block &is, char *dest, const char *source, typed_op how) {
  const int other = is.behind(1);
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = threadIdx.x * 8; at < is.bytes; at += flagged_at_once * is.width) {
    unsigned long long own[flagged_at_once], theirs[flagged_at_once];
    for (int i = 0; i < flagged_at_once; i++) own[i] = is.load(source, at + (unsigned)i * is.width);
    flagged_words_of(is, other, at, theirs);
    for (int i = 0; i < flagged_at_once; i++) {
      few_operands both = {is.few.me == 0 ? own[i] : theirs[i], is.few.me == 0 ? theirs[i] : own[i]};
      const unsigned long long result = Floats ? added(both[0], both[1]) : combine_operands(both, 2, how);
      is.store(dest, at + (unsigned)i * is.width, result);
    }
  }
}

/* Of more members one word at a time, all members' together. */
template <bool Floats>
__device__ inline void flagged_combine(const flagged_call_of_block &is, char *dest, const char *source, typed_op how) {
  const chunk *const first = is.buffer(is.behind(1));
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = threadIdx.x * 8; at < is.bytes; at += is.width) {
    const unsigned long long own = is.load(source, at);
    const chunk *from[dushmem_k_most_few];
    few_operands got;
    for (int k = 0; k < dushmem_k_most_few; k++)
      from[k] = (k < is.few.n && k != is.few.me ? is.buffer(k) : first) + at / 8;
    wait(is.call, &first[at / 8].high, is.number, flagged_arrived<dushmem_k_most_few>{from, is.number, got});
    for (int k = 0; k < dushmem_k_most_few; k++)
      if (k == is.few.me) got[k] = own;
    unsigned long long result = got[0];
    if (!Floats) result = combine_operands(got, is.few.n, how);
    for (int k = 1; Floats && k < dushmem_k_most_few; k++)
      if (k < is.few.n) result = added(result, got[k]);
    is.store(dest, at, result);
  }
}

template <bool Floats>
__device__ inline void flagged_combine_all(const flagged_call_of_block &is, char *dest, const char *source, typed_op how) {
  if (is.few.n == 2)
    flagged_combine_two<Floats>(is, dest, source, how);
  else
    flagged_combine<Floats>(is, dest, source, how);
}

} // namespace

/* As dushmem_k_few_reduce; part as for dushmem_k_flagged_exchange. */
DUSHMEM_KERNEL_FLAGGED dushmem_k_flagged_reduce(DUSHMEM_BY_VALUE dushmem_k_few few, uint64_t dest, uint64_t source, uint32_t bytes,
                                                uint32_t part, uint32_t type, uint32_t op, uint32_t own_block) {
  flagged_call_of_block is = flagged_part(few, bytes, part, own_block == 0 ? "reduce" : "reducescatter");
  char *const to = (char *)(uintptr_t)dest;
  const char *const from = (const char *)(uintptr_t)source, *const own = from + (own_block == 0 ? 0 : (size_t)few.me * bytes);
  flagged_send(is, from, own_block == 0 ? 0 : bytes);
  if (type == (uint32_t)element::f32 && op == (uint32_t)operation::sum)
    flagged_combine_all<true>(is, to, own, typed_op{type, op});
  else
    flagged_combine_all<false>(is, to, own, typed_op{type, op});
}
