#pragma once

#include <farro/backends/device.hpp>
#include <farro/backends/dims.hpp>
#include <farro/backends/dtype.hpp>

namespace farro {

/// What a kernel is told of a tensor: where its first element lies, dtype, device, sizes and
/// strides (in elements). Does not own the memory. Kernels trust it: shapes and dtypes were checked
/// above.
struct ArrayView {
  void* data = nullptr;
  DType dtype = kFloat32;
  Device device = Device::of(0);
  Dims sizes;
  Dims strides;

  int ndim() const { return sizes.size(); }
  int64_t numel() const { return sizes.product(); }
  bool contiguous() const { return is_contiguous(sizes, strides); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace farro
