#pragma once

#include <memory>

#include <farro/autograd/tensor.hpp>

namespace farro::detail {

/// A tensor over memory that Farro did not allocate, with strides in elements. `owner` keeps it
/// alive; without one, it must outlive the tensor. No strides may be negative.
Tensor over_foreign_memory(void* data, DType dtype, Device device, const Dims& sizes,
                           const Dims& strides, std::shared_ptr<void> owner = {});

}  // namespace farro::detail
