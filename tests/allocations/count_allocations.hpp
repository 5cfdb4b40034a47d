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

}  // namespace farro::testing
