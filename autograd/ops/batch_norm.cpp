#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/norm.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::dense;
using autograd::Grads;
using autograd::record;

namespace {

void check_input(const Tensor& x, const char* operation) {
  if (x.dim() < 2)
    fail<ShapeError>(operation, "expected an input of shape [N, C, …], got {}",
                     to_string(x.sizes()));
  if (!x.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point input, got {}", name_of(x.dtype()));
  }
}

void check_channels(const Tensor& t, const Tensor& x, const char* what, const char* operation) {
  if (!t.defined()) return;
  if (t.dim() != 1 || t.sizes()[0] != x.sizes()[1]) {
    fail<ShapeError>(operation, "expected {} of shape [{}], got {}", what, x.sizes()[1],
                     to_string(t.sizes()));
  }
  if (t.device() != x.device()) {
    fail<BackendError>(operation, "expected {} on {}, got {}", what, x.device().str(),
                       t.device().str());
  }
}

/// The view of a tensor that may be undefined, for kernels.
struct MaybeView {
  explicit MaybeView(const Tensor& t) : tensor(t.defined() ? dense(t) : t) {}
  const ArrayView* get() const { return tensor.defined() ? &tensor.array() : nullptr; }
  Tensor tensor;
};

/// All dimensions but the channels'.
std::vector<int64_t> batch_dims(const Tensor& x) {
  std::vector<int64_t> dims{0};
  for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

/// [C] in a shape that broadcasts to x.
Tensor per_channel(const Tensor& t, const Tensor& x) {
  Dims sizes(x.dim(), 1);
  sizes[1] = t.numel();
  return reshape(t, sizes);
}

Grads fused_gradients(const BackwardContext& c, bool training) {
  Tensor x = dense(c.saved(0)), g = dense(c.grad()), weight = c.saved(1), grads[3];
  if (c.needs(0)) grads[0] = empty_like_array(x.sizes(), x);
  if (c.needs(1)) grads[1] = empty_like_array(weight.sizes(), weight);
  // The bias has the dtype of the weight, if there is one; the node converts it where it has not.
  if (c.needs(2)) grads[2] = empty_like_array({x.sizes()[1]}, weight.defined() ? weight : x);
  MaybeView weight_view(weight);
  kernels::batch_norm_backward(grads[0].defined() ? &grads[0].array() : nullptr,
                               grads[1].defined() ? &grads[1].array() : nullptr,
                               grads[2].defined() ? &grads[2].array() : nullptr, g.array(),
                               x.array(), c.saved(2).array(), c.saved(3).array(), weight_view.get(),
                               training);
  return {grads[0], grads[1], grads[2]};
}

/// The same by recorded operations. While training the statistics are computed again, as functions
/// of x.
Grads recorded_gradients(const BackwardContext& c, bool training, double eps) {
  Tensor x = c.saved(0), weight = c.saved(1), g = c.grad();
  std::vector<int64_t> dims = batch_dims(x);
  Tensor centred, inverse;
  if (training) {
    centred = x - mean(x, dims, true);
    inverse = rsqrt(mean(square(centred), dims, true) + eps);
  } else {
    centred = x - per_channel(c.saved(2), x);
    inverse = per_channel(c.saved(3), x);
  }
  Tensor normalized = centred * inverse;
  Grads grads(3);
  if (c.needs(0)) {
    Tensor scaled = weight.defined() ? g * per_channel(weight, x) : g;
    if (training)
      scaled =
          scaled - mean(scaled, dims, true) - normalized * mean(scaled * normalized, dims, true);
    grads[0] = to(scaled * inverse, x.dtype());
  }
  if (c.needs(1)) grads[1] = to(sum(g * normalized, dims), weight.dtype());
  if (c.needs(2)) grads[2] = sum(g, dims);
  return grads;
}

/// Mean and inverse standard deviation from running statistics.
std::pair<Tensor, Tensor> running_statistics(const Tensor& mean, const Tensor& var, DType dtype,
                                             double eps) {
  NoGrad guard;
  return {dense(to(mean, dtype)), rsqrt(to(var, dtype) + eps)};
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training, double momentum,
                  double eps) {
  if (x.dim() == 1 && x.numel() == 0)
    return clone(x);  // PyTorch takes a batch of nothing without its channels
  check_input(x, "batch_norm");
  check_channels(running_mean, x, "running_mean", "batch_norm");
  check_channels(running_var, x, "running_var", "batch_norm");
  check_channels(weight, x, "weight", "batch_norm");
  check_channels(bias, x, "bias", "batch_norm");
  bool running = running_mean.defined() && running_var.defined();
  if (!training && !running) {
    fail<ValueError>("batch_norm", "expected running_mean and running_var where training is false");
  }
  int64_t channels = x.sizes()[1], count = channels > 0 ? x.numel() / channels : 0;
  if (training && count == 1) {
    fail<ValueError>("batch_norm",
                     "expected more than 1 value per channel when training, got shape {}",
                     to_string(x.sizes()));
  }
  DType wide = compute_dtype(x.dtype());
  Tensor in = dense(x), out = empty_like_array(x.sizes(), x), mean, inv_std;
  MaybeView weight_view(weight), bias_view(bias);
  if (training) {
    mean = empty({channels}, wide, x.device());
    inv_std = empty({channels}, wide, x.device());
    bool in_place = running && running_mean.is_contiguous() && running_var.is_contiguous();
    Tensor means = in_place || !running ? running_mean : dense(running_mean);
    Tensor vars = in_place || !running ? running_var : dense(running_var);
    if (count > 0) {
      kernels::batch_norm(out.array(), mean.array(), inv_std.array(), in.array(), weight_view.get(),
                          bias_view.get(), eps, momentum,
                          means.defined() ? &means.array() : nullptr,
                          vars.defined() ? &vars.array() : nullptr);
    }
    if (running) {
      NoGrad guard;
      if (!in_place) running_mean.copy_(means), running_var.copy_(vars);
      autograd::bump_version(running_mean);
      autograd::bump_version(running_var);
    }
  } else {
    std::tie(mean, inv_std) = running_statistics(running_mean, running_var, wide, eps);
    kernels::batch_norm_apply(out.array(), in.array(), mean.array(), inv_std.array(),
                              weight_view.get(), bias_view.get());
  }
  DType bias_dtype = bias.defined() ? bias.dtype() : x.dtype();
  return record("BatchNormBackward", out, {x, weight, bias}, {x, weight, mean, inv_std},
                [training, eps, bias_dtype](const BackwardContext& c) -> Grads {
                  Grads grads = grad_mode_enabled() ? recorded_gradients(c, training, eps)
                                                    : fused_gradients(c, training);
                  if (grads[2].defined()) grads[2] = to(grads[2], bias_dtype);
                  return grads;
                });
}

Tensor instance_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias, bool use_input_stats,
                     double momentum, double eps) {
  check_input(x, "instance_norm");
  check_channels(running_mean, x, "running_mean", "instance_norm");
  check_channels(running_var, x, "running_var", "instance_norm");
  if (!use_input_stats)
    return batch_norm(x, running_mean, running_var, weight, bias, false, momentum, eps);
  int64_t samples = x.sizes()[0], channels = x.sizes()[1],
          length = samples * channels > 0 ? x.numel() / (samples * channels) : 0;
  if (length == 1) {
    fail<ValueError>("instance_norm",
                     "expected more than 1 spatial element when training, got shape {}",
                     to_string(x.sizes()));
  }
  if (running_mean.defined() && running_var.defined()) {
    NoGrad guard;
    Tensor rows = reshape(x.detach(), {samples, channels, length});
    auto update = [momentum](const Tensor& running, const Tensor& now) {
      running.copy_(running * (1 - momentum) + to(mean(now, {0}), running.dtype()) * momentum);
    };
    update(running_mean, mean(rows, {2}));
    update(running_var, var(rows, {2}));
  }
  return group_norm(x, channels, weight, bias, eps);
}

}  // namespace farro
