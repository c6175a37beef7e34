// Teams as kernels see them: several at once, made and destroyed while kernels run and between kernels, used by host
// and kernels in turn, and handles that are none.
#include "coll_common.h"

// A few calls of both protocols; `slice` keeps the buffers of those that run at once apart.
template <class S> __device__ void use(const Space &space, const Members &team, int slice, int rounds) {
  const size_t n = 3000;
  int *const to = space.to<int>() + (size_t)slice * 16 * n, *const from = space.from<int>() + (size_t)slice * n;
  for (int round = 0; round < rounds; round++) {
    for (size_t count : {size_t(2), n}) {
      fill<S>(from, count, round);
      d::reduce<S, d::op::xor_>(team.team, to, (const int *)from, count);
      for (size_t i = Together<S>::rank(); i < count; i += Together<S>::size()) {
        int all = 0;
        for (int r = 0; r < team.n; r++) all ^= value_of<int>::get(team.pe(r), i, round);
        if (to[i] != all) wrong(space, "reduce", team.team, (long)i, round);
      }
      const int root = round % team.n;
      d::broadcast<S>(team.team, to, (const int *)from, count, root);
      expect<S>(space, "broadcast", to, team.pe(root), count, round);
      d::collect<S>(team.team, to, (const int *)from, count / 3);
      for (int r = 0; r < team.n; r++)
        expect<S>(space, "collect", to + (size_t)r * (count / 3), team.pe(r), count / 3, round);
    }
    d::barrier<S>(team.team);
  }
}

template <class S> __global__ void use_one(Space space, int handle, int slice, int rounds) {
  use<S>(space, Members(handle), slice, rounds);
}

struct Handles {
  int at[4];
};

// Each block its own team.
template <class S> __global__ void use_each(Space space, Handles handles) {
  use<S>(space, Members(handles.at[blockIdx.x]), (int)blockIdx.x, 10);
}

// Each warp its own team.
__global__ void use_by_warps(Space space, Handles handles) {
  const unsigned warp = threadIdx.x / (unsigned)warpSize;
  use<warp_scope>(space, Members(handles.at[warp]), (int)warp, 5);
}

// Each warp group its own team: barriers, with what was put before them.
__global__ void meet_by_warp_groups(Space space, Handles handles) {
  typedef d::scope::warpgroup S;
  const unsigned group = threadIdx.x / (4 * (unsigned)warpSize);
  const Members team(handles.at[group]);
  int *const words = space.to<int>() + 1000 * group;
  d::sync<S>(team.team);
  for (int round = 1; round <= 10; round++) {
    if (Together<S>::rank() == Together<S>::size() - 1)
      for (int r = 0; r < team.n; r++) d::p(words + team.me, round, team.pe(r));
    d::barrier<S>(team.team);
    for (int r = 0; r < team.n; r++)
      if (*(volatile int *)(words + r) != round) wrong(space, "after barrier", (long)group, r, round);
    d::sync<S>(team.team);
  }
}

// Waits until the host says which team there is now.
__global__ void use_later(Space space, uint64_t *handle) {
  d::wait_until(handle, DUSHMEM_CMP_NE, uint64_t(0));
  use<thread_scope>(space, Members((int)*handle), 0, 3);
}

__global__ void refused(Space space, int handle, int *code) {
  int *const to = space.to<int>();
  const int *const from = space.from<int>();
  const int codes[] = {
      d::barrier<block_scope>(handle),
      d::sync<block_scope>(handle),
      d::broadcast<block_scope>(handle, to, from, 1, 0),
      d::fcollect<block_scope>(handle, to, from, 1),
      d::collect<block_scope>(handle, to, from, 1),
      d::alltoall<block_scope>(handle, to, from, 1),
      d::reduce<block_scope, d::op::sum>(handle, to, from, 1),
      d::reducescatter<block_scope, d::op::sum>(handle, to, from, 1),
      d::inscan<block_scope>(handle, to, from, 1),
      d::exscan<block_scope>(handle, to, from, 1),
      d::broadcast<block_scope>(DUSHMEM_TEAM_WORLD, to, from, 1, d::n_pes()),
      d::broadcast<block_scope>(DUSHMEM_TEAM_WORLD, to, from, 1, -1),
  };
  int all = 1;
  for (int one : codes) all = all && one == 1;
  if (threadIdx.x == 0) *code = all;
}

