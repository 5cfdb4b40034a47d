#pragma once

#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/backends/memory.hpp>
#include <farro/hooks/module_hooks.hpp>

namespace farro::test {

/// The first thing in a test: when everything else in its scope is gone, all tensors that were made
/// there must be gone.
class NoLeaks {
 public:
  NoLeaks() {
    // Lists of global hooks keep the memory that they once took.
    auto nothing = [] {};
    hooks::register_global_forward_pre_hook(nothing).remove();
    hooks::register_global_forward_hook(nothing).remove();
    hooks::register_global_full_backward_pre_hook(nothing).remove();
    hooks::register_global_full_backward_hook(nothing).remove();
    auto keep = [](nn::Module&, const std::string&, const Tensor&) { return Tensor(); };
    hooks::register_parameter_registration_hook(keep).remove();
    hooks::register_buffer_registration_hook(keep).remove();
    hooks::register_module_registration_hook([](nn::Module&, const std::string&,
                                                const std::shared_ptr<nn::Module>&) {
      return std::shared_ptr<nn::Module>();
    }).remove();
    before_ = live_bytes();
  }
  ~NoLeaks() { CHECK(live_bytes() == before_); }
  NoLeaks(const NoLeaks&) = delete;
  NoLeaks& operator=(const NoLeaks&) = delete;
  /// What tensors hold on all devices.
  static int64_t live_bytes() {
    int64_t bytes = 0;
    for (Device device : devices()) bytes += memory_stats(device).allocated;
    return bytes;
  }

 private:
  int64_t before_ = 0;
};

}  // namespace farro::test
