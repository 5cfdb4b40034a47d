#pragma once

#include <string_view>

#include <farro/autograd/ops/pointwise/arithmetic.hpp>
#include <farro/autograd/ops/pointwise/trigonometric.hpp>
#include <farro/autograd/pointwise.hpp>

namespace farro {

namespace ops {

struct Relu : Pointwise<1> {
  static constexpr const char* name = "relu";
  static constexpr Bools bools = Bools::NotAlone;
  static constexpr Uses uses = {kOutput};
  static constexpr Domain domain = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x <= T(0), T(0), x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T, T y) const {
    return select(y <= T(0), T(0), dy);
  }
};

struct LeakyRelu : Pointwise<1> {
  static constexpr const char* name = "leaky_relu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  double negative_slope = 0.01;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x > T(0), x, x * T(negative_slope));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(x > T(0), dy, dy * T(negative_slope));
  }
};

struct Elu : Pointwise<1> {
  static constexpr const char* name = "elu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 5;
  double alpha = 1;
  double scale = 1;
  double input_scale = 1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x > T(0), x * T(scale), T(alpha * scale) * math::expm1(x * T(input_scale)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(
        x > T(0), dy * T(scale),
        dy * (T(alpha * scale * input_scale) * math::exp(math::minimum(x, T(0)) * T(input_scale))));
  }
};

/// x Phi(x), with the distribution function Phi of the normal distribution.
struct Gelu : Pointwise<1> {
  static constexpr const char* name = "gelu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x * (T(0.5) * math::erfc(x * T(-0.70710678118654752440)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * (T(0.5) * math::erfc(x * T(-0.70710678118654752440)) +
                 x * (T(0.39894228040143267794) * math::exp(T(-0.5) * x * x)));
  }
};

/// The approximation by tanh (Hendrycks and Gimpel: Gaussian Error Linear Units; 2016).
struct GeluTanh : Pointwise<1> {
  static constexpr const char* name = "gelu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 8;
  static constexpr double kBeta = 0.79788456080286535588, kKappa = 0.044715;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return T(0.5) * x * (T(1) + math::tanh(T(kBeta) * (x + T(kKappa) * x * x * x)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    T t = math::tanh(T(kBeta) * (x + T(kKappa) * x * x * x));
    T slope = T(kBeta) * (T(1) + T(3 * kKappa) * x * x);
    return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope);
  }
};

struct Silu : Pointwise<1> {
  static constexpr const char* name = "silu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 4;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x * math::sigmoid(x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    T s = math::sigmoid(x);
    return dy * (s * (T(1) + x * (T(1) - s)));
  }
};

struct Mish : Pointwise<1> {
  static constexpr const char* name = "mish";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 12;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x * math::tanh(math::softplus(x));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    T t = math::tanh(math::softplus(x));
    return dy * (t + x * math::sigmoid(x) * (T(1) - t * t));
  }
};

struct Softplus : Pointwise<1> {
  static constexpr const char* name = "softplus";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 8;
  double beta = 1;
  double threshold = 20;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x * T(beta) > T(threshold), x, math::softplus(x * T(beta)) * T(1 / beta));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(x * T(beta) > T(threshold), dy, dy * math::sigmoid(x * T(beta)));
  }
};

struct Softsign : Pointwise<1> {
  static constexpr const char* name = "softsign";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.1, 3};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x / (T(1) + math::abs(x));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    T d = T(1) + math::abs(x);
    return dy / (d * d);
  }
};

struct Softshrink : Pointwise<1> {
  static constexpr const char* name = "softshrink";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.6, 3};
  double lambd = 0.5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x > T(lambd), x - T(lambd), select(x < T(-lambd), x + T(lambd), x * T(0)));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select((x >= T(-lambd)) & (x <= T(lambd)), T(0), dy);
  }
};

struct Hardshrink : Pointwise<1> {
  static constexpr const char* name = "hardshrink";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.6, 3};
  double lambd = 0.5;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select((x >= T(-lambd)) & (x <= T(lambd)), T(0), x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select((x >= T(-lambd)) & (x <= T(lambd)), T(0), dy);
  }
};

struct Hardtanh : Pointwise<1> {
  static constexpr const char* name = "hardtanh";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-0.9, 0.9};
  double min_val = -1;
  double max_val = 1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x < T(min_val), T(min_val), select(x > T(max_val), T(max_val), x));
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select((x <= T(min_val)) | (x >= T(max_val)), T(0), dy);
  }
};

struct Hardsigmoid : Pointwise<1> {
  static constexpr const char* name = "hardsigmoid";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-2.9, 2.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return math::minimum(math::maximum(x + T(3), T(0)), T(6)) / T(6);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select((x > T(-3)) & (x < T(3)), dy / T(6), T(0));
  }
};

