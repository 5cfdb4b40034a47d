#pragma once

#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <string>
#include <vector>
#include <support/compare.hpp>

#include <farro/backends/memory.hpp>
#include <farro/hooks/module_hooks.hpp>

namespace farro::test {

/// The first thing in a test: when everything else in its scope is gone, all tensors that were made
/// there must be gone.
class NoLeaks {
 public:
  NoLeaks() {
    fill_global_lists();
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
  /// Lists of global hooks keep the memory that they once took: more of it than a test needs.
  static void fill_global_lists() {
    auto nothing = [] {};
    auto keep = [](nn::Module&, const std::string&, const Tensor&) { return Tensor(); };
    auto keep_module = [](nn::Module&, const std::string&, const std::shared_ptr<nn::Module>&) {
      return std::shared_ptr<nn::Module>();
    };
    std::vector<ScopedHandle> handles;
    for (int i = 0; i < 4; ++i) {
      handles.emplace_back(hooks::register_global_forward_pre_hook(nothing));
      handles.emplace_back(hooks::register_global_forward_hook(nothing));
      handles.emplace_back(hooks::register_global_full_backward_pre_hook(nothing));
      handles.emplace_back(hooks::register_global_full_backward_hook(nothing));
      handles.emplace_back(hooks::register_parameter_registration_hook(keep));
      handles.emplace_back(hooks::register_buffer_registration_hook(keep));
      handles.emplace_back(hooks::register_module_registration_hook(keep_module));
    }
  }

  int64_t before_ = 0;
};

}  // namespace farro::test
