/* What needs long double as a type, which Rust does not have: values passed and returned, arithmetic. */
#include <stddef.h>

/* In Rust: copy 16 bytes to or from PE pe. */
void dushmem_impl_longdouble_put(void *dest, const void *value, int pe, size_t ctx, const char *name);
void dushmem_impl_longdouble_get(void *value, const void *source, int pe, size_t ctx, const char *name);

/* In Rust: the same when a stream comes there; the second one waits for the stream. */
void dushmem_impl_longdouble_put_on_stream(void *dest, const void *value, int pe, void *stream, const char *name);
void dushmem_impl_longdouble_get_on_stream(void *value, const void *source, int pe, void *stream, const char *name);

/* The handle of the default context: CTX_DEFAULT of the headers. */
#define DEFAULT 1

/* The exported names are jumps to these. */
#define FAMILY(F) \
    void longdouble_##F##_longdouble_p(long double *dest, long double value, int pe) { \
        dushmem_impl_longdouble_put(dest, &value, pe, DEFAULT, #F "_longdouble_p"); \
    } \
    void longdouble_##F##_ctx_longdouble_p(size_t ctx, long double *dest, long double value, int pe) { \
        dushmem_impl_longdouble_put(dest, &value, pe, ctx, #F "_ctx_longdouble_p"); \
    } \
    long double longdouble_##F##_longdouble_g(const long double *source, int pe) { \
        long double value = 0; \
        dushmem_impl_longdouble_get(&value, source, pe, DEFAULT, #F "_longdouble_g"); \
        return value; \
    } \
    long double longdouble_##F##_ctx_longdouble_g(size_t ctx, const long double *source, int pe) { \
        long double value = 0; \
        dushmem_impl_longdouble_get(&value, source, pe, ctx, #F "_ctx_longdouble_g"); \
        return value; \
    }

FAMILY(dushmem)
FAMILY(shmem)

void longdouble_dushmemx_longdouble_p_on_stream(long double *dest, long double value, int pe, void *stream) {
    dushmem_impl_longdouble_put_on_stream(dest, &value, pe, stream, "dushmemx_longdouble_p_on_stream");
}
long double longdouble_dushmemx_longdouble_g_on_stream(const long double *source, int pe, void *stream) {
    long double value = 0;
    dushmem_impl_longdouble_get_on_stream(&value, source, pe, stream, "dushmemx_longdouble_g_on_stream");
    return value;
}

/* Reductions: acc[i] = acc[i] op other[i]. A NaN among the operands is the result of max and min. */
#define COMBINE(NAME, EXPRESSION) \
    void longdouble_##NAME(long double *acc, const long double *other, size_t n) { \
        for (size_t i = 0; i < n; i++) { \
            long double a = acc[i], b = other[i]; \
            acc[i] = (EXPRESSION); \
        } \
    }

#define NEGATIVE(x) (__builtin_signbit(x) != 0)

COMBINE(max, a != a || a > b ? a : b != b || b > a ? b : NEGATIVE(a) ? b : a)
COMBINE(min, a != a || a < b ? a : b != b || b < a ? b : NEGATIVE(a) ? a : b)
COMBINE(sum, a + b)
COMBINE(prod, a * b)
