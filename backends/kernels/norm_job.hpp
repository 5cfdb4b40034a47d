#pragma once

/// Internal to the normalisation kernels.

#include <cmath>

#include <farro/backends/kernels/norm.hpp>
#include <farro/backends/kernels/runs.hpp>

namespace farro::kernels {

/// A small array of any dtype, or none.
struct OptionalArray {
  void* data = nullptr;
  DType dtype = kFloat32;
  OptionalArray() = default;
  OptionalArray(const ArrayView& view) : data(view.data), dtype(view.dtype) {}
  OptionalArray(const ArrayView* view) {
    if (view != nullptr) *this = OptionalArray(*view);
  }
  template <class T>
  FARRO_FUNCTION T get(int64_t i, T absent) const {
    return data ? load_as<T>(data, dtype, i) : absent;
  }
  template <class T>
  FARRO_FUNCTION void set(int64_t i, T value) const {
    if (data) store_as(data, dtype, i, value);
  }
};

/// A forward or backward pass; what a pass does not need is null.
struct BatchNormJob {
  int64_t samples, channels, length;
  OptionalArray in, out, grad_out, grad_in, grad_weight, grad_bias;
  OptionalArray mean, inv_std, weight, bias, running_mean, running_var;
  double eps = 0, momentum = 0;
  bool batch_statistics = true;

  explicit BatchNormJob(const BatchNormShape& s)
      : samples(s.samples), channels(s.channels), length(s.length) {}
  FARRO_FUNCTION int64_t count() const { return samples * length; }

  template <class T>
  FARRO_FUNCTION void put_statistics(int64_t c, double channel_mean, double variance) const {
    double n = static_cast<double>(count());
    mean.set(c, static_cast<T>(channel_mean));
    inv_std.set(c, static_cast<T>(1 / std::sqrt(variance + eps)));
    double unbiased = variance * n / (n - 1);
    running_mean.set(c, (1 - momentum) * running_mean.get(c, 0.0) + momentum * channel_mean);
    running_var.set(c, (1 - momentum) * running_var.get(c, 0.0) + momentum * unbiased);
  }
};

struct LayerNormJob {
  int64_t rows, n;
  OptionalArray in, out, grad_out, grad_in, grad_weight, grad_bias, mean, inv_std, weight, bias;
  double eps = 0;
};

void batch_norm_reference(Device device, const BatchNormJob& job);
void batch_norm_apply_reference(Device device, const BatchNormJob& job);
void batch_norm_backward_reference(Device device, const BatchNormJob& job);
void layer_norm_reference(Device device, const LayerNormJob& job);
void layer_norm_backward_reference(Device device, const LayerNormJob& job);

}  // namespace farro::kernels
