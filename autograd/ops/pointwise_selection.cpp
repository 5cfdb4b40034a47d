#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> selection_entries() {
  return entries_of(ops::kSelectionOps);
}

}  // namespace farro::autograd
