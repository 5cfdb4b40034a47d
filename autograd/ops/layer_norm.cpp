#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/norm.hpp>

#include <numeric>

namespace farro {

using autograd::BackwardContext;
using autograd::dense;
using autograd::Grads;
using autograd::record;

namespace {

void check_floating(const Tensor& x, const char* operation) {
  if (!x.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point input, got {}", name_of(x.dtype()));
  }
}

void check_parameter(const Tensor& t, const Dims& sizes, const Tensor& x, const char* what,
                     const char* operation) {
  if (!t.defined()) return;
  if (t.sizes() != sizes) {
    fail<ShapeError>(operation, "expected {} of shape {}, got {}", what, to_string(sizes),
                     to_string(t.sizes()));
  }
  if (t.device() != x.device()) {
    fail<BackendError>(operation, "expected {} on {}, got {}", what, x.device().str(),
                       t.device().str());
  }
}

const ArrayView* view_or_null(const Tensor& t) { return t.defined() ? &t.array() : nullptr; }

Grads fused_gradients(const BackwardContext& c) {
  Tensor x = dense(c.saved(0)), g = dense(c.grad()), weight = c.saved(1), grads[3];
  Dims last = x.sizes();
  if (weight.defined()) {
    last = weight.sizes();
    weight = dense(weight);
  }
  if (c.needs(0)) grads[0] = empty_like_array(x.sizes(), x);
  if (c.needs(1)) grads[1] = zero_(empty_like_array(last, weight));
  if (c.needs(2)) grads[2] = zero_(empty_like_array(last, weight.defined() ? weight : x));
  kernels::layer_norm_backward(view_or_null(grads[0]), view_or_null(grads[1]),
                               view_or_null(grads[2]), g.array(), x.array(), c.saved(2).array(),
                               c.saved(3).array(), view_or_null(weight));
  return {grads[0], grads[1], grads[2]};
}

Grads recorded_gradients(const BackwardContext& c, int dims, double eps) {
  Tensor x = c.saved(0), weight = c.saved(1), g = c.grad();
  std::vector<int64_t> last(static_cast<size_t>(dims)), first(static_cast<size_t>(x.dim() - dims));
  std::iota(first.begin(), first.end(), int64_t{0});
  std::iota(last.begin(), last.end(), static_cast<int64_t>(x.dim() - dims));
  Tensor centred = x - mean(x, last, true);
  Tensor inverse = rsqrt(mean(square(centred), last, true) + eps), normalized = centred * inverse;
  auto over_rows = [&](const Tensor& t) { return first.empty() ? t : sum(t, first); };
  Grads grads(3);
  if (c.needs(0)) {
    Tensor scaled = weight.defined() ? g * weight : g;
    scaled = scaled - mean(scaled, last, true) - normalized * mean(scaled * normalized, last, true);
    grads[0] = to(scaled * inverse, x.dtype());
  }
  if (c.needs(1)) grads[1] = to(over_rows(g * normalized), weight.dtype());
  if (c.needs(2)) grads[2] = over_rows(g);
  return grads;
}

}  // namespace

Tensor layer_norm(const Tensor& x, IntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  check_floating(x, "layer_norm");
  Dims last(normalized_shape);
  int lead = x.dim() - last.size();
  bool fits = lead >= 0 && !last.empty();
  for (int d = 0; fits && d < last.size(); ++d) fits = x.sizes()[lead + d] == last[d];
  if (!fits) {
    fail<ShapeError>("layer_norm", "expected an input whose last dimensions are {}, got {}",
                     to_string(last), to_string(x.sizes()));
  }
  check_parameter(weight, last, x, "weight", "layer_norm");
  check_parameter(bias, last, x, "bias", "layer_norm");
  Dims rows;
  for (int d = 0; d < lead; ++d) rows.push_back(x.sizes()[d]);
  DType wide = compute_dtype(x.dtype());
  Tensor in = dense(x), w = weight.defined() ? dense(weight) : weight,
         b = bias.defined() ? dense(bias) : bias;
  Tensor out = empty_like_array(x.sizes(), x), mean = empty(rows, wide, x.device()),
         inv_std = empty(rows, wide, x.device());
  kernels::layer_norm(out.array(), mean.array(), inv_std.array(), in.array(), view_or_null(w),
                      view_or_null(b), eps);
  DType bias_dtype = bias.defined() ? bias.dtype() : x.dtype();
  return record("LayerNormBackward", out, {x, weight, bias}, {x, weight, mean, inv_std},
                [dims = last.size(), eps, bias_dtype](const BackwardContext& c) -> Grads {
                  bool lone_bias = c.needs(2) && !c.saved(1).defined();
                  Grads grads = grad_mode_enabled() || lone_bias ? recorded_gradients(c, dims, eps)
                                                                 : fused_gradients(c);
                  if (grads[2].defined()) grads[2] = to(grads[2], bias_dtype);
                  return grads;
                });
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_floating(x, "group_norm");
  if (x.dim() < 2) {
    fail<ShapeError>("group_norm", "expected an input of shape [N, C, …], got {}",
                     to_string(x.sizes()));
  }
  int64_t samples = x.sizes()[0], channels = x.sizes()[1];
  if (num_groups < 1 || channels % num_groups != 0) {
    fail<ValueError>("group_norm", "expected a number of groups that divides {} channels, got {}",
                     channels, num_groups);
  }
  check_parameter(weight, {channels}, x, "weight", "group_norm");
  check_parameter(bias, {channels}, x, "bias", "group_norm");
  int64_t rows = samples * num_groups, n = rows > 0 ? x.numel() / rows : 0;
  Tensor y = reshape(layer_norm(reshape(x, {rows, n}), {n}, {}, {}, eps), x.sizes());
  Dims broadcast(x.dim(), 1);
  broadcast[1] = channels;
  if (weight.defined()) y = y * reshape(weight, broadcast);
  if (bias.defined()) y = y + reshape(bias, broadcast);
  return to(y, x.dtype());
}

}  // namespace farro
