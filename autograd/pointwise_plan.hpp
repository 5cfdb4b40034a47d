#pragma once

/// Internal to pointwise operations: what a call comes to by promotion and broadcasting.

#include <farro/autograd/pointwise.hpp>

namespace farro::autograd {

/// What a general call comes to.
struct PointwisePlan {
  Dims sizes;
  Device device = Device::of(0);
  DType common = kFloat32;  ///< of the inputs
  DType output = kFloat32;
  DType compute = kFloat32;
  bool number = true;  ///< all inputs are wrapped numbers
  bool alike = true;   ///< all inputs have the output's shape and dtype
};

/// Works out a call and checks its inputs, of which there may be more than kMaxPointwiseInputs.
/// Throws ShapeError, TypeError, BackendError.
PointwisePlan plan_pointwise(const PointwiseEntry& entry, const Tensor* const* inputs);

}  // namespace farro::autograd
