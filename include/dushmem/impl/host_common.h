/* What the public headers share. Nothing here is for programs: names begin with dushmem_impl_. */
#ifndef DUSHMEM_INCLUDED_IMPL_HOST_COMMON_H
#define DUSHMEM_INCLUDED_IMPL_HOST_COMMON_H
#if defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
/* C++ programs have std::complex, whose representation is that of C's complex types. Only pointers to it
 * occur here, and including <complex> would more than double the time to compile a small program: where
 * it is GNU's, a declaration is enough. */
#include <cstddef>
#if defined(__GLIBCXX__) && !(defined(_GLIBCXX_INLINE_VERSION) && _GLIBCXX_INLINE_VERSION)
namespace std {
template <typename T> class complex;
}
#else
#include <complex>
#endif
typedef std::complex<float> dushmem_impl_complexf;
typedef std::complex<double> dushmem_impl_complexd;
#else
/* Not <complex.h>: it would define I. */
typedef float _Complex dushmem_impl_complexf;
typedef double _Complex dushmem_impl_complexd;
#endif

/* Where kernels are compiled, the names that they may call belong to the device headers. */
#if defined(__CUDACC__) || defined(__HIPCC__) || defined(DUSHMEM_EMU)
#define DUSHMEM_IMPL_DEVICE_COMPILER 1
#endif

#define DUSHMEM_IMPL_NORETURN __attribute__((__noreturn__))

/* The n-th argument. Callers add what makes the list long enough. */
#define DUSHMEM_IMPL_ARG0(a, ...) a
#define DUSHMEM_IMPL_ARG1(a, b, ...) b
#define DUSHMEM_IMPL_ARG4(a, b, c, d, e, ...) e

#ifdef __cplusplus
extern "C" {
#endif

/* What _Generic chooses where no type fits, so that the compiler complains about the arguments. */
struct dushmem_impl_no_function_for_this_type;
void dushmem_impl_mismatch(struct dushmem_impl_no_function_for_this_type *);

#ifdef __cplusplus
}
#endif

#include <dushmem/gen/types.h>
#if !defined(DUSHMEM_NO_INLINE)
#include <dushmem/impl/host_inline.h>
#endif

#endif
