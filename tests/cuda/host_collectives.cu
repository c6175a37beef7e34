// Host collectives on symmetric memory that may lie on the device: types, operations, lengths, teams, in place, and one
// after the other with other roots.
#include "patterns.h"

struct Members {
  dushmem_team_t team;
  int rank, size;
  explicit Members(dushmem_team_t t) : team(t), rank(dushmem_team_my_pe(t)), size(dushmem_team_n_pes(t)) {}
  int pe(int r) const { return dushmem_team_translate_pe(team, r, DUSHMEM_TEAM_WORLD); }
};

template <class T> static std::vector<T> reduced(const Members &team, size_t count, int round, const char *op) {
  std::vector<T> all = numbers<T>(team.pe(0), count, round);
  for (int r = 1; r < team.size; r++) {
    const std::vector<T> next = numbers<T>(team.pe(r), count, round);
    for (size_t i = 0; i < count; i++) {
      T &a = all[i];
      const T b = next[i];
      switch (op[0]) {
      case 's': a = (T)(a + b); break;
      case 'p': a = (T)(a * b); break;
      case 'm': a = op[1] == 'a' ? (a < b ? b : a) : (b < a ? b : a); break;
      }
    }
  }
  return all;
}

template <class T> using Reduce = int (*)(dushmem_team_t, T *, const T *, size_t);

template <class T>
static void reduce(const char *type, const char *op, Reduce<T> call, const Members &team, size_t count, int round) {
  const std::string what = std::string(op) + "_reduce of " + std::to_string(count) + " " + type;
  const int offset = round % 3;
  T *dest = zeroed<T>(count + 4), *source = zeroed<T>(count + 4);
  if (team.team != DUSHMEM_TEAM_INVALID) {
    fill(source + offset, as_bytes(numbers<T>(me, count, round)));
    fill(dest + offset, as_bytes(std::vector<T>(count + 1, (T)99)));
    expect_host(what.c_str(), call(team.team, dest + offset, source + offset, count), 0, -1);
    compare_values(what, dest + offset, reduced<T>(team, count, round, op));
    compare_values("behind " + what, dest + offset + count, std::vector<T>(1, (T)99));
    // In place.
    expect_host(what.c_str(), call(team.team, source + offset, source + offset, count), 0, -2);
    compare_values(what + " in place", source + offset, reduced<T>(team, count, round, op));
  }
  dushmem_barrier_all();
  dushmem_free(source);
  dushmem_free(dest);
}
#define CALL(NAME, TYPE, OP) #NAME, #OP, [](dushmem_team_t t, TYPE *d, const TYPE *s, size_t k) { return dushmem_##NAME##_##OP##_reduce(t, d, s, k); }

static void moves(const Members &team, size_t count, int round) {
  const std::string many = std::to_string(count) + " bytes";
  const size_t all = count * (size_t)n + 64;
  unsigned char *dest = zeroed<unsigned char>(all), *source = zeroed<unsigned char>(all);
  if (team.team != DUSHMEM_TEAM_INVALID) {
    const size_t total = count * (size_t)team.size;
    const unsigned salt = (unsigned)round;
    fill(source + 3, pattern(me, total, salt));
    for (int root : {0, team.size - 1}) {
      fill(dest + 3, Bytes(count, 0));
      expect_host("broadcast", dushmem_broadcastmem(team.team, dest + 3, source + 3, count, root), 0);
      compare("broadcast of " + many, dest + 3, pattern(team.pe(root), count, salt));
    }
    // Nobody waits for the others before the next one.
    Bytes wanted;
    for (int r = 0; r < team.size; r++) {
      const Bytes part = pattern(team.pe(r), count, salt);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    expect_host("fcollect", dushmem_fcollectmem(team.team, dest + 1, source + 3, count), 0);
    compare("fcollect of " + many, dest + 1, wanted);
    wanted.clear();
    for (int r = 0; r < team.size; r++) {
      const Bytes part = pattern(team.pe(r), count, salt, count * (size_t)team.rank);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    expect_host("alltoall", dushmem_alltoallmem(team.team, dest + 5, source + 3, count), 0);
    compare("alltoall of " + many, dest + 5, wanted);
  }
  dushmem_barrier_all();
  dushmem_free(source);
  dushmem_free(dest);
}

// What others put before a barrier is there behind it.
static void barriers(const Members &team) {
  int *words = zeroed<int>((size_t)n);
  if (team.team != DUSHMEM_TEAM_INVALID)
    for (int round = 1; round <= 30; round++) {
      for (int r = 0; r < team.size; r++) dushmem_int_p(words + me, round, team.pe(r));
      if (round % 2) {
        dushmem_quiet();
        dushmem_team_sync(team.team);
      } else {
        dushmem_barrier(team.team);
      }
      const std::vector<int> seen = look(words, (size_t)n);
      for (int r = 0; r < team.size; r++) expect_host("a word before a barrier", seen[(size_t)team.pe(r)], round, r);
      dushmem_team_sync(team.team);
    }
  dushmem_barrier_all();
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
    barriers(members);
    for (size_t count : {0, 1, 7, 64, 1000, 4097, 100003}) {
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
      reduce<double>(CALL(double, double, min), members, count, round++);
      reduce<long double>(CALL(longdouble, long double, sum), members, count, round++);
    }
  }
  reduce<float>(CALL(float, float, sum), Members(DUSHMEM_TEAM_WORLD), 3 << 20, round++);
  moves(Members(DUSHMEM_TEAM_WORLD), (6 << 20) + 1, round++);
  if (half != DUSHMEM_TEAM_INVALID) dushmem_team_destroy(half);
  dushmem_team_destroy(reversed);
  return verdict();
}
