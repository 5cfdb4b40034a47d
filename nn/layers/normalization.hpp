#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

namespace farro::nn {

/// Normalises each channel of [N, C, …] by the batch's mean and variance while training, by the
/// running ones otherwise. BatchNorm1d takes [N, C] and [N, C, L], BatchNorm2d 4 dimensions,
/// BatchNorm3d 5 (ShapeError).
template <int N>
struct BatchNorm : Module {
  static constexpr std::string_view kClassName = N == 1   ? "BatchNorm1d"
                                                 : N == 2 ? "BatchNorm2d"
                                                          : "BatchNorm3d";

  struct Options {
    int64_t num_features;
    double eps = 1e-5;
    std::optional<double> momentum =
        0.1;  ///< none: running statistics are the mean over all batches
    bool affine = true;
    bool track_running_stats = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    bool bias = true;  ///< with affine
    FARRO_FIELDS(Options, num_features, eps, momentum, affine, track_running_stats, device, dtype,
                 bias)
  };
  Options options;
  Parameter weight;
  Parameter bias;
  Buffer running_mean;
  Buffer running_var;
  Buffer num_batches_tracked;
  FARRO_MEMBERS(BatchNorm, weight, bias, running_mean, running_var, num_batches_tracked)

  explicit BatchNorm(const Options& options);
  void reset_running_stats();
  void reset_parameters();
  Tensor forward(const Tensor& x);
  std::string extra_repr() const override;
  int64_t state_version() const override { return 2; }
  /// Version 1 had no num_batches_tracked.
  void upgrade_state(StateDict& state, const std::string& prefix,
                     std::optional<int64_t> version) override;
};

extern template struct BatchNorm<1>;
extern template struct BatchNorm<2>;
extern template struct BatchNorm<3>;
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

/// One size or several.
class Shape {
 public:
  Shape() = default;
  Shape(int64_t size) : sizes_{size} {}
  Shape(int size) : sizes_{int64_t{size}} {}
  Shape(std::initializer_list<int64_t> sizes) : sizes_(sizes) {}
  Shape(IntList sizes) : sizes_(sizes) {}
  operator IntList() const { return sizes_; }
  const Dims& values() const { return sizes_; }

 private:
  Dims sizes_;
};

/// Normalises over the last dimensions, whose sizes are normalized_shape.
struct LayerNorm : Module {
  struct Options {
    Shape normalized_shape;
    double eps = 1e-5;
    bool elementwise_affine = true;
    bool bias = true;  ///< with elementwise_affine
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, normalized_shape, eps, elementwise_affine, bias, device, dtype)
  };
  Options options;
  Parameter weight;
  Parameter bias;
  FARRO_MEMBERS(LayerNorm, weight, bias)

  explicit LayerNorm(const Options& options);
  void reset_parameters();
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// Normalises groups of channels of [N, C, …], each sample apart. ValueError unless groups divide
/// the channels.
struct GroupNorm : Module {
  struct Options {
    int64_t num_groups;
    int64_t num_channels;
    double eps = 1e-5;
    bool affine = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    bool bias = true;  ///< with affine
    FARRO_FIELDS(Options, num_groups, num_channels, eps, affine, device, dtype, bias)
  };
  Options options;
  Parameter weight;
  Parameter bias;
  FARRO_MEMBERS(GroupNorm, weight, bias)

  explicit GroupNorm(const Options& options);
  void reset_parameters();
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

}  // namespace farro::nn

template <>
struct farro::hooks::ValueTraits<farro::nn::Shape> {
  static Value to(const nn::Shape& shape) { return to_value(shape.values().vec()); }
  static nn::Shape from(const Value& value) {
    if (!value.is_list()) return value.integer();
    return IntList(from_value<std::vector<int64_t>>(value));
  }
};
