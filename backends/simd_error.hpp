#pragma once

/// The error function of SIMD packs and its complement. Coefficients: scripts/fit-simd-polynomials.

#include <farro/backends/simd_exp.hpp>

namespace farro::simd {

template <class T>
struct ErrorConstants;
template <>
struct ErrorConstants<float> {
  static constexpr float last = 10.2f;  ///< erfc is 0 from here on
  static constexpr int32_t high_bits = ~0xfff;
  static constexpr std::array near_0 = {0.128379166f,  -0.376126267f,  0.112835947f,
                                        -0.026854212f, 0.00518908742f, -0.000801686429f,
                                        7.87587506e-5f};
  static constexpr std::array tail = {
      1.27697839f,     -0.0927637823f, -0.166030903f,  0.164049346f,    -0.0542101388f,
      -0.00801115407f, 0.00865411814f, 0.00116507141f, -0.00125852147f, -0.000246739125f};
};
template <>
struct ErrorConstants<double> {
  static constexpr double last = 27.3;
  static constexpr int64_t high_bits = ~0x7ffffffLL;
  static constexpr std::array near_0 = {
      0.12837916709551257,    -0.3761263890318354,   0.11283791670945006,
      -0.02686617064323777,   0.0052239776071164227, -0.00085483259753896921,
      0.00012055294904839708, -1.492473690741966e-5, 1.6447424703317362e-6,
      -1.6208483801871706e-7, 1.3720064546777686e-8, -7.7958988270021422e-10};
  static constexpr std::array tail = {
      1.2769783815525287,      -0.092763826585745694,  -0.16603039761528079,
      0.16405128003338841,     -0.054220000992750475,  -0.0080340150795589661,
      0.0087226538983526009,   0.0012713388923554072,  -0.0014568143055014873,
      -0.00045433975398976123, 0.00020637037854610882, 0.00015102946547770523,
      -1.5259191816731103e-6,  -3.6367634441583391e-5, -1.3449339676353517e-5,
      3.5072052682477572e-6,   5.1880796452589505e-6,  1.9622945948076626e-6,
      -8.1327422929138369e-7,  -1.4173404319840452e-6, 7.6838768527112408e-8,
      4.6813149547641521e-7,   -1.2182563428336101e-7};
};

/// erf(x) for |x| <= 1.
template <class P>
FARRO_INLINE P erf_near_0(const P& x) {
  return simd::fma(x, polynomial(P(x * x), ErrorConstants<typename P::value_type>::near_0), x);
}

/// erfc(a) for a >= 0.5 as exp(-a²) / (1 + 2a) times a function that varies little (Shepherd and
/// Laframboise: Chebyshev Approximation of (1 + 2x) exp(x²) erfc x in 0 <= x < ∞; Math. Comp. 36,
/// 1981). a² is taken in two parts.
template <class P>
FARRO_INLINE P erfc_tail(const P& unlimited) {
  using T = typename P::value_type;
  using K = ErrorConstants<T>;
  using Integers = xsimd::as_integer_t<P>;
  P a = xsimd::select(unlimited > P(K::last), P(K::last), unlimited);
  P factor = polynomial(P((a - P(T(2))) / (a + P(T(2)))), K::tail);
  P high = bits_as<P>(bits_as<Integers>(a) & Integers(K::high_bits));
  Exponential<P> e = exponential(P(-(high * high)), P((high - a) * (high + a)));
  return e.scale((e.rest + P(T(1))) * factor / (a + a + P(T(1))));
}

template <PackType P>
FARRO_INLINE P erf(const P& x) {
  P one(typename P::value_type(1)), size = xsimd::abs(x), y = erf_near_0(x);
  auto far = size > one;
  if (!xsimd::any(far)) return y;
  return xsimd::select(far, xsimd::copysign(P(one - erfc_tail(size)), x), y);
}

template <PackType P>
FARRO_INLINE P erfc(const P& x) {
  using T = typename P::value_type;
  P size = xsimd::abs(x), tail = erfc_tail(size);
  P far = xsimd::select(x < P(T(0)), P(T(2)) - tail, tail);
  return xsimd::select(size < P(T(0.5)), P(T(1)) - erf_near_0(x), far);
}

}  // namespace farro::simd
