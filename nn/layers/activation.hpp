#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

/// Functions of each element, as modules. With `inplace` the result takes the place of the input,
/// which must not be a leaf that requires grad.
namespace farro::nn {

/// max(x, 0).
struct ReLU : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(ReLU)

  ReLU() : ReLU(Options{}) {}
  explicit ReLU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// min(max(x, 0), 6).
struct ReLU6 : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(ReLU6)

  ReLU6() : ReLU6(Options{}) {}
  explicit ReLU6(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x where positive, else negative_slope·x.
struct LeakyReLU : Module {
  struct Options {
    Scalar negative_slope = 0.01;
    bool inplace = false;
    FARRO_FIELDS(Options, negative_slope, inplace)
  };
  Options options;
  FARRO_MEMBERS(LeakyReLU)

  LeakyReLU() : LeakyReLU(Options{}) {}
  explicit LeakyReLU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x where positive, else alpha·(exp x - 1).
struct ELU : Module {
  struct Options {
    Scalar alpha = 1.0;
    bool inplace = false;
    FARRO_FIELDS(Options, alpha, inplace)
  };
  Options options;
  FARRO_MEMBERS(ELU)

  ELU() : ELU(Options{}) {}
  explicit ELU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x where positive, else alpha·(exp(x / alpha) - 1).
struct CELU : Module {
  struct Options {
    Scalar alpha = 1.0;
    bool inplace = false;
    FARRO_FIELDS(Options, alpha, inplace)
  };
  Options options;
  FARRO_MEMBERS(CELU)

  CELU() : CELU(Options{}) {}
  explicit CELU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// The self-normalising elu.
struct SELU : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(SELU)

  SELU() : SELU(Options{}) {}
  explicit SELU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x·sigmoid(x).
struct SiLU : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(SiLU)

  SiLU() : SiLU(Options{}) {}
  explicit SiLU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x·tanh(softplus(x)).
struct Mish : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(Mish)

  Mish() : Mish(Options{}) {}
  explicit Mish(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x·min(max(x + 3, 0), 6) / 6.
struct Hardswish : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(Hardswish)

  Hardswish() : Hardswish(Options{}) {}
  explicit Hardswish(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// min(max(x + 3, 0), 6) / 6.
struct Hardsigmoid : Module {
  struct Options {
    bool inplace = false;
    FARRO_FIELDS(Options, inplace)
  };
  Options options;
  FARRO_MEMBERS(Hardsigmoid)

  Hardsigmoid() : Hardsigmoid(Options{}) {}
  explicit Hardsigmoid(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// min(max(x, min_val), max_val).
struct Hardtanh : Module {
  struct Options {
    Scalar min_val = -1.0;
    Scalar max_val = 1.0;
    bool inplace = false;
    FARRO_FIELDS(Options, min_val, max_val, inplace)
  };
  Options options;
  FARRO_MEMBERS(Hardtanh)

  Hardtanh() : Hardtanh(Options{}) {}
  explicit Hardtanh(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x where above the threshold, else value.
struct Threshold : Module {
  struct Options {
    Scalar threshold = 0.0;
    Scalar value = 0.0;
    bool inplace = false;
    FARRO_FIELDS(Options, threshold, value, inplace)
  };
  Options options;
  FARRO_MEMBERS(Threshold)

  explicit Threshold(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// tanh(x).
struct Tanh : Module {
  FARRO_MEMBERS(Tanh)
  Tensor forward(const Tensor& x) const;
};

/// 1 / (1 + exp(-x)).
struct Sigmoid : Module {
  FARRO_MEMBERS(Sigmoid)
  Tensor forward(const Tensor& x) const;
};

/// log(sigmoid(x)).
struct LogSigmoid : Module {
  FARRO_MEMBERS(LogSigmoid)
  Tensor forward(const Tensor& x) const;
};

/// x / (1 + |x|).
struct Softsign : Module {
  FARRO_MEMBERS(Softsign)
  Tensor forward(const Tensor& x) const;
};

/// x - tanh(x).
struct Tanhshrink : Module {
  FARRO_MEMBERS(Tanhshrink)
  Tensor forward(const Tensor& x) const;
};

/// log(1 + exp(beta·x)) / beta; x itself where beta·x is above the threshold.
struct Softplus : Module {
  struct Options {
    Scalar beta = 1.0;
    Scalar threshold = 20.0;
    FARRO_FIELDS(Options, beta, threshold)
  };
  Options options;
  FARRO_MEMBERS(Softplus)

  Softplus() : Softplus(Options{}) {}
  explicit Softplus(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x moved towards 0 by lambd, 0 within ±lambd.
struct Softshrink : Module {
  struct Options {
    Scalar lambd = 0.5;
    FARRO_FIELDS(Options, lambd)
  };
  Options options;
  FARRO_MEMBERS(Softshrink)

  Softshrink() : Softshrink(Options{}) {}
  explicit Softshrink(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x, 0 within ±lambd.
struct Hardshrink : Module {
  struct Options {
    Scalar lambd = 0.5;
    FARRO_FIELDS(Options, lambd)
  };
  Options options;
  FARRO_MEMBERS(Hardshrink)

  Hardshrink() : Hardshrink(Options{}) {}
  explicit Hardshrink(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x times the normal distribution function, or its approximation by "tanh".
struct GELU : Module {
  struct Options {
    std::string approximate = "none";
    FARRO_FIELDS(Options, approximate)
  };
  Options options;
  FARRO_MEMBERS(GELU)

  GELU() : GELU(Options{}) {}
  explicit GELU(const Options& options) : options(options) {}
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

/// x where positive, else weight·x; one weight, or one for each channel (dimension 1).
struct PReLU : Module {
  struct Options {
    int64_t num_parameters = 1;
    double init = 0.25;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    FARRO_FIELDS(Options, num_parameters, init, device, dtype)
  };
  Options options;
  Parameter weight;
  FARRO_MEMBERS(PReLU, weight)

  PReLU() : PReLU(Options{}) {}
  explicit PReLU(const Options& options);
  void reset_parameters();
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;
};

}  // namespace farro::nn
