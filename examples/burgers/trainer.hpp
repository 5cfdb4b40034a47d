#pragma once

#include <functional>
#include <vector>

#include <farro/examples/burgers/derivatives.hpp>
#include <farro/examples/burgers/network.hpp>
#include <farro/examples/burgers/options.hpp>
#include <farro/optim/adam.hpp>

namespace example {

/// Makes the equation's residual small at random points.
class BurgersTrainer {
 public:
  explicit BurgersTrainer(const BurgersOptions& options);

  /// One step; returns the mean square of the weighted residual before it.
  double step();
  /// u at a time and places.
  std::vector<double> predict(double t, const std::vector<double>& x);
  BurgersNetwork& network() { return network_; }
  Device device() const { return *form_.device; }

 private:
  /// Times and places, (points, 1) each.
  using Points = std::pair<Tensor, Tensor>;

  Points random_points(int64_t count) const;
  /// Of many random points those where the residual is large: the probability of each is in
  /// proportion to it (Wu, Zhu, Tan, Kartha, Lu: A comprehensive study of non-adaptive and
  /// residual-based adaptive sampling for physics-informed neural networks; 2023).
  Points hard_points(int64_t count);
  /// The equation's residual, with less weight where u is steep, which would else govern training
  /// from the start (after Liu et al.: Discontinuity computing using physics-informed neural
  /// networks; 2024).
  Tensor residual(const Points& points);

  BurgersOptions options_;
  TensorOptions form_;
  BurgersNetwork network_;
  optim::Adam adam_;
  Points hard_;
  int64_t steps_done_ = 0;
};

}  // namespace example
