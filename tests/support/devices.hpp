#pragma once

#include <vector>

#include <farro/backends/device.hpp>

/// The devices of the Kokkos in use, which may have been built without Serial or without OpenMP.
namespace farro::test {

/// "serial", "openmp", and "cuda:0" where it is built and present.
std::vector<Device> devices();
/// Calls f(device) for each device.
template <class F>
void for_each_device(F f) {
  for (Device device : devices()) f(device);
}

/// Those whose memory a test can read, Serial first.
std::vector<Device> host_devices();
/// The first of them, the plainest.
Device host_device();
struct SerialAndOpenMP {
  Device serial, openmp;
};
/// Both, for tests of whether they agree. Skips the test where one was not built.
SerialAndOpenMP serial_and_openmp();

}  // namespace farro::test
