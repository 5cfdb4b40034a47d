#include <farro/autograd/ops/pointwise_entry.hpp>

namespace farro::autograd {

std::span<const PointwiseEntry* const> logic_entries() { return entries_of(ops::kLogicOps); }

}  // namespace farro::autograd
