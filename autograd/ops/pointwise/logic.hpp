#pragma once

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Eq : Pointwise<2> {
  static constexpr const char* name = "eq";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return x == z;
  }
};

// Packs' own != is false for NaN in xsimd 8, hence !(x == z) here and below.
struct Ne : Pointwise<2> {
  static constexpr const char* name = "ne";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return !(x == z);
  }
};

struct Lt : Pointwise<2> {
  static constexpr const char* name = "lt";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return x < z;
  }
};

struct Le : Pointwise<2> {
  static constexpr const char* name = "le";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return x <= z;
  }
};

struct Gt : Pointwise<2> {
  static constexpr const char* name = "gt";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return x > z;
  }
};

struct Ge : Pointwise<2> {
  static constexpr const char* name = "ge";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return x >= z;
  }
};

struct LogicalAnd : Pointwise<2> {
  static constexpr const char* name = "logical_and";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return (!(x == T(0))) & (!(z == T(0)));
  }
};

struct LogicalOr : Pointwise<2> {
  static constexpr const char* name = "logical_or";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return (!(x == T(0))) | (!(z == T(0)));
  }
};

struct LogicalXor : Pointwise<2> {
  static constexpr const char* name = "logical_xor";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x, T z) const {
    return math::exclusive_or(!(x == T(0)), !(z == T(0)));
  }
};

struct LogicalNot : Pointwise<1> {
  static constexpr const char* name = "logical_not";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x) const {
    return x == T(0);
  }
};

struct IsNan : Pointwise<1> {
  static constexpr const char* name = "isnan";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x) const {
    return !(x == x);
  }
};

struct IsInf : Pointwise<1> {
  static constexpr const char* name = "isinf";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x) const {
    return math::is_infinite(x);
  }
};

struct IsFinite : Pointwise<1> {
  static constexpr const char* name = "isfinite";
  static constexpr bool returns_bool = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA auto forward(T x) const {
    return math::is_finite(x);
  }
};

struct BitwiseAnd : Pointwise<2> {
  static constexpr const char* name = "bitwise_and";
  static constexpr bool integers_only = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x & z;
  }
};

struct BitwiseOr : Pointwise<2> {
  static constexpr const char* name = "bitwise_or";
  static constexpr bool integers_only = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x | z;
  }
};

struct BitwiseXor : Pointwise<2> {
  static constexpr const char* name = "bitwise_xor";
  static constexpr bool integers_only = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return x ^ z;
  }
};

struct BitwiseNot : Pointwise<1> {
  static constexpr const char* name = "bitwise_not";
  static constexpr bool integers_only = true;
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return ~x;
  }
};

}  // namespace ops

inline Tensor eq(const Tensor& x, const Tensor& other) { return pointwise(ops::Eq{}, x, other); }
inline Tensor ne(const Tensor& x, const Tensor& other) { return pointwise(ops::Ne{}, x, other); }
inline Tensor lt(const Tensor& x, const Tensor& other) { return pointwise(ops::Lt{}, x, other); }
inline Tensor le(const Tensor& x, const Tensor& other) { return pointwise(ops::Le{}, x, other); }
inline Tensor gt(const Tensor& x, const Tensor& other) { return pointwise(ops::Gt{}, x, other); }
inline Tensor ge(const Tensor& x, const Tensor& other) { return pointwise(ops::Ge{}, x, other); }
inline Tensor logical_and(const Tensor& x, const Tensor& other) {
  return pointwise(ops::LogicalAnd{}, x, other);
}
inline Tensor logical_or(const Tensor& x, const Tensor& other) {
  return pointwise(ops::LogicalOr{}, x, other);
}
inline Tensor logical_xor(const Tensor& x, const Tensor& other) {
  return pointwise(ops::LogicalXor{}, x, other);
}
inline Tensor bitwise_and(const Tensor& x, const Tensor& other) {
  return pointwise(ops::BitwiseAnd{}, x, other);
}
inline Tensor bitwise_or(const Tensor& x, const Tensor& other) {
  return pointwise(ops::BitwiseOr{}, x, other);
}
inline Tensor bitwise_xor(const Tensor& x, const Tensor& other) {
  return pointwise(ops::BitwiseXor{}, x, other);
}
inline Tensor logical_not(const Tensor& x) { return pointwise(ops::LogicalNot{}, x); }
inline Tensor isnan(const Tensor& x) { return pointwise(ops::IsNan{}, x); }
inline Tensor isinf(const Tensor& x) { return pointwise(ops::IsInf{}, x); }
inline Tensor isfinite(const Tensor& x) { return pointwise(ops::IsFinite{}, x); }
inline Tensor bitwise_not(const Tensor& x) {
  return x.dtype() == kBool ? logical_not(x) : pointwise(ops::BitwiseNot{}, x);
}
/// |x - other| <= atol + rtol |other|
Tensor isclose(const Tensor& x, const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);

inline Tensor operator==(const Tensor& x, const Tensor& z) { return eq(x, z); }
inline Tensor operator!=(const Tensor& x, const Tensor& z) { return ne(x, z); }
inline Tensor operator<(const Tensor& x, const Tensor& z) { return lt(x, z); }
inline Tensor operator<=(const Tensor& x, const Tensor& z) { return le(x, z); }
inline Tensor operator>(const Tensor& x, const Tensor& z) { return gt(x, z); }
inline Tensor operator>=(const Tensor& x, const Tensor& z) { return ge(x, z); }
inline Tensor operator&(const Tensor& x, const Tensor& z) { return bitwise_and(x, z); }
inline Tensor operator|(const Tensor& x, const Tensor& z) { return bitwise_or(x, z); }
inline Tensor operator^(const Tensor& x, const Tensor& z) { return bitwise_xor(x, z); }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }
inline Tensor operator!(const Tensor& x) { return logical_not(x); }

}  // namespace farro
