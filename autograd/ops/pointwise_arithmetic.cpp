#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> arithmetic_entries() {
  return entries_of(ops::kArithmeticOps);
}

}  // namespace farro::autograd
