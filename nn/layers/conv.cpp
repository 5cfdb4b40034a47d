#include <farro/nn/layers/conv.hpp>

#include <algorithm>

#include <cmath>

#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/init/init.hpp>

namespace farro::nn {
namespace {

/// Where each element of a padded dimension comes from.
Tensor padded_positions(int64_t size, int64_t before, int64_t after, std::string_view mode,
                        Device device) {
  if (mode == "reflect" ? std::max(before, after) >= size
                        : mode == "circular" && std::max(before, after) > size) {
    fail<ShapeError>(
        "Conv", "expected {} padding to be smaller than the dimension, got {} and {} for size {}",
        mode, before, after, size);
  }
  std::vector<int64_t> positions;
  for (int64_t i = -before; i < size + after; ++i) {
    if (mode == "reflect") {
      positions.push_back(i < 0 ? -i : i >= size ? 2 * size - 2 - i : i);
    } else if (mode == "replicate") {
      positions.push_back(std::clamp<int64_t>(i, 0, size - 1));
    } else {
      positions.push_back((i + size) % size);
    }
  }
  return tensor(positions, {.device = device});
}

}  // namespace

template <int N>
Conv<N>::Conv(const Options& options) : options(options) {
  if (options.groups < 1 || options.in_channels % options.groups != 0 ||
      options.out_channels % options.groups != 0) {
    fail<ValueError>(kClassName, "expected groups to divide {} and {} channels, got {}",
                     options.in_channels, options.out_channels, options.groups);
  }
  for (int i = 0; i < N; ++i) {
    if (options.kernel_size[i] < 1) {
      fail<ValueError>(kClassName, "expected a kernel_size of at least 1, got {}",
                       python(options.kernel_size));
    }
  }
  if (options.padding.mode() == "same" && !(options.stride == Sizes<N>(1))) {
    fail<ValueError>(kClassName, "padding \"same\" needs a stride of 1, got {}",
                     python(options.stride));
  }
  if (options.padding_mode != "zeros" && options.padding_mode != "reflect" &&
      options.padding_mode != "replicate" && options.padding_mode != "circular") {
    fail<ValueError>(kClassName,
                     "expected padding_mode zeros, reflect, replicate or circular, got \"{}\"",
                     options.padding_mode);
  }
  Dims sizes{options.out_channels, options.in_channels / options.groups};
  for (int i = 0; i < N; ++i) sizes.push_back(options.kernel_size[i]);
  TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  weight = Parameter(empty(sizes, tensor_options));
  if (options.bias) bias = Parameter(empty({options.out_channels}, tensor_options));
  reset_parameters();
}

template <int N>
void Conv<N>::reset_parameters() {
  if (weight.numel() > 0) init::kaiming_uniform_(weight, std::sqrt(5.0));
  if (!bias.defined()) return;
  int64_t fan_in = init::calculate_fan_in_and_fan_out(weight).in;
  double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  init::uniform_(bias, -bound, bound);
}

template <int N>
Tensor Conv<N>::forward(const Tensor& x) const {
  ConvPadding padding = options.padding.mode().empty()
                            ? ConvPadding(IntList(options.padding.sizes()))
                            : ConvPadding(std::string_view(options.padding.mode()));
  Tensor input = x;
  if (options.padding_mode != "zeros") {
    for (int i = 0; i < N; ++i) {
      int64_t before = options.padding.sizes()[i], after = before;
      if (options.padding.mode() == "same") {
        int64_t total = options.dilation[i] * (options.kernel_size[i] - 1);
        before = total / 2;
        after = total - before;
      }
      int dim = x.dim() - N + i;
      if (dim < 1)
        fail<ShapeError>(kClassName, "expected {} or {} dimensions, got {}", N + 1, N + 2, x.dim());
      if (before == 0 && after == 0) continue;
      input = input.index_select(
          dim, padded_positions(x.size(dim), before, after, options.padding_mode, x.device()));
    }
    padding = ConvPadding(0);
  }
  ConvOptions conv{.stride = IntList(options.stride),
                   .padding = padding,
                   .dilation = IntList(options.dilation),
                   .groups = options.groups};
  if constexpr (N == 1) return conv1d(input, weight, bias, conv);
  if constexpr (N == 2) return conv2d(input, weight, bias, conv);
  if constexpr (N == 3) return conv3d(input, weight, bias, conv);
}

template <int N>
std::string Conv<N>::extra_repr() const {
  std::string text =
      fmt::format("{}, {}, kernel_size={}, stride={}", options.in_channels, options.out_channels,
                  python(options.kernel_size.values()), python(options.stride.values()));
  if (!options.padding.mode().empty()) {
    text += ", padding=" + options.padding.mode();
  } else if (!(options.padding.sizes() == Sizes<N>(0))) {
    text += ", padding=" + python(options.padding.sizes().values());
  }
  if (!(options.dilation == Sizes<N>(1))) text += ", dilation=" + python(options.dilation.values());
  if (options.groups != 1) text += fmt::format(", groups={}", options.groups);
  if (!options.bias) text += ", bias=False";
  if (options.padding_mode != "zeros") text += ", padding_mode=" + options.padding_mode;
  return text;
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;

}  // namespace farro::nn
