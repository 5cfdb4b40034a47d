#pragma once

/// The functions of math.hpp on SIMD packs.

#include <farro/backends/simd.hpp>

namespace farro::simd {

template <class P>
concept PackType = is_pack<P>;

#define FARRO_FROM_XSIMD(f)          \
  template <PackType P>              \
  FARRO_INLINE P f(const P& x) {     \
    return xsimd::f(x);              \
  }
#define FARRO_PER_LANE(f)                                                        \
  template <PackType P>                                                          \
  FARRO_INLINE P f(const P& x) {                                                 \
    return per_lane([](typename P::value_type v) { return scalar::f(v); }, x);      \
  }
#define FARRO_PER_LANE2(f)                                                                                 \
  template <PackType P>                                                                                    \
  FARRO_INLINE P f(const P& x, const P& y) {                                                               \
    return per_lane([](typename P::value_type v, typename P::value_type w) { return scalar::f(v, w); }, x, y); \
  }
FARRO_FROM_XSIMD(abs)
FARRO_FROM_XSIMD(sqrt)
FARRO_FROM_XSIMD(floor)
FARRO_FROM_XSIMD(ceil)
FARRO_FROM_XSIMD(trunc)
FARRO_FROM_XSIMD(exp)
FARRO_FROM_XSIMD(exp2)
FARRO_FROM_XSIMD(expm1)
FARRO_FROM_XSIMD(log)
FARRO_FROM_XSIMD(log1p)
FARRO_FROM_XSIMD(log2)
FARRO_FROM_XSIMD(log10)
FARRO_FROM_XSIMD(sinh)
FARRO_FROM_XSIMD(cosh)
FARRO_FROM_XSIMD(tanh)
FARRO_FROM_XSIMD(erf)
FARRO_PER_LANE(sin)
FARRO_PER_LANE(cos)
FARRO_PER_LANE(tan)
FARRO_PER_LANE(asin)
FARRO_PER_LANE(acos)
FARRO_PER_LANE(atan)
FARRO_PER_LANE(asinh)
FARRO_PER_LANE(acosh)
FARRO_PER_LANE(atanh)
FARRO_PER_LANE2(pow)
FARRO_PER_LANE2(atan2)
FARRO_PER_LANE2(hypot)
FARRO_PER_LANE2(fmod)
FARRO_PER_LANE2(remainder)
FARRO_PER_LANE2(floor_divide)
FARRO_PER_LANE(erfc)  // xsimd 8.1 loses 4 digits of a double's where the result is small
FARRO_PER_LANE(erfinv)
FARRO_PER_LANE(lgamma)

template <PackType P>
FARRO_INLINE P copysign(const P& x, const P& y) {
  return xsimd::copysign(x, y);
}

/// The quotient rounded towards 0.
template <PackType P>
FARRO_INLINE P trunc_divide(const P& x, const P& y) {
  return xsimd::trunc(x / y);
}

/// Ties to even.
template <PackType P>
FARRO_INLINE P round(const P& x) {
  return xsimd::nearbyint(x);
}

#undef FARRO_FROM_XSIMD
#undef FARRO_PER_LANE
#undef FARRO_PER_LANE2

}  // namespace farro::simd
