#pragma once

#include <farro/backends/backend.hpp>
#include <farro/backends/dispatch.hpp>

namespace farro::detail {

/// for_each on backends that are not on the host.
template <class F>
void for_each_on_device(Device device, const char* label, int64_t n, const F& f) {
  dispatch_backend(device, [&]<class B>() {
    if constexpr (!is_host_backend<B>) {
      using Execution = typename B::ExecutionSpace;
      Kokkos::parallel_for(label, Kokkos::RangePolicy<Execution, Kokkos::IndexType<int64_t>>(Execution(), 0, n), f);
    }
  });
}

}  // namespace farro::detail
