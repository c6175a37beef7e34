// Teams in kernels: who am I in them, who are the others, and calls of their members only.
#include "verdict.h"
#include <vector>

struct Facts {
  int32_t team;
  int my_pe, n_pes; // what the host says, -1 if this PE is no member
  int to_world;     // world number of the next member
};

__global__ void compare(const Facts *facts, int count, unsigned long long *bad) {
  const Facts f = facts[blockIdx.x % (unsigned)count];
  expect(bad, "team_my_pe", dushmem_team_my_pe(f.team), f.my_pe, f.team);
  expect(bad, "team_n_pes", dushmem_team_n_pes(f.team), f.n_pes, f.team);
  if (f.my_pe < 0) return;
  const int next = (f.my_pe + 1) % f.n_pes;
  expect(bad, "translate to the world", dushmem_team_translate_pe(f.team, next, DUSHMEM_TEAM_WORLD), f.to_world, f.team);
  expect(bad, "and back", dushmem_team_translate_pe(DUSHMEM_TEAM_WORLD, f.to_world, f.team), next, f.team);
  expect(bad, "a number that there is not", dushmem_team_translate_pe(f.team, f.n_pes, DUSHMEM_TEAM_WORLD), -1, f.team);
  expect(bad, "a negative number", dushmem_team_translate_pe(f.team, -1, DUSHMEM_TEAM_WORLD), -1, f.team);
}

// Members pass a word round their team, again and again, without the others.
__global__ void ring(int32_t team, uint64_t *word, int rounds, unsigned long long *bad) {
  const int me = dushmem_team_my_pe(team), n = dushmem_team_n_pes(team);
  const int next = dushmem_team_translate_pe(team, (me + 1) % n, DUSHMEM_TEAM_WORLD);
  for (uint64_t r = 1; r <= (uint64_t)rounds; r++) {
    if (me == 0) dushmem_uint64_atomic_set(word, r * 1000 + 1, next);
    dushmem_uint64_wait_until(word, DUSHMEM_CMP_GE, r * 1000);
    const uint64_t got = dushmem_uint64_atomic_fetch(word, dushmem_my_pe());
    expect(bad, "the word that goes round", (long long)got, (long long)(r * 1000 + (uint64_t)(me == 0 ? n : me)), team);
    if (me != 0) dushmem_uint64_atomic_set(word, got + 1, next);
    dushmem_fence();
  }
}

// A barrier of the team, by one thread: what was put before it is there after it.
__global__ void meet(int32_t team, int *slots, int rounds, unsigned long long *bad) {
  const int me = dushmem_team_my_pe(team), n = dushmem_team_n_pes(team);
  for (int r = 1; r <= rounds; r++) {
    for (int i = 0; i < n; i++) dushmem_int_p(&slots[me], 100 * r + me, dushmem_team_translate_pe(team, i, DUSHMEM_TEAM_WORLD));
    expect(bad, "barrier", dushmem_barrier(team), 0, r);
    for (int i = 0; i < n; i++) expect(bad, "put before a barrier", ((volatile int *)slots)[i], 100 * r + i, r);
    expect(bad, "team_sync", dushmem_team_sync(team), 0, r);
  }
}

static Facts facts_of(dushmem_team_t team) {
  Facts f = {(int32_t)team, -1, -1, -1};
  if (team == DUSHMEM_TEAM_INVALID) return f;
  f.my_pe = dushmem_team_my_pe(team);
  f.n_pes = dushmem_team_n_pes(team);
  if (f.my_pe >= 0) f.to_world = dushmem_team_translate_pe(team, (f.my_pe + 1) % f.n_pes, DUSHMEM_TEAM_WORLD);
  return f;
}

int main() {
  begin();
  uint64_t *word = zeroed<uint64_t>(3);
  int *slots = zeroed<int>(3 * (size_t)n); // of a team each: a PE may be in one while others are in the next
  // Twice: the second time the handles may be the same, for other teams.
  for (int turn = 0; turn < 2; turn++) {
    dushmem_team_t every_second, row, column;
    const int start = turn ? n - 1 : 0, count = (n + 1) / 2;
    // Counting down the second time.
    dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, start, turn ? -2 : 2, count, nullptr, 0, &every_second);
    dushmem_team_split_2d(DUSHMEM_TEAM_WORLD, 2, nullptr, 0, &row, nullptr, 0, &column);
    std::vector<Facts> facts;
    for (dushmem_team_t team : {DUSHMEM_TEAM_WORLD, DUSHMEM_TEAM_SHARED, DUSHMEMX_TEAM_NODE, DUSHMEM_TEAM_INVALID, every_second, row, column})
      facts.push_back(facts_of(team));
    Facts *there = nullptr;
    CUDA(cudaMalloc((void **)&there, facts.size() * sizeof(Facts)));
    CUDA(cudaMemcpy(there, facts.data(), facts.size() * sizeof(Facts), cudaMemcpyHostToDevice));
    compare<<<(unsigned)facts.size() * 2, 3, 0, stream>>>(there, (int)facts.size(), bad);
    CUDA(cudaGetLastError());
    finish_kernels();
    CUDA(cudaFree(there));
    CUDA(cudaMemset(word, 0, 3 * sizeof *word));
    CUDA(cudaDeviceSynchronize()); // the memset may be under way still
    dushmem_barrier_all();
    // Members only; the others wait at the next barrier of all.
    if (every_second != DUSHMEM_TEAM_INVALID) {
      ring<<<1, 1, 0, stream>>>((int32_t)every_second, &word[0], 5, bad);
      meet<<<1, 1, 0, stream>>>((int32_t)every_second, slots, 5, bad);
    }
    CUDA(cudaGetLastError());
    finish_kernels();
    ring<<<1, 1, 0, stream>>>((int32_t)row, &word[1], 5, bad);
    ring<<<1, 1, 0, stream>>>((int32_t)column, &word[2], 5, bad);
    meet<<<1, 1, 0, stream>>>((int32_t)row, slots + n, 5, bad);
    meet<<<1, 1, 0, stream>>>((int32_t)column, slots + 2 * n, 5, bad);
    CUDA(cudaGetLastError());
    finish_kernels();
    dushmem_team_destroy(row);
    dushmem_team_destroy(column);
    dushmem_team_destroy(every_second);
    dushmem_barrier_all();
  }
  return verdict();
}
