#include <farro/nn/layers/pooling.hpp>

#include <farro/autograd/ops/pool.hpp>

namespace farro::nn {
namespace {

template <int N>
SpatialSizes spatial(const Sizes<N>& sizes) {
  return IntList(sizes);
}

}  // namespace

template <int N>
Tensor MaxPool<N>::forward(const Tensor& x) const {
  constexpr auto pool = N == 1 ? max_pool1d : N == 2 ? max_pool2d : max_pool3d;
  return pool(x, spatial(options.kernel_size),
              spatial(options.stride.value_or(options.kernel_size)), spatial(options.padding),
              spatial(options.dilation), options.ceil_mode);
}

template <int N>
std::string MaxPool<N>::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
                     python(options.kernel_size),
                     python(options.stride.value_or(options.kernel_size)), python(options.padding),
                     python(options.dilation), python(options.ceil_mode));
}

template <int N>
AvgPool<N>::AvgPool(const Options& options) : options(options) {
  if (options.divisor_override && (N == 1 || *options.divisor_override == 0)) {
    fail<ValueError>(kClassName, "expected {}, got divisor_override {}",
                     N == 1 ? "none for one dimension" : "a divisor other than 0",
                     *options.divisor_override);
  }
}

template <int N>
Tensor AvgPool<N>::forward(const Tensor& x) const {
  SpatialSizes kernel = spatial(options.kernel_size),
               stride = spatial(options.stride.value_or(options.kernel_size)),
               padding = spatial(options.padding);
  if constexpr (N == 1) {
    return avg_pool1d(x, kernel, stride, padding, options.ceil_mode, options.count_include_pad);
  } else {
    constexpr auto pool = N == 2 ? avg_pool2d : avg_pool3d;
    return pool(x, kernel, stride, padding, options.ceil_mode, options.count_include_pad,
                options.divisor_override.value_or(0));
  }
}

template <int N>
std::string AvgPool<N>::extra_repr() const {
  Sizes<N> stride = options.stride.value_or(options.kernel_size);
  if constexpr (N == 1) {
    return fmt::format("kernel_size={}, stride={}, padding={}",
                       python(options.kernel_size.values()), python(stride.values()),
                       python(options.padding.values()));
  } else {
    return fmt::format("kernel_size={}, stride={}, padding={}", python(options.kernel_size),
                       python(stride), python(options.padding));
  }
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;

}  // namespace farro::nn
