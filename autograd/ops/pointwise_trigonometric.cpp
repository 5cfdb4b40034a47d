#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> trigonometric_entries() {
  return entries_of(ops::kTrigonometricOps);
}

}  // namespace farro::autograd
