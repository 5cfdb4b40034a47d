#include <cmath>
#include <string>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <farro/backends/math.hpp>

#include <backends/ulps.hpp>

/// SIMD packs against the C library in a wider type: how many units in the last place each function
/// errs, at special numbers and in a dense sweep, and that a lane's result is its own.

namespace farro::test {
namespace {

template <class T>
struct UnaryCase {
  const char* name;
  Pack<T> (*pack)(const Pack<T>&);
  Wide<T> (*exact)(Wide<T>);
  double bound;  ///< units in the last place
};

/// The bounds hold with and without fused multiply-add, for packs of 128, 256 and 512 bits.
template <class T>
std::vector<UnaryCase<T>> unary_cases() {
  using P = Pack<T>;
  using W = Wide<T>;
  return {
      {"abs", [](const P& x) { return math::abs(x); }, [](W x) { return std::fabs(x); }, 0},
      {"floor", [](const P& x) { return math::floor(x); }, [](W x) { return std::floor(x); }, 0},
      {"ceil", [](const P& x) { return math::ceil(x); }, [](W x) { return std::ceil(x); }, 0},
      {"trunc", [](const P& x) { return math::trunc(x); }, [](W x) { return std::trunc(x); }, 0},
      {"round", [](const P& x) { return math::round(x); }, [](W x) { return std::nearbyint(x); },
       0},
      {"sqrt", [](const P& x) { return math::sqrt(x); }, [](W x) { return std::sqrt(x); }, 0.5},
      {"rsqrt", [](const P& x) { return math::rsqrt(x); }, [](W x) { return 1 / std::sqrt(x); }, 2},
      {"exp", [](const P& x) { return math::exp(x); }, [](W x) { return std::exp(x); }, 1.1},
      {"exp2", [](const P& x) { return math::exp2(x); }, [](W x) { return std::exp2(x); }, 1.1},
      {"expm1", [](const P& x) { return math::expm1(x); }, [](W x) { return std::expm1(x); }, 2.1},
      {"log", [](const P& x) { return math::log(x); }, [](W x) { return std::log(x); }, 1},
      {"log1p", [](const P& x) { return math::log1p(x); }, [](W x) { return std::log1p(x); }, 1},
      {"log2", [](const P& x) { return math::log2(x); }, [](W x) { return std::log2(x); }, 2},
      {"log10", [](const P& x) { return math::log10(x); }, [](W x) { return std::log10(x); }, 1},
      {"sin", [](const P& x) { return math::sin(x); }, [](W x) { return std::sin(x); }, 2.5},
      {"cos", [](const P& x) { return math::cos(x); }, [](W x) { return std::cos(x); }, 2.5},
      {"tan", [](const P& x) { return math::tan(x); }, [](W x) { return std::tan(x); }, 4.1},
      {"asin", [](const P& x) { return math::asin(x); }, [](W x) { return std::asin(x); }, 2.5},
      {"acos", [](const P& x) { return math::acos(x); }, [](W x) { return std::acos(x); }, 2},
      {"atan", [](const P& x) { return math::atan(x); }, [](W x) { return std::atan(x); }, 2.5},
      {"sinh", [](const P& x) { return math::sinh(x); }, [](W x) { return std::sinh(x); }, 2.5},
      {"cosh", [](const P& x) { return math::cosh(x); }, [](W x) { return std::cosh(x); }, 2},
      {"tanh", [](const P& x) { return math::tanh(x); }, [](W x) { return std::tanh(x); }, 3},
      {"asinh", [](const P& x) { return math::asinh(x); }, [](W x) { return std::asinh(x); }, 4},
      {"acosh", [](const P& x) { return math::acosh(x); }, [](W x) { return std::acosh(x); }, 2.5},
      {"atanh", [](const P& x) { return math::atanh(x); }, [](W x) { return std::atanh(x); }, 2},
      {"erf", [](const P& x) { return math::erf(x); }, [](W x) { return std::erf(x); }, 2},
      {"erfc", [](const P& x) { return math::erfc(x); }, [](W x) { return std::erfc(x); }, 4},
      {"lgamma", [](const P& x) { return math::lgamma(x); }, [](W x) { return std::lgamma(x); }, 6},
  };
}

template <class T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T, class F>
std::vector<T> in_packs(const std::vector<T>& x, const F& f) {
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); i += pack_size<T>)
    simd::store<T>(&y[i], f(simd::load<T>(&x[i])));
  return y;
}

