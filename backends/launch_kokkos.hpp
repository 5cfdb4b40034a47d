#pragma once

#ifndef FARRO_HOST_SOURCE
#include <farro/backends/backend.hpp>
#include <farro/backends/dispatch.hpp>
#endif

namespace farro::detail {

/// for_each on backends that are not on the host. A source that launches nothing there is compiled
/// by the host's compiler (cmake/cuda.cmake finds out), and must not come here.
template <class F>
void for_each_on_device(Device device, const char* label, int64_t n, const F& f) {
#ifdef FARRO_HOST_SOURCE
  static_assert(sizeof(F) == 0,
                "this source launches on a device, but cmake/cuda.cmake chose the host's compiler");
#else
  dispatch_backend(device, [&]<class B>() {
    if constexpr (!is_host_backend<B>) {
      using Execution = typename B::ExecutionSpace;
      Kokkos::parallel_for(
          label, Kokkos::RangePolicy<Execution, Kokkos::IndexType<int64_t>>(Execution(), 0, n), f);
    }
  });
#endif
}

}  // namespace farro::detail
