// Collectives in kernels that differ between the members of a team: each ends the job with a line that names both calls, both
// PEs and what differs.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <dushmem.h>
#include <nvshmem.h>
#include <nvshmemx.h>

struct Objects {
  int *to, *from; // symmetric, 256
  nvshmem_team_t team;
};
#define WORLD NVSHMEM_TEAM_WORLD
#define LAST (nvshmem_my_pe() == nvshmem_n_pes() - 1)

__global__ void barrier_and_reduce(Objects o) {
  nvshmem_barrier_all();
  if (LAST)
    nvshmem_int_sum_reduce(WORLD, o.to, o.from, 5);
  else
    nvshmem_barrier_all();
}

__global__ void lengths(Objects o) { nvshmemx_int_sum_reduce_block(WORLD, o.to, o.from, LAST ? 6 : 5); }

__global__ void none_and_some(Objects o) { nvshmem_int_fcollect(WORLD, o.to, o.from, LAST ? 3 : 0); }

__global__ void roots(Objects o) { nvshmem_int_broadcast(WORLD, o.to, o.from, 40, LAST ? 1 : 0); }

__global__ void no_root(Objects o) { nvshmem_int_broadcast(WORLD, o.to, o.from, 40, LAST ? 17 : 0); }

__global__ void operations(Objects o) {
  if (LAST)
    nvshmem_int_max_reduce(WORLD, o.to, o.from, 5);
  else
    nvshmem_int_min_reduce(WORLD, o.to, o.from, 5);
}

__global__ void types(Objects o) {
  if (LAST)
    nvshmem_float_sum_reduce(WORLD, reinterpret_cast<float *>(o.to), reinterpret_cast<float *>(o.from), 5);
  else
    nvshmem_int_sum_reduce(WORLD, o.to, o.from, 5);
}

__global__ void templates(Objects o) {
  using namespace dushmem::device;
  if (LAST)
    inscan<scope::thread>(WORLD, o.to, o.from, 5);
  else
    exscan<scope::thread>(WORLD, o.to, o.from, 5);
}

__global__ void templates_that_reduce(Objects o) {
  using namespace dushmem::device;
  if (LAST)
    reduce<scope::thread, op::max>(WORLD, reinterpret_cast<float *>(o.to), reinterpret_cast<float *>(o.from), 5);
  else
    reduce<scope::thread, op::sum>(WORLD, o.to, o.from, 5);
}

__global__ void moves(Objects o) {
  if (!LAST)
    nvshmemx_int_fcollect_warp(WORLD, o.to, o.from, 5);
  else if (threadIdx.x == 0)
    nvshmem_int_alltoall(WORLD, o.to, o.from, 5);
}

__global__ void part(Objects o) {
  if (o.team == NVSHMEM_TEAM_INVALID) return;
  if (LAST)
    nvshmem_team_sync(o.team);
  else
    nvshmem_barrier(o.team);
}

// Scopes, families and the types of what is only moved may differ, and so may lengths of a collect.
__global__ void right(Objects o) {
  for (int i = 0; i < 40; i++) {
    if (LAST)
      nvshmemx_barrier_all_block();
    else if (threadIdx.x == 0)
      dushmem_barrier_all();
    if (threadIdx.x == 0) {
      if (LAST)
        nvshmem_int_broadcast(WORLD, o.to, o.from, 4, 0);
      else
        nvshmem_broadcastmem(WORLD, o.to, o.from, 16, 0);
      dushmem_int_collect(WORLD, o.to, o.from, LAST ? 3 : 2);
      nvshmem_int_sum_reduce(WORLD, o.to, o.from, i % 3);
      if (o.team != NVSHMEM_TEAM_INVALID) nvshmem_int_max_reduce(o.team, o.to, o.from, 7);
    }
    __syncthreads();
  }
}

struct Case {
  const char *name;
  void (*kernel)(Objects);
};
#define CASE(kernel) {#kernel, kernel}
static const Case CASES[] = {CASE(barrier_and_reduce), CASE(lengths), CASE(none_and_some), CASE(roots),
                             CASE(no_root),            CASE(operations), CASE(types),      CASE(templates),
                             CASE(templates_that_reduce), CASE(moves), CASE(part),      CASE(right)};

int main(int, char **args) {
  nvshmem_init();
  Objects o = {static_cast<int *>(nvshmem_calloc(256, sizeof(int))), static_cast<int *>(nvshmem_calloc(256, sizeof(int))),
               NVSHMEM_TEAM_INVALID};
  for (int i = 0; i < 3; i++) {
    // Slots are used again: what the kernels of an earlier team have said is no call of this one.
    if (i != 0 && o.team != NVSHMEM_TEAM_INVALID) nvshmem_team_destroy(o.team);
    nvshmem_team_split_strided(WORLD, i == 1 ? 0 : 1, 1, nvshmem_n_pes() - 1, nullptr, 0, &o.team);
    if (std::strcmp(args[1], "right") == 0) right<<<1, 32>>>(o);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  }
  for (const Case &one : CASES)
    if (std::strcmp(args[1], one.name) == 0) one.kernel<<<1, std::strstr("lengths moves right", one.name) != nullptr ? 32 : 1>>>(o);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  nvshmem_barrier_all();
  if (nvshmem_my_pe() == 0) std::puts("all right");
  nvshmem_finalize();
}
