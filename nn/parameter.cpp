#include <farro/nn/parameter.hpp>

#include <farro/autograd/ops/factory.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {
namespace detail {

void take_data(const Tensor& tensor, const Tensor& other) {
  TensorImpl& to = *tensor.impl();
  TensorImpl& from = *other.impl();
  // What was saved for a backward must be seen to have changed.
  while (from.storage->version() <= to.storage->version()) from.storage->bump_version();
  to.array = from.array;
  to.numel = from.numel;
  to.contiguous = from.contiguous;
  to.storage = from.storage;
  to.uninitialized = from.uninitialized;
}

Tensor uninitialized(std::optional<Device> device, std::optional<DType> dtype) {
  Tensor tensor = empty({0}, {.dtype = dtype, .device = device});
  tensor.impl()->uninitialized = true;
  return tensor;
}

}  // namespace detail

void materialize(const Tensor& tensor, const Dims& sizes, std::optional<Device> device,
                 std::optional<DType> dtype) {
  if (!is_uninitialized(tensor)) {
    fail<ValueError>(
        "materialize", "expected an uninitialized parameter or buffer, got {}",
        tensor.defined() ? "one of shape " + to_string(tensor.sizes()) : "an undefined tensor");
  }
  DType wanted = dtype.value_or(tensor.dtype());
  if (tensor.requires_grad() && !is_floating_point(wanted)) {
    fail<TypeError>("materialize",
                    "expected a floating-point dtype for a parameter that requires grad, got {}",
                    name_of(wanted));
  }
  detail::take_data(tensor, empty(sizes, wanted, device.value_or(tensor.device())));
}

UninitializedParameter::UninitializedParameter() : UninitializedParameter(Options{}) {}

UninitializedParameter::UninitializedParameter(const Options& options)
    : Parameter(detail::uninitialized(options.device, options.dtype), options.requires_grad) {}

UninitializedBuffer::UninitializedBuffer() : UninitializedBuffer(Options{}) {}

UninitializedBuffer::UninitializedBuffer(const Options& options)
    : Buffer(detail::uninitialized(options.device, options.dtype), options.persistent) {}

Parameter::Parameter(const Tensor& data, bool requires_grad) {
  if (!data.defined()) return;
  if (data.grad_fn()) {
    fail<ValueError>(
        "Parameter",
        "expected a leaf, got a tensor with grad_fn {}: detach() it, or compute it in forward",
        data.grad_fn()->name());
  }
  if (requires_grad && !data.is_floating_point()) {
    fail<TypeError>(
        "Parameter",
        "expected a floating-point tensor, got {}; pass requires_grad = false for others",
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
    fail<TypeError>("Parameter", "expected a parameter, got a tensor of shape {} that is none",
                    to_string(tensor.sizes()));
  }
  Parameter parameter;
  static_cast<Tensor&>(parameter) = tensor;
  return parameter;
}

}  // namespace farro::nn
