#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> activation_entries() {
  return entries_of(ops::kActivationOps);
}

}  // namespace farro::autograd
