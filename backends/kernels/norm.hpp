#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Batch normalisation sees its contiguous input as [samples, channels, length]. Per-channel arrays
/// are contiguous and of any floating-point dtype; statistics (mean, inverse of the standard
/// deviation) are in compute_dtype of the input. Null means absent. Sums are taken per channel in
/// an order that the shape alone fixes.
struct BatchNormShape {
  int64_t samples = 1;
  int64_t channels = 1;
  int64_t length = 1;
  /// Of sizes (N, C, …).
  explicit BatchNormShape(const Dims& sizes) : samples(sizes[0]), channels(sizes[1]) {
    for (int d = 2; d < sizes.size(); ++d) length *= sizes[d];
  }
  int64_t count() const { return samples * length; }
};

/// Training: mean and 1/sqrt(biased variance + eps) of each channel, then out = (in -
/// mean)·inv_std·weight + bias. Running statistics, where not null, become (1 - momentum)·running +
/// momentum·batch, with the unbiased variance.
void batch_norm(const ArrayView& out, const ArrayView& mean, const ArrayView& inv_std,
                const ArrayView& in, const ArrayView* weight, const ArrayView* bias, double eps,
                double momentum, const ArrayView* running_mean, const ArrayView* running_var);
/// The same with given statistics.
void batch_norm_apply(const ArrayView& out, const ArrayView& in, const ArrayView& mean,
                      const ArrayView& inv_std, const ArrayView* weight, const ArrayView* bias);
/// The gradients of input, weight and bias, where not null. `batch_statistics` says whether mean
/// and inv_std depend on the input (training) or are constants.
void batch_norm_backward(const ArrayView* grad_in, const ArrayView* grad_weight,
                         const ArrayView* grad_bias, const ArrayView& grad_out, const ArrayView& in,
                         const ArrayView& mean, const ArrayView& inv_std, const ArrayView* weight,
                         bool batch_statistics);

/// Layer normalisation of the rows of a contiguous [rows, n] array: out = (in -
/// mean)·inv_std·weight + bias, statistics per row kept in `mean` and `inv_std` ([rows], compute
/// dtype), weight and bias [n] or null.
void layer_norm(const ArrayView& out, const ArrayView& mean, const ArrayView& inv_std,
                const ArrayView& in, const ArrayView* weight, const ArrayView* bias, double eps);
void layer_norm_backward(const ArrayView* grad_in, const ArrayView* grad_weight,
                         const ArrayView* grad_bias, const ArrayView& grad_out, const ArrayView& in,
                         const ArrayView& mean, const ArrayView& inv_std, const ArrayView* weight);

}  // namespace farro::kernels
