#include <farro/autograd/ops/pointwise.hpp>

namespace farro {

Tensor Tensor::neg() const { return farro::neg(*this); }
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

}  // namespace farro
