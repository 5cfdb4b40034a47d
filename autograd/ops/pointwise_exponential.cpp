#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> exponential_entries() {
  return entries_of(ops::kExponentialOps);
}

}  // namespace farro::autograd
