#pragma once

#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::nn::utils {

struct ClipOptions {
  double norm_type = 2;             ///< p; infinity for the largest absolute value
  bool error_if_nonfinite = false;  ///< ValueError for a norm that is infinite or not a number
};

/// The p-norm of all elements of the tensors, as if they stood in one vector; 0 without tensors.
Tensor get_total_norm(const std::vector<Tensor>& tensors, const ClipOptions& options = {});
/// Scales the parameters' gradients, in place and unrecorded, by max_norm / (norm + 1e-6) where
/// that is below 1. Returns their norm before. ValueError for a negative max_norm.
Tensor clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       const ClipOptions& options = {});
/// Moves the elements of the gradients into [-clip_value, clip_value], in place and unrecorded.
/// ValueError for a negative clip_value.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);

}  // namespace farro::nn::utils
