#pragma once

/// The mathematics that formulas of pointwise operations call, whatever T is: a SIMD pack, a number
/// on the host or in a device kernel, or a type with functions of its own (Tensor, dual numbers),
/// which argument-dependent lookup finds.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <farro/backends/config.hpp>
#include <farro/backends/scalar_math.hpp>
#include <farro/backends/simd_math.hpp>

namespace farro::math {

// Functions of one and two arguments that std, xsimd and a type's own namespace have by the same
// name.
#define FARRO_UNARY_LIST(F)                                                                      \
  F(exp)                                                                                         \
  F(exp2) F(expm1) F(log) F(log1p) F(log2) F(log10) F(sqrt) F(sin) F(cos) F(tan) F(asin) F(acos) \
      F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(erfinv)        \
          F(lgamma) F(floor) F(ceil) F(trunc) F(round) F(abs)
#define FARRO_BINARY_LIST(F) \
  F(pow) F(atan2) F(hypot) F(fmod) F(remainder) F(floor_divide) F(trunc_divide) F(copysign)

/// Its own functions are found first by unqualified names in here, so that only argument-dependent
/// lookup adds others.
namespace lookup {

#define FARRO_LOOKUP_UNARY(f)            \
  void f() = delete;                     \
  template <class T>                     \
  FARRO_FORMULA T call_##f(const T& x) { \
    return f(x);                         \
  }
#define FARRO_LOOKUP_BINARY(f)                       \
  void f() = delete;                                 \
  template <class T>                                 \
  FARRO_FORMULA T call_##f(const T& x, const T& y) { \
    return f(x, y);                                  \
  }
FARRO_UNARY_LIST(FARRO_LOOKUP_UNARY)
FARRO_LOOKUP_UNARY(rsqrt)
FARRO_LOOKUP_UNARY(sign)
FARRO_LOOKUP_UNARY(sigmoid)
FARRO_LOOKUP_UNARY(log_sigmoid)
FARRO_BINARY_LIST(FARRO_LOOKUP_BINARY)
FARRO_LOOKUP_BINARY(maximum)
FARRO_LOOKUP_BINARY(minimum)
#undef FARRO_LOOKUP_UNARY
#undef FARRO_LOOKUP_BINARY
void isnan() = delete;
void polygamma() = delete;
template <class T>
FARRO_FORMULA auto call_isnan(const T& x) {
  return isnan(x);
}
template <class T>
FARRO_FORMULA T call_polygamma(int order, const T& x) {
  return polygamma(order, x);
}

}  // namespace lookup

/// A SIMD pack or a number, rather than a type with functions of its own.
template <class T>
inline constexpr bool is_plain = is_pack<T> || std::is_arithmetic_v<T>;

#define FARRO_MATH_UNARY(f)                         \
  template <class T>                                \
  FARRO_FORMULA inline T f(const T& x) {            \
    if constexpr (is_pack<T>) {                     \
      return simd::f(x);                            \
    } else if constexpr (std::is_arithmetic_v<T>) { \
      return scalar::f(x);                          \
    } else {                                        \
      return lookup::call_##f(x);                   \
    }                                               \
  }
#define FARRO_MATH_BINARY(f)                         \
  template <class T>                                 \
  FARRO_FORMULA inline T f(const T& x, const T& y) { \
    if constexpr (is_pack<T>) {                      \
      return simd::f(x, y);                          \
    } else if constexpr (std::is_arithmetic_v<T>) {  \
      return scalar::f(x, y);                        \
    } else {                                         \
      return lookup::call_##f(x, y);                 \
    }                                                \
  }
FARRO_UNARY_LIST(FARRO_MATH_UNARY)
FARRO_BINARY_LIST(FARRO_MATH_BINARY)
#undef FARRO_MATH_UNARY
#undef FARRO_MATH_BINARY
#undef FARRO_UNARY_LIST
#undef FARRO_BINARY_LIST

/// 1 / sqrt(x), of full accuracy.
template <class T>
FARRO_FORMULA inline T rsqrt(const T& x) {
  if constexpr (is_plain<T>) {
    return T(1) / math::sqrt(x);
  } else {
    return lookup::call_rsqrt(x);
  }
}

