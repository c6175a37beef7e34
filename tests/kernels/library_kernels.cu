// The library's own kernels, called as the library calls them: data against what they have to be, reductions against the
// host's, bit by bit. With "far" as argument the kernels for members out of reach of loads and stores.
/* Members make a call by different ones of these kernels, which don't all say so. */
#define DUSHMEM_IMPL_ANNOUNCE(...)

#include "coll_common.h"

#include "../../kernels/combine.cu"
#include "../../kernels/far.cu"
#include "../../kernels/move.cu"
#include "../../kernels/reduce.cu"
#include "../../kernels/sync.cu"
#include "../../kernels/words.cu"

static bool far_only;
static char *dest, *source, *reference;
static const size_t room = 1 << 20;

static uint64_t address(const void *at) { return (uint64_t)(uintptr_t)at; }
static void settle() { OK(cudaDeviceSynchronize()); }

static __host__ __device__ inline unsigned char byte_of(int pe, size_t i, int round) {
  const unsigned long long mixed = (i * 64 + (size_t)pe + 1) * 0x9e3779b97f4a7c15ull + (unsigned)round * 0x1234567ull;
  return (unsigned char)(mixed >> 40);
}

static size_t size_of_type(uint32_t type) {
  static const size_t bytes[14] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, 8, 16};
  return bytes[type];
}

// The team as kernels for few members get it, and whether all reach each other.
struct Told {
  dushmem_k_few few;
  int direct;
};
// Words of grids with data and flag: an area for each team slot that is used here.
static char *areas;
static const size_t area_bytes = 256 << 10, area_count = 24;
__global__ void tell_about(int handle, Told *to) {
  members team;
  if (!open<dushmem::device::scope::thread>(handle, team, "few") || team.n > dushmem_k_most_few) return;
  to->direct = team.direct();
  to->few.slot = (uint64_t)(uintptr_t)team.slot;
  to->few.arrays = (uint64_t)(uintptr_t)team.at((words)0, 0);
  to->few.buffers = (uint64_t)(uintptr_t)team.flagged(0, 0);
  to->few.words = team.stride;
  to->few.cell = team.cell;
  to->few.me = team.me;
  to->few.n = team.n;
  for (int r = 0; r < team.n; r++) to->few.pe[r] = team.pe(r), to->few.delta[r] = load_table(state().delta, team.pe(r), state().n_pes);
}

struct Crew {
  int handle, me, n;
  Told told{};
  explicit Crew(int team) : handle(team), me(dushmem_team_my_pe(team)), n(dushmem_team_n_pes(team)) {
    Told *place;
    OK(cudaMalloc((void **)&place, sizeof told));
    OK(cudaMemset(place, 0, sizeof told));
    tell_about<<<1, 1>>>(team, place);
    OK(cudaMemcpy(&told, place, sizeof told, cudaMemcpyDeviceToHost));
    OK(cudaFree(place));
  }
  // The same for grids.
  dushmem_k_few for_grid() const {
    dushmem_k_few few = told.few;
    few.buffers = address(areas + (size_t)(handle & DUSHMEM_IMPL_TEAM_SLOT) * area_bytes);
    few.cell = (uint32_t)(area_bytes / (2 * dushmem_k_flagged_blocks * (size_t)n) / 16 * 16);
    return few;
  }
  int pe(int rank) const { return dushmem_team_translate_pe(handle, rank, DUSHMEM_TEAM_WORLD); }
};

