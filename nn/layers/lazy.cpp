#include <farro/nn/layers/lazy.hpp>

namespace farro::nn {

using detail::materialize_missing;

LazyLinear::LazyLinear(const Options& lazy_options)
    : LazyModule(Linear::Options{.in_features = 0,
                                 .out_features = lazy_options.out_features,
                                 .bias = false,
                                 .device = lazy_options.device,
                                 .dtype = lazy_options.dtype}) {
  UninitializedParameter::Options missing{.device = options.device, .dtype = options.dtype};
  weight = UninitializedParameter(missing);
  if (lazy_options.bias) bias = UninitializedParameter(missing);
  options.bias = lazy_options.bias;
}

void LazyLinear::initialize_parameters(const Args& inputs) {
  options.in_features = inputs.tensor(0).size(-1);
  materialize_missing(weight, {options.out_features, options.in_features});
  materialize_missing(bias, {options.out_features});
}

void LazyLinear::sizes_from_parameters() {
  options.out_features = weight.size(0);
  options.in_features = weight.size(1);
}

template <int N>
LazyConv<N>::LazyConv(const Options& o)
    : LazyModule<LazyConv, Conv<N>>(typename Conv<N>::Options{.in_channels = 0,
                                                              .out_channels = o.out_channels,
                                                              .kernel_size = o.kernel_size,
                                                              .stride = o.stride,
                                                              .padding = o.padding,
                                                              .dilation = o.dilation,
                                                              .groups = o.groups,
                                                              .bias = false,
                                                              .padding_mode = o.padding_mode,
                                                              .device = o.device,
                                                              .dtype = o.dtype}) {
  UninitializedParameter::Options missing{.device = o.device, .dtype = o.dtype};
  this->weight = UninitializedParameter(missing);
  if (o.bias) this->bias = UninitializedParameter(missing);
  this->options.bias = o.bias;
}

template <int N>
void LazyConv<N>::initialize_parameters(const Args& inputs) {
  const Tensor& x = inputs.tensor(0);
  auto& options = this->options;
  if (x.dim() != N + 1 && x.dim() != N + 2) {
    fail<ShapeError>(this->class_name(), "expected {} or {} dimensions, got shape {}", N + 1, N + 2,
                     to_string(x.sizes()));
  }
  int64_t channels = x.size(-N - 1);
  if (channels % options.groups != 0) {
    fail<ValueError>(this->class_name(), "expected groups to divide {} channels, got {}", channels,
                     options.groups);
  }
  options.in_channels = channels;
  Dims sizes{options.out_channels, channels / options.groups};
  for (int i = 0; i < N; ++i) sizes.push_back(options.kernel_size[i]);
  materialize_missing(this->weight, sizes);
  materialize_missing(this->bias, {options.out_channels});
}

template <int N>
void LazyConv<N>::sizes_from_parameters() {
  this->options.out_channels = this->weight.size(0);
  this->options.in_channels = this->weight.size(1) * this->options.groups;
}

template struct LazyConv<1>;
template struct LazyConv<2>;
template struct LazyConv<3>;

template <int N>
LazyBatchNorm<N>::LazyBatchNorm(const Options& o)
    : LazyModule<LazyBatchNorm, BatchNorm<N>>(
          typename BatchNorm<N>::Options{.num_features = 0,
                                         .eps = o.eps,
                                         .momentum = o.momentum,
                                         .affine = false,
                                         .track_running_stats = false,
                                         .device = o.device,
                                         .dtype = o.dtype}) {
  auto& options = this->options;
  options.affine = o.affine;
  options.track_running_stats = o.track_running_stats;
  options.bias = o.bias;
  UninitializedParameter::Options missing{.device = o.device, .dtype = o.dtype};
  if (o.affine) this->weight = UninitializedParameter(missing);
  if (o.affine && o.bias) this->bias = UninitializedParameter(missing);
  if (!o.track_running_stats) return;
  this->running_mean = UninitializedBuffer({.device = o.device, .dtype = o.dtype});
  this->running_var = UninitializedBuffer({.device = o.device, .dtype = o.dtype});
  this->num_batches_tracked = Buffer(zeros({}, {.dtype = kInt64, .device = o.device}));
}

template <int N>
void LazyBatchNorm<N>::initialize_parameters(const Args& inputs) {
  const Tensor& x = inputs.tensor(0);
  bool fits = N == 1 ? x.dim() == 2 || x.dim() == 3 : x.dim() == N + 2;
  if (!fits) {
    fail<ShapeError>(this->class_name(), "expected {} dimensions, got shape {}",
                     N == 1 ? "2 or 3" : std::to_string(N + 2), to_string(x.sizes()));
  }
  this->options.num_features = x.size(1);
  for (const Tensor& tensor : {Tensor(this->weight), Tensor(this->bias), Tensor(this->running_mean),
                               Tensor(this->running_var)}) {
    materialize_missing(tensor, {x.size(1)});
  }
}

template <int N>
void LazyBatchNorm<N>::sizes_from_parameters() {
  const Tensor& known = this->weight.defined() ? Tensor(this->weight) : Tensor(this->running_mean);
  if (known.defined()) this->options.num_features = known.size(0);
}

template struct LazyBatchNorm<1>;
template struct LazyBatchNorm<2>;
template struct LazyBatchNorm<3>;

}  // namespace farro::nn
