// Reductions, reduce-scatter and prefix sums in kernels, against operands combined by rank one after the other, bit by
// bit; half and bfloat16 against the host's reductions.
#include "coll_common.h"

struct Sum {
  typedef d::op::sum op;
  template <class T> static __device__ T apply(T a, T b) { return (T)(a + b); }
};
struct Prod {
  typedef d::op::prod op;
  template <class T> static __device__ T apply(T a, T b) { return (T)(a * b); }
};
struct Max {
  typedef d::op::max op;
  template <class T> static __device__ T apply(T a, T b) { return a < b ? b : a; }
};
struct Min {
  typedef d::op::min op;
  template <class T> static __device__ T apply(T a, T b) { return b < a ? b : a; }
};
struct And {
  typedef d::op::and_ op;
  template <class T> static __device__ T apply(T a, T b) { return (T)(a & b); }
};
struct Or {
  typedef d::op::or_ op;
  template <class T> static __device__ T apply(T a, T b) { return (T)(a | b); }
};
struct Xor {
  typedef d::op::xor_ op;
  template <class T> static __device__ T apply(T a, T b) { return (T)(a ^ b); }
};
struct MaxLoc {
  typedef d::op::maxloc op;
  static __device__ double2 apply(double2 a, double2 b) {
    return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
  }
};

// Operands of the ranks below `end`.
template <class Op, class T> __device__ T combined(const Members &team, int end, size_t i, int round) {
  T all = value_of<T>::get(team.pe(0), i, round);
  for (int r = 1; r < end; r++) all = Op::apply(all, value_of<T>::get(team.pe(r), i, round));
  return all;
}

template <class Op, class S, class T>
__device__ void expect_combined(const Space &space, const char *what, const T *at, const Members &team, int end,
                                size_t n, int round, size_t first = 0) {
  for (size_t i = Together<S>::rank(); i < n; i += Together<S>::size())
    if (!same_bits(at[i], combined<Op, T>(team, end, first + i, round))) wrong(space, what, (long)i, (long)n, round);
}

template <class Op, class S, class T> __device__ void reduces(const Space &space, const Members &team, size_t n, int round) {
  typedef typename Op::op op;
  T *const to = space.to<T>(), *const from = space.from<T>();
  fill<S>(from, n, round);
  if (d::reduce<S, op>(team.team, to, (const T *)from, n) != 0) wrong(space, "reduce", (long)n, round, 0);
  expect_combined<Op, S>(space, "reduce", to, team, team.n, n, round);
  fill<S>(to, n, round + 1);
  d::reduce<S, op>(team.team, to, (const T *)to, n);
  expect_combined<Op, S>(space, "reduce in place", to, team, team.n, n, round + 1);
}

template <class Op, class S, class T> __device__ void scatters(const Space &space, const Members &team, size_t n, int round) {
  typedef typename Op::op op;
  T *const to = space.to<T>(), *const from = space.from<T>();
  const size_t all = n * (size_t)team.n, first = n * (size_t)team.me;
  fill<S>(from, all, round);
  d::reducescatter<S, op>(team.team, to, (const T *)from, n);
  expect_combined<Op, S>(space, "reducescatter", to, team, team.n, n, round, first);
  fill<S>(to, all, round + 1);
  d::reducescatter<S, op>(team.team, to, (const T *)to, n);
  expect_combined<Op, S>(space, "reducescatter in place", to, team, team.n, n, round + 1, first);
}

template <class S, class T> __device__ void scans(const Space &space, const Members &team, size_t n, int round) {
  T *const to = space.to<T>(), *const from = space.from<T>();
  fill<S>(from, n, round);
  d::inscan<S>(team.team, to, (const T *)from, n);
  expect_combined<Sum, S>(space, "inscan", to, team, team.me + 1, n, round);
  d::exscan<S>(team.team, to, (const T *)from, n);
  if (team.me > 0) expect_combined<Sum, S>(space, "exscan", to, team, team.me, n, round);
  for (size_t i = Together<S>::rank(); team.me == 0 && i < n; i += Together<S>::size())
    if (!same_bits(to[i], T(0))) wrong(space, "exscan of rank 0", (long)i, (long)n, round);
  Together<S>::sync();
  fill<S>(to, n, round + 1);
  d::inscan<S>(team.team, to, (const T *)to, n);
  expect_combined<Sum, S>(space, "inscan in place", to, team, team.me + 1, n, round + 1);
}

