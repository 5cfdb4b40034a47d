#pragma once

/// Weight normalisation: w = g · v / ‖v‖, with the norm over all dimensions but one (Salimans and
/// Kingma, Weight normalization: a simple reparameterization to accelerate training of deep neural
/// networks, 2016).

#include <optional>
#include <string>
#include <utility>

#include <farro/nn/utils/parametrize.hpp>

namespace farro::nn::utils {

struct WeightNormOptions {
  std::string name = "weight";
  std::optional<int64_t> dim =
      0;  ///< the dimension with a norm for each position; none: one norm for all
};

/// Replaces the parameter "weight" by "weight_g" and "weight_v", of which a pre-hook computes it
/// before each call. ValueError if there is no such parameter, or it is computed already. Returns
/// the module.
Module& weight_norm(Module& module, const WeightNormOptions& options = {});
template <class M>
Ref<M> weight_norm(const Ref<M>& module, const WeightNormOptions& options = {}) {
  weight_norm(static_cast<Module&>(*module), options);
  return module;
}
/// Makes an ordinary parameter of the value. ValueError if the parameter has no weight_norm.
Module& remove_weight_norm(Module& module, const std::string& name = "weight");

namespace parametrizations {

/// The parametrization by norm and direction; originals are g and v.
struct WeightNorm : Module {
  struct Options {
    std::optional<int64_t> dim = 0;
    FARRO_FIELDS(Options, dim)
  };
  Options options;
  FARRO_MEMBERS(WeightNorm)

  WeightNorm() : WeightNorm(Options{}) {}
  explicit WeightNorm(const Options& options) : options(options) {}
  Tensor forward(const Tensor& g, const Tensor& v) const;
  std::pair<Tensor, Tensor> right_inverse(const Tensor& weight) const;
};

/// The same as a parametrization: the parameters are "parametrizations.weight.original0" (g) and
/// "original1" (v).
Module& weight_norm(Module& module, const WeightNormOptions& options = {});
template <class M>
Ref<M> weight_norm(const Ref<M>& module, const WeightNormOptions& options = {}) {
  parametrizations::weight_norm(static_cast<Module&>(*module), options);
  return module;
}

}  // namespace parametrizations
}  // namespace farro::nn::utils
