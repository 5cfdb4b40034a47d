#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

/// Arguments that try a function of one floating-point type, and how far a result is from the exact
/// one.
namespace farro::test {

/// Wide enough to hold what is exact for T.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

/// |y - exact| in units of the last place of a T near the exact result; infinite where one is NaN,
/// infinite, or a zero of the other sign, and the other is not. A result within 2 units of the
/// largest number may have overflowed.
template <class T>
double ulps(T y, Wide<T> exact) {
  using Limits = std::numeric_limits<T>;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(y) || std::isnan(exact)) return std::isnan(y) == std::isnan(exact) ? 0 : wrong;
  T rounded = static_cast<T>(exact);
  if (std::isinf(y) || std::isinf(rounded)) {
    if (y == rounded) return 0;
    Wide<T> edge = static_cast<Wide<T>>(Limits::max()) * (1 - 2 * Wide<T>(Limits::epsilon()));
    bool close = !std::isinf(exact) && std::fabs(exact) > edge &&
                 (std::isinf(y) || std::fabs(y) >= static_cast<T>(edge));
    return close && std::signbit(y) == std::signbit(exact) ? 2 : wrong;
  }
  if (exact == 0) return y == 0 && std::signbit(y) == std::signbit(exact) ? 0 : wrong;
  int exponent = std::max(std::ilogb(exact), Limits::min_exponent - 1) - (Limits::digits - 1);
  return static_cast<double>(std::fabs(static_cast<Wide<T>>(y) - exact) /
                             std::ldexp(Wide<T>(1), exponent));
}

/// Zeros, infinities, NaN, denormal numbers, the largest, the edges of what exponentials can hold;
/// each of both signs.
template <class T>
std::vector<T> special_numbers() {
  using L = std::numeric_limits<T>;
  std::vector<T> result;
  for (T x :
       {T(0), L::infinity(), L::quiet_NaN(), L::denorm_min(), L::denorm_min() * 3, L::min() / 2,
        L::min(), L::max(), L::max() / 2, L::epsilon(), L::epsilon() / 2, T(0.25), T(0.5), T(1),
        T(2), T(3), T(10), T(1e5), T(1e10), T(1e20), T(1) - L::epsilon(), T(1) + L::epsilon(),
        // Where exp and its kin overflow, become denormal, and vanish: float, then double.
        T(87.3), T(87.4), T(88.3), T(88.4), T(88.5), T(88.72283), T(88.73), T(89.4), T(89.5),
        T(103.9), T(104), T(126), T(126.6), T(127), T(127.5), T(128), T(149), T(149.9), T(150),
        T(708.3), T(708.5), T(709.4), T(709.78), T(709.79), T(710.4), T(710.5), T(744.4), T(745.1),
        T(745.2), T(1022), T(1023.5), T(1024), T(1074), T(1075), T(9.19), T(10.05), T(10.06),
        T(26.54), T(27.2), T(27.3)}) {
    result.push_back(x);
    result.push_back(-x);
  }
  return result;
}

/// The special numbers; evenly spread ones of several ranges; ones near 1; any bits. The same at
/// each call.
template <class T>
std::vector<T> trying_numbers(int each) {
  std::vector<T> result = special_numbers<T>();
  std::mt19937_64 bits(20240501);
  auto uniform = [&](double scale) {
    return scale * (static_cast<double>(bits() >> 11) * 0x1p-52 - 1);
  };
  for (int i = 0; i < each; ++i) {
    for (double scale : {0.3, 1.1, 4.0, 30.0, 110.0, 760.0})
      result.push_back(static_cast<T>(uniform(scale)));
    result.push_back(static_cast<T>(1 + uniform(0.1) * std::exp2(-20 * (uniform(1) + 1))));
    result.push_back(static_cast<T>(std::exp(uniform(40))));
    result.push_back(static_cast<T>(-std::exp(uniform(40))));
    uint64_t word = bits();
    T any;
    std::memcpy(&any, &word, sizeof(T));
    result.push_back(any);
  }
  result.resize(result.size() / 16 * 16);
  return result;
}

}  // namespace farro::test
