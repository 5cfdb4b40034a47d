#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

namespace farro::nn {

/// Convolution over N spatial dimensions, [batch, in_channels, …] to [batch, out_channels, …]; the
/// batch may be left out. weight is [out_channels, in_channels / groups, kernel…]; weight and bias
/// start uniform in ±1/√fan_in.
template <int N>
struct Conv : Module {
  static constexpr std::string_view kClassName = N == 1 ? "Conv1d" : N == 2 ? "Conv2d" : "Conv3d";

  struct Options {
    int64_t in_channels;
    int64_t out_channels;
    Sizes<N> kernel_size;
    Sizes<N> stride = 1;
    Padding<N> padding = 0;
    Sizes<N> dilation = 1;
    int64_t groups = 1;
    bool bias = true;
    /// "zeros", "reflect", "replicate" or "circular": what stands in the padding.
    std::string padding_mode = "zeros";
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                 bias, padding_mode, device, dtype)
  };
  Options options;
  Parameter weight;
  Parameter bias;  ///< null without bias
  FARRO_MEMBERS(Conv, weight, bias)

  /// ValueError for groups that do not divide the channels, "same" with a stride, an unknown
  /// padding mode.
  explicit Conv(const Options& options);
  void reset_parameters();
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

extern template struct Conv<1>;
extern template struct Conv<2>;
extern template struct Conv<3>;
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

}  // namespace farro::nn
