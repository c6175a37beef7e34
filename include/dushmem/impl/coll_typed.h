/* Operations on types that are known by number: what the library's own kernels reduce. */
#ifndef DUSHMEM_IMPL_COLL_TYPED_H
#define DUSHMEM_IMPL_COLL_TYPED_H

#include "coll_ops.h"

namespace dushmem {
namespace device {
namespace impl {

/* As ElementKind and ReduceOp of crates/core/src/coll/reduce.rs. */
enum class element : uint32_t { u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, half, bfloat16, c32, c64 };
enum class operation : uint32_t { and_, or_, xor_, max, min, sum, prod };

struct typed_op {
  uint32_t type, op;
};

DUSHMEM_IMPL_FN size_t element_bytes(uint32_t type) {
  switch ((element)type) {
  case element::f32: return 4;
  case element::f64:
  case element::c32: return 8;
  case element::half:
  case element::bfloat16: return 2;
  case element::c64: return 16;
  default: return (size_t)1 << (type & 3);
  }
}

/* A complex number, as the host multiplies them. */
template <class F> struct complex_of {
  F re, im;
  DUSHMEM_IMPL_MEMBER complex_of operator+(const complex_of &b) const { return complex_of{re + b.re, im + b.im}; }
  DUSHMEM_IMPL_MEMBER complex_of operator*(const complex_of &b) const {
    return complex_of{re * b.re - im * b.im, re * b.im + im * b.re};
  }
};

/* All elements of 16 bytes. */
template <class Op, class T> DUSHMEM_IMPL_FN chunk apply_each(const chunk &a, const chunk &b) {
  T left[16 / sizeof(T)], right[16 / sizeof(T)];
  memcpy((void *)left, &a, 16);
  memcpy((void *)right, &b, 16);
  for (size_t i = 0; i < 16 / sizeof(T); i++) left[i] = Op::apply(left[i], right[i]);
  chunk all;
  memcpy(&all, (const void *)left, 16);
  return all;
}

/* The same of small elements, one after the other: a tenth of the code, and the loads around it take as long. */
template <class Op, class T> DUSHMEM_IMPL_APART unsigned long long apply_small(unsigned long long a, unsigned long long b) {
  typedef typename unit_of<sizeof(T)>::type U;
  unsigned long long all = 0;
  DUSHMEM_IMPL_ROLLED
  for (unsigned at = 0; at < 64; at += 8 * sizeof(T))
    all |= (unsigned long long)bits<U>(Op::apply(bits<T>((U)(a >> at)), bits<T>((U)(b >> at)))) << at;
  return all;
}
template <class Op, class T> DUSHMEM_IMPL_FN chunk apply_smalls(const chunk &a, const chunk &b) {
  return chunk{apply_small<Op, T>(a.low, b.low), apply_small<Op, T>(a.high, b.high)};
}
template <class T> DUSHMEM_IMPL_FN chunk apply_any_small(const chunk &a, const chunk &b, operation op) {
  switch (op) {
  case operation::max: return apply_smalls<op_max, T>(a, b);
  case operation::min: return apply_smalls<op_min, T>(a, b);
  case operation::sum: return apply_smalls<op_sum, T>(a, b);
  default: return apply_smalls<op_prod, T>(a, b);
  }
}
template <class T> DUSHMEM_IMPL_FN chunk apply_half(const chunk &a, const chunk &b, operation op) {
  return op == operation::sum ? apply_each<op_sum, T>(a, b) : apply_any_small<T>(a, b, op);
}

template <class T> DUSHMEM_IMPL_FN chunk apply_ordered(const chunk &a, const chunk &b, operation op) {
  return op == operation::max ? apply_each<op_max, T>(a, b) : apply_each<op_min, T>(a, b);
}
template <class T> DUSHMEM_IMPL_FN chunk apply_added(const chunk &a, const chunk &b, operation op) {
  return op == operation::sum ? apply_each<op_sum, T>(a, b) : apply_each<op_prod, T>(a, b);
}
template <class T> DUSHMEM_IMPL_FN chunk apply_any(const chunk &a, const chunk &b, operation op) {
  return op < operation::sum ? apply_ordered<T>(a, b, op) : apply_added<T>(a, b, op);
}

/* One function for all: the code is written once, and a call of it hides behind the loads around it. */
DUSHMEM_IMPL_APART chunk apply_typed(chunk a, chunk b, typed_op how) {
  const operation op = (operation)how.op;
  switch (op) {
  case operation::and_: return chunk{a.low & b.low, a.high & b.high};
  case operation::or_: return chunk{a.low | b.low, a.high | b.high};
  case operation::xor_: return chunk{a.low ^ b.low, a.high ^ b.high};
  default: break;
  }
  /* Sums and products of signed integers have the bits of unsigned ones. */
  const bool added = op >= operation::sum;
  switch ((element)(added && how.type >= 4 && how.type < 8 ? how.type - 4 : how.type)) {
  case element::u8: return apply_any_small<unsigned char>(a, b, op);
  case element::u16: return apply_any_small<unsigned short>(a, b, op);
  case element::u32: return apply_any<unsigned int>(a, b, op);
  case element::u64: return apply_any<unsigned long long>(a, b, op);
  case element::i8: return op == operation::max ? apply_smalls<op_max, signed char>(a, b) : apply_smalls<op_min, signed char>(a, b);
  case element::i16: return op == operation::max ? apply_smalls<op_max, short>(a, b) : apply_smalls<op_min, short>(a, b);
  case element::i32: return apply_ordered<int>(a, b, op);
  case element::i64: return apply_ordered<long long>(a, b, op);
  case element::f32: return apply_any<float>(a, b, op);
  case element::f64: return apply_any<double>(a, b, op);
  case element::half: return apply_half<dushmem_impl_half>(a, b, op);
  case element::bfloat16: return apply_half<dushmem_impl_bfloat16>(a, b, op);
  case element::c32: return apply_added<complex_of<float>>(a, b, op);
  default: return apply_added<complex_of<double>>(a, b, op);
  }
}

/* The operation of the call that the block makes, for templates that take it as a type. */
DUSHMEM_IMPL_FN typed_op &block_op() { return in_block<typed_op>(); }
struct op_of_block {
  template <class T> static DUSHMEM_IMPL_MEMBER T apply(T a, T b) {
    chunk left{}, right{};
    memcpy(&left, &a, sizeof a);
    memcpy(&right, &b, sizeof b);
    left = apply_typed(left, right, block_op());
    memcpy(&a, &left, sizeof a);
    return a;
  }
};

} // namespace impl
} // namespace device
} // namespace dushmem
#endif