static std::vector<unsigned char> fetched(const char *at, size_t bytes) {
  std::vector<unsigned char> all(bytes);
  OK(cudaMemcpy(all.data(), at, bytes, cudaMemcpyDeviceToHost));
  return all;
}
static void put_bytes_of(char *at, size_t bytes, int round) {
  std::vector<unsigned char> all(bytes);
  for (size_t i = 0; i < bytes; i++) all[i] = byte_of(dushmem_my_pe(), i, round);
  OK(cudaMemcpy(at, all.data(), bytes, cudaMemcpyHostToDevice));
}
// Element i of the source, of which bits are anything for integers, and moderate numbers for the others.
static void put_elements(char *at, size_t n, uint32_t type, int round) {
  const size_t elem = size_of_type(type);
  std::vector<unsigned char> all(n * elem);
  for (size_t i = 0; i < n * elem; i++) all[i] = byte_of(dushmem_my_pe(), i, round);
  for (size_t i = 0; i < n * elem && type >= 8; i++) {
    const auto number = [&](size_t k) { return (float)((int)all[k % all.size()] - 128) / 96.0f; };
    if ((type == 8 || type == 12) && i % 4 == 0) {
      const float value = number(i);
      memcpy(&all[i], &value, 4);
    } else if ((type == 9 || type == 13) && i % 8 == 0) {
      const double value = (double)number(i) / 3.0;
      memcpy(&all[i], &value, 8);
    } else if ((type == 10 || type == 11) && i % 2 == 1) {
      // Exponents near 1 in both formats.
      all[i] = (unsigned char)((all[i] & 0x80) | 0x3c | (all[i] & 0x01));
    }
  }
  OK(cudaMemcpy(at, all.data(), all.size(), cudaMemcpyHostToDevice));
}

static void expect_bytes(const char *what, const std::vector<unsigned char> &is, const std::vector<unsigned char> &should, long a,
                 long b) {
  for (size_t i = 0; i < is.size(); i++) {
    if (is[i] == should[i]) continue;
    if (failures++ < 10)
      std::printf("PE %d: %s(%ld, %ld): byte %zu of %zu is %d, not %d\n", dushmem_my_pe(), what, a, b, i, is.size(), is[i],
                  should[i]);
    return;
  }
}

// Whether this member makes its next call by the kernel for few members, and how many places its words have. With data and
// flag in one word the others may make the same call by the kernel that looks the team up.
static unsigned calls, calls_of_few;
static bool goes_few(const Crew &team, int blocks, size_t bytes, unsigned &shift) {
  const unsigned pick = (calls * 2654435761u >> 16) + (flagged_words ? (unsigned)team.me : 0);
  for (shift = 0; ((size_t)8 << shift) < bytes;) shift++;
  const bool goes = !far_only && pick % 2 != 0 && team.told.direct && blocks == 1 && bytes != 0 && bytes <= team.told.few.cell / 2;
  calls_of_few += goes;
  return goes;
}

// The same for the kernels whose blocks exchange words: all members have to make the call by them, or none. The last blocks
// may be left without a part, and the others have more then.
static unsigned calls_of_flagged;
static bool goes_flagged_by_grid(const Crew &team, int &blocks, size_t bytes, uint32_t &part) {
  if (far_only || !team.told.direct || team.n < 2 || bytes == 0 || bytes % 3 != 1) return false;
  if ((size_t)(team.handle & DUSHMEM_IMPL_TEAM_SLOT) >= area_count) return false;
  const size_t all = (bytes + 7) / 8, each = (all + (size_t)blocks - 1) / (size_t)blocks * 8;
  if (each > team.for_grid().cell / 2) return false;
  part = (uint32_t)each;
  blocks = (int)((bytes + each - 1) / each);
  calls_of_flagged++;
  return true;
}

// ---- Moves ----

enum moves { fcollect_of, alltoall_of, alltoall_in_place, broadcast_of, broadcast_in_place };

