#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>
#include <pthread.h>

#include <support/threads.hpp>
#include <support/training_step.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/backends/memory.hpp>

/// What a training step leaves behind when something in it throws.

using namespace farro;
using namespace farro::test;

namespace {

/// One step, and what is wrong after a place of it threw; empty if nothing is. False where the step
/// has fewer places.
bool inject(TrainingStep& step, Places& places, int64_t number, bool penalty, std::string& fault) {
  uint64_t before = hash_of(step.parameters());
  places.start(number);
  bool threw = false;
  try {
    step.forward_backward(penalty);
  } catch (const Injected&) {
    threw = true;
  }
  places.start(0);
  fault = trace_left_behind();
  if (hash_of(step.parameters()) != before) fault = "the parameters have changed";
  for (const Tensor& p : step.parameters()) {
    if (!p.is_leaf() || !p.requires_grad()) fault = "a parameter is no leaf any more";
  }
  step.zero_grad();
  return threw;
}

}  // namespace

TEST_CASE("an exception in any hook leaves the engine as it was: 10,000 of them",
          "[A9][A13][A15][A16][A21]") {
  int64_t injections = 0, rounds = 0;
  std::map<std::string, int> kinds;
  while (injections < 10'000) {
    for (Device device : host_devices()) {
      for (DType dtype : {kFloat32, kFloat64}) {
        for (bool penalty : {false, true}) {
          Places places;
          TrainingStep step(device, dtype, places, TrainingStep::Hooks::Everywhere);
          auto clean = [&] {
            uint64_t result = step.result_of(step.forward_backward(penalty));
            step.zero_grad();
            return result;
          };
          uint64_t expected = clean();
          REQUIRE(clean() == expected);
          int64_t live = memory_stats(device).allocated;
          std::string fault;
          for (int64_t k = 1; inject(step, places, k, penalty, fault); ++k) {
            INFO("place " << k << " of a step on " << device.str() << " in " << name_of(dtype)
                          << ", penalty " << penalty);
            REQUIRE(fault == "");
            REQUIRE(clean() == expected);
            REQUIRE(memory_stats(device).allocated == live);
            ++injections;
          }
          for (auto& [kind, count] : places.thrown()) kinds[kind] += count;
        }
      }
    }
    ++rounds;
  }
  std::string text;
  for (auto& [kind, count] : kinds) text += fmt::format("{} {}, ", count, kind);
  CHECK(kinds.size() == 17);
  WARN(fmt::format("{} injections in {} rounds: {}", injections, rounds, text));
}

namespace {

/// Runs f where no tensor can be saved.
template <class F>
void without_saving(F f) {
  SavedTensors pack([](const Tensor&) -> Tensor { throw Injected(); },
                    [](const Tensor& t) { return t; });
  CHECK_THROWS_AS(f(), Injected);
}

}  // namespace

TEST_CASE("an operation in place saves its inputs first: where that throws, nothing happens",
          "[A4][A13][A15]") {
  Tensor x = leaf({1, 2}), other = leaf({3, 4});
  Tensor y = x * 1;
  Tensor view = y.slice(0, 0, 1);
  without_saving([&] { y.mul_(other); });
  without_saving([&] { y.mul_(y); });
  without_saving([&] { view.mul_(view); });
  CHECK(y.to_vector() == std::vector<double>{1, 2});
  y.sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{1, 1});
}

TEST_CASE(
    "an operation in place whose saving throws later leaves nothing that gives a wrong gradient",
    "[A4][A13][A15]") {
  Tensor x = leaf({1, 2}), other = leaf({3, 4});
  Tensor y = x * 1;
  Tensor view = y.slice(0, 0, 1);
  // The elements have changed, and nothing tells how.
  SECTION("the result") {
    without_saving([&] { exp_(y); });
  }
  SECTION("the result, through a view") {
    without_saving([&] { sigmoid_(view); });
  }
  SECTION("positions") {
    without_saving(
        [&] { y.index_put_({from_values({0}, {.dtype = kInt64})}, other.slice(0, 0, 1)); });
  }
  CHECK_THROWS_AS(y.sum().backward(), GradError);
  CHECK_THROWS_AS(view.sum().backward(), GradError);
  CHECK_FALSE(x.grad().defined());
  CHECK(trace_left_behind() == "");
}

