#include <catch2/catch_test_macros.hpp>

#include <Kokkos_Core.hpp>

#include <fmt/format.h>

#include <support/training_step.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>
#include <farro/optim/adam.hpp>
#include <farro/optim/sgd.hpp>

/// What a training step leaves behind when the launch of one of its kernels throws.

using namespace farro;
using namespace farro::test;

namespace {

Places* launches = nullptr;

/// While it lives, every kernel launch passes `places`, as a tool of Kokkos that counts them.
class WatchedLaunches {
 public:
  explicit WatchedLaunches(Places& places) {
    launches = &places;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(
        [](const char* label, uint32_t, uint64_t*) { launches->pass(label); });
    farro::detail::kernels_are_watched = true;
  }
  ~WatchedLaunches() {
    // Farro finds out by itself, at the next launch, that nobody listens any more.
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    launches = nullptr;
  }
};

void copy_into(const std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  NoGrad guard;
  for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
}

/// Forward, backward and an update.
uint64_t full_step(TrainingStep& step, optim::Optimizer& optimizer, bool penalty) {
  uint64_t result = step.result_of(step.forward_backward(penalty));
  optimizer.step();
  return result;
}

/// Makes each launch of a step throw in turn; returns how many there were.
int64_t check_launches(Device device, DType dtype, bool penalty) {
  Places places, none;
  TrainingStep step(device, dtype, none, TrainingStep::Hooks::None);
  std::vector<Tensor> before, after;
  for (const Tensor& p : step.parameters()) before.push_back(p.detach().clone());
  auto restore = [&] {
    step.zero_grad();
    copy_into(step.parameters(), before);
  };
  auto clean = [&] {
    optim::Adam adam(step.parameters());
    return full_step(step, adam, penalty);
  };
  uint64_t expected = clean();
  for (const Tensor& p : step.parameters()) after.push_back(p.detach().clone());
  restore();
  int64_t number = 0, live = memory_stats(device).allocated;
  for (bool threw = true; threw;) {
    ++number;
    threw = false;
    {
      WatchedLaunches watched(places);
      optim::Adam adam(step.parameters());
      places.start(number);
      try {
        full_step(step, adam, penalty);
      } catch (const Injected&) {
        threw = true;
      }
      places.start(0);
    }
    INFO("launch " << number << " of a step on " << device.str() << " in " << name_of(dtype)
                   << ", penalty " << penalty);
    CHECK(trace_left_behind() == "");
    // Each parameter was updated, or was not.
    std::vector<Tensor> now = step.parameters();
    for (size_t i = 0; i < now.size(); ++i) {
      bool kept = bitwise_equal(now[i], before[i]), updated = bitwise_equal(now[i], after[i]);
      CHECK((threw ? kept || updated : updated));
    }
    restore();
    CHECK(clean() == expected);
    CHECK(hash_of(step.parameters()) == hash_of(after));
    restore();
    CHECK(memory_stats(device).allocated == live);
  }
  return number - 1;
}

}  // namespace

TEST_CASE("an exception from any kernel launch of a training step leaves the engine usable",
          "[A13]") {
  int64_t injections = 0;
  for (Device device : host_devices()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      for (bool penalty : {false, true}) {
        int64_t count = check_launches(device, dtype, penalty);
        CHECK(count >= (penalty ? 150 : 50));
        injections += count;
      }
    }
  }
  WARN(injections << " launches threw");
}

TEST_CASE("an optimizer's step whose kernel could not be launched may be taken again", "[A13]") {
  Places places;
  int64_t failed = 0;
  auto run = [&](auto make, bool fails) {
    Tensor p = leaf({1, -2, 3});
    auto optimizer = make(std::vector<Tensor>{p});
    for (int i = 0; i < 3; ++i) {
      p.set_grad(from_values({0.5, 1.0 + i, -2}));
      WatchedLaunches watched(places);
      // Each of its launches fails once, in turn.
      for (int64_t number = fails ? 1 : 0;; ++number) {
        places.start(number);
        try {
          optimizer->step();
          break;
        } catch (const Injected&) {
          ++failed;
        }
      }
    }
    return p.detach().to_vector();
  };
  auto adam = [](const auto& list) { return std::make_unique<optim::Adam>(list); };
  auto sgd = [](const auto& list) {
    return std::make_unique<optim::SGD>(
        list, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.5});
  };
  CHECK(run(adam, true) == run(adam, false));
  CHECK(failed == 3 + 1 + 1);
  CHECK(run(sgd, true) == run(sgd, false));
  CHECK(failed == 5 + 2 + 1 + 1);
}
