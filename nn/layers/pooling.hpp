#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

namespace farro::nn {

/// The largest element of each window over the last N dimensions.
template <int N>
struct MaxPool : Module {
  static constexpr std::string_view kClassName = N == 1   ? "MaxPool1d"
                                                 : N == 2 ? "MaxPool2d"
                                                          : "MaxPool3d";

  struct Options {
    Sizes<N> kernel_size;
    std::optional<Sizes<N>> stride{};  ///< none: kernel_size
    Sizes<N> padding = 0;
    Sizes<N> dilation = 1;
    bool ceil_mode = false;
    FARRO_FIELDS(Options, kernel_size, stride, padding, dilation, ceil_mode)
  };
  Options options;
  FARRO_MEMBERS(MaxPool)

  explicit MaxPool(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// The mean of each window over the last N dimensions.
template <int N>
struct AvgPool : Module {
  static constexpr std::string_view kClassName = N == 1   ? "AvgPool1d"
                                                 : N == 2 ? "AvgPool2d"
                                                          : "AvgPool3d";

  struct Options {
    Sizes<N> kernel_size;
    std::optional<Sizes<N>> stride{};  ///< none: kernel_size
    Sizes<N> padding = 0;
    bool ceil_mode = false;
    bool count_include_pad = true;
    std::optional<int64_t> divisor_override{};  ///< not for one dimension
    FARRO_FIELDS(Options, kernel_size, stride, padding, ceil_mode, count_include_pad,
                 divisor_override)
  };
  Options options;
  FARRO_MEMBERS(AvgPool)

  explicit AvgPool(const Options& options);
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

extern template struct MaxPool<1>;
extern template struct MaxPool<2>;
extern template struct MaxPool<3>;
extern template struct AvgPool<1>;
extern template struct AvgPool<2>;
extern template struct AvgPool<3>;
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

}  // namespace farro::nn
