#pragma once

/// sin, cos and tan of SIMD packs. The nearest multiple of pi/2 is taken off in parts whose
/// products with it are exact; the few numbers too large for that go to the scalar library, each by
/// itself, so that a result depends on its own argument alone. Coefficients:
/// scripts/fit-simd-polynomials.

#include <cmath>
#include <utility>

#include <farro/backends/simd_exp.hpp>

namespace farro::simd {

template <class T>
struct TrigConstants;
template <>
struct TrigConstants<float> {
  static constexpr float limit = 6000;
  static constexpr std::array half_pi = {0x1.92p+0f, 0x1.fb4p-12f, 0x1.444p-24f, 0x1.68c234p-39f};
  static constexpr std::array sin = {-0.166666647f, 0.0083327471f, -0.000195876391f};
  static constexpr std::array cos = {0.0416666647f, -0.00138883019f, 2.45476898e-5f};
};
template <>
struct TrigConstants<double> {
  static constexpr double limit = 500000;
  static constexpr std::array half_pi = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
  static constexpr std::array sin = {-0.16666666666666665,    0.0083333333333309366,
                                     -0.00019841269836740532, 2.7557316093198405e-6,
                                     -2.5051129896450186e-8,  1.5917988979397433e-10};
  static constexpr std::array cos = {0.041666666666666665,  -0.001388888888888739,
                                     2.4801587298754401e-5, -2.755731726587808e-7,
                                     2.0876145049413179e-9, -1.138254464534925e-11};
};

/// x = quadrant · pi/2 + r, and what becomes of r.
template <class P>
struct Angle {
  using T = typename P::value_type;
  using K = TrigConstants<T>;
  using Integers = xsimd::as_integer_t<P>;
  static constexpr int sign_bit = sizeof(T) * 8 - 1;

  Integers quadrant;
  P sin, cos;

  FARRO_INLINE explicit Angle(const P& x) {
    P shifted = x * P(0.63661977236758134308) + P(ExpConstants<T>::rounder);
    P n = shifted - P(ExpConstants<T>::rounder), r = x;
    for (T part : K::half_pi) r = simd::fma(n, P(-part), r);
    P r2 = r * r;
    quadrant = bits_as<Integers>(shifted);
    sin = simd::fma(r * r2, polynomial(r2, K::sin), r);
    cos = simd::fma(r2 * r2, polynomial(r2, K::cos), simd::fma(r2, P(T(-0.5)), P(T(1))));
  }

  /// True where the quadrant is odd.
  FARRO_INLINE auto odd() const {
    return bits_as<P>((quadrant << sign_bit) | bits_as<Integers>(P(T(1)))) < P(T(0));
  }
  /// sin(r + quadrant · pi/2)
  FARRO_INLINE P sine() const {
    Integers turned = (quadrant << (sign_bit - 1)) & bits_as<Integers>(P(T(-0.0)));
    return bits_as<P>(bits_as<Integers>(P(xsimd::select(odd(), cos, sin))) ^ turned);
  }
};

/// y, except for the lanes whose x is beyond the limit or NaN, which get f(x).
template <class P, class F>
FARRO_INLINE P with_large(const P& x, const P& y, const F& f) {
  using T = typename P::value_type;
  constexpr T limit = TrigConstants<T>::limit;
  if (FARRO_LIKELY(xsimd::all(xsimd::abs(x) <= P(limit)))) return y;
  return per_lane([&f](T lane, T result) { return std::fabs(lane) <= limit ? result : f(lane); }, x,
                  y);
}

template <PackType P>
FARRO_INLINE P sin(const P& x) {
  P y = xsimd::select(x == P(0), x, Angle<P>(x).sine());  // keeps the sign of 0
  return with_large(x, y, [](auto lane) { return scalar::sin(lane); });
}

template <PackType P>
FARRO_INLINE P cos(const P& x) {
  Angle<P> angle(x);
  angle.quadrant = angle.quadrant + typename Angle<P>::Integers(1);
  return with_large(x, angle.sine(), [](auto lane) { return scalar::cos(lane); });
}

/// sin(x) and cos(x) for |x| up to TrigConstants::limit.
template <PackType P>
FARRO_INLINE std::pair<P, P> sincos_below_limit(const P& x) {
  Angle<P> angle(x);
  P sine = angle.sine();
  angle.quadrant = angle.quadrant + typename Angle<P>::Integers(1);
  return {sine, angle.sine()};
}

template <PackType P>
FARRO_INLINE P tan(const P& x) {
  Angle<P> angle(x);
  auto odd = angle.odd();
  P y = xsimd::select(odd, -angle.cos, angle.sin) / xsimd::select(odd, angle.sin, angle.cos);
  return with_large(x, P(xsimd::select(x == P(0), x, y)),
                    [](auto lane) { return scalar::tan(lane); });
}

}  // namespace farro::simd
