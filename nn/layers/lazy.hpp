#pragma once

#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/linear.hpp>
#include <farro/nn/layers/normalization.hpp>
#include <farro/nn/lazy.hpp>

namespace farro::nn {

/// A Linear whose in_features is the last size of the first input.
struct LazyLinear : LazyModule<LazyLinear, Linear> {
  struct Options {
    int64_t out_features;
    bool bias = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, out_features, bias, device, dtype)
  };
  FARRO_DERIVED_MEMBERS(LazyLinear, Linear)

  explicit LazyLinear(const Options& lazy_options);
  void initialize_parameters(const Args& inputs);
  void sizes_from_parameters();
};

/// A convolution whose in_channels is the number of channels of the first input. ShapeError if that
/// has neither N + 1 nor N + 2 dimensions, ValueError if the groups do not divide its channels.
template <int N>
struct LazyConv : LazyModule<LazyConv<N>, Conv<N>> {
  struct Options {
    int64_t out_channels;
    Sizes<N> kernel_size;
    Sizes<N> stride = 1;
    Padding<N> padding = 0;
    Sizes<N> dilation = 1;
    int64_t groups = 1;
    bool bias = true;
    std::string padding_mode = "zeros";
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, out_channels, kernel_size, stride, padding, dilation, groups, bias,
                 padding_mode, device, dtype)
  };
  FARRO_DERIVED_MEMBERS(LazyConv, Conv<N>)

  explicit LazyConv(const Options& lazy_options);
  void initialize_parameters(const Args& inputs);
  void sizes_from_parameters();
  std::string_view current_class_name(std::string_view) const {
    return LazyModule<LazyConv, Conv<N>>::current_class_name(N == 1   ? "LazyConv1d"
                                                             : N == 2 ? "LazyConv2d"
                                                                      : "LazyConv3d");
  }
};

extern template struct LazyConv<1>;
extern template struct LazyConv<2>;
extern template struct LazyConv<3>;
using LazyConv1d = LazyConv<1>;
using LazyConv2d = LazyConv<2>;
using LazyConv3d = LazyConv<3>;

/// A batch normalisation whose num_features is size(1) of the first input. ShapeError if that has
/// not the dimensions that the plain layer takes.
template <int N>
struct LazyBatchNorm : LazyModule<LazyBatchNorm<N>, BatchNorm<N>> {
  struct Options {
    double eps = 1e-5;
    std::optional<double> momentum = 0.1;
    bool affine = true;
    bool track_running_stats = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    bool bias = true;  ///< with affine
    FARRO_FIELDS(Options, eps, momentum, affine, track_running_stats, device, dtype, bias)
  };
  FARRO_DERIVED_MEMBERS(LazyBatchNorm, BatchNorm<N>)

  LazyBatchNorm() : LazyBatchNorm(Options{}) {}
  explicit LazyBatchNorm(const Options& lazy_options);
  void initialize_parameters(const Args& inputs);
  void sizes_from_parameters();
  std::string_view current_class_name(std::string_view) const {
    return LazyModule<LazyBatchNorm, BatchNorm<N>>::current_class_name(N == 1 ? "LazyBatchNorm1d"
                                                                       : N == 2
                                                                           ? "LazyBatchNorm2d"
                                                                           : "LazyBatchNorm3d");
  }
};

extern template struct LazyBatchNorm<1>;
extern template struct LazyBatchNorm<2>;
extern template struct LazyBatchNorm<3>;
using LazyBatchNorm1d = LazyBatchNorm<1>;
using LazyBatchNorm2d = LazyBatchNorm<2>;
using LazyBatchNorm3d = LazyBatchNorm<3>;

}  // namespace farro::nn