static void launch_move(moves what, int blocks, int threads, const Crew &team, char *to, char *from, size_t bytes, int root) {
  const bool in_place = what == alltoall_in_place || what == broadcast_in_place;
  const uint64_t d = address(to), s = address(in_place ? to : from);
  if (far_only) blocks = 1;
  unsigned shift;
  uint32_t part;
  calls++;
  if (goes_flagged_by_grid(team, blocks, bytes, part)) {
    const dushmem_k_few few = team.for_grid();
    if (what == broadcast_of || what == broadcast_in_place)
      dushmem_k_flagged_broadcast<<<blocks, threads>>>(few, d, s, (uint32_t)bytes, part, root);
    else
      dushmem_k_flagged_exchange<<<blocks, threads>>>(few, d, s, (uint32_t)bytes, part, what != fcollect_of);
    return;
  }
  if (goes_few(team, blocks, bytes, shift)) {
    const dushmem_k_few few = team.told.few;
    if (what == broadcast_of || what == broadcast_in_place)
      dushmem_k_few_broadcast<<<1, threads>>>(few, d, s, (uint32_t)bytes, shift, root);
    else
      dushmem_k_few_exchange<<<1, threads>>>(few, d, s, (uint32_t)bytes, shift, what != fcollect_of);
    return;
  }
  switch (what) {
  case fcollect_of:
    if (far_only)
      dushmem_k_far_fcollect<<<blocks, threads>>>(team.handle, d, s, bytes);
    else
      dushmem_k_fcollect<<<blocks, threads>>>(team.handle, d, s, bytes);
    break;
  case alltoall_of:
  case alltoall_in_place:
    if (far_only)
      dushmem_k_far_alltoall<<<blocks, threads>>>(team.handle, d, s, bytes);
    else
      dushmem_k_alltoall<<<blocks, threads>>>(team.handle, d, s, bytes);
    break;
  default:
    if (far_only)
      dushmem_k_far_broadcast<<<blocks, threads>>>(team.handle, d, s, bytes, root);
    else
      dushmem_k_broadcast<<<blocks, threads>>>(team.handle, d, s, bytes, root);
  }
}

// What dest has to be, from sources of a round.
static std::vector<unsigned char> moved_data(moves what, const Crew &team, size_t bytes, int root, int round) {
  std::vector<unsigned char> all;
  const int blocks = what == broadcast_of || what == broadcast_in_place ? 1 : team.n;
  for (int r = 0; r < blocks; r++)
    for (size_t i = 0; i < bytes; i++)
      all.push_back(what == fcollect_of ? byte_of(team.pe(r), i, round)
                    : blocks == 1       ? byte_of(team.pe(root), i, round)
                                        : byte_of(team.pe(r), (size_t)team.me * bytes + i, round));
  return all;
}

static void check_move(moves what, int blocks, int threads, const Crew &team, size_t bytes, size_t shift, int root, int round) {
  const bool in_place = what == alltoall_in_place || what == broadcast_in_place;
  char *const to = dest + shift, *const from = source + (in_place ? shift : (shift * 3) % 16);
  put_bytes_of(in_place ? to : from, bytes * (size_t)team.n, round);
  dushmem_team_sync(team.handle);
  launch_move(what, blocks, threads, team, to, from, bytes, root);
  settle();
  const std::vector<unsigned char> should = moved_data(what, team, bytes, root, round);
  expect_bytes("move", fetched(to, should.size()), should, what, (long)bytes);
  // The checks look at dest, which the next call of others overwrites.
  dushmem_team_sync(team.handle);
}

// One after the other without anything between, on different data.
static void check_in_a_row(const Crew &team, unsigned seed, int calls) {
  struct made {
    moves what;
    size_t at, bytes;
    int root;
  };
  std::vector<made> all;
  const int round = (int)seed;
  put_bytes_of(source, 40000 * (size_t)team.n, round);
  dushmem_team_sync(team.handle);
  size_t at = 0;
  for (int i = 0; i < calls; i++) {
    seed = seed * 1103515245u + 12345u;
    const unsigned pick = seed >> 16;
    const moves what = pick % 3 == 0 ? fcollect_of : pick % 3 == 1 ? alltoall_of : broadcast_of;
    const size_t bytes = pick % 5 == 0 ? 1 + pick % 40 : pick % 7 == 0 ? 9000 + pick % 900 : 1 + pick % 3000;
    const size_t takes = (bytes * (size_t)team.n + 15) / 16 * 16;
    if (at + takes > room) break;
    all.push_back(made{what, at, bytes, (int)(pick % (unsigned)team.n)});
    launch_move(what, 1 + (int)(pick % 3), 64, team, dest + at, source, bytes, all.back().root);
    at += takes;
  }
  settle();
  for (const made &one : all) {
    const std::vector<unsigned char> should = moved_data(one.what, team, one.bytes, one.root, round);
    expect_bytes("in a row", fetched(dest + one.at, should.size()), should, one.what, (long)one.bytes);
  }
  dushmem_team_sync(team.handle);
}

