#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <farro/backends/device.hpp>

namespace farro::detail {

/// What code without Kokkos headers needs of a backend, one entry for each in kBackends.
struct BackendInfo {
  uint8_t id;
  std::string_view name;
  std::string_view blas;
  int (*device_count)();
  int (*concurrency)();
  void (*fence)();
  /// Memory of the backend's own space; null when the system refuses. Unused on the host.
  void* (*allocate)(size_t bytes);
  void (*deallocate)(void* p);
  /// Copies bytes between this backend's memory and the host's, either way, and waits.
  void (*copy)(void* to, const void* from, size_t bytes);
};

std::span<const BackendInfo> backend_infos();
/// BackendError if it was not built.
const BackendInfo& backend_info(uint8_t id);

}  // namespace farro::detail
