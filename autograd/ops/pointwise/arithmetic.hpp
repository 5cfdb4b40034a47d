#pragma once

#include <string_view>

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Add : Pointwise<2> {
  static constexpr const char* name = "add";
  static constexpr unsigned passes_gradient = kInput0 | kInput1;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x + z;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T, T) const {
    return dy;
  }
};

/// x + alpha z
struct AddScaled : Pointwise<2> {
  static constexpr const char* name = "add";
  static constexpr unsigned passes_gradient = kInput0;
  double alpha = 0.75;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x + T(alpha) * z;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T, T) const {
    if constexpr (I == 0)
      return dy;
    else
      return dy * T(alpha);
  }
};

struct Sub : Pointwise<2> {
  static constexpr const char* name = "sub";
  static constexpr Bools bools = Bools::None;
  static constexpr unsigned passes_gradient = kInput0;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x - z;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T, T) const {
    if constexpr (I == 0)
      return dy;
    else
      return -dy;
  }
};

struct Mul : Pointwise<2> {
  static constexpr const char* name = "mul";
  static constexpr Uses uses = {kInput1, kInput0};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x * z;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return dy * z;
    else
      return dy * x;
  }
};

struct Div : Pointwise<2> {
  static constexpr const char* name = "div";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput1, kInput1 | kOutput};
  static constexpr Domain domain1 = {0.5, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x / z;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T z, T y) const {
    if constexpr (I == 0)
      return dy / z;
    else
      return -dy * y / z;
  }
};

/// The quotient, rounded down.
struct DivFloor : Pointwise<2> {
  static constexpr const char* name = "div_floor";
  static constexpr bool divides_integers = true;
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {-3, 3};
  static constexpr Domain domain1 = {0.7, 2};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::floor_divide(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T, T) const {
    return T(0);
  }
};

/// The quotient, rounded towards 0.
struct DivTrunc : Pointwise<2> {
  static constexpr const char* name = "div_trunc";
  static constexpr bool divides_integers = true;
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {-3, 3};
  static constexpr Domain domain1 = {0.7, 2};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::trunc_divide(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T, T) const {
    return T(0);
  }
};

/// What remains of x after its quotient was rounded towards 0; has the sign of x.
struct Fmod : Pointwise<2> {
  static constexpr const char* name = "fmod";
  static constexpr bool divides_integers = true;
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Uses uses = {kNothing, kInput0 | kInput1};
  static constexpr unsigned passes_gradient = kInput0;
  static constexpr Domain domain = {2.1, 2.6};
  static constexpr Domain domain1 = {0.75, 0.95};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::fmod(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return dy;
    else
      return -dy * math::trunc(x / z);
  }
};

/// What remains of x after its quotient was rounded down; has the sign of z.
struct Remainder : Pointwise<2> {
  static constexpr const char* name = "remainder";
  static constexpr bool divides_integers = true;
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Uses uses = {kNothing, kInput0 | kInput1};
  static constexpr unsigned passes_gradient = kInput0;
  static constexpr Domain domain = {2.1, 2.6};
  static constexpr Domain domain1 = {0.75, 0.95};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::remainder(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return dy;
    else
      return -dy * math::floor(x / z);
  }
};

struct Neg : Pointwise<1> {
  static constexpr const char* name = "neg";
  static constexpr Bools bools = Bools::None;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return -x;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T) const {
    return -dy;
  }
};

struct Reciprocal : Pointwise<1> {
  static constexpr const char* name = "reciprocal";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {0.5, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return T(1) / x;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return -dy * y * y;
  }
};

struct Square : Pointwise<1> {
  static constexpr const char* name = "square";
  static constexpr Uses uses = {kInput0};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x * x;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return T(2) * dy * x;
  }
};

struct Abs : Pointwise<1> {
  static constexpr const char* name = "abs";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::abs(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::sign(x);
  }
};

struct Sign : Pointwise<1> {
  static constexpr const char* name = "sign";
  static constexpr Domain domain = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::sign(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T) const {
    return T(0);
  }
};

/// x + w (z - x)
struct Lerp : Pointwise<3> {
  static constexpr const char* name = "lerp";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput2, kInput2, kInput0 | kInput1};
  static constexpr Domain domain2 = {0, 1};
  template <class T>
  FARRO_FORMULA T forward(T x, T z, T w) const {
    return select(math::abs(w) < T(0.5), x + w * (z - x), z - (z - x) * (T(1) - w));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T w, T) const {
    if constexpr (I == 0)
      return dy * (T(1) - w);
    else if constexpr (I == 1)
      return dy * w;
    else
      return dy * (z - x);
  }
};

