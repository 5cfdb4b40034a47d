#include <farro/nn/layers/loss.hpp>

#include <farro/autograd/ops/loss.hpp>

namespace farro::nn {

CrossEntropyLoss::CrossEntropyLoss(const Options& options)
    : options(options), weight(options.weight) {
  reduction_from_name(options.reduction);
  this->options.weight = {};  // the buffer is the one that is converted
}

Tensor CrossEntropyLoss::forward(const Tensor& input, const Tensor& target) const {
  return cross_entropy(input, target, weight, options.ignore_index,
                       reduction_from_name(options.reduction), options.label_smoothing);
}

NLLLoss::NLLLoss(const Options& options) : options(options), weight(options.weight) {
  reduction_from_name(options.reduction);
  this->options.weight = {};
}

Tensor NLLLoss::forward(const Tensor& input, const Tensor& target) const {
  return nll_loss(input, target, weight, options.ignore_index,
                  reduction_from_name(options.reduction));
}

MSELoss::MSELoss(const Options& options) : options(options) {
  reduction_from_name(options.reduction);
}

Tensor MSELoss::forward(const Tensor& input, const Tensor& target) const {
  return mse_loss(input, target, reduction_from_name(options.reduction));
}

L1Loss::L1Loss(const Options& options) : options(options) {
  reduction_from_name(options.reduction);
}

Tensor L1Loss::forward(const Tensor& input, const Tensor& target) const {
  return l1_loss(input, target, reduction_from_name(options.reduction));
}

}  // namespace farro::nn
