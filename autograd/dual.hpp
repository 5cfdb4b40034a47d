#pragma once

/// Dual numbers: a value and its partial derivatives along N directions. Their functions are the
/// pointwise operations of pointwise_list.hpp, whose gradients serve forwards as well, since an
/// operation's derivative is a number.

#include <type_traits>

#include <farro/autograd/ops/pointwise.hpp>

namespace farro {

/// T is a number or a SIMD pack. A number becomes a dual without partial derivatives.
template <class T, int N>
struct Dual {
  using Value = T;

  T value;
  T partial[N];

  FARRO_FORMULA Dual() : Dual(T(0)) {}
  FARRO_FORMULA Dual(const T& v) : value(v) {
#pragma GCC unroll 8
    for (T& p : partial) p = T(0);
  }
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, T>) FARRO_FORMULA Dual(Number v)
      : Dual(T(v)) {}
};

namespace detail {

/// A term of the chain rule; a direction that x does not change stays out of it, even where the
/// derivative is infinite.
template <class T>
FARRO_FORMULA FARRO_INLINE T chain_term(const T& dx, const T& product) {
  return select(dx == T(0), T(0), product);
}

template <class Op, class T, int N>
FARRO_FORMULA FARRO_INLINE Dual<T, N> chain(const Op& op, const Dual<T, N>& x) {
  Dual<T, N> y;
  y.value = op.forward(x.value);
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) {
    y.partial[k] =
        chain_term(x.partial[k], op.template backward<0, T>(x.partial[k], x.value, y.value));
  }
  return y;
}

template <class Op, class T, int N>
FARRO_FORMULA FARRO_INLINE Dual<T, N> chain(const Op& op, const Dual<T, N>& x,
                                            const Dual<T, N>& z) {
  Dual<T, N> y;
  y.value = op.forward(x.value, z.value);
#pragma GCC unroll 8
  for (int k = 0; k < N; ++k) {
    T along_x = op.template backward<0, T>(x.partial[k], x.value, z.value, y.value);
    T along_z = op.template backward<1, T>(z.partial[k], x.value, z.value, y.value);
    y.partial[k] = chain_term(x.partial[k], along_x) + chain_term(z.partial[k], along_z);
  }
  return y;
}

template <class D>
inline constexpr bool is_dual = false;
template <class T, int N>
inline constexpr bool is_dual<Dual<T, N>> = true;

}  // namespace detail

/// A dual on at least one side; the other may be what a dual can be made of.
template <class A, class B>
concept DualPair = (detail::is_dual<A> && std::is_convertible_v<B, A>) ||
                   (detail::is_dual<B> && std::is_convertible_v<A, B>);
template <class A, class B>
using DualOf = std::conditional_t<detail::is_dual<A>, A, B>;

#define FARRO_DUAL_OPERATOR(symbol, Op)                                               \
  template <class A, class B>                                                         \
  requires DualPair<A, B> FARRO_FORMULA FARRO_INLINE DualOf<A, B>                     \
  operator symbol(const A& a, const B& b) {                                           \
    using D = DualOf<A, B>;                                                           \
    return detail::chain(Op{}, D(a), D(b));                                           \
  }                                                                                   \
  template <class T, int N, class B>                                                  \
  requires std::is_convertible_v<B, Dual<T, N>> FARRO_FORMULA FARRO_INLINE Dual<T, N> \
  &operator symbol##=(Dual<T, N>& a, const B& b) { return a = a symbol b; }
FARRO_DUAL_OPERATOR(+, ops::Add)
FARRO_DUAL_OPERATOR(-, ops::Sub)
FARRO_DUAL_OPERATOR(*, ops::Mul)
FARRO_DUAL_OPERATOR(/, ops::Div)
#undef FARRO_DUAL_OPERATOR

template <class T, int N>
FARRO_FORMULA FARRO_INLINE Dual<T, N> operator-(const Dual<T, N>& x) {
  return detail::chain(ops::Neg{}, x);
}
template <class T, int N>
FARRO_FORMULA FARRO_INLINE Dual<T, N> operator+(const Dual<T, N>& x) {
  return x;
}

#define FARRO_DUAL_COMPARISON(symbol)                                                   \
  template <class A, class B>                                                           \
  requires DualPair<A, B> FARRO_FORMULA FARRO_INLINE auto operator symbol(const A& a,   \
                                                                          const B& b) { \
    using D = DualOf<A, B>;                                                             \
    return D(a).value symbol D(b).value;                                                \
  }
FARRO_DUAL_COMPARISON(==)
FARRO_DUAL_COMPARISON(!=)
FARRO_DUAL_COMPARISON(<)
FARRO_DUAL_COMPARISON(<=)
FARRO_DUAL_COMPARISON(>)
FARRO_DUAL_COMPARISON(>=)
#undef FARRO_DUAL_COMPARISON

