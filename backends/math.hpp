#pragma once

/// The mathematics that formulas of pointwise operations call, whatever T is: a SIMD pack, a number on the host or in a
/// device kernel, or a type with functions of its own (Tensor, dual numbers), which argument-dependent lookup finds.

#include <cmath>
#include <limits>
#include <type_traits>

#include <farro/backends/config.hpp>
#if !defined(__CUDACC__)
#include <farro/backends/simd_math.hpp>
#else
namespace farro {
template <class P>
inline constexpr bool is_pack = false;
template <class T>
  requires std::is_arithmetic_v<T>
FARRO_FUNCTION inline T select(bool condition, T a, T b) {
  return condition ? a : b;
}
namespace simd {}
}  // namespace farro
#endif

namespace farro::math {

/// Found first by unqualified names in here, so that only argument-dependent lookup adds candidates.
namespace lookup {

#define FARRO_UNARY_LIST(F)                                                                                \
  F(exp) F(exp2) F(expm1) F(log) F(log1p) F(log2) F(log10) F(sqrt) F(sin) F(cos) F(tan) F(asin) F(acos)    \
  F(atan) F(sinh) F(cosh) F(tanh) F(asinh) F(acosh) F(atanh) F(erf) F(erfc) F(floor) F(ceil) F(trunc) F(abs)
#define FARRO_BINARY_LIST(F) F(pow) F(atan2) F(hypot) F(fmod)

#define FARRO_LOOKUP_UNARY(f)      \
  void f() = delete;               \
  template <class T>               \
  FARRO_FUNCTION T call_##f(const T& x) { \
    return f(x);                   \
  }
#define FARRO_LOOKUP_BINARY(f)                       \
  void f() = delete;                                 \
  template <class T>                                 \
  FARRO_FUNCTION T call_##f(const T& x, const T& y) { \
    return f(x, y);                                  \
  }
FARRO_UNARY_LIST(FARRO_LOOKUP_UNARY)
FARRO_LOOKUP_UNARY(rsqrt)
FARRO_LOOKUP_UNARY(round)
FARRO_LOOKUP_UNARY(sign)
FARRO_BINARY_LIST(FARRO_LOOKUP_BINARY)
FARRO_LOOKUP_BINARY(maximum)
FARRO_LOOKUP_BINARY(minimum)
void isnan() = delete;
template <class T>
FARRO_FUNCTION auto call_isnan(const T& x) {
  return isnan(x);
}
#undef FARRO_LOOKUP_UNARY
#undef FARRO_LOOKUP_BINARY

}  // namespace lookup

#define FARRO_MATH_UNARY(f)                        \
  template <class T>                               \
  FARRO_FUNCTION inline T f(const T& x) {          \
    if constexpr (is_pack<T>) {                    \
      return simd::f(x);                           \
    } else if constexpr (std::is_integral_v<T>) {  \
      return static_cast<T>(std::f(static_cast<double>(x))); \
    } else if constexpr (std::is_arithmetic_v<T>) { \
      return std::f(x);                            \
    } else {                                       \
      return lookup::call_##f(x);                  \
    }                                              \
  }
#define FARRO_MATH_BINARY(f)                             \
  template <class T>                                     \
  FARRO_FUNCTION inline T f(const T& x, const T& y) {    \
    if constexpr (is_pack<T>) {                          \
      return simd::f(x, y);                              \
    } else if constexpr (std::is_arithmetic_v<T>) {      \
      return static_cast<T>(std::f(x, y));               \
    } else {                                             \
      return lookup::call_##f(x, y);                     \
    }                                                    \
  }
FARRO_UNARY_LIST(FARRO_MATH_UNARY)
FARRO_BINARY_LIST(FARRO_MATH_BINARY)
#undef FARRO_MATH_UNARY
#undef FARRO_MATH_BINARY
#undef FARRO_UNARY_LIST
#undef FARRO_BINARY_LIST

/// 1 / sqrt(x), of full accuracy.
template <class T>
FARRO_FUNCTION inline T rsqrt(const T& x) {
  if constexpr (is_pack<T> || std::is_arithmetic_v<T>) {
    return T(1) / math::sqrt(x);
  } else {
    return lookup::call_rsqrt(x);
  }
}

/// To the nearest integer, ties to even.
template <class T>
FARRO_FUNCTION inline T round(const T& x) {
  if constexpr (is_pack<T>) {
    return simd::round(x);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(std::nearbyint(x));
  } else {
    return lookup::call_round(x);
  }
}

/// True for NaN; a mask for packs.
template <class T>
FARRO_FUNCTION inline auto isnan(const T& x) {
  if constexpr (is_pack<T> || std::is_arithmetic_v<T>) {
    return x != x;
  } else {
    return lookup::call_isnan(x);
  }
}

/// -1, 0 or 1; NaN for NaN.
template <class T>
FARRO_FUNCTION inline T sign(const T& x) {
  if constexpr (is_pack<T> || std::is_arithmetic_v<T>) {
    return select(x > T(0), T(1), select(x < T(0), T(-1), select(x == T(0), T(0), x)));
  } else {
    return lookup::call_sign(x);
  }
}

/// The larger one; NaN if one is NaN.
template <class T>
FARRO_FUNCTION inline T maximum(const T& x, const T& y) {
  if constexpr (is_pack<T> || std::is_arithmetic_v<T>) {
    return select(x > y, x, select(x != x, x, y));
  } else {
    return lookup::call_maximum(x, y);
  }
}

/// The smaller one; NaN if one is NaN.
template <class T>
FARRO_FUNCTION inline T minimum(const T& x, const T& y) {
  if constexpr (is_pack<T> || std::is_arithmetic_v<T>) {
    return select(x < y, x, select(x != x, x, y));
  } else {
    return lookup::call_minimum(x, y);
  }
}

}  // namespace farro::math
