#pragma once

/// One fused pass over a parameter for each step of an optimizer. All arrays are contiguous, have
/// the same number of elements and lie on one device. Parameter and gradient are of one
/// floating-point dtype; what the optimizer keeps is of its compute dtype, so that 16-bit
/// parameters are updated in float32.

#include <farro/backends/array_view.hpp>

namespace farro {

/// Numbers of one step of Adam or AdamW (see farro/optim/adam.hpp), bias corrections included.
struct AdamStep {
  double one_minus_beta1 = 0.1;
  double beta2 = 0.999;
  double one_minus_beta2 = 0.001;
  double eps = 1e-8;
  double step_size = 1e-3;           ///< lr / (1 - beta1^t)
  double root_bias_correction2 = 1;  ///< sqrt(1 - beta2^t)
  double l2 = 0;      ///< added to the gradient, times the parameter (Adam's weight decay)
  double shrink = 1;  ///< multiplies the parameter (AdamW's weight decay)
  bool maximize = false;
};

/// Numbers of one step of SGD (see farro/optim/sgd.hpp).
struct SGDStep {
  double lr = 1e-3;
  double momentum = 0;
  double one_minus_dampening = 1;
  double l2 = 0;
  bool nesterov = false;
  bool maximize = false;
  bool first = false;  ///< the momentum buffer starts as the gradient
};

/// Updates param, exp_avg and exp_avg_sq, and max_exp_avg_sq where it is given (amsgrad).
void adam_step(const ArrayView& param, const ArrayView& grad, const ArrayView& exp_avg,
               const ArrayView& exp_avg_sq, const ArrayView* max_exp_avg_sq, const AdamStep& step);

/// Updates param, and the momentum buffer where it is given.
void sgd_step(const ArrayView& param, const ArrayView& grad, const ArrayView* momentum_buffer,
              const SGDStep& step);

}  // namespace farro
