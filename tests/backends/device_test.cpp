#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/devices.hpp>

#include <farro/backends/device.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/registry.hpp>
#include <farro/backends/runtime.hpp>

namespace farro {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("device: names lead to devices and back") {
  for (const auto& info : detail::backend_infos()) {
    Device device(info.name);
    CHECK(device.backend() == info.id);
    CHECK(device.index() == 0);
    CHECK(device.str() ==
          (device.is_host() ? std::string(info.name) : std::string(info.name) + ":0"));
    CHECK(Device(device.str()) == device);
    CHECK(Device(std::string(info.name) + ":0") == device);
  }
}

TEST_CASE("device: cpu and the default are the best host backend") {
  CHECK(Device("cpu") == Device());
  CHECK(Device().is_host());
  for (Device device : test::host_devices()) CHECK(Device().backend() >= device.backend());
}

TEST_CASE("device: Serial and OpenMP are two devices") {
  auto [serial, openmp] = test::serial_and_openmp();
  CHECK(serial != openmp);
  CHECK(Device() == openmp);
}

TEST_CASE("device: what was not built, or does not exist, is a BackendError that lists what was") {
  CHECK_THROWS_WITH(Device("vulkan"),
                    ContainsSubstring("vulkan") && ContainsSubstring(Device().str()));
  for (const char* name : {"", ":", "cuda:99", "serial:1", "serial:-1", "serial:", "serial:x",
                           "serial:0x", "Serial"}) {
    INFO(name);
    CHECK_THROWS_AS(Device(name), BackendError);
  }
  CHECK_THROWS_AS(Device::of(200).str(), BackendError);
}

TEST_CASE("device: available devices can be named, and the configuration mentions their backends") {
  auto devices = available_devices();
  CHECK_FALSE(devices.empty());
  std::string config = show_config();
  for (Device device : devices) {
    CHECK(Device(device.str()) == device);
    CHECK_THAT(config, ContainsSubstring(std::string(detail::backend_info(device.backend()).name)));
  }
  CHECK(is_available(Device().str()));
  CHECK_FALSE(is_available("vulkan"));
}

}  // namespace
}  // namespace farro
