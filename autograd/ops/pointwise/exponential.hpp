#pragma once

#include <optional>

#include <farro/autograd/ops/pointwise/arithmetic.hpp>
#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Exp : Pointwise<1> {
  static constexpr const char* name = "exp";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 3;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::exp(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * y;
  }
};

struct Exp2 : Pointwise<1> {
  static constexpr const char* name = "exp2";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 3;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::exp2(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (y * T(0.69314718055994530942));
  }
};

struct Expm1 : Pointwise<1> {
  static constexpr const char* name = "expm1";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::expm1(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (y + T(1));
  }
};

struct Log : Pointwise<1> {
  static constexpr const char* name = "log";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::log(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / x;
  }
};

struct Log1p : Pointwise<1> {
  static constexpr const char* name = "log1p";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.8, 3};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::log1p(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / (x + T(1));
  }
};

struct Log2 : Pointwise<1> {
  static constexpr const char* name = "log2";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::log2(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / (x * T(0.69314718055994530942));
  }
};

struct Log10 : Pointwise<1> {
  static constexpr const char* name = "log10";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::log10(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / (x * T(2.30258509299404568402));
  }
};

struct Sqrt : Pointwise<1> {
  static constexpr const char* name = "sqrt";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sqrt(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy / (T(2) * y);
  }
};

struct Rsqrt : Pointwise<1> {
  static constexpr const char* name = "rsqrt";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {0.1, 3};
  static constexpr double cost = 2;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::rsqrt(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return T(-0.5) * dy * (y * y * y);
  }
};

/// x to the power of z, both tensors.
struct Pow : Pointwise<2> {
  static constexpr const char* name = "pow";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1 | kOutput};
  static constexpr Domain domain = {0.2, 3};
  static constexpr Domain domain1 = {-2, 2};
  static constexpr double cost = 20;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::pow(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T y) const {
    if constexpr (I == 0)
      return select(z == T(0), T(0), dy * (z * math::pow(x, z - T(1))));
    else
      return select((x == T(0)) & (z >= T(0)), T(0), dy * (y * math::log(x)));
  }
};

/// x to the power of a number.
struct PowNumber : Pointwise<1> {
  static constexpr const char* name = "pow";
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.2, 3};
  static constexpr double cost = 8;
  double exponent = 2.5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::pow_number(x, exponent);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return exponent == 0 ? T(0) : T(dy * (T(exponent) * math::pow_number(x, exponent - 1)));
  }
};

/// A number to the power of x.
struct PowBase : Pointwise<1> {
  static constexpr const char* name = "pow";
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 20;
  double base = 2.5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::pow(T(base), x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (y * T(base == 0 ? 0.0 : std::log(base)));
  }
};

/// x log z; 0 where x is 0.
struct Xlogy : Pointwise<2> {
  static constexpr const char* name = "xlogy";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {0.2, 3};
  static constexpr Domain domain1 = {0.2, 3};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return select(math::isnan(z), z, select(x == T(0), T(0), x * math::log(z)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select((x == T(0)) & (z <= T(0)), T(0), dy * math::log(z));
    else
      return dy * x / z;
  }
};

/// log(exp x + exp z)
struct Logaddexp : Pointwise<2> {
  static constexpr const char* name = "logaddexp";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    T larger = math::maximum(x, z);
    return select(x == z, x + T(0.69314718055994530942),
                  larger + math::log1p(math::exp(-math::abs(x - z))));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return dy * math::sigmoid(x - z);
    else
      return dy * math::sigmoid(z - x);
  }
};

struct Sigmoid : Pointwise<1> {
  static constexpr const char* name = "sigmoid";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sigmoid(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * ((T(1) - y) * y);
  }
};

/// log(x / (1 - x)), x kept within [eps, 1 - eps] unless eps is negative.
struct Logit : Pointwise<1> {
  static constexpr const char* name = "logit";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 0.9};
  static constexpr double cost = 5;
  double eps = -1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    T lo = T(eps), hi = T(1 - eps);
    T p = eps < 0 ? x : T(select(x < lo, lo, T(select(x > hi, hi, x))));
    return math::log(p / (T(1) - p));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    T lo = T(eps < 0 ? 0 : eps), hi = T(eps < 0 ? 1 : 1 - eps);
    T inside = dy / (x * (T(1) - x));
    return select((x < lo) | (x > hi), T(eps < 0 ? std::numeric_limits<double>::quiet_NaN() : 0.0),
                  inside);
  }
};

}  // namespace ops

inline Tensor exp(const Tensor& x) { return pointwise(ops::Exp{}, x); }
inline Tensor exp2(const Tensor& x) { return pointwise(ops::Exp2{}, x); }
inline Tensor expm1(const Tensor& x) { return pointwise(ops::Expm1{}, x); }
inline Tensor log(const Tensor& x) { return pointwise(ops::Log{}, x); }
inline Tensor log1p(const Tensor& x) { return pointwise(ops::Log1p{}, x); }
inline Tensor log2(const Tensor& x) { return pointwise(ops::Log2{}, x); }
inline Tensor log10(const Tensor& x) { return pointwise(ops::Log10{}, x); }
inline Tensor sqrt(const Tensor& x) { return pointwise(ops::Sqrt{}, x); }
inline Tensor rsqrt(const Tensor& x) { return pointwise(ops::Rsqrt{}, x); }
/// x to the power of `exponent`; either may be a number. Integers to negative powers give 0 (1 and
/// -1 excepted) where the powers are a tensor, and are a ValueError where they are a number.
/// TypeError for bool to the power of bool.
Tensor pow(const Tensor& x, const Tensor& exponent);
inline Tensor xlogy(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Xlogy{}, x, other);
}
inline Tensor logaddexp(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Logaddexp{}, x, other);
}
/// log2(2^x + 2^other)
inline Tensor logaddexp2(const Tensor& x, const Tensor& other) {
  return mul(logaddexp(mul(x, 0.69314718055994530942), mul(other, 0.69314718055994530942)),
             1.44269504088896340736);
}
inline Tensor sigmoid(const Tensor& x) { return pointwise(ops::Sigmoid{}, x); }
/// The inverse of sigmoid. With eps, x is first clamped to [eps, 1 - eps].
inline Tensor logit(const Tensor& x, std::optional<double> eps = {}) {
  return pointwise(ops::Logit{{}, eps.value_or(-1)}, x);
}

}  // namespace farro
