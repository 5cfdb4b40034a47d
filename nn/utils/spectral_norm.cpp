#include <farro/nn/utils/spectral_norm.hpp>

#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/nn/utils/computed.hpp>

namespace farro::nn::utils {
namespace {

/// Where the state of a weight's norm is found in its module.
struct Names {
  explicit Names(const std::string& name)
      : original(name + "_orig"), u(name + "_u"), v(name + "_v"), hook(name + "_spectral_hook") {}
  std::string original, u, v, hook;
};

/// The outputs as rows, everything else as columns.
Tensor as_matrix(const Tensor& weight, int64_t dim) {
  Tensor rows_first = dim == 0 ? weight : weight.transpose(0, dim);
  if (dim != 0 && weight.dim() > 2) {
    // The others keep their order.
    Dims order{dim};
    for (int64_t d = 0; d < weight.dim(); ++d) {
      if (d != dim) order.push_back(d);
    }
    rows_first = weight.permute(order);
  }
  return rows_first.reshape({rows_first.size(0), -1});
}

Tensor unit(const Tensor& x, double eps) { return x / norm(x).clamp(eps); }

Tensor random_unit(int64_t size, const Tensor& like, double eps) {
  return unit(randn({size}, {.dtype = like.dtype(), .device = like.device()}), eps);
}

void check(const SpectralNormOptions& options) {
  if (options.n_power_iterations < 1) {
    fail<ValueError>("spectral_norm", "expected n_power_iterations of at least 1, got {}",
                     options.n_power_iterations);
  }
}

int64_t output_dim(const Module& module, const Tensor& weight, const SpectralNormOptions& options) {
  int64_t standard = module.class_name().starts_with("ConvTranspose") ? 1 : 0;
  return wrap_dim(options.dim.value_or(standard), std::max(weight.dim(), 1), "spectral_norm");
}

/// u · (W v): the singular value. The vectors are copied, since later iterations change them in
/// place.
Tensor singular_value(const Tensor& matrix, const Tensor& u, const Tensor& v) {
  return dot(u.clone(), mv(matrix, v.clone()));
}

void compute(Module& module, const std::string& name, int64_t dim, int64_t iterations, double eps) {
  Names names(name);
  Tensor weight = module.get_parameter(names.original);
  Tensor u = module.get_buffer(names.u), v = module.get_buffer(names.v),
         matrix = as_matrix(weight, dim);
  {
    NoGrad guard;
    for (int64_t i = 0; i < iterations; ++i) {
      v.copy_(unit(mv(matrix.t(), u), eps));
      u.copy_(unit(mv(matrix, v), eps));
    }
  }
  detail::put_computed(detail::parameter_place("spectral_norm", module, name),
                       weight / singular_value(matrix, u, v));
}

}  // namespace

Module& spectral_norm(Module& module, const SpectralNormOptions& options) {
  check(options);
  const std::string& name = options.name;
  Parameter weight = detail::parameter_in("spectral_norm", module, name);
  int64_t dim = output_dim(module, weight, options);
  Names names(name);
  {
    NoGrad guard;
    Tensor matrix = as_matrix(weight, dim);
    module.register_buffer(names.u, random_unit(matrix.size(0), weight, options.eps));
    module.register_buffer(names.v, random_unit(matrix.size(1), weight, options.eps));
  }
  module.register_parameter(names.original, weight);
  auto hook = [name, dim, n = options.n_power_iterations, eps = options.eps](Module& m) {
    compute(m, name, dim, m.training() ? n : 0, eps);
  };
  RemovableHandle handle = module.register_forward_pre_hook(hook, {.prepend = true});
  detail::keep_hook(module, names.hook, {handle.id(), dim});
  compute(module, name, dim, 0, options.eps);
  return module;
}

Module& remove_spectral_norm(Module& module, const std::string& name) {
  Names names(name);
  auto hook = detail::kept_hook(module, names.hook);
  if (!hook) {
    fail<ValueError>("remove_spectral_norm", "\"{}\" of {} has no spectral_norm", name,
                     module.class_name());
  }
  Parameter weight = Parameter::of(module.get_parameter(names.original));
  {
    NoGrad guard;
    Tensor u = module.get_buffer(names.u), v = module.get_buffer(names.v);
    weight.copy_(weight / singular_value(as_matrix(weight, hook->dim), u, v));
  }
  module.remove_hook(hook->id);
  for (const std::string& gone : {names.original, names.u, names.v, names.hook})
    module.del_attr(gone);
  detail::parameter_place("remove_spectral_norm", module, name).parameter() = weight;
  return module;
}

namespace parametrizations {

SpectralNorm::SpectralNorm(const Tensor& weight, int64_t n_power_iterations, int64_t dim,
                           double eps)
    : n_power_iterations_(n_power_iterations), dim_(dim), eps_(eps) {
  if (weight.dim() < 2) return;
  NoGrad guard;
  Tensor matrix = as_matrix(weight.detach(), dim);
  _u = Buffer(random_unit(matrix.size(0), weight, eps));
  _v = Buffer(random_unit(matrix.size(1), weight, eps));
  iterate(matrix, 15);
}

void SpectralNorm::iterate(const Tensor& matrix, int64_t times) {
  NoGrad guard;
  for (int64_t i = 0; i < times; ++i) {
    _u.copy_(unit(mv(matrix, _v), eps_));
    _v.copy_(unit(mv(matrix.t(), _u), eps_));
  }
}

Tensor SpectralNorm::forward(const Tensor& weight) {
  if (weight.dim() < 2) return unit(weight, eps_);
  Tensor matrix = as_matrix(weight, dim_);
  if (training()) iterate(matrix, n_power_iterations_);
  return weight / singular_value(matrix, _u, _v);
}

Module& spectral_norm(Module& module, const SpectralNormOptions& options) {
  check(options);
  // A weight that is parametrized already: what that gives is normalised.
  Tensor weight = parametrize::is_parametrized(module, options.name)
                      ? parametrize::parametrized(module, options.name)
                      : Tensor(detail::parameter_in("spectral_norm", module, options.name));
  int64_t dim = output_dim(module, weight, options);
  parametrize::register_parametrization(
      module, options.name, SpectralNorm(weight, options.n_power_iterations, dim, options.eps));
  return module;
}

}  // namespace parametrizations
}  // namespace farro::nn::utils