template <class Op, class S, class T> __device__ void all_of(const Space &space, const Members &team, size_t n, int round) {
  reduces<Op, S, T>(space, team, n, round);
  scatters<Op, S, T>(space, team, n, round);
}

template <class S> __global__ void combines(Space space, int handle, bool large, int rounds) {
  const Members team(handle);
  for (size_t n : {size_t(0), size_t(1), size_t(7), size_t(1000)}) {
    all_of<Sum, S, unsigned>(space, team, n, 1);
    all_of<Xor, S, unsigned long long>(space, team, n, 2);
    all_of<Sum, S, double>(space, team, n, 3);
    scans<S, double>(space, team, n, 4);
  }
  for (size_t n : {size_t(5), size_t(3001)}) {
    reduces<Max, S, int>(space, team, n, 4);
    reduces<Min, S, float>(space, team, n, 5);
    reduces<Prod, S, float>(space, team, n, 6);
    all_of<Sum, S, unsigned char>(space, team, n, 7);
    reduces<MaxLoc, S, double2>(space, team, n, 8);
    scans<S, unsigned short>(space, team, n, 9);
  }
  // Changing contents, operations and lengths, without anything between.
  for (int round = 0; round < rounds; round++) {
    reduces<Sum, S, unsigned>(space, team, 1 + (size_t)round % 3, round);
    reduces<Sum, S, unsigned>(space, team, 600 * (size_t)(round % 5), round);
    scatters<Sum, S, double>(space, team, 2, round);
    scans<S, double>(space, team, 3, round);
  }
  if (large) {
    reduces<Sum, S, float>(space, team, 100000, 1);
    scatters<Sum, S, unsigned>(space, team, 20011, 2);
    scans<S, double>(space, team, 50021, 3);
  }
}

// Each operation once for each width, at one scope.
__global__ void every_operation(Space space, int handle) {
  const Members team(handle);
  typedef block_scope S;
  for (size_t n : {size_t(9), size_t(2500)}) {
    all_of<And, S, unsigned char>(space, team, n, 1);
    all_of<Or, S, unsigned short>(space, team, n, 2);
    all_of<Xor, S, unsigned>(space, team, n, 3);
    all_of<And, S, unsigned long long>(space, team, n, 4);
    all_of<Max, S, signed char>(space, team, n, 5);
    all_of<Min, S, short>(space, team, n, 6);
    all_of<Max, S, long>(space, team, n, 7);
    all_of<Min, S, long long>(space, team, n, 8);
    all_of<Max, S, double>(space, team, n, 9);
    all_of<Min, S, float>(space, team, n, 10);
    all_of<Prod, S, unsigned>(space, team, n, 11);
    all_of<Prod, S, unsigned long long>(space, team, n, 12);
    all_of<Prod, S, double>(space, team, n, 13);
    all_of<MaxLoc, S, double2>(space, team, n, 14);
    all_of<Sum, S, char>(space, team, n, 15);
    all_of<Sum, S, size_t>(space, team, n, 16);
  }
}

// Special values, by rank: a NaN wins from wherever it comes, and zeros have an order.
__global__ void special_values(Space space, int handle) {
  const Members team(handle);
  double *to = space.to<double>(), *from = space.from<double>();
  from[0] = team.me == team.n - 1 ? nan("") : 1.0;
  from[1] = team.me == 0 ? nan("") : 1.0;
  from[2] = team.me == team.n - 1 ? 0.0 : -0.0;
  from[3] = team.me == 0 ? 0.0 : -0.0;
  d::reduce<thread_scope, d::op::max>(handle, to, (const double *)from, 4);
  if (!(to[0] != to[0]) || !(to[1] != to[1])) wrong(space, "max of a NaN", 0, 0, 0);
  if (1.0 / to[2] < 0 || 1.0 / to[3] < 0) wrong(space, "max of zeros", 0, 0, 0);
  for (int i = 2; i < 4; i++) from[i] = -from[i];
  d::reduce<thread_scope, d::op::min>(handle, to, (const double *)from, 4);
  if (!(to[0] != to[0]) || !(to[1] != to[1])) wrong(space, "min of a NaN", 0, 0, 0);
  if (1.0 / to[2] > 0 || 1.0 / to[3] > 0) wrong(space, "min of zeros", 0, 0, 0);
}