static void is_refused(const Space &space, int handle) {
  int *code, result = 0;
  OK(cudaMalloc((void **)&code, sizeof(int)));
  refused<<<1, 33>>>(space, handle, code);
  OK(cudaMemcpy(&result, code, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(result == 1);
  OK(cudaFree(code));
}

int main() {
  dushmem_init();
  const int n = dushmem_n_pes(), me = dushmem_my_pe();
  const Space space = make_space(size_t(4) * 16 * 3000 * sizeof(int));
  dushmem_team_t back, mine, none, gone;
  CHECK(dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, n - 1, -1, n, nullptr, 0, &back) == 0);
  CHECK(dushmem_team_split_2d(DUSHMEM_TEAM_WORLD, 3, nullptr, 0, &mine, nullptr, 0, &gone) == 0);
  dushmem_team_destroy(gone);
  CHECK(dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 1, 1, nullptr, 0, &none) == 0);

  const Handles handles{{DUSHMEM_TEAM_WORLD, back, mine, DUSHMEMX_TEAM_NODE}};
  use_each<thread_scope><<<4, 1>>>(space, handles);
  use_each<block_scope><<<4, 40>>>(space, handles);
  use_by_warps<<<1, 128>>>(space, handles);
  meet_by_warp_groups<<<1, 256>>>(space, handles);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());

  // From several streams, more kernels than CPUs.
  cudaStream_t streams[4];
  for (int s = 0; s < 4; s++) {
    OK(cudaStreamCreate(streams + s));
    use_one<block_scope><<<1, 33, 0, streams[s]>>>(space, handles.at[s], s, 10);
  }
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());

  // Teams of other members in the same slot, one after the other.
  for (int round = 0; round < 12; round++) {
    const int start = round % n, size = 1 + (round * 5) % (n - start);
    dushmem_team_t team;
    CHECK(dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, start, 1, size, nullptr, 0, &team) == 0);
    if (team == DUSHMEM_TEAM_INVALID) continue;
    use_one<thread_scope><<<1, 1>>>(space, team, 0, 1 + round % 3);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    dushmem_team_destroy(team);
  }

  // Host and kernels in turn.
  int *ints = (int *)dushmem_malloc(2 * sizeof(int));
  for (int round = 0; round < 10; round++) {
    use_one<thread_scope><<<1, 1, 0, streams[0]>>>(space, back, 0, 1);
    OK(cudaGetLastError());
    OK(cudaStreamSynchronize(streams[0]));
    put_here(ints, me + round);
    CHECK(dushmem_int_sum_reduce(back, ints + 1, ints, 1) == 0);
    CHECK(look(ints + 1) == n * (n - 1) / 2 + n * round);
  }

  // A team that is made while the kernel runs that will use it.
  uint64_t *handle = (uint64_t *)dushmem_calloc(1, sizeof *handle);
  dushmem_barrier_all();
  use_later<<<1, 1, 0, streams[1]>>>(space, handle);
  dushmem_team_t late;
  CHECK(dushmem_team_split_strided(DUSHMEM_TEAM_WORLD, 0, 1, n, nullptr, 0, &late) == 0);
  dushmem_uint64_p(handle, (uint64_t)late, me);
  OK(cudaGetLastError());
  OK(cudaStreamSynchronize(streams[1]));
  dushmem_barrier_all();

  if (me != 0) CHECK(none == DUSHMEM_TEAM_INVALID);
  is_refused(space, DUSHMEM_TEAM_INVALID);
  is_refused(space, gone);
  is_refused(space, 4095);
  is_refused(space, 0x7ffff000);
  dushmem_barrier_all();
  dushmem_free(handle);
  dushmem_free(ints);
  return finish(space);
}
