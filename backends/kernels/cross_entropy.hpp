#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Cross entropy of logits [n, classes] with int64 targets [n] that lie in range or are
/// ignore_index: losses[i] = (log Σ exp(logits[i]) - logits[i, target[i]]) · weight[target[i]], and
/// 0 where target is ignore_index. log_sum[i] (compute dtype) is kept for the backward; weight may
/// be null. All contiguous.
void cross_entropy(const ArrayView& losses, const ArrayView& log_sum, const ArrayView& logits,
                   const ArrayView& targets, const ArrayView* weight, int64_t ignore_index);

/// grad_logits[i] = (softmax(logits[i]) - onehot(target[i])) · weight[target[i]] · scale · grad[i],
/// where grad may have one element for all.
void cross_entropy_backward(const ArrayView& grad_logits, const ArrayView& grad, double scale,
                            const ArrayView& log_sum, const ArrayView& logits,
                            const ArrayView& targets, const ArrayView* weight,
                            int64_t ignore_index);

}  // namespace farro::kernels
