#include <farro/nn/utils/weight_norm.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/nn/utils/computed.hpp>

namespace farro::nn::utils {
namespace {

/// ‖v‖ over all dimensions but one, which stays; over all without one.
Tensor norm_except(const Tensor& v, std::optional<int64_t> dim) {
  if (!dim) return norm(v);
  int kept = wrap_dim(*dim, v.dim(), "weight_norm");
  if (v.dim() == 1) return v.abs();
  Dims others;
  for (int d = 0; d < v.dim(); ++d) {
    if (d != kept) others.push_back(d);
  }
  return norm(v, 2, others, true);
}

Tensor normalized(const Tensor& g, const Tensor& v, std::optional<int64_t> dim) {
  return v * (g / norm_except(v, dim));
}

std::string hook_of(const std::string& name) { return name + "_norm_hook"; }

void compute(Module& module, const std::string& name, std::optional<int64_t> dim) {
  Member place = detail::parameter_place("weight_norm", module, name);
  detail::put_computed(
      place, normalized(module.get_parameter(name + "_g"), module.get_parameter(name + "_v"), dim));
}

}  // namespace

Module& weight_norm(Module& module, const WeightNormOptions& options) {
  const std::string& name = options.name;
  Parameter weight = detail::parameter_in("weight_norm", module, name);
  std::optional<int64_t> dim;
  if (options.dim) dim = wrap_dim(*options.dim, weight.dim(), "weight_norm");
  NoGrad guard;
  module.register_parameter(name + "_g",
                            Parameter(norm_except(weight, dim).clone(), weight.requires_grad()));
  module.register_parameter(name + "_v", weight);
  auto hook = [name, dim](Module& m) { compute(m, name, dim); };
  RemovableHandle handle = module.register_forward_pre_hook(hook, {.prepend = true});
  detail::keep_hook(module, hook_of(name), {handle.id(), dim.value_or(-1)});
  EnableGrad recorded;
  compute(module, name, dim);
  return module;
}

Module& remove_weight_norm(Module& module, const std::string& name) {
  auto hook = detail::kept_hook(module, hook_of(name));
  if (!hook)
    fail<ValueError>("remove_weight_norm", "\"{}\" of {} has no weight_norm", name,
                     module.class_name());
  Parameter weight = Parameter::of(module.get_parameter(name + "_v"));
  {
    NoGrad guard;
    std::optional<int64_t> dim;
    if (hook->dim >= 0) dim = hook->dim;
    weight.copy_(normalized(module.get_parameter(name + "_g"), weight, dim));
  }
  module.remove_hook(hook->id);
  for (const std::string& gone : {name + "_g", name + "_v", hook_of(name)}) module.del_attr(gone);
  detail::parameter_place("remove_weight_norm", module, name).parameter() = weight;
  return module;
}

namespace parametrizations {

Tensor WeightNorm::forward(const Tensor& g, const Tensor& v) const {
  return normalized(g, v, options.dim);
}

std::pair<Tensor, Tensor> WeightNorm::right_inverse(const Tensor& weight) const {
  return {norm_except(weight, options.dim), weight};
}

Module& weight_norm(Module& module, const WeightNormOptions& options) {
  parametrize::register_parametrization(module, options.name, WeightNorm({.dim = options.dim}),
                                        {.unsafe = true});
  return module;
}

}  // namespace parametrizations
}  // namespace farro::nn::utils
