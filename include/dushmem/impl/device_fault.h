/* Errors in kernels on a GPU: a line, and the launch is reported as failed. */
#ifndef DUSHMEM_IMPL_DEVICE_FAULT_H
#define DUSHMEM_IMPL_DEVICE_FAULT_H

namespace dushmem {
namespace device {
namespace impl {

DUSHMEM_IMPL_FN void trap();

DUSHMEM_IMPL_COLD void no_such_pe(const char *call, int pe) {
  const unsigned bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z, x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  printf("dushmem: PE %d: %s: pe = %d: there is no such PE; this job has PEs 0 to %d (kernel, block (%u, %u, %u), thread "
         "(%u, %u, %u))\n",
         state().my_pe, call, pe, state().n_pes - 1, bx, by, bz, x, y, z);
  trap();
}

/* `arg` is null where no argument is to blame. */
DUSHMEM_IMPL_COLD void fault(const char *call, const char *arg, int64_t value, const char *why) {
  const unsigned bx = blockIdx.x, by = blockIdx.y, bz = blockIdx.z, x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  if (arg == nullptr)
    printf("dushmem: PE %d: %s: %s (kernel, block (%u, %u, %u), thread (%u, %u, %u))\n", state().my_pe, call, why, bx,
           by, bz, x, y, z);
  else
    printf("dushmem: PE %d: %s: %s = %lld (%p): %s (kernel, block (%u, %u, %u), thread (%u, %u, %u))\n", state().my_pe,
           call, arg, (long long)value, (void *)value, why, bx, by, bz, x, y, z);
  trap();
}

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
