#pragma once

#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/backends/memory.hpp>

namespace farro::test {

/// The first thing in a test: when everything else in its scope is gone, all tensors that were made
/// there must be gone.
class NoLeaks {
 public:
  ~NoLeaks() { CHECK(live_bytes() == before_); }
  /// What tensors hold on all devices.
  static int64_t live_bytes() {
    int64_t bytes = 0;
    for (Device device : devices()) bytes += memory_stats(device).allocated;
    return bytes;
  }

 private:
  int64_t before_ = live_bytes();
};

}  // namespace farro::test
