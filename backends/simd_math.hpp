#pragma once

/// The functions of math.hpp on SIMD packs. Those of xsimd are taken where they are right to 4
/// units in the last place and a lane's result does not depend on its neighbours; what differs from
/// them is beside this header. Functions without a SIMD formula call the scalar library lane by
/// lane.

#include <limits>

#include <farro/backends/simd.hpp>
#include <farro/backends/simd_error.hpp>
#include <farro/backends/simd_exp.hpp>
#include <farro/backends/simd_log.hpp>
#include <farro/backends/simd_trig.hpp>

namespace farro::simd {

// Without optimization gcc's AVX-512 blends are macros, in which xsimd 8.1's selection of integers
// does not compile.
#ifdef __OPTIMIZE__
#define FARRO_OPTIMIZED(f) [](const auto& v) { return xsimd::f(v); }
#else
#define FARRO_OPTIMIZED(f) \
  [](const auto& v) { return per_lane([](auto lane) { return scalar::f(lane); }, v); }
#endif

#define FARRO_FROM_XSIMD(f)       \
  template <PackType P>           \
  FARRO_INLINE P f(const P& x) {  \
    return FARRO_OPTIMIZED(f)(x); \
  }
#if defined(__SSE2__) && !defined(__SSE4_1__)
// xsimd rounds through integers then, which loses the sign of 0.
#define FARRO_ROUNDING(f)                      \
  template <PackType P>                        \
  FARRO_INLINE P f(const P& x) {               \
    return xsimd::copysign(P(xsimd::f(x)), x); \
  }
#else
#define FARRO_ROUNDING(f) FARRO_FROM_XSIMD(f)
#endif
#define FARRO_PER_LANE(f)                                                      \
  template <PackType P>                                                        \
  FARRO_INLINE P f(const P& x) {                                               \
    return per_lane([](typename P::value_type v) { return scalar::f(v); }, x); \
  }
#define FARRO_PER_LANE2(f)                                                                         \
  template <PackType P>                                                                            \
  FARRO_INLINE P f(const P& x, const P& y) {                                                       \
    return per_lane(                                                                               \
        [](typename P::value_type v, typename P::value_type w) { return scalar::f(v, w); }, x, y); \
  }
FARRO_FROM_XSIMD(abs)
FARRO_FROM_XSIMD(sqrt)
FARRO_ROUNDING(floor)
FARRO_ROUNDING(ceil)
FARRO_ROUNDING(trunc)
FARRO_FROM_XSIMD(sinh)
FARRO_FROM_XSIMD(asin)
FARRO_FROM_XSIMD(acos)
FARRO_FROM_XSIMD(atan)
FARRO_FROM_XSIMD(asinh)
FARRO_FROM_XSIMD(atanh)
FARRO_PER_LANE2(pow)
FARRO_PER_LANE2(atan2)
FARRO_PER_LANE2(hypot)
FARRO_PER_LANE2(fmod)
FARRO_PER_LANE2(remainder)
FARRO_PER_LANE2(floor_divide)
FARRO_PER_LANE(erfinv)
FARRO_PER_LANE(lgamma)

/// A logarithm f of what may be below the smallest normal number, where xsimd 8.1 errs for doubles.
/// `step` is f(2^-54).
template <class P, class F>
FARRO_INLINE P logarithm(const P& x, typename P::value_type step, const F& f) {
  using T = typename P::value_type;
  if constexpr (std::is_same_v<T, float>) {
    return f(x);
  } else {
    auto small = (x < P(std::numeric_limits<T>::min())) & (x > P(T(0)));
    if (FARRO_LIKELY(!xsimd::any(small))) return f(x);
    return f(P(xsimd::select(small, x * P(T(0x1p54)), x))) + xsimd::select(small, P(step), P(T(0)));
  }
}

template <PackType P>
FARRO_INLINE P log2(const P& x) {
  return logarithm(x, -54, FARRO_OPTIMIZED(log2));
}
template <PackType P>
FARRO_INLINE P log10(const P& x) {
  return logarithm(x, -16.255619765854984542, FARRO_OPTIMIZED(log10));
}
template <PackType P>
FARRO_INLINE P acosh(const P& x) {
  using T = typename P::value_type;
  return xsimd::select(x < P(T(1)), P(std::numeric_limits<T>::quiet_NaN()),
                       FARRO_OPTIMIZED(acosh)(x));
}

template <PackType P>
FARRO_INLINE P copysign(const P& x, const P& y) {
  return xsimd::copysign(x, y);
}

/// The quotient rounded towards 0.
template <PackType P>
FARRO_INLINE P trunc_divide(const P& x, const P& y) {
  return simd::trunc(P(x / y));
}

/// Ties to even.
template <PackType P>
FARRO_INLINE P round(const P& x) {
  return xsimd::nearbyint(x);
}

#undef FARRO_FROM_XSIMD
#undef FARRO_ROUNDING
#undef FARRO_PER_LANE
#undef FARRO_PER_LANE2
#undef FARRO_OPTIMIZED

}  // namespace farro::simd