struct Hardswish : Pointwise<1> {
  static constexpr const char* name = "hardswish";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {-2.9, 2.9};
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return x * math::minimum(math::maximum(x + T(3), T(0)), T(6)) / T(6);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(x <= T(-3), T(0), select(x < T(3), dy * (x / T(3) + T(0.5)), dy));
  }
};

struct Threshold : Pointwise<1> {
  static constexpr const char* name = "threshold";
  static constexpr Uses uses = {kInput0};
  static constexpr Domain domain = {0.6, 3};
  double threshold = 0.5;
  double value = -1;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return select(x <= T(threshold), T(value), x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return select(x <= T(threshold), T(0), dy);
  }
};

struct LogSigmoid : Pointwise<1> {
  static constexpr const char* name = "log_sigmoid";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0};
  static constexpr double cost = 8;
  template <class T>
  FARRO_FORMULA T forward(T x) const {
    return -math::softplus(-x);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T) const {
    return dy * math::sigmoid(-x);
  }
};

/// Leaky relu whose slope is a tensor.
struct Prelu : Pointwise<2> {
  static constexpr const char* name = "prelu";
  static constexpr bool floats_only = true;
  static constexpr Uses uses = {kInput0 | kInput1, kInput0};
  static constexpr Domain domain = {0.1, 3};
  static constexpr Domain domain1 = {0.1, 1};
  template <class T>
  FARRO_FORMULA T forward(T x, T z) const {
    return select(x > T(0), x, x * z);
  }
  template <int I, class T>
  FARRO_FORMULA T backward(T dy, T x, T z, T) const {
    if constexpr (I == 0)
      return select(x > T(0), dy, dy * z);
    else
      return select(x > T(0), T(0), dy * x);
  }
};

}  // namespace ops

inline Tensor relu(const Tensor& x) { return pointwise(ops::Relu{}, x); }
inline Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01) {
  return pointwise(ops::LeakyRelu{{}, negative_slope}, x);
}
/// x where positive, else alpha (exp x - 1).
inline Tensor elu(const Tensor& x, double alpha = 1) {
  return pointwise(ops::Elu{{}, alpha, 1, 1}, x);
}
/// x where positive, else alpha (exp(x / alpha) - 1). ValueError for alpha 0.
inline Tensor celu(const Tensor& x, double alpha = 1) {
  if (alpha == 0) fail<ValueError>("celu", "expected alpha other than 0");
  return pointwise(ops::Elu{{}, alpha, 1, 1 / alpha}, x);
}
/// Klambauer et al.: Self-Normalizing Neural Networks; 2017.
inline Tensor selu(const Tensor& x) {
  return pointwise(
      ops::Elu{{}, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1}, x);
}
/// approximate is "none" or "tanh" (ValueError otherwise).
inline Tensor gelu(const Tensor& x, std::string_view approximate = "none") {
  if (approximate == "none") return pointwise(ops::Gelu{}, x);
  if (approximate == "tanh") return pointwise(ops::GeluTanh{}, x);
  fail<ValueError>("gelu", "expected approximate \"none\" or \"tanh\", got \"{}\"", approximate);
}
inline Tensor silu(const Tensor& x) { return pointwise(ops::Silu{}, x); }
inline Tensor mish(const Tensor& x) { return pointwise(ops::Mish{}, x); }
/// log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold.
inline Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20) {
  return pointwise(ops::Softplus{{}, beta, threshold}, x);
}
inline Tensor softsign(const Tensor& x) { return pointwise(ops::Softsign{}, x); }
inline Tensor softshrink(const Tensor& x, double lambd = 0.5) {
  if (lambd < 0) fail<ValueError>("softshrink", "expected lambd >= 0, got {}", lambd);
  return pointwise(ops::Softshrink{{}, lambd}, x);
}
inline Tensor hardshrink(const Tensor& x, double lambd = 0.5) {
  return pointwise(ops::Hardshrink{{}, lambd}, x);
}
/// ValueError where min_val is above max_val.
inline Tensor hardtanh(const Tensor& x, double min_val = -1, double max_val = 1) {
  if (min_val > max_val)
    fail<ValueError>("hardtanh", "expected min_val <= max_val, got {} and {}", min_val, max_val);
  return pointwise(ops::Hardtanh{{}, min_val, max_val}, x);
}
inline Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
inline Tensor hardsigmoid(const Tensor& x) { return pointwise(ops::Hardsigmoid{}, x); }
inline Tensor hardswish(const Tensor& x) { return pointwise(ops::Hardswish{}, x); }
/// x where above the threshold, else value.
inline Tensor threshold(const Tensor& x, double threshold, double value) {
  return pointwise(ops::Threshold{{}, threshold, value}, x);
}
inline Tensor log_sigmoid(const Tensor& x) { return pointwise(ops::LogSigmoid{}, x); }
/// Leaky relu with one slope, or one for each channel (dimension 1).
Tensor prelu(const Tensor& x, const Tensor& weight);
inline Tensor tanhshrink(const Tensor& x) { return sub(x, tanh(x)); }

}  // namespace farro
