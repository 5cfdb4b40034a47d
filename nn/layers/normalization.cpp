#include <farro/nn/layers/normalization.hpp>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/init/init.hpp>

namespace farro::nn {
namespace {

/// Weight and bias of a normalisation: ones and zeros, as far as they are wanted.
void make_affine(const Dims& sizes, bool with_weight, bool with_bias, const TensorOptions& options,
                 Parameter& weight, Parameter& bias) {
  if (with_weight) weight = Parameter(ones(sizes, options));
  if (with_weight && with_bias) bias = Parameter(zeros(sizes, options));
}

void reset_affine(const Parameter& weight, const Parameter& bias) {
  NoGrad guard;
  if (weight.defined()) weight.fill_(1);
  if (bias.defined()) bias.zero_();
}

}  // namespace

template <int N>
BatchNorm<N>::BatchNorm(const Options& options) : options(options) {
  TensorOptions tensor_options{.dtype = options.dtype, .device = options.device};
  Dims sizes{options.num_features};
  make_affine(sizes, options.affine, options.bias, tensor_options, weight, bias);
  if (!options.track_running_stats) return;
  running_mean = Buffer(zeros(sizes, tensor_options));
  running_var = Buffer(ones(sizes, tensor_options));
  num_batches_tracked = Buffer(zeros({}, {.dtype = kInt64, .device = options.device}));
}

template <int N>
void BatchNorm<N>::reset_running_stats() {
  if (!running_mean.defined()) return;
  NoGrad guard;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

template <int N>
void BatchNorm<N>::reset_parameters() {
  reset_running_stats();
  reset_affine(weight, bias);
}

template <int N>
Tensor BatchNorm<N>::forward(const Tensor& x) {
  bool fits = N == 1 ? x.dim() == 2 || x.dim() == 3 : x.dim() == N + 2;
  if (!fits) {
    fail<ShapeError>(kClassName, "expected {} dimensions, got shape {}",
                     N == 1   ? "2 or 3"
                     : N == 2 ? "4"
                              : "5",
                     to_string(x.sizes()));
  }
  bool tracks = training() && options.track_running_stats && num_batches_tracked.defined();
  double momentum = options.momentum.value_or(0);
  if (tracks && !options.momentum)
    momentum = 1 / static_cast<double>(num_batches_tracked.item_int() + 1);
  bool by_batch = training() || !running_mean.defined();
  bool give_stats = !training() || options.track_running_stats;
  Tensor y =
      batch_norm(x, give_stats ? running_mean : Tensor(), give_stats ? running_var : Tensor(),
                 weight, bias, by_batch, momentum, options.eps);
  if (tracks) {
    NoGrad guard;
    num_batches_tracked.add_(1);
  }
  return y;
}

template <int N>
std::string BatchNorm<N>::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, bias={}, track_running_stats={}",
                     options.num_features, python(options.eps), python(options.momentum),
                     python(options.affine), python(bias.defined()),
                     python(options.track_running_stats));
}

template <int N>
void BatchNorm<N>::upgrade_state(StateDict& state, const std::string& prefix,
                                 std::optional<int64_t> version) {
  std::string name = prefix + "num_batches_tracked";
  if (version.value_or(1) >= 2 || !num_batches_tracked.defined() || state.contains(name)) return;
  state.set(name, num_batches_tracked);
}

template struct BatchNorm<1>;
template struct BatchNorm<2>;
template struct BatchNorm<3>;

LayerNorm::LayerNorm(const Options& options) : options(options) {
  make_affine(options.normalized_shape.values(), options.elementwise_affine, options.bias,
              {.dtype = options.dtype, .device = options.device}, weight, bias);
}

void LayerNorm::reset_parameters() { reset_affine(weight, bias); }

Tensor LayerNorm::forward(const Tensor& x) const {
  return layer_norm(x, options.normalized_shape, weight, bias, options.eps);
}

std::string LayerNorm::extra_repr() const {
  return fmt::format("{}, eps={}, elementwise_affine={}, bias={}",
                     python(IntList(options.normalized_shape)), python(options.eps),
                     python(options.elementwise_affine), python(bias.defined()));
}

GroupNorm::GroupNorm(const Options& options) : options(options) {
  if (options.num_groups < 1 || options.num_channels % options.num_groups != 0) {
    fail<ValueError>("GroupNorm", "expected groups to divide {} channels, got {}",
                     options.num_channels, options.num_groups);
  }
  make_affine({options.num_channels}, options.affine, options.bias,
              {.dtype = options.dtype, .device = options.device}, weight, bias);
}

void GroupNorm::reset_parameters() { reset_affine(weight, bias); }

Tensor GroupNorm::forward(const Tensor& x) const {
  return group_norm(x, options.num_groups, weight, bias, options.eps);
}

std::string GroupNorm::extra_repr() const {
  return fmt::format("{}, {}, eps={}, affine={}, bias={}", options.num_groups, options.num_channels,
                     python(options.eps), python(options.affine), python(bias.defined()));
}

}  // namespace farro::nn
