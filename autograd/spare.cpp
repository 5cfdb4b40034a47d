#include <farro/autograd/spare.hpp>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/grad_mode.hpp>

namespace farro::autograd {

FARRO_FAST_TLS constinit thread_local TensorImpl* spare_tensor = nullptr;

void offer_spare(Tensor&& tensor) {
  if (FARRO_UNLIKELY(spare_tensor))
    IntrusivePtr<TensorImpl>::adopt(std::exchange(spare_tensor, nullptr)).reset();
  if (tensor.defined() && is_exclusive(tensor) && !tensor.impl()->meta)
    spare_tensor = std::move(tensor).impl_ptr().detach();
}

Tensor take_spare(const TensorImpl& like) {
  auto spare = IntrusivePtr<TensorImpl>::adopt(std::exchange(spare_tensor, nullptr));
  const ArrayView& array = spare->array;
  if (array.dtype != like.array.dtype || array.device != like.array.device ||
      array.sizes != like.array.sizes || spare->inference != inference_mode_enabled())
    return {};
  return Tensor(std::move(spare));
}

}  // namespace farro::autograd