/// True for NaN; a mask for packs.
template <class T>
FARRO_FORMULA inline auto isnan(const T& x) {
  if constexpr (is_plain<T>) {
    return !(x == x);  // xsimd 8's != is false for NaN
  } else {
    return lookup::call_isnan(x);
  }
}

/// True where exactly one of two conditions is. (xsimd 8.1's ^ of the masks of 512-bit packs is
/// wrong.)
template <class M>
FARRO_FORMULA inline M exclusive_or(const M& a, const M& b) {
  return M((a | b) & !(a & b));
}

/// Neither infinite nor NaN.
template <class T>
FARRO_FORMULA inline auto is_finite(const T& x) {
  return x - x == T(0);
}

template <class T>
FARRO_FORMULA inline auto is_infinite(const T& x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return math::abs(x) == T(std::numeric_limits<double>::infinity());
  }
}

/// -1, 0 or 1; NaN for NaN.
template <class T>
FARRO_FORMULA inline T sign(const T& x) {
  if constexpr (is_plain<T>) {
    return select(x > T(0), T(1), select(x < T(0), T(-1), x));
  } else {
    return lookup::call_sign(x);
  }
}

/// The larger one; NaN if one is NaN.
template <class T>
FARRO_FORMULA inline T maximum(const T& x, const T& y) {
  if constexpr (is_plain<T>) {
    return select((x > y) | math::isnan(x), x, y);
  } else {
    return lookup::call_maximum(x, y);
  }
}

/// The smaller one; NaN if one is NaN.
template <class T>
FARRO_FORMULA inline T minimum(const T& x, const T& y) {
  if constexpr (is_plain<T>) {
    return select((x < y) | math::isnan(x), x, y);
  } else {
    return lookup::call_minimum(x, y);
  }
}

/// 1 / (1 + exp(-x))
template <class T>
FARRO_FORMULA inline T sigmoid(const T& x) {
  if constexpr (is_plain<T>) {
    return T(1) / (T(1) + math::exp(-x));
  } else {
    return lookup::call_sigmoid(x);
  }
}

/// log(1 + exp x), without overflow.
template <class T>
FARRO_FORMULA inline T softplus(const T& x) {
  if constexpr (is_plain<T>) {
    return math::maximum(x, T(0)) + math::log1p(math::exp(-math::abs(x)));
  } else {
    return -lookup::call_log_sigmoid(T(-x));
  }
}

/// x to the power of a number, by products and roots where the exponent allows.
template <class T>
FARRO_FORMULA inline T pow_number(const T& x, double exponent) {
  if (exponent == 2) return x * x;
  if (exponent == 1) return x;
  if (exponent == 0) return T(1);
  if (exponent == 3) return x * x * x;
  if constexpr (!std::is_integral_v<T>) {
    if (exponent == -1) return T(1) / x;
    if (exponent == -2) return T(1) / (x * x);
    if (exponent == 0.5) return math::sqrt(x);
    if (exponent == -0.5) return math::rsqrt(x);
  }
  return math::pow(x, T(exponent));
}

/// sin(pi x) / (pi x), 1 at 0.
template <class T>
FARRO_FORMULA inline T sinc(const T& x) {
  T safe = select(x == T(0), T(1), x) * T(3.14159265358979323846);
  return select(x == T(0), T(1), math::sin(safe) / safe);
}

template <class T>
FARRO_FORMULA inline T sinc_derivative(const T& x) {
  T safe = select(x == T(0), T(1), x);
  T angle = safe * T(3.14159265358979323846);
  return select(x == T(0), T(0), (math::cos(angle) - math::sin(angle) / angle) / safe);
}

/// The derivative of order n + 1 of log Gamma.
template <class T>
FARRO_FORMULA inline T polygamma(int n, const T& x) {
  if constexpr (is_pack<T>) {
    return simd::per_lane([n](auto lane) { return scalar::polygamma(n, lane); }, x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return scalar::polygamma(n, x);
  } else {
    return lookup::call_polygamma(n, x);
  }
}

/// A bound as T; one beyond the integers' range is their last.
template <class T>
FARRO_FORMULA inline T bound(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (value >= 9.2e18) return std::numeric_limits<T>::max();
    if (value <= -9.2e18) return std::numeric_limits<T>::lowest();
  }
  return T(value);
}

}  // namespace farro::math
