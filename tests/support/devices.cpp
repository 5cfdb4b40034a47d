#include <support/devices.hpp>

#include <catch2/catch_test_macros.hpp>

#include <farro/backends/runtime.hpp>

namespace farro::test {

std::vector<Device> devices() {
  std::vector<Device> result;
  for (Device device : available_devices()) {
    if (device.index() == 0) result.push_back(device);
  }
  return result;
}

std::vector<Device> host_devices() {
  std::vector<Device> result = devices();
  std::erase_if(result, [](Device device) { return !device.is_host(); });
  return result;
}

Device host_device() { return host_devices().front(); }

SerialAndOpenMP serial_and_openmp() {
  for (const char* name : {"serial", "openmp"}) {
    if (!is_available(name)) SKIP("Kokkos was built without " << name);
  }
  return {"serial", "openmp"};
}

}  // namespace farro::test
