#pragma once

#include <farro/backends/kokkos_compat.hpp>

#include <cstdint>
#include <string_view>

#ifdef KOKKOS_ENABLE_SERIAL
namespace farro::backends {

/// One host thread.
struct Serial {
  using ExecutionSpace = Kokkos::Serial;
  using MemorySpace = Kokkos::HostSpace;
  static constexpr uint8_t id = 0;
  static constexpr std::string_view name = "serial";
  static constexpr std::string_view blas = "OpenBLAS, oneDNN";
};

}  // namespace farro::backends
#endif
