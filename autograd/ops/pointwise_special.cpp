#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> special_entries() { return entries_of(ops::kSpecialOps); }

}  // namespace farro::autograd
