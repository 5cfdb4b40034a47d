#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

namespace farro::nn {

/// While training, zeroes elements with probability p and scales the others by 1 / (1 - p).
/// ValueError unless 0 <= p <= 1.
struct Dropout : Module {
  struct Options {
    double p = 0.5;
    bool inplace = false;
    FARRO_FIELDS(Options, p, inplace)
  };
  Options options;
  FARRO_MEMBERS(Dropout)

  Dropout() : Dropout(Options{}) {}
  explicit Dropout(const Options& options);
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// exp(x) / Σ exp(x) along a dimension.
struct Softmax : Module {
  struct Options {
    std::optional<int64_t> dim{};  ///< none: 0 for 0, 1 or 3 dimensions, else 1
    FARRO_FIELDS(Options, dim)
  };
  Options options;
  FARRO_MEMBERS(Softmax)

  Softmax() : Softmax(Options{}) {}
  explicit Softmax(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// The logarithm of Softmax.
struct LogSoftmax : Module {
  struct Options {
    std::optional<int64_t> dim{};
    FARRO_FIELDS(Options, dim)
  };
  Options options;
  FARRO_MEMBERS(LogSoftmax)

  LogSoftmax() : LogSoftmax(Options{}) {}
  explicit LogSoftmax(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// Softmax of -x.
struct Softmin : Module {
  struct Options {
    std::optional<int64_t> dim{};
    FARRO_FIELDS(Options, dim)
  };
  Options options;
  FARRO_MEMBERS(Softmin)

  Softmin() : Softmin(Options{}) {}
  explicit Softmin(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

}  // namespace farro::nn
