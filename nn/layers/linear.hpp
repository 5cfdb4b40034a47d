#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

namespace farro::nn {

/// y = x·weightᵀ + bias over the last dimension of x. weight is [out_features, in_features], bias
/// [out_features]; both start uniform in ±1/√in_features.
struct Linear : Module {
  struct Options {
    int64_t in_features;
    int64_t out_features;
    bool bias = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, in_features, out_features, bias, device, dtype)
  };
  Options options;
  Parameter weight;
  Parameter bias;  ///< null without bias
  FARRO_MEMBERS(Linear, weight, bias)

  explicit Linear(const Options& options);
  void reset_parameters();
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// Returns its input. Takes, and ignores, any arguments, as placeholders do.
struct Identity : Module {
  struct Options {
    FARRO_FIELDS(Options)
  };
  FARRO_MEMBERS(Identity)
  Identity() = default;
  explicit Identity(const Options&) {}
  Tensor forward(const Tensor& x) const { return x; }
};

/// Makes one dimension of those from start_dim to end_dim.
struct Flatten : Module {
  struct Options {
    int64_t start_dim = 1;
    int64_t end_dim = -1;
    FARRO_FIELDS(Options, start_dim, end_dim)
  };
  Options options;
  FARRO_MEMBERS(Flatten)

  Flatten() : Flatten(Options{}) {}
  explicit Flatten(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const { return x.flatten(options.start_dim, options.end_dim); }
  std::string extra_repr() const override;
};

/// Makes several dimensions of one.
struct Unflatten : Module {
  struct Options {
    int64_t dim;
    std::vector<int64_t> unflattened_size;
    FARRO_FIELDS(Options, dim, unflattened_size)
  };
  Options options;
  FARRO_MEMBERS(Unflatten)

  explicit Unflatten(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const {
    return x.unflatten(options.dim, options.unflattened_size);
  }
  std::string extra_repr() const override;
};

}  // namespace farro::nn
