#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <array>
#include <functional>
#include <vector>

#include <support/training_step.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/index.hpp>
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

namespace {

/// y of two elements, made from x, and views of them; `other` is to change them in place.
struct Changed {
  Tensor x = leaf({1, 2}), other = leaf({0.25, 0.5});
  Tensor y = x * 1, first = y.slice(0, 0, 1), second = y.slice(0, 1, 2);

  std::vector<std::vector<double>> gradients() const {
    (y * y + 3 * y).sum().backward({}, {.retain_graph = true});
    (first * second).sum().backward();
    return {x.grad().to_vector(),
            other.grad().defined() ? other.grad().to_vector() : std::vector<double>{}};
  }
};

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    x.mul_(2.0);
    ctx.mark_dirty({x});
    return x;
  }
  static autograd::Grads backward(autograd::Context&, const autograd::Grads& grads) {
    return {grads[0] * 2};
  }
};

}  // namespace

TEST_CASE("an operation in place that is refused memory anywhere leaves no wrong gradient",
          "[A2][A4][A13]") {
  using Operation = std::function<void(const Changed&)>;
  const Tensor place = from_values({0}, {.dtype = kInt64});
  const std::vector<Operation> operations = {
      [](const Changed& c) { c.y.mul_(c.other); },
      [](const Changed& c) { c.first.add_(c.other.slice(0, 1, 2)); },
      [](const Changed& c) { exp_(c.y); },
      [](const Changed& c) { sigmoid_(c.second); },
      [](const Changed& c) { c.y.copy_(c.other); },
      [](const Changed& c) { c.first.copy_(c.other.slice(0, 0, 1)); },
      [](const Changed& c) { c.second.zero_(); },
      [](const Changed& c) { c.first.fill_(5); },
      [&](const Changed& c) { c.y.index_put_({place}, c.other.slice(0, 0, 1)); },
      [&](const Changed& c) {
        index_put_(c.second, std::array<Index, 1>{place}, c.other.slice(0, 0, 1), true);
      },
      [](const Changed& c) { Doubled::apply(c.y); },
      [](const Changed& c) { Doubled::apply(c.first); },
  };
  int64_t refused = 0, lost = 0;
  const auto untouched = Changed().gradients();
  for (size_t i = 0; i < operations.size(); ++i) {
    Changed whole;
    operations[i](whole);
    const auto values = whole.y.to_vector();
    const auto done = whole.gradients();
    REQUIRE(done != untouched);
    for (int64_t number = 1;; ++number) {
      INFO("operation " << i << ", request " << number);
      Changed c;
      {
        farro::detail::FailingAllocation failing(number);
        try {
          operations[i](c);
        } catch (const MemoryError&) {
          ++refused;
        }
        if (!failing.refused()) break;
      }
      bool changed = c.y.to_vector() != std::vector<double>{1, 2};
      if (changed) CHECK(c.y.to_vector() == values);
      try {
        auto gradients = c.gradients();
        CHECK(gradients == (changed ? done : untouched));
      } catch (const GradError&) {
        ++lost;
        CHECK(changed);
        CHECK_FALSE(c.x.grad().defined());
        CHECK_THROWS_AS((c.first * c.second).sum().backward(), GradError);
      }
    }
  }
  CHECK(refused > 50);
  CHECK(lost > 10);
  WARN(refused << " requests were refused, " << lost << " when the elements had changed");
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
