#include <farro/autograd/ops/conv.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/conv.hpp>

namespace farro {

Dims SpatialSizes::expand(int count, const char* operation, const char* what) const {
  if (sizes_.size() == count) return sizes_;
  if (sizes_.size() == 1) return Dims(count, sizes_[0]);
  fail<ShapeError>(operation, "expected 1 or {} integers as {}, got {}", count, what,
                   to_string(sizes_));
}

ConvPadding::ConvPadding(std::string_view mode) {
  if (mode == "same") {
    mode_ = Mode::Same;
  } else if (mode == "valid") {
    mode_ = Mode::Valid;
  } else {
    fail<ValueError>("conv", "expected padding \"valid\" or \"same\", got \"{}\"", mode);
  }
}

namespace autograd {
namespace {

Dims with_spatial(int64_t first, int64_t second, const int64_t (&sizes)[3], int64_t spatial) {
  Dims dims{first, second};
  for (int64_t d = 3 - spatial; d < 3; ++d) dims.push_back(sizes[d]);
  return dims;
}

/// One number per channel from [batch, channels, spatial…].
Tensor sum_channels(const Tensor& x) {
  Dims sizes(x.dim(), 1);
  sizes[1] = x.sizes()[1];
  return view(sum_to_sizes(x, sizes), {x.sizes()[1]});
}

Tensor wanted(const Tensor& for_grad_of, const Tensor& factor) {
  return for_grad_of.requires_grad() ? factor : Tensor();
}

}  // namespace

Tensor conv_forward(const ConvShape& s, const Tensor& input, const Tensor& weight,
                    const Tensor& bias) {
  Tensor x = contiguous(input), w = contiguous(weight),
         b = bias.defined() ? contiguous(bias) : bias;
  Tensor out = empty_like_array(with_spatial(s.batch, s.channels_out, s.out, s.spatial), x);
  kernels::conv_forward(s, out.array(), x.array(), w.array(), b.defined() ? &b.array() : nullptr);
  return record("ConvolutionBackward", out, {x, w, b}, {wanted(w, x), wanted(x, w)},
                [s](const BackwardContext& c) -> Grads {
                  const Tensor& g = c.grad();
                  Grads grads(3);
                  if (c.needs(0)) grads[0] = conv_backward_input(s, g, c.saved(1));
                  if (c.needs(1)) grads[1] = conv_backward_weight(s, g, c.saved(0));
                  if (c.needs(2)) grads[2] = sum_channels(g);
                  return grads;
                });
}

Tensor conv_backward_input(const ConvShape& s, const Tensor& grad_output, const Tensor& weight) {
  Tensor g = contiguous(grad_output), w = contiguous(weight);
  Tensor out = empty_like_array(with_spatial(s.batch, s.channels_in, s.in, s.spatial), g);
  kernels::conv_backward_input(s, out.array(), g.array(), w.array());
  return record("ConvolutionInputGradBackward", out, {g, w}, {wanted(w, g), wanted(g, w)},
                [s](const BackwardContext& c) -> Grads {
                  Grads grads(2);
                  if (c.needs(0)) grads[0] = conv_forward(s, c.grad(), c.saved(1));
                  if (c.needs(1)) grads[1] = conv_backward_weight(s, c.saved(0), c.grad());
                  return grads;
                });
}

Tensor conv_backward_weight(const ConvShape& s, const Tensor& grad_output, const Tensor& input) {
  Tensor g = contiguous(grad_output), x = contiguous(input);
  Tensor out = empty_like_array(with_spatial(s.channels_out, s.group_in(), s.kernel, s.spatial), g);
  kernels::conv_backward_weight(s, out.array(), g.array(), x.array());
  return record("ConvolutionWeightGradBackward", out, {g, x}, {wanted(x, g), wanted(g, x)},
                [s](const BackwardContext& c) -> Grads {
                  Grads grads(2);
                  if (c.needs(0)) grads[0] = conv_forward(s, c.saved(1), c.grad());
                  if (c.needs(1)) grads[1] = conv_backward_input(s, c.saved(0), c.grad());
                  return grads;
                });
}

}  // namespace autograd

namespace {

/// Options as integers for each spatial dimension, the last `spatial` of 3 used.
struct Geometry {
  const char* operation;
  int spatial;
  Dims stride, dilation, padding;
  int64_t groups;
};

void check_at_least(const Geometry& g, const char* what, const Dims& values, int64_t least) {
  for (int64_t v : values) {
    if (v < least)
      fail<ValueError>(g.operation, "expected {} of at least {}, got {}", what, least,
                       to_string(values));
  }
}

void check_arguments(const Geometry& g, const Tensor& input, const Tensor& weight,
                     const Tensor& bias, int64_t channels_out) {
  int n = g.spatial;
  if (weight.dim() != n + 2 || (input.dim() != n + 2 && input.dim() != n + 1)) {
    fail<ShapeError>(
        g.operation,
        "expected an input of {} or {} dimensions and a weight of {}, got shapes {} and {}", n + 1,
        n + 2, n + 2, to_string(input.sizes()), to_string(weight.sizes()));
  }
  auto check_same = [&](const Tensor& t) {
    if (t.dtype() != input.dtype()) {
      fail<TypeError>(g.operation, "expected arguments of one dtype, got {} and {}",
                      name_of(input.dtype()), name_of(t.dtype()));
    }
    if (t.device() != input.device()) {
      fail<BackendError>(g.operation, "expected arguments on one device, got {} and {}",
                         input.device().str(), t.device().str());
    }
  };
  if (input.dtype() == kBool)
    fail<TypeError>(g.operation, "expected floating-point or integer arguments, got bool");
  check_same(weight);
  if (bias.defined()) {
    check_same(bias);
    if (bias.dim() != 1 || bias.sizes()[0] != channels_out) {
      fail<ShapeError>(g.operation, "expected a bias of shape [{}], got {}", channels_out,
                       to_string(bias.sizes()));
    }
  }
  check_at_least(g, "a stride", g.stride, 1);
  check_at_least(g, "a dilation", g.dilation, 1);
  check_at_least(g, "padding", g.padding, 0);
  if (g.groups < 1) fail<ValueError>(g.operation, "expected at least 1 group, got {}", g.groups);
}

/// A shape without its spatial sizes of input and output.
ConvShape partial_shape(const Geometry& g, int64_t batch, const Tensor& weight) {
  ConvShape s;
  s.spatial = g.spatial;
  s.batch = batch;
  s.groups = g.groups;
  for (int d = 0; d < g.spatial; ++d) {
    int to = 3 - g.spatial + d;
    s.kernel[to] = weight.sizes()[d + 2];
    s.stride[to] = g.stride[d];
    s.padding[to] = g.padding[d];
    s.dilation[to] = g.dilation[d];
  }
  return s;
}

Tensor convolution(const char* operation, int spatial, const Tensor& input, const Tensor& weight,
                   const Tensor& bias, const ConvOptions& options) {
  Geometry g{operation,
             spatial,
             options.stride.expand(spatial, operation, "stride"),
             options.dilation.expand(spatial, operation, "dilation"),
             options.padding.sizes().expand(spatial, operation, "padding"),
             options.groups};
  check_arguments(g, input, weight, bias, weight.dim() > 0 ? weight.sizes()[0] : 0);
  bool batched = input.dim() == spatial + 2,
       same = options.padding.mode() == ConvPadding::Mode::Same;
  Tensor x = batched ? input : unsqueeze(input, 0);
  ConvShape s = partial_shape(g, x.sizes()[0], weight);
  s.channels_in = x.sizes()[1];
  s.channels_out = weight.sizes()[0];
  if (s.channels_in != weight.sizes()[1] * g.groups || s.channels_out % g.groups != 0) {
    fail<ShapeError>(
        operation,
        "expected {} groups to divide the channels of input and weight, got shapes {} and {}",
        g.groups, to_string(input.sizes()), to_string(weight.sizes()));
  }
  for (int d = 0; d < spatial; ++d) {
    int to = 3 - spatial + d;
    int64_t reach = s.dilation[to] * (s.kernel[to] - 1) + 1;
    s.in[to] = x.sizes()[d + 2];
    if (same) {
      if (s.stride[to] != 1)
        fail<ValueError>(operation, "expected a stride of 1 with padding \"same\", got {}",
                         s.stride[to]);
      s.padding[to] = (reach - 1) / 2;
      s.out[to] = s.in[to];
      continue;
    }
    int64_t padded = s.in[to] + 2 * s.padding[to];
    if (reach > padded) {
      fail<ShapeError>(operation,
                       "expected a kernel that fits the padded input, got a kernel over {} in "
                       "dimension {} of {}",
                       reach, d + 2, padded);
    }
    s.out[to] = (padded - reach) / s.stride[to] + 1;
  }
  Tensor y = autograd::conv_forward(s, x, weight, bias);
  return batched ? y : squeeze(y, 0);
}

Tensor transposed_convolution(const char* operation, int spatial, const Tensor& input,
                              const Tensor& weight, const Tensor& bias,
                              const ConvTransposeOptions& options) {
  Geometry g{operation,
             spatial,
             options.stride.expand(spatial, operation, "stride"),
             options.dilation.expand(spatial, operation, "dilation"),
             options.padding.expand(spatial, operation, "padding"),
             options.groups};
  Dims extra = options.output_padding.expand(spatial, operation, "output_padding");
  int64_t channels_out = weight.dim() > 1 ? weight.sizes()[1] * g.groups : 0;
  check_arguments(g, input, weight, bias, channels_out);
  check_at_least(g, "output_padding", extra, 0);
  bool batched = input.dim() == spatial + 2;
  Tensor x = batched ? input : unsqueeze(input, 0);
  // The convolution whose gradient this is leads from our output to our input.
  ConvShape s = partial_shape(g, x.sizes()[0], weight);
  s.channels_in = channels_out;
  s.channels_out = x.sizes()[1];
  if (s.channels_out != weight.sizes()[0] || s.channels_out % g.groups != 0) {
    fail<ShapeError>(
        operation,
        "expected {} groups to divide the channels of input and weight, got shapes {} and {}",
        g.groups, to_string(input.sizes()), to_string(weight.sizes()));
  }
  for (int d = 0; d < spatial; ++d) {
    int to = 3 - spatial + d;
    s.out[to] = x.sizes()[d + 2];
    s.in[to] = (s.out[to] - 1) * s.stride[to] - 2 * s.padding[to] +
               s.dilation[to] * (s.kernel[to] - 1) + extra[d] + 1;
    if (extra[d] >= s.stride[to] && extra[d] >= s.dilation[to]) {
      fail<ValueError>(operation, "expected output_padding below stride or dilation, got {}",
                       to_string(extra));
    }
    if (s.in[to] <= 0) {
      fail<ShapeError>(operation,
                       "expected an output of at least 1 element, got {} in dimension {}", s.in[to],
                       d + 2);
    }
  }
  Tensor y = autograd::conv_backward_input(s, x, weight);
  if (bias.defined()) {
    Dims sizes(spatial + 1, 1);
    sizes[0] = channels_out;
    y = y + view(bias, sizes);
  }
  return batched ? y : squeeze(y, 0);
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return convolution("conv1d", 1, input, weight, bias, options);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return convolution("conv2d", 2, input, weight, bias, options);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return convolution("conv3d", 3, input, weight, bias, options);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution("conv_transpose1d", 1, input, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution("conv_transpose2d", 2, input, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return transposed_convolution("conv_transpose3d", 3, input, weight, bias, options);
}

}  // namespace farro
