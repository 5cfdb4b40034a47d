#include <cmath>

#include <farro/autograd/ops/pointwise_list.hpp>

namespace farro {

namespace {

bool is_number(const Tensor& t) { return t.dim() == 0 && t.impl()->wrapped_number; }

double largest(DType dtype) {
  switch (dtype) {
    case DType::Float64: return std::numeric_limits<double>::max();
    case DType::Float16: return 65504;
    case DType::BFloat16: return 3.3895313892515355e38;
    default: return std::numeric_limits<float>::max();
  }
}

/// Bounds with a fraction raise integers to the default dtype, as any other number would.
Tensor clampable(const Tensor& x, double min, double max) {
  if (x.is_floating_point()) return x;
  bool fraction = (std::isfinite(min) && min != std::floor(min)) || (std::isfinite(max) && max != std::floor(max));
  return fraction ? x.to(default_dtype()) : x;
}

}  // namespace

Tensor pow(const Tensor& x, const Tensor& exponent) {
  if (is_number(exponent) && !is_number(x) && x.is_floating_point()) {
    return pointwise(ops::PowNumber{{}, exponent.item_double()}, x);
  }
  if (is_number(x) && !is_number(exponent) && exponent.is_floating_point()) {
    return pointwise(ops::PowBase{{}, x.item_double()}, exponent);
  }
  return pointwise(ops::Pow{}, x, exponent);
}

Tensor clamp(const Tensor& x, std::optional<double> min, std::optional<double> max) {
  if (!min && !max) fail<ValueError>("clamp", "expected at least one bound");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double lo = min.value_or(-infinity), hi = max.value_or(infinity);
  return pointwise(ops::Clamp{{}, lo, hi}, clampable(x, lo, hi));
}

Tensor clamp(const Tensor& x, const Tensor& min, const Tensor& max) {
  if (!min.defined() && !max.defined()) fail<ValueError>("clamp", "expected at least one bound");
  // The gradient at a bound goes to x alone, unlike maximum's.
  Tensor y = x;
  if (min.defined()) y = where(x < min, min, x);
  if (max.defined()) y = where(y > max, max, y);
  return y;
}

Tensor round(const Tensor& x, int decimals) {
  double scale = decimals >= 0 ? std::pow(10.0, decimals) : -std::pow(10.0, -decimals);
  return pointwise(ops::Round{{}, static_cast<double>(decimals), scale}, x);
}

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  if (!x.is_floating_point()) return x.clone();
  double bound = largest(x.dtype());
  return pointwise(ops::NanToNum{{}, nan, posinf.value_or(bound), neginf.value_or(-bound)}, x);
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  if (weight.numel() == 1) return pointwise(ops::Prelu{}, x, weight.dim() > x.dim() ? weight.reshape({}) : weight);
  if (weight.dim() != 1 || x.dim() < 2 || x.size(1) != weight.numel()) {
    fail<ShapeError>("prelu", "expected one weight, or one for each channel of {}, got {}", to_string(x.sizes()),
                     to_string(weight.sizes()));
  }
  Dims sizes(x.dim() - 1, 1);
  sizes[0] = weight.numel();
  return pointwise(ops::Prelu{}, x, weight.reshape(sizes));
}

Tensor isclose(const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) {
  if (x.dtype() != other.dtype()) {
    fail<TypeError>("isclose", "expected one dtype, got {} and {}", name_of(x.dtype()), name_of(other.dtype()));
  }
  Tensor close = (x == other) | (isfinite(sub(x, other)) & (abs(sub(x, other)) <= add(abs(mul(other, rtol)), atol)));
  return equal_nan ? close | (isnan(x) & isnan(other)) : close;
}

Tensor Tensor::abs() const { return farro::abs(*this); }
Tensor Tensor::exp() const { return farro::exp(*this); }
Tensor Tensor::log() const { return farro::log(*this); }
Tensor Tensor::sqrt() const { return farro::sqrt(*this); }
Tensor Tensor::neg() const { return farro::neg(*this); }
Tensor Tensor::pow(const Tensor& exponent) const { return farro::pow(*this, exponent); }
Tensor Tensor::tanh() const { return farro::tanh(*this); }
Tensor Tensor::sigmoid() const { return farro::sigmoid(*this); }
Tensor Tensor::relu() const { return farro::relu(*this); }
Tensor Tensor::clamp(std::optional<double> min, std::optional<double> max) const {
  return farro::clamp(*this, min, max);
}
const Tensor& Tensor::add_(const Tensor& other, double alpha) const {
  return alpha == 1 ? pointwise_inplace(ops::Add{}, *this, other)
                    : pointwise_inplace(ops::AddScaled{{}, alpha}, *this, other);
}
const Tensor& Tensor::sub_(const Tensor& other, double alpha) const {
  return alpha == 1 ? pointwise_inplace(ops::Sub{}, *this, other)
                    : pointwise_inplace(ops::AddScaled{{}, -alpha}, *this, other);
}
const Tensor& Tensor::mul_(const Tensor& other) const { return pointwise_inplace(ops::Mul{}, *this, other); }
const Tensor& Tensor::div_(const Tensor& other) const { return pointwise_inplace(ops::Div{}, *this, other); }

namespace autograd {

std::vector<const PointwiseEntry*> pointwise_entries() {
  std::vector<const PointwiseEntry*> all;
  for (auto family : {arithmetic_entries(), exponential_entries(), trigonometric_entries(), special_entries(),
                      activation_entries(), selection_entries(), logic_entries()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace autograd

}  // namespace farro
