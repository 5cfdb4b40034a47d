#include <farro/nn/parameter.hpp>

namespace farro::nn {

Parameter::Parameter(const Tensor& data, bool requires_grad) {
  if (!data.defined()) return;
  if (data.grad_fn()) {
    fail<ValueError>("Parameter", "expected a leaf, got a tensor with grad_fn {}: detach() it, or compute it in forward",
                     data.grad_fn()->name());
  }
  if (requires_grad && !data.is_floating_point()) {
    fail<TypeError>("Parameter", "expected a floating-point tensor, got {}; pass requires_grad = false for others",
                    name_of(data.dtype()));
  }
  Tensor tensor = data.detach();
  tensor.requires_grad_(requires_grad);
  tensor.impl()->is_parameter = true;
  tensor.impl()->wrapped_number = false;
  Tensor::operator=(std::move(tensor));
}

Parameter Parameter::of(const Tensor& tensor) {
  if (tensor.defined() && !tensor.impl()->is_parameter) {
    fail<TypeError>("Parameter", "expected a parameter, got a tensor of shape {} that is none", to_string(tensor.sizes()));
  }
  Parameter parameter;
  static_cast<Tensor&>(parameter) = tensor;
  return parameter;
}

}  // namespace farro::nn
