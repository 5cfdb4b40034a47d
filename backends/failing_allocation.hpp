#pragma once

#include <cstddef>
#include <cstdint>

#include <farro/backends/memory.hpp>

namespace farro::detail {

/// For tests. Counts this thread's requests to the host's allocator, those for small blocks
/// (tensors, nodes, hooks) included, and refuses one of them as the system would: with a
/// MemoryError. Costs nothing where none lives: the thread's lists of free blocks are put aside, so
/// that each request takes the way of those that find no block. One at a time on a thread.
class FailingAllocation {
 public:
  /// The request to be refused, counted from 1; 0 for none.
  explicit FailingAllocation(int64_t number);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// Requests so far.
  int64_t requests() const { return requests_; }
  bool refused() const { return number_ != 0 && requests_ >= number_; }

 private:
  friend struct RequestCounter;
  int64_t number_;
  int64_t requests_ = 0;
};

}  // namespace farro::detail
