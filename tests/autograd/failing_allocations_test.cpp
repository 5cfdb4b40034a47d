#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <functional>

#include <support/training_step.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/failing_allocation.hpp>
#include <farro/backends/memory.hpp>
#include <farro/optim/adam.hpp>
#include <farro/optim/sgd.hpp>

/// What a training step leaves behind when the system refuses it memory.

using namespace farro;
using namespace farro::test;

namespace {

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;

/// Refuses each request of a step in turn; returns how many there were. The step is the optimizer's
/// first, which makes its state, or a later one.
int64_t check_requests(Device device, DType dtype, const MakeOptimizer& make, int steps_before) {
  Places none;
  TrainingStep step(device, dtype, none, TrainingStep::Hooks::None);
  std::vector<Tensor> start;
  for (const Tensor& p : step.parameters()) start.push_back(p.detach().clone());
  std::unique_ptr<optim::Optimizer> optimizer;
  auto run = [&] {
    Tensor loss = step.forward_backward(false);
    optimizer->step();
    return step.result_of(loss);
  };
  auto restart = [&] {
    optimizer = make(step.parameters());
    {
      NoGrad guard;
      for (size_t i = 0; i < start.size(); ++i) step.parameters()[i].copy_(start[i]);
    }
    for (int i = 0; i < steps_before; ++i) {
      step.zero_grad();
      run();
    }
    step.zero_grad();
  };
  restart();
  uint64_t before = hash_of(step.parameters()), result = run(), after = hash_of(step.parameters());
  REQUIRE(after != before);
  restart();
  int64_t live = memory_stats(device).allocated;
  for (int64_t number = 1;; ++number) {
    INFO("request " << number << " of a step on " << device.str() << " in " << name_of(dtype)
                    << " after " << steps_before);
    restart();
    CHECK(memory_stats(device).allocated == live);
    bool threw = false, refused = false;
    {
      farro::detail::FailingAllocation failing(number);
      try {
        Tensor loss = step.forward_backward(false);
        optimizer->step();
      } catch (const MemoryError&) {
        threw = true;
      }
      refused = failing.refused();
    }
    CHECK(threw == refused);
    if (!refused) {
      CHECK(hash_of(step.parameters()) == after);
      return number - 1;
    }
    CHECK(hash_of(step.parameters()) == before);
    CHECK(trace_left_behind() == "");
    // The same optimizer goes on, as if nothing had been.
    step.zero_grad();
    CHECK(run() == result);
    CHECK(hash_of(step.parameters()) == after);
  }
}

}  // namespace

TEST_CASE(
    "a training step that is refused memory anywhere throws a MemoryError and changes no parameter",
    "[A13]") {
  std::vector<MakeOptimizer> optimizers = {
      [](const auto& list) { return std::make_unique<optim::Adam>(list); },
      [](const auto& list) {
        return std::make_unique<optim::AdamW>(list, optim::AdamWOptions{.amsgrad = true});
      },
      [](const auto& list) {
        return std::make_unique<optim::SGD>(
            list, optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.5});
      }};
  int64_t total = 0;
  for (Device device : host_devices()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      for (const MakeOptimizer& make : optimizers) {
        for (int steps_before : {0, 2}) {
          int64_t count = check_requests(device, dtype, make, steps_before);
          CHECK(count > 150);
          total += count;
        }
      }
    }
  }
  WARN(total << " requests were refused");
}

TEST_CASE("a refused request is counted, gives nothing away and loses nothing", "[A13]") {
  using farro::detail::FailingAllocation;
  int64_t live = memory_stats().allocated, requests = 0;
  auto work = [] {
    Tensor x = leaf(std::vector<double>(
        1000, 1.0));  // a small block for the tensor, a medium one for its elements
    Tensor large = random({512, 1024});
    (x * x).sum().backward();
  };
  {
    FailingAllocation counting(0);
    work();
    requests = counting.requests();
    CHECK_FALSE(counting.refused());
  }
  CHECK(requests > 10);
  for (int64_t number = 1; number <= requests; ++number) {
    FailingAllocation failing(number);
    CHECK_THROWS_AS(work(), MemoryError);
    CHECK(failing.refused());
    CHECK(failing.requests() == number);
  }
  CHECK_NOTHROW(work());
  CHECK(memory_stats().allocated == live);
}

TEST_CASE("memory that is refused within a kernel that several threads run is a MemoryError, too",
          "[A13][A17]") {
  for (Device device : host_devices()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      auto variable = [&](const Dims& sizes, uint64_t seed) {
        return random(sizes, {.dtype = dtype, .device = device, .requires_grad = true}, seed);
      };
      Tensor image = variable({8, 4, 24, 24}, 1), weight = variable({8, 4, 3, 3}, 2);
      auto run = [&] {
        image.set_grad({});
        weight.set_grad({});
        conv2d(image, weight, {}, {.padding = 1}).sum().backward();
        return hash_of({image.grad(), weight.grad()});
      };
      uint64_t expected = run();
      int64_t refused = 0;
      for (int64_t number = 1;; ++number) {
        INFO("request " << number << " on " << device.str() << " in " << name_of(dtype));
        farro::detail::FailingAllocation failing(number);
        try {
          run();
        } catch (const MemoryError&) {
          ++refused;
        }
        if (!failing.refused()) break;
        CHECK(refused == number);
      }
      CHECK(refused > 15);
      CHECK(run() == expected);
    }
  }
}
