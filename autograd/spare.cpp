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

Tensor spare_or_empty(const Tensor& like) {
  if (!spare_tensor) return empty_like_contiguous(like);
  auto spare = IntrusivePtr<TensorImpl>::adopt(std::exchange(spare_tensor, nullptr));
  const ArrayView &ours = spare->array, &wanted = like.impl()->array;
  bool fits = ours.dtype == wanted.dtype && ours.device == wanted.device &&
              ours.sizes == wanted.sizes && spare->inference == inference_mode_enabled();
  return FARRO_LIKELY(fits) ? Tensor(std::move(spare)) : empty_like_contiguous(like);
}

}  // namespace farro::autograd