template <class T>
std::vector<T> lanes_of(const Pack<T>& pack) {
  std::vector<T> lanes(pack_size<T>);
  simd::store<T>(lanes.data(), pack);
  return lanes;
}

}  // namespace

TEMPLATE_TEST_CASE("simd: functions are exact to a few units in the last place", "", float,
                   double) {
  using T = TestType;
  const std::vector<T> x = trying_numbers<T>(8000);
  for (const auto& c : unary_cases<T>()) {
    std::vector<T> y = in_packs<T>(x, c.pack);
    double worst = 0;
    size_t place = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double error = ulps<T>(y[i], c.exact(static_cast<Wide<T>>(x[i])));
      if (error > worst) worst = error, place = i;
    }
    INFO(c.name << "(" << x[place] << ") gave " << y[place] << ", exact: " << c.exact(x[place]));
    CHECK(worst <= c.bound);
  }
}

TEMPLATE_TEST_CASE("simd: a lane's bits depend on its own argument alone", "[bits]", float,
                   double) {
  using T = TestType;
  const std::vector<T> x = trying_numbers<T>(1000);
  for (const auto& c : unary_cases<T>()) {
    std::vector<T> y = in_packs<T>(x, c.pack);
    for (size_t i = 0; i < x.size(); ++i) {
      T alone = lanes_of<T>(c.pack(Pack<T>(x[i]))).back();
      if (!same(alone, y[i]))
        FAIL_CHECK(c.name << "(" << x[i] << ") is " << y[i] << " among others, " << alone
                          << " alone");
    }
  }
}

