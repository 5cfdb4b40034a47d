#pragma once

/// log and log1p of SIMD packs over their whole range, denormal numbers included. Coefficients:
/// scripts/fit-simd-polynomials.

#include <cstdint>

#include <farro/backends/simd_exp.hpp>

namespace farro::simd {

template <class T>
struct LogConstants;
template <>
struct LogConstants<float> {
  using Bits = uint32_t;
  static constexpr Bits root_half = 0x3f3504f3, one = 0x3f800000, mantissa = 0x7fffff;
  static constexpr float whole = 0x1p23f;  ///< sums with it have their unit in the last bit
  static constexpr float far_up = 0x1p25f, up_bits = 25;
  static constexpr std::array rest = {0.66666685f, 0.399887806f, 0.295799494f};
};
template <>
struct LogConstants<double> {
  using Bits = uint64_t;
  static constexpr Bits root_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000,
                        mantissa = 0xfffffffffffff;
  static constexpr double whole = 0x1p52;
  static constexpr double far_up = 0x1p54, up_bits = 54;
  static constexpr std::array rest = {0.66666666666666697, 0.39999999999899504, 0.28571428625975485,
                                      0.2222221113479508,  0.18182889125261722, 0.15331721600556041,
                                      0.14616449685043406};
};

/// log(x) + low for a normal x > 0, times 2^-shift, and low far smaller than x. x = 2^n (1 + f)
/// with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) = f - f²/2 + s (f²/2 + R(s²)) with s = f /
/// (2 + f), where s² R is what the series of log((1 + s) / (1 - s)) has beyond 2 s.
template <class P>
FARRO_INLINE P log_normal(const P& x, const P& low, const P& shift) {
  using T = typename P::value_type;
  using C = LogConstants<T>;
  using E = ExpConstants<T>;
  using Bits = xsimd::batch<typename C::Bits, typename P::arch_type>;
  Bits bits = bits_as<Bits>(x) - Bits(C::root_half) + Bits(C::one);
  P n = bits_as<P>((bits >> E::mantissa_bits) | bits_as<Bits>(P(C::whole))) -
        P(C::whole + E::bias) - shift;
  P f = bits_as<P>((bits & Bits(C::mantissa)) + Bits(C::root_half)) - P(T(1));
  P s = f / (f + P(T(2))), z = s * s;
  P half = f * f * P(T(0.5));
  P small =
      simd::fma(s, simd::fma(z, polynomial(z, C::rest), half), simd::fma(n, P(E::ln2_rest), low));
  return simd::fma(n, P(E::ln2), f - (half - small));
}

/// log(x) + low for any x.
template <class P>
FARRO_INLINE P log_of(const P& x, const P& low) {
  using T = typename P::value_type;
  using C = LogConstants<T>;
  using Limits = std::numeric_limits<T>;
  auto normal = (x >= P(Limits::min())) & (x <= P(Limits::max()));
  if (FARRO_LIKELY(xsimd::all(normal))) return log_normal(x, low, P(T(0)));
  auto tiny = x < P(Limits::min());
  P y = log_normal(P(xsimd::select(tiny, x * P(C::far_up), x)), low,
                   P(xsimd::select(tiny, P(C::up_bits), P(T(0)))));
  P infinity(Limits::infinity());
  y = xsimd::select(x == P(T(0)), -infinity, y);
  y = xsimd::select(x == infinity, infinity, y);
  return xsimd::select(x >= P(T(0)), y, P(Limits::quiet_NaN()));
}

template <PackType P>
FARRO_INLINE P log(const P& x) {
  return log_of(x, P(0));
}

template <PackType P>
FARRO_INLINE P log1p(const P& x) {
  using T = typename P::value_type;
  P one(T(1)), y = x + one;
  P low = (x - (y - one)) / y;  // what the sum lost
  return xsimd::select(x == P(T(0)), x, log_of(y, low));
}

}  // namespace farro::simd
