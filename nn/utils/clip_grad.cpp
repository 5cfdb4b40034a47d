#include <farro/nn/utils/clip_grad.hpp>

#include <cmath>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::nn::utils {
namespace {

std::vector<Tensor> gradients_of(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = parameter.grad();
    if (gradient.defined() && gradient.numel() > 0) gradients.push_back(gradient);
  }
  return gradients;
}

}  // namespace

Tensor get_total_norm(const std::vector<Tensor>& tensors, const ClipOptions& options) {
  NoGrad guard;
  if (tensors.empty()) return zeros({});
  std::vector<Tensor> norms;
  for (const Tensor& tensor : tensors)
    norms.push_back(norm(tensor, options.norm_type).to(tensors[0].device()));
  Tensor total = norm(stack(norms), options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(total.item())) {
    fail<ValueError>("clip_grad_norm_", "expected gradients of a finite norm, got {}",
                     total.item());
  }
  return total;
}

Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       const ClipOptions& options) {
  if (!(max_norm >= 0))
    fail<ValueError>("clip_grad_norm_", "expected a max_norm of at least 0, got {}", max_norm);
  std::vector<Tensor> gradients = gradients_of(parameters);
  Tensor total = get_total_norm(gradients, options);
  NoGrad guard;
  Tensor factor = (max_norm / (total + 1e-6)).clamp({}, 1.0);
  for (const Tensor& gradient : gradients) gradient.mul_(factor.to(gradient.device()));
  return total;
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  if (!(clip_value >= 0))
    fail<ValueError>("clip_grad_value_", "expected a clip_value of at least 0, got {}", clip_value);
  NoGrad guard;
  for (const Tensor& gradient : gradients_of(parameters))
    gradient.copy_(gradient.clamp(-clip_value, clip_value));
}

}  // namespace farro::nn::utils