TEMPLATE_TEST_CASE("simd: functions of two arguments give what they give for numbers", "", float,
                   double) {
  using T = TestType;
  using P = Pack<T>;
  struct Case {
    const char* name;
    P (*pack)(const P&, const P&);
    T (*number)(T, T);
  };
  const std::vector<Case> cases = {
      {"pow", [](const P& a, const P& b) { return math::pow(a, b); },
       [](T a, T b) { return math::pow(a, b); }},
      {"atan2", [](const P& a, const P& b) { return math::atan2(a, b); },
       [](T a, T b) { return math::atan2(a, b); }},
      {"hypot", [](const P& a, const P& b) { return math::hypot(a, b); },
       [](T a, T b) { return math::hypot(a, b); }},
      {"fmod", [](const P& a, const P& b) { return math::fmod(a, b); },
       [](T a, T b) { return math::fmod(a, b); }},
      {"remainder", [](const P& a, const P& b) { return math::remainder(a, b); },
       [](T a, T b) { return math::remainder(a, b); }},
      {"floor_divide", [](const P& a, const P& b) { return math::floor_divide(a, b); },
       [](T a, T b) { return math::floor_divide(a, b); }},
      {"trunc_divide", [](const P& a, const P& b) { return math::trunc_divide(a, b); },
       [](T a, T b) { return math::trunc_divide(a, b); }},
      {"copysign", [](const P& a, const P& b) { return math::copysign(a, b); },
       [](T a, T b) { return math::copysign(a, b); }},
      {"maximum", [](const P& a, const P& b) { return math::maximum(a, b); },
       [](T a, T b) { return math::maximum(a, b); }},
      {"minimum", [](const P& a, const P& b) { return math::minimum(a, b); },
       [](T a, T b) { return math::minimum(a, b); }},
  };
  std::vector<T> numbers = special_numbers<T>();
  numbers.resize(numbers.size() / 16 * 16);
  for (const Case& c : cases) {
    for (T second : numbers) {
      std::vector<T> y = in_packs<T>(numbers, [&](const P& x) { return c.pack(x, P(second)); });
      for (size_t i = 0; i < numbers.size(); ++i) {
        T expected = c.number(numbers[i], second);
        if (!same(y[i], expected)) {
          FAIL_CHECK(c.name << "(" << numbers[i] << ", " << second << ") is " << y[i]
                            << ", expected " << expected);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("simd: conditions choose lane by lane, NaN included", "", float, double) {
  using T = TestType;
  using P = Pack<T>;
  std::vector<T> numbers = special_numbers<T>();
  numbers.resize(numbers.size() / 16 * 16);
  auto number = [](bool yes) { return yes ? T(1) : T(0); };
  auto check = [&](const char* name, auto pack, auto expected) {
    for (T second : numbers) {
      auto y = in_packs<T>(
          numbers, [&](const P& x) { return P(select(pack(x, P(second)), P(T(1)), P(T(0)))); });
      for (size_t i = 0; i < numbers.size(); ++i) {
        if (y[i] != number(expected(numbers[i], second)))
          FAIL_CHECK(name << " " << numbers[i] << ", " << second);
      }
    }
  };
  check(
      "==", [](P a, P b) { return a == b; }, [](T a, T b) { return a == b; });
  check(
      "!(==)", [](P a, P b) { return !(a == b); }, [](T a, T b) { return a != b; });
  check(
      "<", [](P a, P b) { return a < b; }, [](T a, T b) { return a < b; });
  check(
      "<=", [](P a, P b) { return a <= b; }, [](T a, T b) { return a <= b; });
  check(
      ">", [](P a, P b) { return a > b; }, [](T a, T b) { return a > b; });
  check(
      ">=", [](P a, P b) { return a >= b; }, [](T a, T b) { return a >= b; });
  check(
      "&", [](P a, P b) { return (a < b) & (a > P(T(0))); },
      [](T a, T b) { return a < b && a > 0; });
  check(
      "|", [](P a, P b) { return (a < b) | (a > P(T(0))); },
      [](T a, T b) { return a < b || a > 0; });
  check(
      "exclusive_or", [](P a, P b) { return math::exclusive_or(a<b, a> P(T(0))); },
      [](T a, T b) { return math::exclusive_or(a<b, a> 0); });
  check(
      "isnan", [](P a, P) { return math::isnan(a); }, [](T a, T) { return std::isnan(a); });
  check(
      "is_infinite", [](P a, P) { return math::is_infinite(a); },
      [](T a, T) { return std::isinf(a); });
  check(
      "is_finite", [](P a, P) { return math::is_finite(a); },
      [](T a, T) { return std::isfinite(a); });
}

TEMPLATE_TEST_CASE("simd: the first lanes are read and written without touching what follows", "",
                   float, double, int64_t) {
  using T = TestType;
  constexpr int64_t lanes = pack_size<T>;
  for (int64_t n = 1; n < lanes; ++n) {
    std::vector<T> in(static_cast<size_t>(n)), out(static_cast<size_t>(lanes), T(-7));
    for (int64_t i = 0; i < n; ++i) in[static_cast<size_t>(i)] = static_cast<T>(i + 1);
    simd::store_some<T>(out.data(), simd::load_some<T>(in.data(), n), n);
    for (int64_t i = 0; i < lanes; ++i)
      CHECK(out[static_cast<size_t>(i)] == (i < n ? static_cast<T>(i + 1) : T(-7)));
  }
}

TEMPLATE_TEST_CASE("simd: a product and a sum are one rounding where the processor can", "", float,
                   double) {
  using T = TestType;
  using P = Pack<T>;
  T x = 1 + 3 * std::numeric_limits<T>::epsilon();
  T y = lanes_of<T>(simd::fma(P(x), P(x), P(T(-1))))[0];
  T apart = x * x - 1;
#ifdef __FMA__
  CHECK(y == std::fma(x, x, T(-1)));
  CHECK(y != apart);
#else
  CHECK((y == std::fma(x, x, T(-1)) || y == apart));
#endif
}

}  // namespace farro::test
