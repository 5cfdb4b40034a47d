#pragma once

/// The functions of math.hpp on numbers, on the host and in device kernels. Integers compute what
/// integers can.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <farro/backends/config.hpp>

namespace farro {

/// True for SIMD packs, false for numbers.
template <class P>
inline constexpr bool is_pack = false;

/// condition ? a : b, element by element.
template <class T>
requires std::is_arithmetic_v<T> FARRO_FUNCTION inline T select(bool condition, T a, T b) {
  return condition ? a : b;
}

namespace scalar {

#define FARRO_FROM_STD(f)                \
  template <class T>                     \
  FARRO_FUNCTION FARRO_INLINE T f(T x) { \
    return std::f(x);                    \
  }
FARRO_FROM_STD(exp)
FARRO_FROM_STD(exp2) FARRO_FROM_STD(expm1) FARRO_FROM_STD(log) FARRO_FROM_STD(log1p)
    FARRO_FROM_STD(log2) FARRO_FROM_STD(log10) FARRO_FROM_STD(sqrt) FARRO_FROM_STD(sin)
        FARRO_FROM_STD(cos) FARRO_FROM_STD(tan) FARRO_FROM_STD(asin) FARRO_FROM_STD(acos)
            FARRO_FROM_STD(atan) FARRO_FROM_STD(sinh) FARRO_FROM_STD(cosh) FARRO_FROM_STD(tanh)
                FARRO_FROM_STD(asinh) FARRO_FROM_STD(acosh) FARRO_FROM_STD(atanh)
                    FARRO_FROM_STD(erf) FARRO_FROM_STD(erfc)
#undef FARRO_FROM_STD

#define FARRO_ROUNDING(f, function)        \
  template <class T>                       \
  FARRO_FUNCTION FARRO_INLINE T f(T x) {   \
    if constexpr (std::is_integral_v<T>) { \
      return x;                            \
    } else {                               \
      return std::function(x);             \
    }                                      \
  }
                        FARRO_ROUNDING(floor, floor) FARRO_ROUNDING(ceil, ceil)
                            FARRO_ROUNDING(trunc, trunc) FARRO_ROUNDING(round, nearbyint)
#undef FARRO_ROUNDING

                                template <class T>
                                FARRO_FUNCTION FARRO_INLINE T abs(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x < 0 ? -x : x;
  } else {
    return std::fabs(x);
  }
}

template <class T>
FARRO_FUNCTION FARRO_INLINE T atan2(T y, T x) {
  return std::atan2(y, x);
}
template <class T>
FARRO_FUNCTION FARRO_INLINE T hypot(T x, T y) {
  return std::hypot(x, y);
}
template <class T>
FARRO_FUNCTION FARRO_INLINE T copysign(T x, T y) {
  return std::copysign(x, y);
}

/// For integers by repeated squaring; negative powers give 0, except for those of 1 and -1.
template <class T>
FARRO_FUNCTION inline T pow(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
    uint64_t result = 1, power = static_cast<uint64_t>(x);
    for (; y > 0; y /= 2) {
      if (y % 2 == 1) result *= power;
      power *= power;
    }
    return static_cast<T>(result);
  } else {
    return std::pow(x, y);
  }
}

/// The quotient rounded towards 0; an integer divided by 0 gives 0 (on the host operations refuse
/// that before they run).
template <class T>
FARRO_FUNCTION inline T trunc_divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    return y == -1 ? static_cast<T>(-static_cast<uint64_t>(x)) : x / y;
  } else {
    return std::trunc(x / y);
  }
}

/// Has the sign of x; 0 for an integer by 0.
template <class T>
FARRO_FUNCTION inline T fmod(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return y == 0 || y == -1 ? 0 : x % y;
  } else {
    return std::fmod(x, y);
  }
}

/// Has the sign of y; 0 for an integer by 0.
template <class T>
FARRO_FUNCTION inline T remainder(T x, T y) {
  T r = scalar::fmod(x, y);
  return r != T(0) && (r < T(0)) != (y < T(0)) ? r + y : r;
}

/// The quotient rounded down. For floating-point numbers from the exact remainder, as Python does
/// it.
template <class T>
FARRO_FUNCTION inline T floor_divide(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    T q = scalar::trunc_divide(x, y);
    return scalar::fmod(x, y) != 0 && (x < 0) != (y < 0) ? q - 1 : q;
  } else {
    if (y == T(0)) return x / y;
    T r = std::fmod(x, y);
    T q = (x - r) / y;
    if (r != T(0) && (r < T(0)) != (y < T(0))) q -= T(1);
    if (q == T(0)) return std::copysign(T(0), x / y);
    T down = std::floor(q);
    return q - down > T(0.5) ? down + T(1) : down;
  }
}

