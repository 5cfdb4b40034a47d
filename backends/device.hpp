#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <farro/backends/config.hpp>

namespace farro {

/// Where a tensor lives and computes: a backend and the index of its device, e.g. "serial",
/// "openmp", "cuda:0". "cpu" names the best host backend that was built.
class Device {
 public:
  /// The best host backend.
  Device();
  /// From a name as above. Throws BackendError that lists the built backends when it is not one of
  /// them.
  Device(std::string_view name);
  Device(const char* name) : Device(std::string_view(name)) {}
  Device(const std::string& name) : Device(std::string_view(name)) {}
  /// From the stable id of a backend policy (Backend::id). Does not check that it was built.
  static constexpr Device of(uint8_t backend_id, int8_t index = 0) {
    return Device(backend_id, index, 0);
  }

  constexpr uint8_t backend() const { return backend_; }
  constexpr int8_t index() const { return index_; }
  /// True if host code may read the memory. Host backends have ids below 16.
  constexpr bool is_host() const { return backend_ < 16; }
  /// "serial", "openmp", "cuda:0".
  std::string str() const;

  friend constexpr bool operator==(Device, Device) = default;

 private:
  constexpr Device(uint8_t backend, int8_t index, int) : backend_(backend), index_(index) {}
  uint8_t backend_;
  int8_t index_;
};

}  // namespace farro
