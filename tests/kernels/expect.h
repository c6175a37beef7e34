// What kernels check with: a counter of failures in managed memory, and the first of them as text.
#pragma once
#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define RUNTIME(name) hip##name
#else
#include <cuda_runtime.h>
#define RUNTIME(name) cuda##name
#endif
#include <cstdio>

// In a kernel with a parameter `int *wrong`.
#define EXPECT(condition)                                                                                     \
  do {                                                                                                        \
    if (!(condition) && atomicAdd(wrong, 1) < 10)                                                             \
      printf("line %d: block %u, thread %u: %s\n", __LINE__, unsigned(blockIdx.x), unsigned(threadIdx.x), #condition); \
  } while (0)

// In host code, with a variable `int *wrong`; no kernel may be running.
#define EXPECT_HOST(condition)                                                                                \
  do {                                                                                                        \
    if (!(condition)) ++*wrong, printf("line %d: %s\n", __LINE__, #condition);                                \
  } while (0)

// So many integers that both sides reach, all 0.
inline int *counters(int n) {
  int *made = nullptr;
  if (RUNTIME(MallocManaged)((void **)&made, n * sizeof(int)) != RUNTIME(Success)) return nullptr;
  for (int i = 0; i < n; i++) made[i] = 0;
  return made;
}

// Waits for all kernels; what main returns.
inline int result(int *wrong) {
  RUNTIME(Error_t) error = RUNTIME(GetLastError)(); /* of a kernel that was not launched */
  if (error == RUNTIME(Success)) error = RUNTIME(DeviceSynchronize)();
  if (error != RUNTIME(Success)) printf("%s\n", RUNTIME(GetErrorString)(error));
  if (error == RUNTIME(Success) && *wrong == 0) {
    printf("all right\n");
    return 0;
  }
  printf("%d wrong\n", *wrong);
  return 1;
}
