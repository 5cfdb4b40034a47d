#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/kernels/conv_shape.hpp>

namespace farro {

/// One integer for each spatial dimension, or one that holds for all.
class SpatialSizes {
 public:
  SpatialSizes(int64_t all) : sizes_{all} {}
  SpatialSizes(int all) : SpatialSizes(int64_t{all}) {}
  SpatialSizes(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  SpatialSizes(IntList sizes) : sizes_(sizes) {}

  bool empty() const { return sizes_.empty(); }
  /// `count` integers; ShapeError if there are neither 1 nor count.
  Dims expand(int count, const char* operation, const char* what) const;

 private:
  Dims sizes_;
};

/// Zeros around the input: so many on both sides of each dimension, "valid" (none) or "same" (so
/// many that output and input have one size; where that is odd, the additional one goes behind the
/// last element).
class ConvPadding {
 public:
  enum class Mode { Explicit, Valid, Same };
  ConvPadding(int64_t all) : sizes_(all) {}
  ConvPadding(int all) : sizes_(all) {}
  ConvPadding(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  ConvPadding(IntList sizes) : sizes_(sizes) {}
  ConvPadding(const SpatialSizes& sizes) : sizes_(sizes) {}
  /// ValueError unless "valid" or "same".
  ConvPadding(const char* mode) : ConvPadding(std::string_view(mode)) {}
  ConvPadding(std::string_view mode);

  Mode mode() const { return mode_; }
  const SpatialSizes& sizes() const { return sizes_; }

 private:
  Mode mode_ = Mode::Explicit;
  SpatialSizes sizes_ = 0;
};

struct ConvOptions {
  SpatialSizes stride = 1;
  ConvPadding padding = 0;
  SpatialSizes dilation = 1;
  int64_t groups = 1;
};

/// Convolutions as deep learning has them (the kernel is not flipped). input [batch, channels_in,
/// spatial…] or without batch, weight [channels_out, channels_in / groups, kernel…], bias
/// [channels_out] or undefined. One dtype (TypeError) and device (BackendError); ShapeError where
/// shapes do not fit, ValueError for options out of range.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});

struct ConvTransposeOptions {
  SpatialSizes stride = 1;
  SpatialSizes padding = 0;
  SpatialSizes output_padding = 0;  ///< below stride or dilation
  int64_t groups = 1;
  SpatialSizes dilation = 1;
};

/// The gradients of convolutions by their inputs, as operations. weight [channels_in, channels_out
/// / groups, kernel…]; a dimension of the output is (in - 1) stride - 2 padding + dilation (kernel
/// - 1) + output_padding + 1.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

namespace autograd {

/// The three passes as recorded operations on tensors that fit the shape; each one's gradients are
/// the other two.
Tensor conv_forward(const ConvShape& shape, const Tensor& input, const Tensor& weight,
                    const Tensor& bias = {});
Tensor conv_backward_input(const ConvShape& shape, const Tensor& grad_output, const Tensor& weight);
Tensor conv_backward_weight(const ConvShape& shape, const Tensor& grad_output, const Tensor& input);

}  // namespace autograd

}  // namespace farro
