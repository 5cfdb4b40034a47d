#pragma once

/// Operations that write their result over the first input. See pointwise_inplace.

#include <farro/autograd/ops/pointwise/activation.hpp>
#include <farro/autograd/ops/pointwise/exponential.hpp>
#include <farro/autograd/ops/pointwise/selection.hpp>

namespace farro {

inline const Tensor& relu_(const Tensor& self) { return pointwise_inplace(ops::Relu{}, self); }
inline const Tensor& exp_(const Tensor& self) { return pointwise_inplace(ops::Exp{}, self); }
inline const Tensor& sqrt_(const Tensor& self) { return pointwise_inplace(ops::Sqrt{}, self); }
inline const Tensor& tanh_(const Tensor& self) { return pointwise_inplace(ops::Tanh{}, self); }
inline const Tensor& sigmoid_(const Tensor& self) {
  return pointwise_inplace(ops::Sigmoid{}, self);
}
inline const Tensor& neg_(const Tensor& self) { return pointwise_inplace(ops::Neg{}, self); }
inline const Tensor& abs_(const Tensor& self) { return pointwise_inplace(ops::Abs{}, self); }
inline const Tensor& log_(const Tensor& self) { return pointwise_inplace(ops::Log{}, self); }
inline const Tensor& reciprocal_(const Tensor& self) {
  return pointwise_inplace(ops::Reciprocal{}, self);
}
inline const Tensor& square_(const Tensor& self) { return pointwise_inplace(ops::Square{}, self); }
inline const Tensor& floor_(const Tensor& self) { return pointwise_inplace(ops::Floor{}, self); }
inline const Tensor& ceil_(const Tensor& self) { return pointwise_inplace(ops::Ceil{}, self); }
inline const Tensor& trunc_(const Tensor& self) { return pointwise_inplace(ops::Trunc{}, self); }
inline const Tensor& leaky_relu_(const Tensor& self, double negative_slope = 0.01) {
  return pointwise_inplace(ops::LeakyRelu{{}, negative_slope}, self);
}
inline const Tensor& elu_(const Tensor& self, double alpha = 1) {
  return pointwise_inplace(ops::Elu{{}, alpha, 1, 1}, self);
}
inline const Tensor& hardtanh_(const Tensor& self, double min_val = -1, double max_val = 1) {
  return pointwise_inplace(ops::Hardtanh{{}, min_val, max_val}, self);
}
/// Absent bounds are none. TypeError for integers with bounds that are not whole.
const Tensor& clamp_(const Tensor& self, std::optional<double> min, std::optional<double> max = {});
/// self + value * a * b. TypeError for integers with a value that is not whole.
const Tensor& addcmul_(const Tensor& self, const Tensor& a, const Tensor& b, double value = 1);
/// self + value * a / b
inline const Tensor& addcdiv_(const Tensor& self, const Tensor& a, const Tensor& b,
                              double value = 1) {
  return pointwise_inplace(ops::Addcdiv{{}, value}, self, a, b);
}
/// self + weight * (end - self)
inline const Tensor& lerp_(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return pointwise_inplace(ops::Lerp{}, self, end, weight);
}
/// For integers: TypeError for an exponent that is not whole, ValueError for a negative one.
const Tensor& pow_(const Tensor& self, double exponent);

}  // namespace farro