template <class T>
FARRO_FUNCTION inline T lgamma(T x) {
#if defined(__GLIBC__) && !defined(__CUDA_ARCH__)
  int sign;  // std::lgamma writes to a global variable
  if constexpr (std::is_same_v<T, float>) return ::lgammaf_r(x, &sign);
  if constexpr (std::is_same_v<T, double>) return ::lgamma_r(x, &sign);
#endif
  return std::lgamma(x);
}

/// Giles: Approximating the erfinv function; 2010, then two Halley steps on erf, or on erfc where x
/// is near 1.
template <class T>
FARRO_FUNCTION inline T erfinv(T value) {
  double x = static_cast<double>(value), a = std::fabs(x);
  if (!(a < 1)) {
    return static_cast<T>(a == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                                 : std::numeric_limits<double>::quiet_NaN());
  }
  double w = -std::log((1 - a) * (1 + a)), y;
  if (w < 5) {
    w -= 2.5;
    y = 2.81022636e-08;
    const double coefficients[] = {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                   -0.00125372503, -0.00417768164, 0.246640727,     1.50140941};
    for (double c : coefficients) {
      y = c + y * w;
    }
  } else {
    w = std::sqrt(w) - 3;
    y = -0.000200214257;
    const double coefficients[] = {0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                   -0.0076224613,  0.00943887047, 1.00167406,     2.83297682};
    for (double c : coefficients) {
      y = c + y * w;
    }
  }
  y *= a;
  for (int step = 0; step < 2; ++step) {
    double error = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    double newton = error / (1.12837916709551257390 * std::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return static_cast<T>(std::copysign(y, x));
}

/// The derivative of log Gamma: recurrence up to 10, then the asymptotic series; reflection for
/// negative x.
FARRO_FUNCTION inline double digamma(double x) {
  constexpr double pi = 3.14159265358979323846;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double shift = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    double fraction = x - std::trunc(x);
    shift = -pi / std::tan(pi * fraction);
    x = 1 - x;
  }
  while (x < 10) {
    shift -= 1 / x;
    x += 1;
  }
  double z = 1 / (x * x), series = 0;
  if (x < 1e17) {
    const double coefficients[] = {8.33333333333333333333e-2, -2.10927960927960927961e-2,
                                   7.57575757575757575758e-3, -4.16666666666666666667e-3,
                                   3.96825396825396825397e-3, -8.33333333333333333333e-3,
                                   8.33333333333333333333e-2};
    for (double c : coefficients) {
      series = series * z + c;
    }
  }
  return shift + std::log(x) - 0.5 / x - z * series;
}

/// Hurwitz' zeta function, the sum of (q + k)^-s for integer s > 1, by the Euler-Maclaurin formula.
FARRO_FUNCTION inline double hurwitz_zeta(double s, double q) {
  if (q <= 0 && q == std::floor(q)) return std::numeric_limits<double>::infinity();
  double sum = 0, a = q;
  for (int k = 0; k < 12 || a < 12; ++k) {
    sum += std::pow(a, -s);
    a += 1;
  }
  double power = std::pow(a, -s);
  sum += a * power / (s - 1) + 0.5 * power;
  // B(2j) / (2j)!, j = 1 … 8
  double factor = s, term = power / a;
  double j = 0;
  const double coefficients[] = {8.3333333333333333e-2,  -1.3888888888888889e-3,
                                 3.3068783068783069e-5,  -8.2671957671957672e-7,
                                 2.0876756987868099e-8,  -5.2841901386874932e-10,
                                 1.3382536530684679e-11, -3.3896802963225829e-13};
  for (double c : coefficients) {
    sum += c * factor * term;
    factor *= (s + j + 1) * (s + j + 2);
    term /= a * a;
    j += 2;
  }
  return sum;
}

template <class T>
FARRO_FUNCTION inline T polygamma(int n, T x) {
  if (n == 0) return static_cast<T>(digamma(static_cast<double>(x)));
  double factorial = n % 2 == 0 ? -1 : 1;
  for (int k = 2; k <= n; ++k) factorial *= k;
  return static_cast<T>(factorial * hurwitz_zeta(n + 1, static_cast<double>(x)));
}

}  // namespace scalar

}  // namespace farro
