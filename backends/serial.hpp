#pragma once

#include <farro/backends/kokkos_compat.hpp>

#include <cstdint>
#include <string_view>

namespace farro::backends {

/// The id of the serial backend, also where Kokkos was built without it.
inline constexpr uint8_t kSerialId = 0;

#ifdef KOKKOS_ENABLE_SERIAL
/// One host thread.
struct Serial {
  using ExecutionSpace = Kokkos::Serial;
  using MemorySpace = Kokkos::HostSpace;
  static constexpr uint8_t id = kSerialId;
  static constexpr std::string_view name = "serial";
  static constexpr std::string_view blas = "OpenBLAS, oneDNN";
};
#endif

}  // namespace farro::backends
