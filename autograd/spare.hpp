#pragma once

/// A gradient whose node has post-hooks can't lend its memory to that node's result, since they see
/// both. It lends it to the next such node's on this thread.

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// Owned; null for none.
FARRO_FAST_TLS extern constinit thread_local TensorImpl* spare_tensor;

/// Exchanges the spare tensor for another, which is defined, if nobody else can see that.
inline void offer_spare(Tensor& tensor) {
  if (!is_exclusive(tensor) || tensor.impl()->meta) return;
  TensorImpl* offered = std::move(tensor).impl_ptr().detach();
  tensor = Tensor(IntrusivePtr<TensorImpl>::adopt(std::exchange(spare_tensor, offered)));
}
/// As empty_like_contiguous; the spare tensor if that fits.
Tensor spare_or_empty(const Tensor& like);

/// No spare tensor outlives it.
class SpareScope {
 public:
  SpareScope() = default;
  SpareScope(const SpareScope&) = delete;
  SpareScope& operator=(const SpareScope&) = delete;
  ~SpareScope() { IntrusivePtr<TensorImpl>::adopt(std::exchange(spare_tensor, nullptr)); }
};

}  // namespace farro::autograd