TEST_CASE("100,000 graphs of gradients with hooks that hold their own tensors leave nothing alive",
          "[A8][A10][A13]") {
  auto iteration = [](int i) {
    Tensor x = leaf({0.5, 1.0 + i % 7});
    Tensor y = x * x, z = (y * x).sum();
    // Each hook holds the tensor that holds it; what ends the cycle is the handle, by hand, at the
    // end of its scope, or by the hook itself.
    auto own = std::make_shared<RemovableHandle>();
    int calls = 0;
    *own = y.register_hook([y, x, own, &calls](const Tensor& g) {
      ++calls;
      own->remove();
      return g + 0.0 * (y * x);
    });
    ScopedHandle scoped = x.register_hook([x, y](const Tensor& g) { return g + 0.0 * x; });
    RemovableHandle by_hand = z.grad_fn()->register_prehook([z](autograd::Grads&) {});
    Tensor first = grad({z}, {x}, {.create_graph = true})[0];
    Tensor second = grad({first.sum()}, {x}, {.create_graph = true})[0];
    by_hand.remove();
    CHECK(calls == 1);
    return second.to_vector()[1];
  };
  CHECK(iteration(0) == 6);
  int64_t live = memory_stats().allocated;
  double total = 0;
  for (int i = 0; i < 100'000; ++i) total += iteration(i);
  CHECK(total > 100'000 * 6.0);
  CHECK(memory_stats().allocated == live);
}

TEST_CASE("eight threads make and differentiate 10,000 graphs each, and all sums are exact",
          "[A17]") {
  constexpr int kThreads = 8, kGraphs = 10'000;
  for_each_device([](Device device) {
    INFO(device.str());
    std::vector<int> wrong(kThreads, -1);
    Tensor shared = from_values({1, 2, 3}, {.device = device, .requires_grad = true});
    on_threads(kThreads, [&](int thread) {
      int count = 0;
      for (int i = 0; i < kGraphs; ++i) {
        // x² (x + a): its derivative is 3 x² + 2 a x.
        double a = thread + 1, v = i % 100;
        Tensor x = from_values({v, -v, 2}, {.device = device, .requires_grad = true});
        (x * x * (x + a)).sum().backward();
        std::vector<double> g = x.grad().to_vector();
        count += g != std::vector<double>{3 * v * v + 2 * a * v, 3 * v * v - 2 * a * v, 12 + 4 * a};
        (shared * (x.detach() + v)).sum().backward();
      }
      wrong[static_cast<size_t>(thread)] = count;
    });
    CHECK(wrong == std::vector<int>(kThreads, 0));
    // The sums over i of 2 v, 0 and 2 + v.
    double v = 4950.0 * kGraphs / 100 * kThreads;
    CHECK(shared.grad().to_vector() == std::vector<double>{2 * v, 0, v + 2.0 * kGraphs * kThreads});
  });
}

TEST_CASE("the tests of small stacks run on stacks that are small", "[A13]") {
  size_t size = 0;
  on_thread_with_stack(256 * 1024, [&] {
    pthread_attr_t attributes;
    void* at = nullptr;
    REQUIRE(pthread_getattr_np(pthread_self(), &attributes) == 0);
    REQUIRE(pthread_attr_getstack(&attributes, &at, &size) == 0);
    pthread_attr_destroy(&attributes);
    char here = 0;
    CHECK(&here >= at);
    CHECK(&here < static_cast<char*>(at) + size);
  });
  CHECK(size > 0);
  CHECK(size <= 256 * 1024);
}
