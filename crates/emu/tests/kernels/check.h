// What the test programs check with: they go on after a failure and say where it was.
#pragma once
#include <atomic>
#include <cstdio>

inline std::atomic<int> failures{0};

#define ok(call) check_code(int(call), 0, #call, __LINE__)
#define fails(code, call) check_code(int(call), int(code), #call, __LINE__)
#define same(a, b) check_equal(double(a), double(b), #a, __LINE__)
#define truth(condition) check_equal((condition) ? 1 : 0, 1, #condition, __LINE__)

inline void check_code(int got, int want, const char *call, int line) {
  if (got == want) return;
  failures++;
  std::printf("line %d: %s gave %d (%s), not %d\n", line, call, got, cudaGetErrorString(cudaError_t(got)), want);
}

inline void check_equal(double got, double want, const char *what, int line) {
  if (got == want) return;
  failures++;
  std::printf("line %d: %s is %g, not %g\n", line, what, got, want);
}

inline int done() {
  std::printf(failures ? "%d failures\n" : "all right\n", failures.load());
  return failures != 0;
}
