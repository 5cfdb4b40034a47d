#include <farro/nn/layers/linear.hpp>

#include <cmath>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/init/init.hpp>

namespace farro::nn {

Linear::Linear(const Options& options) : options(options) {
  if (options.in_features < 0 || options.out_features < 0) {
    fail<ValueError>("Linear", "expected in_features and out_features of at least 0, got {} and {}",
                     options.in_features, options.out_features);
  }
  TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = Parameter(empty({options.out_features, options.in_features}, tensor_options));
  if (options.bias) bias = Parameter(empty({options.out_features}, tensor_options));
  reset_parameters();
}

void Linear::reset_parameters() {
  if (weight.numel() > 0) init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined() || bias.numel() == 0) return;
  double bound =
      options.in_features > 0 ? 1 / std::sqrt(static_cast<double>(options.in_features)) : 0;
  init::uniform_(bias, -bound, bound);
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", options.in_features,
                     options.out_features, python(bias.defined()));
}

std::string Flatten::extra_repr() const {
  return fmt::format("start_dim={}, end_dim={}", options.start_dim, options.end_dim);
}

std::string Unflatten::extra_repr() const {
  return fmt::format("dim={}, unflattened_size={}", options.dim, python(options.unflattened_size));
}

}  // namespace farro::nn
