#include <farro/nn/layers/activation.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/init/init.hpp>

namespace farro::nn {
namespace {

/// The result itself, or x with the result written over it.
Tensor placed(bool inplace, const Tensor& x, const Tensor& result) {
  if (!inplace) return result;
  x.copy_(result);
  return x;
}

}  // namespace

Tensor ReLU::forward(const Tensor& x) const {
  return options.inplace ? pointwise_inplace(ops::Relu{}, x) : relu(x);
}
std::string ReLU::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor ReLU6::forward(const Tensor& x) const {
  return options.inplace ? pointwise_inplace(ops::Hardtanh{{}, 0, 6}, x) : relu6(x);
}
std::string ReLU6::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor LeakyReLU::forward(const Tensor& x) const {
  return options.inplace
             ? pointwise_inplace(ops::LeakyRelu{{}, options.negative_slope.to_double()}, x)
             : leaky_relu(x, options.negative_slope.to_double());
}
std::string LeakyReLU::extra_repr() const {
  return fmt::format("negative_slope={}{}", python(options.negative_slope),
                     options.inplace ? ", inplace=True" : "");
}

Tensor ELU::forward(const Tensor& x) const {
  return placed(options.inplace, x, elu(x, options.alpha.to_double()));
}
std::string ELU::extra_repr() const {
  return fmt::format("alpha={}{}", python(options.alpha), options.inplace ? ", inplace=True" : "");
}

Tensor CELU::forward(const Tensor& x) const {
  return placed(options.inplace, x, celu(x, options.alpha.to_double()));
}
std::string CELU::extra_repr() const {
  return fmt::format("alpha={}{}", python(options.alpha), options.inplace ? ", inplace=True" : "");
}

Tensor SELU::forward(const Tensor& x) const { return placed(options.inplace, x, selu(x)); }
std::string SELU::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor SiLU::forward(const Tensor& x) const { return placed(options.inplace, x, silu(x)); }
std::string SiLU::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor Mish::forward(const Tensor& x) const { return placed(options.inplace, x, mish(x)); }
std::string Mish::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor Hardswish::forward(const Tensor& x) const {
  return placed(options.inplace, x, hardswish(x));
}
std::string Hardswish::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor Hardsigmoid::forward(const Tensor& x) const {
  return placed(options.inplace, x, hardsigmoid(x));
}
std::string Hardsigmoid::extra_repr() const { return options.inplace ? "inplace=True" : ""; }

Tensor Hardtanh::forward(const Tensor& x) const {
  return placed(options.inplace, x,
                hardtanh(x, options.min_val.to_double(), options.max_val.to_double()));
}
std::string Hardtanh::extra_repr() const {
  return fmt::format("min_val={}, max_val={}{}", python(options.min_val), python(options.max_val),
                     options.inplace ? ", inplace=True" : "");
}

Tensor Threshold::forward(const Tensor& x) const {
  return placed(options.inplace, x,
                farro::threshold(x, options.threshold.to_double(), options.value.to_double()));
}
std::string Threshold::extra_repr() const {
  return fmt::format("threshold={}, value={}{}", python(options.threshold), python(options.value),
                     options.inplace ? ", inplace=True" : "");
}

Tensor Tanh::forward(const Tensor& x) const { return tanh(x); }
Tensor Sigmoid::forward(const Tensor& x) const { return sigmoid(x); }
Tensor LogSigmoid::forward(const Tensor& x) const { return log_sigmoid(x); }
Tensor Softsign::forward(const Tensor& x) const { return softsign(x); }
Tensor Tanhshrink::forward(const Tensor& x) const { return tanhshrink(x); }

Tensor Softplus::forward(const Tensor& x) const {
  return softplus(x, options.beta.to_double(), options.threshold.to_double());
}
std::string Softplus::extra_repr() const {
  return fmt::format("beta={}, threshold={}", python(options.beta), python(options.threshold));
}

Tensor Softshrink::forward(const Tensor& x) const {
  return softshrink(x, options.lambd.to_double());
}
std::string Softshrink::extra_repr() const { return python(options.lambd); }

Tensor Hardshrink::forward(const Tensor& x) const {
  return hardshrink(x, options.lambd.to_double());
}
std::string Hardshrink::extra_repr() const { return python(options.lambd); }

Tensor GELU::forward(const Tensor& x) const { return gelu(x, options.approximate); }
std::string GELU::extra_repr() const { return "approximate='" + options.approximate + "'"; }

PReLU::PReLU(const Options& options) : options(options) {
  weight = Parameter(
      empty({options.num_parameters}, {.dtype = options.dtype, .device = options.device}));
  reset_parameters();
}
void PReLU::reset_parameters() { init::constant_(weight, options.init); }
Tensor PReLU::forward(const Tensor& x) const { return prelu(x, weight); }
std::string PReLU::extra_repr() const {
  return fmt::format("num_parameters={}", options.num_parameters);
}

}  // namespace farro::nn