// ---- Reductions ----

#define HOST(T, name) CHECK(name(team.handle, (T *)reference, (const T *)from, n) == 0)
#define BITS(T, stem)                                     \
  case 0: return HOST(T, dushmem_##stem##_and_reduce);    \
  case 1: return HOST(T, dushmem_##stem##_or_reduce);     \
  case 2: return HOST(T, dushmem_##stem##_xor_reduce)
#define ORDER(T, stem)                                    \
  case 3: return HOST(T, dushmem_##stem##_max_reduce);    \
  case 4: return HOST(T, dushmem_##stem##_min_reduce)
#define SUMS(T, stem)                                     \
  case 5: return HOST(T, dushmem_##stem##_sum_reduce);    \
  default: return HOST(T, dushmem_##stem##_prod_reduce)
#define INTEGER(number, T, stem)                          \
  case number:                                            \
    switch (op) {                                         \
      BITS(T, stem);                                      \
      ORDER(T, stem);                                     \
      SUMS(T, stem);                                      \
    }
#define FLOATING(number, T, stem)                         \
  case number:                                            \
    switch (op) {                                         \
      ORDER(T, stem);                                     \
      SUMS(T, stem);                                      \
    }
#define COMPLEX(number, T, stem)                          \
  case number:                                            \
    switch (op) { SUMS(T, stem); }

// The same by the host, into `reference`.
static void host_reduce(const Crew &team, const char *from, size_t n, uint32_t type, uint32_t op) {
  switch (type) {
    INTEGER(0, uint8_t, uint8)
    INTEGER(1, uint16_t, uint16)
    INTEGER(2, uint32_t, uint32)
    INTEGER(3, uint64_t, uint64)
    INTEGER(4, int8_t, int8)
    INTEGER(5, int16_t, int16)
    INTEGER(6, int32_t, int32)
    INTEGER(7, int64_t, int64)
    FLOATING(8, float, float)
    FLOATING(9, double, double)
    FLOATING(10, dushmem_impl_half, half)
    FLOATING(11, dushmem_impl_bfloat16, bfloat16)
    COMPLEX(12, dushmem_impl_complexf, complexf)
    COMPLEX(13, dushmem_impl_complexd, complexd)
  }
}

static bool has(uint32_t type, uint32_t op) { return type < 8 || (type < 12 ? op >= 3 : op >= 5); }

static void launch_reduce(int blocks, int threads, const Crew &team, char *to, char *from, size_t n, uint32_t type, uint32_t op,
                          bool own_block) {
  const size_t bytes = n * size_of_type(type);
  unsigned shift;
  uint32_t part;
  calls++;
  if (size_of_type(type) <= 8 && goes_flagged_by_grid(team, blocks, bytes, part))
    dushmem_k_flagged_reduce<<<blocks, threads>>>(team.for_grid(), address(to), address(from), (uint32_t)bytes, part, type, op,
                                                  own_block);
  else if (goes_few(team, blocks, bytes, shift) && size_of_type(type) <= 8)
    dushmem_k_few_reduce<<<1, threads>>>(team.told.few, address(to), address(from), (uint32_t)bytes, shift, type, op, own_block);
  else if (far_only)
    dushmem_k_far_reduce<<<1, threads>>>(team.handle, address(to), address(from), n, type, op, own_block);
  else
    dushmem_k_reduce<<<blocks, threads>>>(team.handle, address(to), address(from), n, type, op, own_block);
}

static void check_reduce(int blocks, int threads, const Crew &team, size_t n, uint32_t type, uint32_t op, bool own_block,
                         bool in_place, size_t shift) {
  const size_t elem = size_of_type(type), all = own_block ? n * (size_t)team.n : n;
  const int round = (int)(n + type * 3 + op);
  char *const to = dest + shift, *const from = in_place ? to : source + (shift * 3) % 32 / elem * elem;
  put_elements(source, all, type, round);
  host_reduce(team, source, all, type, op);
  const std::vector<unsigned char> should = fetched(reference + (own_block ? n * (size_t)team.me * elem : 0), n * elem);
  put_elements(from, all, type, round);
  dushmem_team_sync(team.handle);
  launch_reduce(blocks, threads, team, to, from, n, type, op, own_block);
  settle();
  expect_bytes(own_block ? "reducescatter" : "reduce", fetched(to, n * elem), should, type * 10 + op, (long)n);
  dushmem_team_sync(team.handle);
}

static void check_team(const Crew &team, bool all_types) {
  const int grids[] = {1, 3};
  for (int blocks : grids) {
    if (far_only && blocks > 1) break;
    for (size_t n : {size_t(1), size_t(5), size_t(16), size_t(333), size_t(2500)})
      for (int how = 0; how < 4; how++) {
        const bool own_block = (how & 1) != 0, in_place = (how & 2) != 0;
        check_reduce(blocks, 64, team, n, 8, 5, own_block, in_place, n == 16 ? 12 : 0);
        check_reduce(blocks, 48, team, n, 0, 3, own_block, in_place, n == 333 ? 3 : 0);
        if (n < 2000) check_reduce(blocks, 64, team, n, 13, 6, own_block, in_place, n == 5 ? 8 : 0);
      }
    for (size_t bytes : {size_t(1), size_t(8), size_t(29), size_t(1024), size_t(2047), size_t(40000)})
      for (int what = fcollect_of; what <= broadcast_in_place; what++)
        check_move((moves)what, blocks, 64, team, bytes, bytes == 29 ? 5 : bytes == 2047 ? 8 : 0,
                   ((int)bytes + blocks) % team.n, what);
  }
  for (unsigned seed = 1; seed <= (in_short ? 1u : 3u); seed++) check_in_a_row(team, seed * 77u, in_short ? 8 : 60);
  if (!all_types) return;
  for (uint32_t type = 0; type < 14; type++)
    for (uint32_t op = 0; op < 7; op++)
      if (has(type, op)) {
        check_reduce(1, 64, team, 37, type, op, false, (op & 1) != 0, 0);
        check_reduce(2, 64, team, 2100, type, op, false, (type & 1) != 0, 0);
      }
}

// ---- In a stream: the source is made by a kernel before, and dest is looked at by one behind, on the same buffers again
// and again; in each round another member is late with both ----

__device__ inline void lag(int member, const Members &team, int round) {
  if (threadIdx.x == 0 && team.me == (round + member) % team.n)
    for (long long until = clock64() + 200000; clock64() < until;) __nanosleep(1000);
  __syncthreads();
}

__global__ void produce(int handle, char *at, size_t bytes, int round) {
  const Members team(handle);
  lag(0, team, round);
  for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) at[i] = (char)byte_of(d::my_pe(), i, round);
}

// dest of a move, or of the sum of bytes (moves of 5).
__global__ void consume(Space space, int handle, const char *at, size_t bytes, int what, int root, int round) {
  const Members team(handle);
  lag(1, team, round);
  const size_t all = what == fcollect_of || what == alltoall_of ? bytes * (size_t)team.n : bytes;
  for (size_t i = threadIdx.x; i < all; i += blockDim.x) {
    const int from = (int)(i / bytes);
    unsigned char should = 0;
    if (what == fcollect_of)
      should = byte_of(team.pe(from), i % bytes, round);
    else if (what == alltoall_of)
      should = byte_of(team.pe(from), (size_t)team.me * bytes + i % bytes, round);
    else if (what == broadcast_of)
      should = byte_of(team.pe(root), i, round);
    else
      for (int r = 0; r < team.n; r++) should = (unsigned char)(should + byte_of(team.pe(r), i, round));
    if ((unsigned char)at[i] != should) wrong(space, "in a stream", what, (long)i, round);
  }
}

static void check_in_a_stream(const Crew &team, const Space &space) {
  for (size_t bytes : {size_t(40), size_t(3000)})
    for (int blocks = 1; blocks <= 2; blocks++)
      for (int round = 0; round < (in_short ? 8 : 20); round++) {
        const int what = round % 4 == 3 ? 5 : round % 4 == 0 ? fcollect_of : round % 4 == 1 ? alltoall_of : broadcast_of;
        const int root = round % team.n;
        produce<<<1, 32>>>(team.handle, source, bytes * (size_t)team.n, round);
        if (what != 5)
          launch_move((moves)what, blocks, 64, team, dest, source, bytes, root);
        else
          launch_reduce(blocks, 64, team, dest, source, bytes, 0, 5, false);
        consume<<<1, 32>>>(space, team.handle, dest, bytes, what, root, round);
      }
  settle();
  dushmem_team_sync(team.handle);
}

// ---- Without flags ----

static void check_combine() {
  const size_t n = 1000;
  float *const at = (float *)source;
  std::vector<float> value(5 * n);
  for (size_t i = 0; i < 5 * n; i++) value[i] = (float)((int)(i * 7 % 23) - 11) / 3.0f;
  OK(cudaMemcpy(at, value.data(), 5 * n * sizeof(float), cudaMemcpyHostToDevice));
  // Sources may be dests, and more than a batch of them.
  dushmem_k_addresses table{};
  for (size_t i = 0; i < 5; i++) table.at[i] = address(at + i * n);
  table.at[5] = address(at + 4 * n);
  table.at[6] = address(dest + 4);
  uint64_t *in_memory;
  OK(cudaMalloc((void **)&in_memory, sizeof table));
  OK(cudaMemcpy(in_memory, &table, sizeof table, cudaMemcpyHostToDevice));
  std::vector<float> sum(n), other(n);
  for (size_t i = 0; i < n; i++) {
    sum[i] = value[i];
    for (size_t k = 1; k < 5; k++) sum[i] = sum[i] + value[k * n + i];
  }
  const auto as_bytes = [&](const std::vector<float> &all) {
    return std::vector<unsigned char>((const unsigned char *)all.data(), (const unsigned char *)(all.data() + n));
  };
  dushmem_k_combine<<<2, 64>>>(address(in_memory), 5, 2, n, 8, 5);
  settle();
  expect_bytes("combine", fetched((char *)(at + 4 * n), n * sizeof(float)), as_bytes(sum), 0, 0);
  expect_bytes("combine", fetched(dest + 4, n * sizeof(float)), as_bytes(sum), 1, 0);
  // One source is a copy.
  table.at[1] = address(dest + 40000);
  dushmem_k_combine_at<<<3, 32>>>(table, 1, 1, n * sizeof(float), 0, 5);
  settle();
  for (size_t i = 0; i < n; i++) other[i] = value[i];
  expect_bytes("combine_at", fetched(dest + 40000, n * sizeof(float)), as_bytes(other), 0, 0);
  OK(cudaFree(in_memory));

  for (size_t bytes : {size_t(1), size_t(8), size_t(61), size_t(4096), size_t(20000)})
    for (size_t shift : {0, 4, 11}) {
      put_bytes_of(source, bytes + 16, (int)bytes);
      dushmem_k_copy<<<2, 32>>>(address(dest + shift), address(source + 3), bytes);
      settle();
      std::vector<unsigned char> should(bytes);
      for (size_t i = 0; i < bytes; i++) should[i] = byte_of(dushmem_my_pe(), i + 3, (int)bytes);
      expect_bytes("copy", fetched(dest + shift, bytes), should, (long)bytes, (long)shift);
    }
  for (uint32_t elem : {1u, 2u, 4u, 8u, 12u, 16u, 24u}) {
    put_bytes_of(source, 50 * 40, (int)elem);
    OK(cudaMemset(dest, 0, 50 * 40));
    dushmem_k_copy_strided<<<2, 32>>>(address(dest), 36, address(source), 40, elem, 50);
    settle();
    std::vector<unsigned char> should(50 * 36);
    for (size_t i = 0; i < 50; i++)
      for (size_t k = 0; k < elem; k++) should[i * 36 + k] = byte_of(dushmem_my_pe(), i * 40 + k, (int)elem);
    expect_bytes("copy_strided", fetched(dest, should.size()), should, elem, 0);
  }
}

template <class U> static void check_amo(uint32_t wide) {
  U *const word = (U *)dest;
  uint64_t *const old = (uint64_t *)(dest + 64);
  const U before = (U)0xf0f0f0f012345678ull, value = (U)0x0ff00ff000ff00ffull;
  for (uint32_t op = 0; op < 8; op++)
    for (int hit = 0; hit < 2; hit++) {
      const U cond = hit ? before : (U)1;
      const U after[] = {before, value, value, hit ? value : before, (U)(before + value), (U)(before & value),
                         (U)(before | value), (U)(before ^ value)};
      OK(cudaMemcpy(word, &before, sizeof before, cudaMemcpyHostToDevice));
      dushmem_k_amo<<<1, 1>>>(address(word), value, cond, op, wide, hit ? address(old) : 0);
      settle();
      U is = 0;
      uint64_t was = 0;
      OK(cudaMemcpy(&is, word, sizeof is, cudaMemcpyDeviceToHost));
      OK(cudaMemcpy(&was, old, sizeof was, cudaMemcpyDeviceToHost));
      // What `set` fetches is nobody's business.
      if (is != after[op] || (hit && op != 1 && was != (uint64_t)before)) {
        failures++;
        std::printf("amo %u: %llx, was %llx\n", op, (unsigned long long)is, (unsigned long long)was);
      }
    }
}

// The neighbour sets words while a kernel waits for them.
static void check_waits() {
  const int me = dushmem_my_pe(), n = dushmem_n_pes(), next = (me + 1) % n;
  int64_t *const wide = (int64_t *)reference;
  int16_t *const narrow = (int16_t *)(reference + 256);
  int *const status = (int *)(reference + 512);
  int16_t *const values = (int16_t *)(reference + 768);
  OK(cudaMemset(reference, 0, 1024));
  const int16_t at_least[4] = {-5, 3, 4, 1000};
  const int left_out[4] = {0, 0, 0, 1};
  OK(cudaMemcpy(values, at_least, sizeof at_least, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(status, left_out, sizeof left_out, cudaMemcpyHostToDevice));
  const uint32_t said[3] = {1, 1, 2};
  OK(cudaMemcpy(reference + 904, said, sizeof said, cudaMemcpyHostToDevice));
  dushmem_barrier_all();
  dushmem_k_wait<<<1, 32>>>(address(wide), 8, 1, DUSHMEM_CMP_LT, (uint64_t)-6, address(reference + 900), 0);
  dushmem_k_wait_all<<<1, 32>>>(address(narrow), 2, 1, 4, address(status), DUSHMEM_CMP_GE, address(values), 1, 0, 0);
  dushmem_k_wait_all<<<1, 32>>>(address(narrow), 2, 0, 3, 0, DUSHMEM_CMP_NE, 9, 0, 0, 0);
  // What the CPU has seen need not be so any more; what it has not seen is waited for.
  dushmem_k_wait<<<1, 32>>>(address(wide), 8, 0, DUSHMEM_CMP_EQ, 1234, 0, address(reference + 904));
  dushmem_k_wait_all<<<1, 32>>>(address(narrow), 2, 0, 3, 0, DUSHMEM_CMP_EQ, 1234, 0, 0, address(reference + 908));
  dushmem_k_wait<<<1, 32>>>(address(wide), 8, 1, DUSHMEM_CMP_EQ, (uint64_t)-7, 0, address(reference + 912));
  dushmem_int64_p(wide, -7, next);
  for (int i = 1; i < 3; i++) dushmem_int16_p(narrow + i, (int16_t)(i + 2), next);
  dushmem_quiet();
  settle();
  uint32_t marks[4] = {};
  OK(cudaMemcpy(marks, reference + 900, sizeof marks, cudaMemcpyDeviceToHost));
  if (marks[0] != 2) failures++, std::printf("PE %d: the mark of a wait that is over is %u\n", me, marks[0]);
  if (marks[1] != 0 || marks[2] != 0 || marks[3] != 0)
    failures++, std::printf("PE %d: what the CPU has said is %u, %u, %u\n", me, marks[1], marks[2], marks[3]);
  dushmem_barrier_all();
}

__global__ void raise_word(int32_t *word, int pe) { d::p(word, 1, pe); }
__global__ void look_at_word(const int32_t *word, int *failures) {
  if (*(const volatile int32_t *)word != 1) atomicAdd(failures, 1);
}

static void check_sync(const Crew &team, Space &space) {
  int32_t *const word = (int32_t *)dest;
  for (int round = 0; round < 10; round++) {
    OK(cudaMemset(dest, 0, 64));
    OK(cudaDeviceSynchronize()); // the memset may be under way still
    dushmem_team_sync(team.handle);
    raise_word<<<1, 1>>>(word, team.pe((team.me + 1) % team.n));
    dushmem_k_quiet<<<1, 1>>>();
    // Members may meet by either kernel.
    if (!far_only && team.told.direct && (round + team.me) % 3 != 0)
      dushmem_k_few_sync<<<1, 32>>>(team.told.few, round % 2);
    else
      dushmem_k_sync<<<1, 64>>>(team.handle, round % 2);
    look_at_word<<<1, 1>>>(word, space.failures);
    settle();
    dushmem_team_sync(team.handle);
  }
}

int main(int argc, char **argv) {
  look_at_arguments(argc, argv);
  for (int i = 1; i < argc; i++) far_only = far_only || std::strcmp(argv[i], "far") == 0;
  dushmem_init();
  Space space = make_space(room);
  dest = space.dest;
  source = space.source;
  reference = (char *)dushmem_malloc(room);
  // As the library has them: zeros at first.
  areas = (char *)dushmem_malloc(area_count * area_bytes);
  OK(cudaMemset(areas, 0, area_count * area_bytes));
  settle();
  dushmem_barrier_all();
  for (dushmem_team_t team : make_teams()) {
    check_team(Crew(team), team == DUSHMEM_TEAM_WORLD);
    check_in_a_stream(Crew(team), space);
    check_sync(Crew(team), space);
  }
  dushmem_barrier_all();
  if (!far_only) {
    check_combine();
    check_amo<uint32_t>(0);
    check_amo<uint64_t>(1);
    dushmem_barrier_all();
  }
  check_waits();
  if (!far_only && Crew(DUSHMEM_TEAM_WORLD).told.direct && calls_of_few * 10 < calls)
    failures++, std::printf("PE %d: %u of %u calls were those of few members\n", dushmem_my_pe(), calls_of_few, calls);
  if (!far_only && dushmem_n_pes() > 1 && Crew(DUSHMEM_TEAM_WORLD).told.direct && calls_of_flagged * 10 < calls)
    failures++, std::printf("PE %d: %u calls were made by grids with words, %u by others\n", dushmem_my_pe(), calls_of_flagged, calls);
  dushmem_free(areas);
  dushmem_free(reference);
  return finish(space);
}
