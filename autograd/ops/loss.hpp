#pragma once

#include <string_view>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// What becomes of the losses of all elements.
enum class Reduction { None, Mean, Sum };
/// "none", "mean", "sum"; ValueError for another name.
Reduction reduction_from_name(std::string_view name);
std::string_view name_of(Reduction reduction);
/// The losses as they are, their mean, or their sum.
Tensor reduce_loss(const Tensor& losses, Reduction reduction);

/// -weight[t]·x[t] for log-probabilities x [N, C, d…] (or [C]) and classes t, int64 [N, d…].
/// Targets equal to ignore_index count neither for the loss nor for the mean, which is weighted.
/// ShapeError, TypeError, IndexError for other targets.
Tensor nll_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                int64_t ignore_index = -100, Reduction reduction = Reduction::Mean);

/// nll_loss of log_softmax(x), in one kernel each way; or, for floating-point targets of x's shape,
/// -Σ target·log_softmax(x) over classes, whose mean is over N·d…. label_smoothing in [0, 1] mixes
/// the targets with the uniform distribution.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     int64_t ignore_index = -100, Reduction reduction = Reduction::Mean,
                     double label_smoothing = 0);

/// (x - target)², and |x - target|; `weight`, where defined, multiplies the elements' losses and
/// divides the mean.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::Mean,
                const Tensor& weight = {});
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::Mean,
               const Tensor& weight = {});

}  // namespace farro
