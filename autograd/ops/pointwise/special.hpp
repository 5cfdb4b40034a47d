#pragma once

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Erf : Pointwise<1> {
  static constexpr const char* name = "erf";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 6;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::erf(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * (T(1.12837916709551257390) * math::exp(-x * x));
  }
};

struct Erfc : Pointwise<1> {
  static constexpr const char* name = "erfc";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::erfc(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * (T(-1.12837916709551257390) * math::exp(-x * x));
  }
};

struct Erfinv : Pointwise<1> {
  static constexpr const char* name = "erfinv";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {-0.9, 0.9};
  static constexpr double cost = 30;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::erfinv(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (T(0.88622692545275801365) * math::exp(y * y));
  }
};

/// log |Gamma(x)|
struct Lgamma : Pointwise<1> {
  static constexpr const char* name = "lgamma";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.3, 4};
  static constexpr double cost = 30;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::lgamma(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::polygamma(0, x);
  }
};

/// Derivative of order `order` of digamma.
struct Polygamma : Pointwise<1> {
  static constexpr const char* name = "polygamma";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.3, 4};
  static constexpr double cost = 30;
  int order = 0;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::polygamma(order, x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::polygamma(order + 1, x);
  }
};

}  // namespace ops

inline Tensor erf(const Tensor& x) { return pointwise(ops::Erf{}, x); }
inline Tensor erfc(const Tensor& x) { return pointwise(ops::Erfc{}, x); }
/// The inverse of erf.
inline Tensor erfinv(const Tensor& x) { return pointwise(ops::Erfinv{}, x); }
inline Tensor lgamma(const Tensor& x) { return pointwise(ops::Lgamma{}, x); }
/// The derivative of lgamma.
inline Tensor digamma(const Tensor& x) { return pointwise(ops::Polygamma{{}, 0}, x); }
/// The n-th derivative of digamma, n >= 0.
inline Tensor polygamma(int n, const Tensor& x) {
  if (n < 0) fail<ValueError>("polygamma", "expected n >= 0, got {}", n);
  return pointwise(ops::Polygamma{{}, n}, x);
}

}  // namespace farro
