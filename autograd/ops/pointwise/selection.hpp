#pragma once

#include <optional>

#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

/// The larger one; NaN where one is NaN. At a tie both get half of the gradient.
struct Maximum : Pointwise<2> {
  static constexpr const char* name = "maximum";
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {-3, 0};
  static constexpr Domain domain1 = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::maximum(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select(x < z, T(0), select(x == z, dy * T(0.5), dy));
    else
      return select(x > z, T(0), select(x == z, dy * T(0.5), dy));
  }
};

/// The smaller one; NaN where one is NaN. At a tie both get half of the gradient.
struct Minimum : Pointwise<2> {
  static constexpr const char* name = "minimum";
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {-3, 0};
  static constexpr Domain domain1 = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::minimum(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select(x > z, T(0), select(x == z, dy * T(0.5), dy));
    else
      return select(x < z, T(0), select(x == z, dy * T(0.5), dy));
  }
};

/// The larger one; the other one where one is NaN.
struct Fmax : Pointwise<2> {
  static constexpr const char* name = "fmax";
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {-3, 0};
  static constexpr Domain domain1 = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return select(math::isnan(x), z, select(x < z, z, x));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select((x >= z) | math::isnan(z), dy, T(0));
    else
      return select((x >= z) | math::isnan(z), T(0), dy);
  }
};

/// The smaller one; the other one where one is NaN.
struct Fmin : Pointwise<2> {
  static constexpr const char* name = "fmin";
  static constexpr Uses uses = {kInput0 | kInput1, kInput0 | kInput1};
  static constexpr Domain domain = {-3, 0};
  static constexpr Domain domain1 = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return select(math::isnan(x), z, select(x > z, z, x));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select((x <= z) | math::isnan(z), dy, T(0));
    else
      return select((x <= z) | math::isnan(z), T(0), dy);
  }
};

struct Clamp : Pointwise<1> {
  static constexpr const char* name = "clamp";
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.9, 0.9};
  double min = -1;
  double max = 1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    T lo = math::bound<T>(min), hi = math::bound<T>(max);
    T raised = select(x < lo, lo, x);
    return select(raised > hi, hi, raised);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select((x >= math::bound<T>(min)) & (x <= math::bound<T>(max)), dy, T(0));
  }
};

/// z where the mask x is true, else w.
struct Where : Pointwise<3> {
  static constexpr const char* name = "where";
  static constexpr bool first_is_condition = true;
  static constexpr Uses uses = {kNothing, kInput0, kInput0};
  static constexpr Domain domain = {0, 1};
  template <class T>
  FARRO_FORMULA T forward(T x, T z, T w) const {
    return select(x != T(0), z, w);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T, T, T) const {
    if constexpr (I == 0)
      return T(0);
    else if constexpr (I == 1)
      return select(x != T(0), dy, T(0));
    else
      return select(x != T(0), T(0), dy);
  }
};

struct Floor : Pointwise<1> {
  static constexpr const char* name = "floor";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {0.1, 0.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::floor(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T) const {
    return T(0);
  }
};

struct Ceil : Pointwise<1> {
  static constexpr const char* name = "ceil";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {0.1, 0.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::ceil(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T) const {
    return T(0);
  }
};

struct Trunc : Pointwise<1> {
  static constexpr const char* name = "trunc";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {0.1, 0.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::trunc(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T) const {
    return T(0);
  }
};

/// Ties go to even. `scale` is 10^decimals, or -10^-decimals for negative decimals.
struct Round : Pointwise<1> {
  static constexpr const char* name = "round";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Domain domain = {0.6, 1.4};
  double decimals = 0;
  double scale = 1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return decimals == 0 ? math::round(x)
           : scale > 0   ? T(math::round(x * T(scale)) / T(scale))
                         : T(math::round(x / T(-scale)) * T(-scale));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T, T, T) const {
    return T(0);
  }
};

struct Frac : Pointwise<1> {
  static constexpr const char* name = "frac";
  static constexpr bool floats_only = true;
  static constexpr unsigned passes_gradient = kInput0;
  static constexpr Domain domain = {0.1, 0.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x - math::trunc(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T) const {
    return dy;
  }
};

/// 0 below 0, 1 above, z at 0.
struct Heaviside : Pointwise<2> {
  static constexpr const char* name = "heaviside";
  static constexpr bool differentiable = false;
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return select(x == T(0), z, select(x < T(0), T(0), T(1)));
  }
};

struct Copysign : Pointwise<2> {
  static constexpr const char* name = "copysign";
  static constexpr bool integers_to_float = true;
  static constexpr Uses uses = {kInput0 | kInput1};
  static constexpr Domain domain = {0.1, 3};
  static constexpr Domain domain1 = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return math::copysign(x, z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select(x == T(0), T(0), dy * (math::sign(x) * math::copysign(z * T(0) + T(1), z)));
    else
      return T(0);
  }
};

struct NanToNum : Pointwise<1> {
  static constexpr const char* name = "nan_to_num";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  double nan = 0;
  double posinf = 0;
  double neginf = 0;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    T p = T(posinf), n = T(neginf);
    return select(math::isnan(x), T(nan),
                  select(x == T(std::numeric_limits<double>::infinity()), p,
                         select(x == T(-std::numeric_limits<double>::infinity()), n, x)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(math::abs(x) < T(std::numeric_limits<double>::infinity()), dy, T(0));
  }
};

}  // namespace ops

inline Tensor maximum(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Maximum{}, x, other);
}
inline Tensor minimum(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Minimum{}, x, other);
}
inline Tensor max(const Tensor& x, const Tensor& other) { return maximum(x, other); }
inline Tensor min(const Tensor& x, const Tensor& other) { return minimum(x, other); }
inline Tensor fmax(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Fmax{}, x, other);
}
inline Tensor fmin(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Fmin{}, x, other);
}
/// ValueError where neither bound is given. The upper bound wins where they cross.
Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max = {});
template <Number Min, Number Max>
Tensor clamp(const Tensor& x, Min min, Max max) {
  return clamp(x, std::optional<double>(min), std::optional<double>(max));
}
/// Bounds that are tensors; an undefined one is none.
Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max);
inline Tensor clamp_min(const Tensor& x, double min) { return clamp(x, min); }
inline Tensor clamp_max(const Tensor& x, double max) { return clamp(x, std::nullopt, max); }
/// a where the mask is true, else b.
inline Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return pointwise(ops::Where{}, condition, a, b);
}
/// The name of where in formulas.
inline Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return where(condition, a, b);
}
inline Tensor floor(const Tensor& x) { return pointwise(ops::Floor{}, x); }
inline Tensor ceil(const Tensor& x) { return pointwise(ops::Ceil{}, x); }
inline Tensor trunc(const Tensor& x) { return pointwise(ops::Trunc{}, x); }
/// To the nearest multiple of 10^-decimals, ties to even.
Tensor round(const Tensor& x, int decimals = 0);
inline Tensor frac(const Tensor& x) { return pointwise(ops::Frac{}, x); }
inline Tensor heaviside(const Tensor& x, const Tensor& values) {
  return pointwise(ops::Heaviside{}, x, values);
}
inline Tensor copysign(const Tensor& x, const Tensor& other) {
  return pointwise(ops::Copysign{}, x, other);
}
/// Replaces NaN and infinities; absent bounds are the dtype's largest and lowest numbers.
Tensor nan_to_num(const Tensor& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

}  // namespace farro
