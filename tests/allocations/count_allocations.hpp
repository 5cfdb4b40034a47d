#pragma once

#include <cstdint>

namespace farro::testing {

/// The calls of malloc and its kin (operator new calls malloc), of any thread and library, since
/// the program started; -1 where they can't be counted.
int64_t allocation_count();

/// While one lives, each allocation prints its call stack. To find where allocations come from.
struct TraceAllocations {
  TraceAllocations();
  ~TraceAllocations();
};

/// While one lives, one of this thread's allocations fails, as if there were no memory left.
class RefuseAllocation {
 public:
  /// Counted from 1.
  explicit RefuseAllocation(int64_t number);
  ~RefuseAllocation();
  RefuseAllocation(const RefuseAllocation&) = delete;
  RefuseAllocation& operator=(const RefuseAllocation&) = delete;
  bool refused() const;
};

}  // namespace farro::testing