template <class Condition, class A, class B>
requires DualPair<A, B> FARRO_FORMULA FARRO_INLINE DualOf<A, B> select(const Condition& condition,
                                                                       const A& a, const B& b) {
  using D = DualOf<A, B>;
  D x(a), z(b), y;
  y.value = select(condition, x.value, z.value);
#pragma GCC unroll 8
  for (int k = 0; k < static_cast<int>(sizeof(x.partial) / sizeof(x.partial[0])); ++k) {
    y.partial[k] = select(condition, x.partial[k], z.partial[k]);
  }
  return y;
}

template <class T, int N>
FARRO_FORMULA FARRO_INLINE auto isnan(const Dual<T, N>& x) {
  return math::isnan(x.value);
}

#define FARRO_DUAL_UNARY(f, Op)                                  \
  template <class T, int N>                                      \
  FARRO_FORMULA FARRO_INLINE Dual<T, N> f(const Dual<T, N>& x) { \
    return detail::chain(Op{}, x);                               \
  }
FARRO_DUAL_UNARY(abs, ops::Abs)
FARRO_DUAL_UNARY(sign, ops::Sign)
FARRO_DUAL_UNARY(floor, ops::Floor)
FARRO_DUAL_UNARY(ceil, ops::Ceil)
FARRO_DUAL_UNARY(trunc, ops::Trunc)
FARRO_DUAL_UNARY(round, ops::Round)
FARRO_DUAL_UNARY(exp, ops::Exp)
FARRO_DUAL_UNARY(exp2, ops::Exp2)
FARRO_DUAL_UNARY(expm1, ops::Expm1)
FARRO_DUAL_UNARY(log, ops::Log)
FARRO_DUAL_UNARY(log1p, ops::Log1p)
FARRO_DUAL_UNARY(log2, ops::Log2)
FARRO_DUAL_UNARY(log10, ops::Log10)
FARRO_DUAL_UNARY(sqrt, ops::Sqrt)
FARRO_DUAL_UNARY(rsqrt, ops::Rsqrt)
FARRO_DUAL_UNARY(sin, ops::Sin)
FARRO_DUAL_UNARY(cos, ops::Cos)
FARRO_DUAL_UNARY(tan, ops::Tan)
FARRO_DUAL_UNARY(asin, ops::Asin)
FARRO_DUAL_UNARY(acos, ops::Acos)
FARRO_DUAL_UNARY(atan, ops::Atan)
FARRO_DUAL_UNARY(sinh, ops::Sinh)
FARRO_DUAL_UNARY(cosh, ops::Cosh)
FARRO_DUAL_UNARY(tanh, ops::Tanh)
FARRO_DUAL_UNARY(asinh, ops::Asinh)
FARRO_DUAL_UNARY(acosh, ops::Acosh)
FARRO_DUAL_UNARY(atanh, ops::Atanh)
FARRO_DUAL_UNARY(erf, ops::Erf)
FARRO_DUAL_UNARY(erfc, ops::Erfc)
FARRO_DUAL_UNARY(erfinv, ops::Erfinv)
FARRO_DUAL_UNARY(lgamma, ops::Lgamma)
FARRO_DUAL_UNARY(sigmoid, ops::Sigmoid)
FARRO_DUAL_UNARY(log_sigmoid, ops::LogSigmoid)
#undef FARRO_DUAL_UNARY

#define FARRO_DUAL_BINARY(f, Op)                                                      \
  template <class T, int N>                                                           \
  FARRO_FORMULA FARRO_INLINE Dual<T, N> f(const Dual<T, N>& x, const Dual<T, N>& y) { \
    return detail::chain(Op{}, x, y);                                                 \
  }
FARRO_DUAL_BINARY(pow, ops::Pow)
FARRO_DUAL_BINARY(atan2, ops::Atan2)
FARRO_DUAL_BINARY(hypot, ops::Hypot)
FARRO_DUAL_BINARY(fmod, ops::Fmod)
FARRO_DUAL_BINARY(remainder, ops::Remainder)
FARRO_DUAL_BINARY(floor_divide, ops::DivFloor)
FARRO_DUAL_BINARY(trunc_divide, ops::DivTrunc)
FARRO_DUAL_BINARY(copysign, ops::Copysign)
FARRO_DUAL_BINARY(maximum, ops::Maximum)
FARRO_DUAL_BINARY(minimum, ops::Minimum)
#undef FARRO_DUAL_BINARY

template <class T, int N>
FARRO_FORMULA FARRO_INLINE Dual<T, N> polygamma(int order, const Dual<T, N>& x) {
  return detail::chain(ops::Polygamma{{}, order}, x);
}

}  // namespace farro
