#pragma once

#include <boost/hana/drop_back.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/unpack.hpp>

#include <concepts>

#include <farro/backends/cuda.hpp>
#include <farro/backends/openmp.hpp>
#include <farro/backends/serial.hpp>

namespace farro {

/// What a backend policy names: its Kokkos spaces, a stable id (below 16 for memory that the host
/// can read), the name that Device takes, and the dense algebra it calls.
template <class B>
concept Backend = requires {
  typename B::ExecutionSpace;
  typename B::MemorySpace;
  { B::id } -> std::convertible_to<uint8_t>;
  { B::name } -> std::convertible_to<std::string_view>;
  { B::blas } -> std::convertible_to<std::string_view>;
}
&&bool(Kokkos::SpaceAccessibility<typename B::ExecutionSpace, typename B::MemorySpace>::accessible);

template <class B>
inline constexpr bool is_host_backend = B::id < 16;

/// The backends that were built, the best host backend after the other host ones.
inline constexpr auto kBackends =
    boost::hana::drop_back(boost::hana::tuple_t<
#ifdef KOKKOS_ENABLE_SERIAL
                           backends::Serial,
#endif
#ifdef KOKKOS_ENABLE_OPENMP
                           backends::OpenMP,
#endif
#ifdef KOKKOS_ENABLE_CUDA
                           backends::Cuda,
#endif
                           void>);  // the last one is dropped: each line above ends with a comma

static_assert(boost::hana::unpack(kBackends, [](auto... types) {
  return sizeof...(types) > 0 && (Backend<typename decltype(types)::type> && ...);
}));

}  // namespace farro
