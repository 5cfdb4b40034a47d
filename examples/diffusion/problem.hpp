#pragma once

#include <cstdint>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace example {

using namespace farro;

/// Above it a step of time 1 would not be stable.
inline constexpr double kHighestDiffusivity = 0.24;

/// Heat that spread through a material, and what was measured of it.
class DiffusionProblem {
 public:
  struct Options {
    int64_t size = 40;  ///< cells each way
    int64_t time_steps = 120;
    double noise = 1e-2;  ///< standard deviation of a measurement; the first states lie in [0, 1]
    TensorOptions form{};
  };

  explicit DiffusionProblem(const Options& options);

  /// A ring and a bar that conduct well in a material that does not.
  const Tensor& true_diffusivity() const { return truth_; }
  /// The states at eight times, for each of the experiments.
  std::vector<std::vector<Tensor>> simulate(const Tensor& diffusivity) const;
  /// Mean square of the difference between what a diffusivity would lead to and what was measured.
  Tensor misfit(const Tensor& diffusivity) const;
  const std::vector<Tensor>& first_states() const { return first_; }
  const std::vector<std::vector<Tensor>>& measured() const { return measured_; }

 private:
  int64_t time_steps_;
  Tensor truth_;
  std::vector<Tensor> first_;
  std::vector<std::vector<Tensor>> measured_;
};

/// Mean square of the differences between neighbours.
Tensor roughness(const Tensor& field);

}  // namespace example
