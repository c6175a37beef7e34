// Collectives on streams: types, operations, lengths on both sides of every switch, teams, in place, other roots one
// after the other, several in a row without the host, and eager calls on two streams.
#include "patterns.h"

struct Members {
  dushmem_team_t team;
  int rank, size;
  explicit Members(dushmem_team_t t) : team(t), rank(dushmem_team_my_pe(t)), size(dushmem_team_n_pes(t)) {}
  int pe(int r) const { return dushmem_team_translate_pe(team, r, DUSHMEM_TEAM_WORLD); }
};

template <class T> static T combine(T a, T b, const char *op) {
  if (std::strcmp(op, "sum") == 0) return (T)(a + b);
  if (std::strcmp(op, "prod") == 0) return (T)(a * b);
  return (op[1] == 'a') == (a < b) ? b : a;
}
template <class T> static std::vector<T> reduced(const Members &team, size_t count, int round, const char *op) {
  std::vector<T> all = numbers<T>(team.pe(0), count, round);
  for (int r = 1; r < team.size; r++) {
    const std::vector<T> next = numbers<T>(team.pe(r), count, round);
    for (size_t i = 0; i < count; i++) all[i] = combine(all[i], next[i], op);
  }
  return all;
}

template <class T> using Reduce = int (*)(dushmem_team_t, T *, const T *, size_t, void *);

template <class T>
static void reduce(const char *type, const char *op, Reduce<T> call, Reduce<T> scatter, const Members &team, size_t count, int round) {
  const std::string what = std::string(op) + "_reduce of " + std::to_string(count) + " " + type;
  const size_t offset = (size_t)round % 3, all = count * (size_t)n + 4;
  T *dest = zeroed<T>(count + 4), *source = zeroed<T>(all), *part = zeroed<T>(count + 4);
  if (team.team != DUSHMEM_TEAM_INVALID) {
    const size_t total = count * (size_t)team.size;
    fill(source + offset, as_bytes(numbers<T>(me, total, round)));
    fill(dest + offset, as_bytes(std::vector<T>(count + 1, (T)99)));
    // All in the stream; in place at the end.
    expect_host(what.c_str(), call(team.team, dest + offset, source + offset, count, stream), 0, -1);
    expect_host(what.c_str(), scatter(team.team, part + offset, source + offset, count, stream), 0, -2);
    expect_host(what.c_str(), call(team.team, source + offset, source + offset, count, stream), 0, -3);
    CUDA(cudaStreamSynchronize(stream));
    const std::vector<T> wanted = reduced<T>(team, total, round, op);
    const std::vector<T> first(wanted.begin(), wanted.begin() + (long)count);
    compare_values(what, dest + offset, first);
    compare_values("behind " + what, dest + offset + count, std::vector<T>(1, (T)99));
    compare_values(what + " in place", source + offset, first);
    const long from = (long)count * team.rank;
    compare_values(what + ", scattered", part + offset, std::vector<T>(wanted.begin() + from, wanted.begin() + from + (long)count));
  }
  dushmem_barrier_all();
  dushmem_free(part);
  dushmem_free(source);
  dushmem_free(dest);
}
#define CALL(NAME, TYPE, OP)                                                                                   \
  #NAME, #OP, [](dushmem_team_t t, TYPE *d, const TYPE *s, size_t k, void *on) {                               \
    return dushmemx_##NAME##_##OP##_reduce_on_stream(t, d, s, k, on);                                          \
  },                                                                                                           \
      [](dushmem_team_t t, TYPE *d, const TYPE *s, size_t k, void *on) {                                       \
        return dushmemx_##NAME##_##OP##_reducescatter_on_stream(t, d, s, k, on);                               \
      }

