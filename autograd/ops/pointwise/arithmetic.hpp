#pragma once

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Add : Pointwise<2> {
  static constexpr const char* name = "add";
  static constexpr unsigned passes_gradient = kInput0 | kInput1;
  template <class T> FARRO_FUNCTION T forward(T x, T z) const { return x + z; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T, T, T) const { return dy; }
};

/// x + alpha z
struct AddScaled : Pointwise<2> {
  static constexpr const char* name = "add";
  static constexpr unsigned passes_gradient = kInput0;
  double alpha = 0.75;
  template <class T> FARRO_FUNCTION T forward(T x, T z) const { return x + T(alpha) * z; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T, T, T) const { return I == 0 ? dy : T(dy * T(alpha)); }
};

struct Sub : Pointwise<2> {
  static constexpr const char* name = "sub";
  static constexpr unsigned passes_gradient = kInput0;
  template <class T> FARRO_FUNCTION T forward(T x, T z) const { return x - z; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T, T, T) const { return I == 0 ? dy : T(-dy); }
};

struct Mul : Pointwise<2> {
  static constexpr const char* name = "mul";
  static constexpr Uses uses = {kInput1, kInput0};
  template <class T> FARRO_FUNCTION T forward(T x, T z) const { return x * z; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T x, T z, T) const { return dy * (I == 0 ? z : x); }
};

struct Div : Pointwise<2> {
  static constexpr const char* name = "div";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput1, kInput1 | kOutput};
  static constexpr Domain domain1 = {0.5, 3};
  template <class T> FARRO_FUNCTION T forward(T x, T z) const { return x / z; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T, T z, T y) const {
    if constexpr (I == 0) return dy / z;
    else return -dy * y / z;
  }
};

struct Neg : Pointwise<1> {
  static constexpr const char* name = "neg";
  template <class T> FARRO_FUNCTION T forward(T x) const { return -x; }
  template <int I, class T> FARRO_FUNCTION T backward(T dy, T, T) const { return -dy; }
};

}  // namespace ops

/// x + alpha * other
inline Tensor add(const Tensor& x, const Tensor& other, double alpha = 1) {
  return alpha == 1 ? pointwise(ops::Add{}, x, other) : pointwise(ops::AddScaled{{}, alpha}, x, other);
}
/// x - alpha * other
inline Tensor sub(const Tensor& x, const Tensor& other, double alpha = 1) {
  return alpha == 1 ? pointwise(ops::Sub{}, x, other) : pointwise(ops::AddScaled{{}, -alpha}, x, other);
}
/// other - alpha * x
inline Tensor rsub(const Tensor& x, const Tensor& other, double alpha = 1) { return sub(other, x, alpha); }
inline Tensor mul(const Tensor& x, const Tensor& other) { return pointwise(ops::Mul{}, x, other); }
/// True division: integers give the default dtype.
inline Tensor div(const Tensor& x, const Tensor& other) { return pointwise(ops::Div{}, x, other); }
inline Tensor neg(const Tensor& x) { return pointwise(ops::Neg{}, x); }

inline Tensor operator+(const Tensor& x, const Tensor& z) { return pointwise(ops::Add{}, x, z); }
inline Tensor operator-(const Tensor& x, const Tensor& z) { return pointwise(ops::Sub{}, x, z); }
inline Tensor operator*(const Tensor& x, const Tensor& z) { return pointwise(ops::Mul{}, x, z); }
inline Tensor operator/(const Tensor& x, const Tensor& z) { return pointwise(ops::Div{}, x, z); }
inline Tensor operator-(const Tensor& x) { return pointwise(ops::Neg{}, x); }

}  // namespace farro
