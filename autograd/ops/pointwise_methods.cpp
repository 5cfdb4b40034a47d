#include <cmath>
#include <initializer_list>
#include <limits>

#include <farro/autograd/ops/pointwise_list.hpp>

namespace farro {

namespace {

bool is_number(const Tensor& t) { return t.dim() == 0 && t.impl()->wrapped_number; }

double largest(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return std::numeric_limits<double>::max();
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 3.3895313892515355e38;
    default:
      return std::numeric_limits<float>::max();
  }
}

bool is_whole(double value) { return !std::isfinite(value) || value == std::floor(value); }

/// Bounds with a fraction raise integers to the default dtype, as any other number would; whole
/// ones raise bool to int64.
Tensor clampable(const Tensor& x, double min, double max) {
  if (x.is_floating_point()) return x;
  if (!is_whole(min) || !is_whole(max)) return x.to(default_dtype());
  return x.dtype() == kBool ? x.to(kInt64) : x;
}

/// A factor of integers must be whole.
void check_factor(const char* operation, double factor,
                  std::initializer_list<const Tensor*> inputs) {
  if (factor == std::floor(factor)) return;
  for (const Tensor* x : inputs) {
    if (x->is_floating_point()) return;
  }
  fail<TypeError>(operation, "expected a whole factor for integers, got {}", factor);
}

void check_subtraction(const Tensor& x, const Tensor& other) {
  if (x.dtype() != kBool && other.dtype() != kBool) return;
  fail<TypeError>("sub", "expected numbers, got bool; operations on masks are &, |, ^ and ~");
}

/// An integer x can be raised to this number.
void check_exponent(const Tensor& x, double exponent) {
  if (x.is_floating_point()) return;
  if (!is_whole(exponent)) {
    fail<TypeError>("pow", "expected a whole exponent for {} in place, got {}", name_of(x.dtype()),
                    exponent);
  }
  if (exponent < 0)
    fail<ValueError>("pow", "expected an exponent >= 0 for {}, got {}", name_of(x.dtype()),
                     exponent);
}

}  // namespace

Tensor add(const Tensor& x, const Tensor& other, double alpha) {
  if (alpha == 1) return add(x, other);
  check_factor("add", alpha, {&x, &other});
  return pointwise(ops::AddScaled{{}, alpha}, x, other);
}

Tensor sub(const Tensor& x, const Tensor& other, double alpha) {
  if (alpha == 1) return sub(x, other);
  check_subtraction(x, other);
  check_factor("sub", alpha, {&x, &other});
  return pointwise(ops::AddScaled{{}, -alpha}, x, other);
}

Tensor square(const Tensor& x) {
  return pointwise(ops::Square{}, x.dtype() == kBool ? x.to(kInt64) : x);
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, double value) {
  check_factor("addcmul", value, {&x, &a, &b});
  return pointwise(ops::Addcmul{{}, value}, x, a, b);
}

const Tensor& addcmul_(const Tensor& self, const Tensor& a, const Tensor& b, double value) {
  check_factor("addcmul", value, {&self, &a, &b});
  return pointwise_inplace(ops::Addcmul{{}, value}, self, a, b);
}

const Tensor& pow_(const Tensor& self, double exponent) {
  check_exponent(self, exponent);
  return pointwise_inplace(ops::PowNumber{{}, exponent}, self);
}

Tensor pow(const Tensor& x, const Tensor& exponent) {
  if (is_number(exponent) && !is_floating_point(exponent.dtype()))
    check_exponent(x, exponent.item_double());
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

const Tensor& clamp_(const Tensor& self, std::optional<double> min, std::optional<double> max) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double lo = min.value_or(-infinity), hi = max.value_or(infinity);
  if (!self.is_floating_point() && (!is_whole(lo) || !is_whole(hi))) {
    fail<TypeError>("clamp", "expected whole bounds for {} in place, got {} and {}",
                    name_of(self.dtype()), lo, hi);
  }
  return pointwise_inplace(ops::Clamp{{}, lo, hi}, self);
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

Tensor nan_to_num(const Tensor& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (!x.is_floating_point()) return x.clone();
  double bound = largest(x.dtype());
  return pointwise(ops::NanToNum{{}, nan, posinf.value_or(bound), neginf.value_or(-bound)}, x);
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  if (weight.numel() == 1)
    return pointwise(ops::Prelu{}, x, weight.dim() > x.dim() ? weight.reshape({}) : weight);
  if (weight.dim() != 1 || x.dim() < 2 || x.size(1) != weight.numel()) {
    fail<ShapeError>("prelu", "expected one weight, or one for each channel of {}, got {}",
                     to_string(x.sizes()), to_string(weight.sizes()));
  }
  Dims sizes(x.dim() - 1, 1);
  sizes[0] = weight.numel();
  return pointwise(ops::Prelu{}, x, weight.reshape(sizes));
}

Tensor isclose(const Tensor& x, const Tensor& other, double rtol, double atol, bool equal_nan) {
  if (x.dtype() != other.dtype()) {
    fail<TypeError>("isclose", "expected one dtype, got {} and {}", name_of(x.dtype()),
                    name_of(other.dtype()));
  }
  Tensor close = (x == other) | (isfinite(sub(x, other)) &
                                 (abs(sub(x, other)) <= add(abs(mul(other, rtol)), atol)));
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
  if (alpha == 1) return pointwise_inplace(ops::Add{}, *this, other);
  check_factor("add", alpha, {this, &other});
  return pointwise_inplace(ops::AddScaled{{}, alpha}, *this, other);
}
const Tensor& Tensor::sub_(const Tensor& other, double alpha) const {
  if (alpha == 1) return pointwise_inplace(ops::Sub{}, *this, other);
  check_subtraction(*this, other);
  check_factor("sub", alpha, {this, &other});
  return pointwise_inplace(ops::AddScaled{{}, -alpha}, *this, other);
}
const Tensor& Tensor::mul_(const Tensor& other) const {
  return pointwise_inplace(ops::Mul{}, *this, other);
}
const Tensor& Tensor::div_(const Tensor& other) const {
  return pointwise_inplace(ops::Div{}, *this, other);
}

namespace autograd {

std::vector<const PointwiseEntry*> pointwise_entries() {
  std::vector<const PointwiseEntry*> all;
  for (auto family :
       {arithmetic_entries(), exponential_entries(), trigonometric_entries(), special_entries(),
        activation_entries(), selection_entries(), logic_entries()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace autograd

}  // namespace farro
