#pragma once

#include <farro/nn/call.hpp>
#include <farro/nn/options.hpp>

/// Losses as modules. `reduction` is "mean", "sum" or "none" (ValueError otherwise, when the module
/// is made).
namespace farro::nn {

/// Cross entropy of classes, or of class probabilities, with log-softmax of the input. See
/// farro::cross_entropy.
struct CrossEntropyLoss : Module {
  struct Options {
    Tensor weight{};  ///< one for each class
    int64_t ignore_index = -100;
    std::string reduction = "mean";
    double label_smoothing = 0;
    FARRO_FIELDS(Options, weight, ignore_index, reduction, label_smoothing)
  };
  Options options;
  Buffer weight;
  FARRO_MEMBERS(CrossEntropyLoss, weight)

  CrossEntropyLoss() : CrossEntropyLoss(Options{}) {}
  explicit CrossEntropyLoss(const Options& options);
  Tensor forward(const Tensor& input, const Tensor& target) const;
};

/// The negative log likelihood of classes. See farro::nll_loss.
struct NLLLoss : Module {
  struct Options {
    Tensor weight{};  ///< one for each class
    int64_t ignore_index = -100;
    std::string reduction = "mean";
    FARRO_FIELDS(Options, weight, ignore_index, reduction)
  };
  Options options;
  Buffer weight;
  FARRO_MEMBERS(NLLLoss, weight)

  NLLLoss() : NLLLoss(Options{}) {}
  explicit NLLLoss(const Options& options);
  Tensor forward(const Tensor& input, const Tensor& target) const;
};

/// (input - target)².
struct MSELoss : Module {
  struct Options {
    std::string reduction = "mean";
    FARRO_FIELDS(Options, reduction)
  };
  Options options;
  FARRO_MEMBERS(MSELoss)

  MSELoss() : MSELoss(Options{}) {}
  explicit MSELoss(const Options& options);
  Tensor forward(const Tensor& input, const Tensor& target) const;
};

/// |input - target|.
struct L1Loss : Module {
  struct Options {
    std::string reduction = "mean";
    FARRO_FIELDS(Options, reduction)
  };
  Options options;
  FARRO_MEMBERS(L1Loss)

  L1Loss() : L1Loss(Options{}) {}
  explicit L1Loss(const Options& options);
  Tensor forward(const Tensor& input, const Tensor& target) const;
};

}  // namespace farro::nn