/// x + value z w
struct Addcmul : Pointwise<3> {
  static constexpr const char* name = "addcmul";
  static constexpr Uses uses = {kNothing, kInput2, kInput1};
  static constexpr unsigned passes_gradient = kInput0;
  double value = 1;
  template <class T>
  FARRO_FORMULA T forward(T x, T z, T w) const {
    return x + T(value) * z * w;
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T z, T w, T) const {
    if constexpr (I == 0)
      return dy;
    else if constexpr (I == 1)
      return dy * w * T(value);
    else
      return dy * z * T(value);
  }
};

/// x + value z / w
struct Addcdiv : Pointwise<3> {
  static constexpr const char* name = "addcdiv";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kNothing, kInput2, kInput1 | kInput2};
  static constexpr unsigned passes_gradient = kInput0;
  static constexpr Domain domain2 = {0.5, 3};
  double value = 1;
  template <class T>
  FARRO_FORMULA T forward(T x, T z, T w) const {
    return x + T(value) * (z / w);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T z, T w, T) const {
    if constexpr (I == 0)
      return dy;
    else if constexpr (I == 1)
      return dy * (T(value) / w);
    else
      return -dy * (T(value) * z / (w * w));
  }
};

}  // namespace ops

/// x + alpha * other. TypeError for integers with an alpha that is not whole.
Tensor add(const Tensor& x, const Tensor& other, double alpha);
inline Tensor add(const Tensor& x, const Tensor& other) { return pointwise(ops::Add{}, x, other); }
/// x - alpha * other. TypeError for bool, and for integers with an alpha that is not whole.
Tensor sub(const Tensor& x, const Tensor& other, double alpha);
inline Tensor sub(const Tensor& x, const Tensor& other) { return pointwise(ops::Sub{}, x, other); }
/// other - alpha * x
inline Tensor rsub(const Tensor& x, const Tensor& other, double alpha = 1) {
  return sub(other, x, alpha);
}
inline Tensor mul(const Tensor& x, const Tensor& other) { return pointwise(ops::Mul{}, x, other); }
/// True division: integers give the default dtype.
inline Tensor div(const Tensor& x, const Tensor& other) { return pointwise(ops::Div{}, x, other); }
/// "floor" rounds the quotient down, "trunc" towards 0. As all divisions of integers that give
/// integers: ValueError where the divisor holds a 0 (on a device the quotient, and the remainder,
/// is 0 there).
inline Tensor div(const Tensor& x, const Tensor& other, std::string_view rounding_mode) {
  if (rounding_mode == "floor") return pointwise(ops::DivFloor{}, x, other);
  if (rounding_mode == "trunc") return pointwise(ops::DivTrunc{}, x, other);
  fail<ValueError>("div", "expected rounding_mode \"floor\" or \"trunc\", got \"{}\"",
                   rounding_mode);
}
inline Tensor floor_divide(const Tensor& x, const Tensor& other) {
  return pointwise(ops::DivFloor{}, x, other);
}
inline Tensor true_divide(const Tensor& x, const Tensor& other) { return div(x, other); }
inline Tensor fmod(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Fmod{}, x, other);
}
inline Tensor remainder(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Remainder{}, x, other);
}
/// TypeError for bool.
inline Tensor neg(const Tensor& x) { return pointwise(ops::Neg{}, x); }
inline Tensor reciprocal(const Tensor& x) { return pointwise(ops::Reciprocal{}, x); }
/// Of int64 for bool.
Tensor square(const Tensor& x);
inline Tensor abs(const Tensor& x) { return pointwise(ops::Abs{}, x); }
inline Tensor sign(const Tensor& x) { return pointwise(ops::Sign{}, x); }
/// x + weight * (end - x); weight may be a number.
inline Tensor lerp(const Tensor& x, const Tensor& end, const Tensor& weight) {
  return pointwise(ops::Lerp{}, x, end, weight);
}
/// x + value * a * b. TypeError for integers with a value that is not whole.
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1);
/// x + value * a / b
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, double value = 1) {
  return pointwise(ops::Addcdiv{{}, value}, x, a, b);
}
inline Tensor rad2deg(const Tensor& x) { return mul(x, 57.295779513082320876798154814105); }
inline Tensor deg2rad(const Tensor& x) { return mul(x, 0.017453292519943295769236907684886); }

inline Tensor operator+(const Tensor& x, const Tensor& z) { return pointwise(ops::Add{}, x, z); }
inline Tensor operator-(const Tensor& x, const Tensor& z) { return pointwise(ops::Sub{}, x, z); }
inline Tensor operator*(const Tensor& x, const Tensor& z) { return pointwise(ops::Mul{}, x, z); }
inline Tensor operator/(const Tensor& x, const Tensor& z) { return pointwise(ops::Div{}, x, z); }
inline Tensor operator-(const Tensor& x) { return pointwise(ops::Neg{}, x); }

}  // namespace farro