static void moves(const Members &team, size_t count, int round) {
  const std::string many = std::to_string(count) + " bytes";
  const size_t all = count * (size_t)n + 64;
  unsigned char *source = zeroed<unsigned char>(all), *gathered = zeroed<unsigned char>(all), *exchanged = zeroed<unsigned char>(all);
  unsigned char *cast = zeroed<unsigned char>(2 * count + 64);
  const size_t odd = (size_t)round % 5;
  if (team.team != DUSHMEM_TEAM_INVALID) {
    const size_t total = count * (size_t)team.size;
    const unsigned salt = (unsigned)round;
    fill(source + odd, pattern(me, total, salt));
    for (int root = 0; root < 2; root++) {
      const int from = root ? team.size - 1 : 0;
      expect_host("broadcast", dushmemx_broadcastmem_on_stream(team.team, cast + 3 + (size_t)root * (count + 1), source + odd, count, from, stream), 0);
    }
    expect_host("fcollect", dushmemx_fcollectmem_on_stream(team.team, gathered + 1, source + odd, count, stream), 0);
    expect_host("alltoall", dushmemx_alltoallmem_on_stream(team.team, exchanged + odd, source + odd, count, stream), 0);
    CUDA(cudaStreamSynchronize(stream));
    for (int root = 0; root < 2; root++)
      compare("broadcast of " + many, cast + 3 + (size_t)root * (count + 1), pattern(team.pe(root ? team.size - 1 : 0), count, salt));
    Bytes wanted, parts;
    for (int r = 0; r < team.size; r++) {
      const Bytes part = pattern(team.pe(r), count, salt), mine = pattern(team.pe(r), count, salt, count * (size_t)team.rank);
      wanted.insert(wanted.end(), part.begin(), part.end());
      parts.insert(parts.end(), mine.begin(), mine.end());
    }
    compare("fcollect of " + many, gathered + 1, wanted);
    compare("alltoall of " + many, exchanged + odd, parts);
  }
  dushmem_barrier_all();
  dushmem_free(cast);
  dushmem_free(exchanged);
  dushmem_free(gathered);
  dushmem_free(source);
}

// Many small ones in a row, whose operands change between them by calls of the stream.
static void in_a_row() {
  enum { ROUNDS = 200 };
  int *word = zeroed<int>(2), *all;
  CUDA(cudaMallocHost((void **)&all, ROUNDS * sizeof(int)));
  for (int round = 0; round < ROUNDS; round++) {
    dushmemx_int_p_on_stream(word, me + round, me, stream);
    expect_host("sum", dushmemx_int_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, word + 1, word, 1, stream), 0);
    CUDA(cudaMemcpyAsync(all + round, word + 1, sizeof(int), cudaMemcpyDefault, stream));
    if (round % 50 == 49) CUDA(cudaStreamSynchronize(stream));
  }
  CUDA(cudaStreamSynchronize(stream));
  for (int round = 0; round < ROUNDS; round++) expect_host("a sum", all[round], n * (n - 1) / 2 + n * round, round);
  CUDA(cudaFreeHost(all));
  dushmem_barrier_all();
  dushmem_free(word);
}

// Hosts' collectives and those on streams use the same team in turn.
static void in_turn() {
  long *words = zeroed<long>(4);
  for (long round = 0; round < 20; round++) {
    put_here(words, round + me);
    expect_host("host", dushmem_long_max_reduce(DUSHMEM_TEAM_WORLD, words + 1, words, 1), 0);
    expect_host("stream", dushmemx_long_sum_reduce_on_stream(DUSHMEM_TEAM_WORLD, words + 2, words + 1, 1, stream), 0);
    CUDA(cudaStreamSynchronize(stream));
    expect_host("the sum of the maxima", look(words + 2), n * (round + n - 1), round);
    dushmem_barrier_all();
  }
  dushmem_free(words);
}

int main() {
  begin();
  dushmem_team_t reversed, half;
  expect_host("split", dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &reversed), 0);
  expect_host("split", dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, nullptr, 0, &half), 0);
  int round = 0;
  for (dushmem_team_t team : {DUSHMEM_TEAM_WORLD, reversed, half}) {
    const Members members(team);
    for (size_t count : {1, 7, 64, 1000, 5001, 100003}) {
      reduce<int>(CALL(int, int, sum), members, count, round++);
      reduce<float>(CALL(float, float, sum), members, count, round++);
      moves(members, count, round++);
    }
    for (size_t count : {1, 33, 5000}) {
      reduce<signed char>(CALL(schar, signed char, max), members, count, round++);
      reduce<short>(CALL(short, short, min), members, count, round++);
      reduce<long>(CALL(long, long, prod), members, count, round++);
      reduce<uint64_t>(CALL(uint64, uint64_t, max), members, count, round++);
      reduce<double>(CALL(double, double, prod), members, count, round++);
    }
  }
  reduce<float>(CALL(float, float, sum), Members(DUSHMEM_TEAM_WORLD), 2 << 20, round++);
  moves(Members(DUSHMEM_TEAM_WORLD), (5 << 20) + 1, round++);
  in_a_row();
  in_turn();
  if (half != DUSHMEM_TEAM_INVALID) dushmem_team_destroy(half);
  dushmem_team_destroy(reversed);
  return verdict();
}
