/* No guard: as the C library's header, this one follows NDEBUG each time it is included. In a kernel a failed
 * assertion says in which one, and later calls of the runtime return cudaErrorAssert. */
#pragma GCC system_header
#include_next <assert.h>
#if defined(__cplusplus) && !defined(NDEBUG)
#include "../impl/emu_abi.h"
#ifndef DUSHMEM_EMU_ASSERT
#define DUSHMEM_EMU_ASSERT
namespace dushmem {
namespace emu {
__attribute__((noreturn)) inline void assert_failed(const char *what, const char *file, unsigned line,
                                                    const char *function) {
  if (dushmem_emu_in_kernel() == 0) __assert_fail(what, file, line, function);
  dushmem_emu_assert_failed(what, file, line, function);
}
} // namespace emu
} // namespace dushmem
#endif
#undef assert
#define assert(expression)                                                                                    \
  (static_cast<bool>(expression) ? static_cast<void>(0)                                                       \
                                 : ::dushmem::emu::assert_failed(#expression, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#endif