template <class Op, class T> __global__ void reduce_halves(Space space, int handle, size_t n) {
  d::reduce<block_scope, Op>(handle, space.to<T>(), (const T *)space.from<T>(), n);
}

// A host name as an argument.
#define HOST(name) [](dushmem_team_t team, auto *dest, const auto *source, size_t n) { return name(team, dest, source, n); }

// All bit patterns are operands somewhere. NaNs have many patterns, of which a device may make another.
template <class T, class Host> void halves(const Space &space, Host host, int which, bool infinity_all_ones_fraction) {
  const size_t n = 65536 / 8 + 5;
  unsigned short *const from = (unsigned short *)space.source, *const to = (unsigned short *)space.dest;
  const unsigned short exponent = infinity_all_ones_fraction ? 0x7c00 : 0x7f80;
  std::vector<unsigned short> bits(n);
  for (size_t i = 0; i < n; i++) bits[i] = (unsigned short)((i * 8 + (size_t)dushmem_my_pe()) * 40503u + i);
  copy_now(from, bits.data(), n * sizeof(unsigned short));
  switch (which) {
  case 0: reduce_halves<d::op::sum, T><<<1, 64>>>(space, DUSHMEM_TEAM_WORLD, n); break;
  case 1: reduce_halves<d::op::prod, T><<<1, 64>>>(space, DUSHMEM_TEAM_WORLD, n); break;
  case 2: reduce_halves<d::op::max, T><<<1, 64>>>(space, DUSHMEM_TEAM_WORLD, n); break;
  default: reduce_halves<d::op::min, T><<<1, 64>>>(space, DUSHMEM_TEAM_WORLD, n); break;
  }
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  const std::vector<unsigned short> kernels = look(to, n);
  CHECK(host(DUSHMEM_TEAM_WORLD, (T *)to, (const T *)from, n) == 0);
  const std::vector<unsigned short> hosts = look(to, n);
  size_t differ = 0;
  for (size_t i = 0; i < n; i++) {
    const auto is_nan = [&](unsigned short bits) { return (bits & 0x7fff) > exponent; };
    differ += !(kernels[i] == hosts[i] || (is_nan(kernels[i]) && is_nan(hosts[i])));
  }
  CHECK(differ == 0);
}

int main(int argc, char **argv) {
  look_at_arguments(argc, argv);
  dushmem_init();
  const int n = dushmem_n_pes();
  const Space space = make_space(((size_t)n * 21000 + 110000) * sizeof(double));
  for (dushmem_team_t team : make_teams()) {
    const bool large = team == DUSHMEM_TEAM_WORLD && !in_short;
    const int rounds = in_short ? 5 : 100;
    combines<block_scope><<<1, 70>>>(space, team, large, rounds);
    if (in_short && team != DUSHMEM_TEAM_WORLD) continue;
    combines<thread_scope><<<1, 1>>>(space, team, large, rounds);
    combines<warp_scope><<<1, 32>>>(space, team, false, rounds);
    if (large) every_operation<<<1, 40>>>(space, team);
    special_values<<<1, 1>>>(space, team);
  }
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  typedef dushmem_impl_half half_t;
  typedef dushmem_impl_bfloat16 bfloat_t;
  halves<half_t>(space, HOST(dushmem_half_sum_reduce), 0, true);
  halves<half_t>(space, HOST(dushmem_half_prod_reduce), 1, true);
  halves<half_t>(space, HOST(dushmem_half_max_reduce), 2, true);
  halves<half_t>(space, HOST(dushmem_half_min_reduce), 3, true);
  halves<bfloat_t>(space, HOST(dushmem_bfloat16_sum_reduce), 0, false);
  halves<bfloat_t>(space, HOST(dushmem_bfloat16_prod_reduce), 1, false);
  halves<bfloat_t>(space, HOST(dushmem_bfloat16_max_reduce), 2, false);
  halves<bfloat_t>(space, HOST(dushmem_bfloat16_min_reduce), 3, false);
  return finish(space);
}
