#include <farro/autograd/spare.hpp>

#include <farro/autograd/grad_mode.hpp>

namespace farro::autograd {

FARRO_FAST_TLS constinit thread_local TensorImpl* spare_tensor = nullptr;

Tensor spare_or_empty(const Tensor& like) {
  TensorImpl* spare = spare_tensor;
  const ArrayView& wanted = like.impl()->array;
  if (!spare || spare->array.dtype != wanted.dtype || spare->array.device != wanted.device ||
      spare->array.sizes != wanted.sizes || spare->inference != inference_mode_enabled())
    return empty_like_contiguous(like);
  spare_tensor = nullptr;
  return Tensor(IntrusivePtr<TensorImpl>::adopt(spare));
}

}  // namespace farro::autograd
