#pragma once

/// Spectral normalisation: a weight divided by its largest singular value, which power iterations
/// find, one or more at each call in training mode (Miyato et al., Spectral normalization for
/// generative adversarial networks, 2018).

#include <optional>
#include <string>

#include <farro/nn/utils/parametrize.hpp>

namespace farro::nn::utils {

struct SpectralNormOptions {
  std::string name = "weight";
  int64_t n_power_iterations = 1;
  double eps = 1e-12;            ///< the least norm that is divided by
  std::optional<int64_t> dim{};  ///< of the outputs: 0, or 1 for transposed convolutions
};

/// Replaces the parameter "weight" by "weight_orig", of which a pre-hook computes it before each
/// call; "weight_u" and "weight_v" are buffers with the singular vectors. ValueError if there is no
/// such parameter, it is computed already, or n_power_iterations is below 1. Returns the module.
Module& spectral_norm(Module& module, const SpectralNormOptions& options = {});
template <class M>
Ref<M> spectral_norm(const Ref<M>& module, const SpectralNormOptions& options = {}) {
  spectral_norm(static_cast<Module&>(*module), options);
  return module;
}
/// Makes an ordinary parameter of the value. ValueError if the parameter has no spectral_norm.
Module& remove_spectral_norm(Module& module, const std::string& name = "weight");

namespace parametrizations {

/// The parametrization; a weight of one dimension is divided by its norm.
struct SpectralNorm : Module {
  Buffer _u;
  Buffer _v;
  FARRO_MEMBERS(SpectralNorm, _u, _v)

  /// For weights like this one. Finds the vectors by 15 iterations.
  SpectralNorm(const Tensor& weight, int64_t n_power_iterations, int64_t dim, double eps);
  Tensor forward(const Tensor& weight);
  Tensor right_inverse(const Tensor& value) const { return value; }

 private:
  void iterate(const Tensor& matrix, int64_t times);

  int64_t n_power_iterations_;
  int64_t dim_;
  double eps_;
};

/// The same as a parametrization: the parameter is "parametrizations.weight.original".
Module& spectral_norm(Module& module, const SpectralNormOptions& options = {});
template <class M>
Ref<M> spectral_norm(const Ref<M>& module, const SpectralNormOptions& options = {}) {
  parametrizations::spectral_norm(static_cast<Module&>(*module), options);
  return module;
}

}  // namespace parametrizations
}  // namespace farro::nn::utils
