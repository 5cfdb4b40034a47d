#pragma once

/// From a run-time (device, dtype) to types. `dispatch` walks two Hana lists, the backends
/// (backend.hpp) and the scalars (dispatch_dtype.hpp), and calls a templated lambda with the pair
/// that matches:
///
///     dispatch(device, dtype, [&]<class Backend, class Scalar>() { … });
///
/// Farro's own host kernels are compiled once for all host backends and do not come through here
/// (see launch.hpp); this is for code that holds typed Kokkos views.

#include <farro/backends/backend.hpp>
#include <farro/backends/device.hpp>
#include <farro/backends/dispatch_dtype.hpp>

namespace farro {

/// Calls `f.operator()<Backend>()`. Throws BackendError if the device's backend was not built.
template <class F>
void dispatch_backend(Device device, F&& f) {
  bool found = boost::hana::unpack(kBackends, [&](auto... types) {
    return ((device.backend() == decltype(types)::type::id
                 ? (f.template operator()<typename decltype(types)::type>(), true)
                 : false) ||
            ...);
  });
  if (!found)
    fail<BackendError>("dispatch", "the backend of device {} was not built", device.str());
}

/// Calls `f.operator()<Backend, Scalar>()`. Throws BackendError or TypeError when no pair matches.
template <class F>
void dispatch(Device device, DType dtype, F&& f) {
  dispatch_backend(device, [&]<class B>() {
    dispatch_dtype("dispatch", dtype, kScalars, [&]<class S>() { f.template operator()<B, S>(); });
  });
}

}  // namespace farro
