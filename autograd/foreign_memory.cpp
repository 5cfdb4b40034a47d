#include <farro/autograd/foreign_memory.hpp>

#include <farro/autograd/grad_mode.hpp>

namespace farro::detail {

Tensor over_foreign_memory(void* data, DType dtype, Device device, const Dims& sizes,
                           const Dims& strides, std::shared_ptr<void> owner) {
  int64_t span = 1;
  for (int d = 0; d < sizes.size(); ++d) span += (sizes[d] - 1) * strides[d];
  if (sizes.product() == 0) span = 0;
  TensorImpl* impl = new TensorImpl;
  Tensor tensor{IntrusivePtr<TensorImpl>(impl)};
  impl->storage =
      Storage::wrap(data, static_cast<size_t>(span) * size_of(dtype), device, std::move(owner));
  impl->array = {data, dtype, device, sizes, strides};
  impl->set_geometry(sizes, strides);
  impl->inference = inference_mode_enabled();
  return tensor;
}

}  // namespace farro::detail
