#include <farro/autograd/ops/pool.hpp>

#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/pool.hpp>

#include <string>

namespace farro {

using autograd::BackwardContext;
using autograd::dense;
using autograd::Grads;
using autograd::record;
using kernels::PoolShape;

namespace {

struct Window {
  const SpatialSizes &kernel, &stride, &padding, &dilation;
  bool ceil_mode;
};

void check_range(bool good, const char* operation, const char* what, int64_t value) {
  if (!good) fail<ValueError>(operation, "{} of {} is out of range", what, value);
}

PoolShape pool_shape(const Tensor& x, const Window& w, int dims, const char* operation) {
  if (!x.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point input, got {}", name_of(x.dtype()));
  }
  if (x.dim() != dims + 1 && x.dim() != dims + 2) {
    fail<ShapeError>(operation, "expected an input of {} or {} dimensions, got {}", dims + 1,
                     dims + 2, to_string(x.sizes()));
  }
  PoolShape s;
  s.planes = 1;
  for (int d = 0; d < x.dim() - dims; ++d) s.planes *= x.sizes()[d];
  Dims kernel = w.kernel.expand(dims, operation, "kernel_size"),
       padding = w.padding.expand(dims, operation, "padding");
  Dims stride = w.stride.empty() ? kernel : w.stride.expand(dims, operation, "stride");
  Dims dilation = w.dilation.expand(dims, operation, "dilation");
  for (int d = 0; d < dims; ++d) {
    int at = 3 - dims + d;
    s.in[at] = x.sizes()[x.dim() - dims + d];
    s.kernel[at] = kernel[d];
    s.stride[at] = stride[d];
    s.padding[at] = padding[d];
    s.dilation[at] = dilation[d];
    check_range(s.kernel[at] > 0, operation, "a kernel_size", s.kernel[at]);
    check_range(s.stride[at] > 0, operation, "a stride", s.stride[at]);
    check_range(s.dilation[at] > 0, operation, "a dilation", s.dilation[at]);
    int64_t reach = (s.kernel[at] - 1) * s.dilation[at] + 1;
    check_range(s.padding[at] >= 0 && s.padding[at] <= reach / 2, operation, "a padding",
                s.padding[at]);
    s.out[at] = kernels::pooled_size(s.in[at], s.kernel[at], s.stride[at], s.padding[at],
                                     s.dilation[at], w.ceil_mode);
    if (s.in[at] < 1 || s.out[at] < 1) {
      fail<ShapeError>(operation, "expected an input in which a window of {} fits, got {}", reach,
                       to_string(x.sizes()));
    }
  }
  return s;
}

Dims pooled_sizes(const Tensor& x, const PoolShape& s, int dims) {
  Dims sizes = x.sizes();
  for (int d = 0; d < dims; ++d) sizes[x.dim() - dims + d] = s.out[3 - dims + d];
  return sizes;
}

Tensor max_pool_scatter(const Tensor& grad, const Tensor& indices, const PoolShape& s,
                        const Dims& sizes);

Tensor max_pool_pick(const Tensor& x, const Tensor& indices, const PoolShape& s) {
  Tensor out = empty_like_array(indices.sizes(), x), in = dense(x);
  kernels::max_pool_gather(out.array(), in.array(), indices.array(), s);
  return record("MaxPoolGatherBackward", out, {x}, {indices},
                [s, sizes = x.sizes()](const BackwardContext& c) -> Grads {
                  return {max_pool_scatter(c.grad(), c.saved(0), s, sizes)};
                });
}

/// The gradient of max_pool's input, itself differentiable.
Tensor max_pool_scatter(const Tensor& grad, const Tensor& indices, const PoolShape& s,
                        const Dims& sizes) {
  Tensor out = empty_like_array(sizes, grad), g = dense(grad);
  kernels::max_pool_backward(out.array(), g.array(), indices.array(), s);
  return record(
      "MaxPoolScatterBackward", out, {grad}, {indices},
      [s](const BackwardContext& c) -> Grads { return {max_pool_pick(c.grad(), c.saved(0), s)}; });
}

std::pair<Tensor, Tensor> max_pool(const Tensor& x, const Window& w, int dims,
                                   const char* operation) {
  PoolShape s = pool_shape(x, w, dims, operation);
  Dims sizes = pooled_sizes(x, s, dims);
  Tensor in = dense(x), outputs[] = {empty_like_array(sizes, x), empty(sizes, kInt64, x.device())};
  kernels::max_pool(outputs[0].array(), outputs[1].array(), in.array(), s);
  record("MaxPoolBackward", outputs, {x}, {outputs[1]},
         [s, sizes = x.sizes()](const BackwardContext& c) -> Grads {
           if (!c.grad().defined()) return {Tensor()};
           return {max_pool_scatter(c.grad(), c.saved(0), s, sizes)};
         });
  return {outputs[0], outputs[1]};
}

Tensor avg_pool_spread(const Tensor& grad, const PoolShape& s, const Dims& sizes);

Tensor avg_pool_of(const Tensor& x, const PoolShape& s, const Dims& sizes) {
  Tensor in = dense(x), out = empty_like_array(sizes, x);
  kernels::avg_pool(out.array(), in.array(), s);
  return record("AvgPoolBackward", out, {x}, {},
                [s, sizes = x.sizes()](const BackwardContext& c) -> Grads {
                  return {avg_pool_spread(c.grad(), s, sizes)};
                });
}

Tensor avg_pool_spread(const Tensor& grad, const PoolShape& s, const Dims& sizes) {
  Tensor g = dense(grad), out = empty_like_array(sizes, grad);
  kernels::avg_pool_backward(out.array(), g.array(), s);
  return record("AvgPoolSpreadBackward", out, {grad}, {},
                [s, sizes = grad.sizes()](const BackwardContext& c) -> Grads {
                  return {avg_pool_of(c.grad(), s, sizes)};
                });
}

Tensor avg_pool(const Tensor& x, const Window& w, bool count_include_pad, int64_t divisor_override,
                int dims, const char* operation) {
  PoolShape s = pool_shape(x, w, dims, operation);
  s.count_include_pad = count_include_pad;
  s.divisor_override = divisor_override;
  return avg_pool_of(x, s, pooled_sizes(x, s, dims));
}

}  // namespace

std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride,
                                                  const SpatialSizes& padding,
                                                  const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool(x, {kernel_size, stride, padding, dilation, ceil_mode}, 1, "max_pool1d");
}
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride,
                                                  const SpatialSizes& padding,
                                                  const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool(x, {kernel_size, stride, padding, dilation, ceil_mode}, 2, "max_pool2d");
}
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride,
                                                  const SpatialSizes& padding,
                                                  const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool(x, {kernel_size, stride, padding, dilation, ceil_mode}, 3, "max_pool3d");
}

Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool1d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode).first;
}
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool2d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode).first;
}
Tensor max_pool3d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, const SpatialSizes& dilation, bool ceil_mode) {
  return max_pool3d_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode).first;
}

Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool(x, {kernel_size, stride, padding, 1, ceil_mode}, count_include_pad, 0, 1,
                  "avg_pool1d");
}
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, bool ceil_mode, bool count_include_pad,
                  int64_t divisor_override) {
  return avg_pool(x, {kernel_size, stride, padding, 1, ceil_mode}, count_include_pad,
                  divisor_override, 2, "avg_pool2d");
}
Tensor avg_pool3d(const Tensor& x, const SpatialSizes& kernel_size, const SpatialSizes& stride,
                  const SpatialSizes& padding, bool ceil_mode, bool count_include_pad,
                  int64_t divisor_override) {
  return avg_pool(x, {kernel_size, stride, padding, 1, ceil_mode}, count_include_pad,
                  divisor_override, 3, "avg_pool3d");
}

}  // namespace farro
