#pragma once

#include <farro/backends/kokkos_compat.hpp>

#include <cstdint>
#include <string_view>

#ifdef KOKKOS_ENABLE_CUDA
namespace farro::backends {

/// An NVIDIA GPU; the index is that of the device Kokkos was initialised on.
struct Cuda {
  using ExecutionSpace = Kokkos::Cuda;
  using MemorySpace = Kokkos::CudaSpace;
  static constexpr uint8_t id = 16;
  static constexpr std::string_view name = "cuda";
  static constexpr std::string_view blas = "Kokkos kernels";
};

}  // namespace farro::backends
#endif
