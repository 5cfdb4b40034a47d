#pragma once

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Sin : Pointwise<1> {
  static constexpr const char* name = "sin";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sin(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::cos(x);
  }
};

struct Cos : Pointwise<1> {
  static constexpr const char* name = "cos";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::cos(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return -dy * math::sin(x);
  }
};

struct Tan : Pointwise<1> {
  static constexpr const char* name = "tan";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {-1.2, 1.2};
  static constexpr double cost = 6;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::tan(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (T(1) + y * y);
  }
};

struct Asin : Pointwise<1> {
  static constexpr const char* name = "asin";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.8, 0.8};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::asin(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::rsqrt(T(1) - x * x);
  }
};

struct Acos : Pointwise<1> {
  static constexpr const char* name = "acos";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.8, 0.8};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::acos(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return -dy * math::rsqrt(T(1) - x * x);
  }
};

struct Atan : Pointwise<1> {
  static constexpr const char* name = "atan";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::atan(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / (T(1) + x * x);
  }
};

struct Sinh : Pointwise<1> {
  static constexpr const char* name = "sinh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 6;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sinh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::cosh(x);
  }
};

struct Cosh : Pointwise<1> {
  static constexpr const char* name = "cosh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 6;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::cosh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::sinh(x);
  }
};

struct Tanh : Pointwise<1> {
  static constexpr const char* name = "tanh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr double cost = 5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::tanh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return dy * (T(1) - y * y);
  }
};

struct Asinh : Pointwise<1> {
  static constexpr const char* name = "asinh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 7;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::asinh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::rsqrt(x * x + T(1));
  }
};

struct Acosh : Pointwise<1> {
  static constexpr const char* name = "acosh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {1.2, 4};
  static constexpr double cost = 7;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::acosh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::rsqrt(x * x - T(1));
  }
};

struct Atanh : Pointwise<1> {
  static constexpr const char* name = "atanh";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.8, 0.8};
  static constexpr double cost = 7;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::atanh(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy / (T(1) - x * x);
  }
};

/// The angle of the point (z, x).
struct Atan2 : Pointwise<2> {
  static constexpr const char* name = "atan2";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {0.3, 3};
  static constexpr Domain domain1 = {-3, 3};
  static constexpr double cost = 20;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::atan2(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select((x == T(0)) & (z == T(0)), T(0), dy * z / (x * x + z * z));
    else
      return select((x == T(0)) & (z == T(0)), T(0), -dy * x / (x * x + z * z));
  }
};

/// sqrt(x^2 + z^2)
struct Hypot : Pointwise<2> {
  static constexpr const char* name = "hypot";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0 | kOutput, kInput1 | kOutput};
  static constexpr Domain domain = {0.3, 3};
  static constexpr Domain domain1 = {0.3, 3};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::hypot(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T y) const {
    if constexpr (I == 0)
      return dy * (x / y);
    else
      return dy * (z / y);
  }
};

/// sin(pi x) / (pi x), 1 at 0
struct Sinc : Pointwise<1> {
  static constexpr const char* name = "sinc";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.3, 3};
  static constexpr double cost = 7;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sinc(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::sinc_derivative(x);
  }
};

}  // namespace ops

inline Tensor sin(const Tensor& x) { return pointwise(ops::Sin{}, x); }
inline Tensor cos(const Tensor& x) { return pointwise(ops::Cos{}, x); }
inline Tensor tan(const Tensor& x) { return pointwise(ops::Tan{}, x); }
inline Tensor asin(const Tensor& x) { return pointwise(ops::Asin{}, x); }
inline Tensor acos(const Tensor& x) { return pointwise(ops::Acos{}, x); }
inline Tensor atan(const Tensor& x) { return pointwise(ops::Atan{}, x); }
inline Tensor sinh(const Tensor& x) { return pointwise(ops::Sinh{}, x); }
inline Tensor cosh(const Tensor& x) { return pointwise(ops::Cosh{}, x); }
inline Tensor tanh(const Tensor& x) { return pointwise(ops::Tanh{}, x); }
inline Tensor asinh(const Tensor& x) { return pointwise(ops::Asinh{}, x); }
inline Tensor acosh(const Tensor& x) { return pointwise(ops::Acosh{}, x); }
inline Tensor atanh(const Tensor& x) { return pointwise(ops::Atanh{}, x); }
/// The angle of the point (x, y), in (-pi, pi].
inline Tensor atan2(const Tensor& y, const Tensor& x) { return pointwise(ops::Atan2{}, y, x); }
inline Tensor hypot(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Hypot{}, x, other);
}
/// sin(pi x) / (pi x)
inline Tensor sinc(const Tensor& x) { return pointwise(ops::Sinc{}, x); }

}  // namespace farro
