#pragma once

#include <farro/backends/kokkos_compat.hpp>

#include <cstdint>
#include <string_view>

#ifdef KOKKOS_ENABLE_OPENMP
namespace farro::backends {

/// All threads of the OpenMP pool.
struct OpenMP {
  using ExecutionSpace = Kokkos::OpenMP;
  using MemorySpace = Kokkos::HostSpace;
  static constexpr uint8_t id = 1;
  static constexpr std::string_view name = "openmp";
  static constexpr std::string_view blas = "OpenBLAS, oneDNN";
};

}  // namespace farro::backends
#endif
