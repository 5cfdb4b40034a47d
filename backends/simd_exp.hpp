#pragma once

/// Exponentials of SIMD packs over their whole range: right up to the largest number, and gradually
/// to 0 below the smallest normal one. Coefficients: scripts/fit-simd-polynomials.

#include <array>
#include <limits>

#include <farro/backends/simd.hpp>

namespace farro::simd {

/// c[K] + c[K + 2] x2 + c[K + 4] x2² + …
template <size_t K, class P, size_t N>
FARRO_INLINE P every_other(const P& x2, const std::array<typename P::value_type, N>& c) {
  if constexpr (K + 2 < N) {
    return simd::fma(every_other<K + 2>(x2, c), x2, P(c[K]));
  } else {
    return P(c[K]);
  }
}

/// c[0] + c[1] x + c[2] x² + …, its even and odd powers apart, for shorter chains of dependent
/// sums.
template <class P, size_t N>
FARRO_INLINE P polynomial(const P& x, const std::array<typename P::value_type, N>& c) {
  P x2 = x * x;
  return simd::fma(x, every_other<1>(x2, c), every_other<0>(x2, c));
}

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr float rounder = 12582912.0f;  ///< 1.5 · 2^23: sums with it are whole
  static constexpr float bias = 127.0f;
  static constexpr float ln2 = 0.693359375f, ln2_rest = -2.12194440e-4f;
  static constexpr float far_down = 64, up_again = 0x1p-64f;
  static constexpr std::array rest = {0.500000004f,   0.166666667f,   0.0416662313f,
                                      0.00833328499f, 0.00139546588f, 0.000199143182f};
};
template <>
struct ExpConstants<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double rounder = 6755399441055744.0;
  static constexpr double bias = 1023.0;
  static constexpr double ln2 = 0x1.62e42fefa3p-1, ln2_rest = 0x1.3de6af278ece6p-42;
  static constexpr double far_down = 600, up_again = 0x1p-600;
  static constexpr std::array rest = {0.5,
                                      0.16666666666666673,
                                      0.041666666666666671,
                                      0.0083333333333235837,
                                      0.0013888888888881926,
                                      0.0001984126988339433,
                                      2.4801587331670255e-5,
                                      2.7557244942221746e-6,
                                      2.7557266175047447e-7,
                                      2.5109404672957822e-8,
                                      2.0917677381805068e-9};
};

/// A number as 2^n · (1 + rest) with rest between about -0.3 and 0.5.
template <class P>
struct Exponential {
  using T = typename P::value_type;
  using K = ExpConstants<T>;

  P shifted;  ///< n in the lowest bits of a number whose unit is 1
  P rest;

  FARRO_INLINE P n() const { return shifted - P(K::rounder + K::bias); }
  /// 2^(n + more) for what is the exponent of a normal number.
  FARRO_INLINE P power(const P& more) const { return from_bits(shifted + more); }
  FARRO_INLINE P power() const { return from_bits(shifted); }

  /// 2^n · mantissa, for a mantissa near 1. Powers beyond the exponents of normal numbers are taken
  /// in two steps, so that results overflow where they should, and denormal ones are rounded once.
  FARRO_INLINE P scale(const P& mantissa) const {
    P exponent = n();
    if (FARRO_LIKELY(xsimd::all(xsimd::abs(exponent) < P(K::bias)))) return mantissa * power();
    auto below = exponent < P(T(0));
    P y = mantissa * power(xsimd::select(below, P(K::far_down), P(T(-1)))) *
          xsimd::select(below, P(K::up_again), P(T(2)));
    y = xsimd::select(exponent > P(K::bias + T(2)), P(std::numeric_limits<T>::infinity()), y);
    return xsimd::select(exponent < P(-K::bias - T(K::mantissa_bits) - T(2)), P(T(0)), y);
  }

 private:
  static FARRO_INLINE P from_bits(const P& shifted) {
    using Integers = xsimd::as_integer_t<P>;
    return bits_as<P>(bits_as<Integers>(shifted) << K::mantissa_bits);
  }
};

/// exp(r) - 1 for |r| <= 0.42 (float), 0.36 (double).
template <class P>
FARRO_INLINE P expm1_near_0(const P& r) {
  return simd::fma(r * r, polynomial(r, ExpConstants<typename P::value_type>::rest), r);
}

/// exp(x + low), low being far smaller than x.
template <class P>
FARRO_INLINE Exponential<P> exponential(const P& x, const P& low) {
  using K = ExpConstants<typename P::value_type>;
  constexpr auto shift = K::rounder + K::bias;
  Exponential<P> e;
  e.shifted = x * P(1.44269504088896340736) + P(shift);
  P n = e.n();
  e.rest = expm1_near_0(simd::fma(n, P(-K::ln2_rest), simd::fma(n, P(-K::ln2), x)) + low);
  return e;
}

template <PackType P>
FARRO_INLINE P exp(const P& x) {
  Exponential<P> e = exponential(x, P(0));
  return e.scale(e.rest + P(1));
}

template <PackType P>
FARRO_INLINE P exp2(const P& x) {
  using K = ExpConstants<typename P::value_type>;
  Exponential<P> e;
  e.shifted = x + P(K::rounder + K::bias);
  e.rest = expm1_near_0((x - e.n()) * P(0.69314718055994530942));
  return e.scale(e.rest + P(1));
}

template <PackType P>
FARRO_INLINE P expm1(const P& x) {
  using T = typename P::value_type;
  using K = ExpConstants<T>;
  Exponential<P> e = exponential(x, P(T(0)));
  P n = e.n(), power = e.power();
  P y = simd::fma(power, e.rest, power - P(T(1)));
  auto far = xsimd::abs(n) > P(K::bias - T(1));
  if (FARRO_UNLIKELY(xsimd::any(far)))
    y = xsimd::select(far, e.scale(e.rest + P(T(1))) - P(T(1)), y);
  return xsimd::select(x == P(T(0)), x, y);
}

template <PackType P>
FARRO_INLINE P tanh(const P& x) {
  using T = typename P::value_type;
  constexpr T last = sizeof(T) == 4 ? 10 : 20;  // from here on the result is ±1
  P size = xsimd::abs(x);
  size = xsimd::select(size > P(last), P(last), size);
  Exponential<P> e = exponential(P(size + size), P(T(0)));
  P power = e.power(), y = simd::fma(power, e.rest, power - P(T(1)));
  return xsimd::copysign(P(y / (y + P(T(2)))), x);
}

template <PackType P>
FARRO_INLINE P cosh(const P& x) {
  using T = typename P::value_type;
  Exponential<P> e = exponential(P(xsimd::abs(x)), P(T(0)));
  e.shifted = e.shifted - P(T(1));
  P half = e.scale(e.rest + P(T(1)));
  return half + P(T(0.25)) / half;
}

}  // namespace farro::simd
