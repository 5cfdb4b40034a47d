#pragma once

/// A gradient whose node has post-hooks can't lend its memory to that node's result, since they see
/// both. It lends it to the next such node's on this thread.

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

FARRO_FAST_TLS extern constinit thread_local TensorImpl* spare_tensor;

/// Keeps a tensor in place of the last one, if nobody else can see it. Undefined ones are kept by
/// nobody.
void offer_spare(Tensor&& tensor);
/// As empty_like_contiguous, with the spare tensor's memory where there is one that fits. Lets go
/// of another.
Tensor spare_or_empty(const Tensor& like);

/// No spare tensor outlives it.
class SpareScope {
 public:
  SpareScope() = default;
  SpareScope(const SpareScope&) = delete;
  SpareScope& operator=(const SpareScope&) = delete;
  ~SpareScope() {
    if (FARRO_UNLIKELY(spare_tensor)) offer_spare({});
  }
};

}  // namespace farro::autograd
