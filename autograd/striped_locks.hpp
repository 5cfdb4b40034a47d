#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace farro::autograd {

/// Locks for many objects, which share a few mutexes by address. For short sections in which
/// threads seldom meet.
class StripedLocks {
 public:
  std::mutex& of(const void* object) {
    auto bits = reinterpret_cast<uintptr_t>(object) >> 6;
    return locks_[(bits ^ (bits >> 6)) % locks_.size()];
  }

 private:
  std::array<std::mutex, 64> locks_;
};

}  // namespace farro::autograd
