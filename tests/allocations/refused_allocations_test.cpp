#include <catch2/catch_test_macros.hpp>

#include <memory>
#include <new>

#include <support/training_step.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/memory.hpp>
#include <farro/optim/adam.hpp>

#include <allocations/count_allocations.hpp>

/// What a training step leaves behind when malloc, or operator new, fails in it: in lists,
/// functions and messages, as in the memory of tensors.

using namespace farro;
using namespace farro::test;

namespace {

int64_t check_allocations(Device device, DType dtype, bool penalty, TrainingStep::Hooks hooks) {
  Places none;
  TrainingStep step(device, dtype, none, hooks);
  std::vector<Tensor> start;
  for (const Tensor& p : step.parameters()) start.push_back(p.detach().clone());
  std::unique_ptr<optim::Optimizer> optimizer;
  auto restart = [&] {
    step.zero_grad();
    optimizer = std::make_unique<optim::Adam>(step.parameters());
    NoGrad guard;
    for (size_t i = 0; i < start.size(); ++i) step.parameters()[i].copy_(start[i]);
  };
  auto run = [&] {
    Tensor loss = step.forward_backward(penalty);
    optimizer->step();
    return loss;
  };
  restart();
  uint64_t before = hash_of(step.parameters()), result = step.result_of(run()),
           after = hash_of(step.parameters());
  restart();
  step.result_of(run());
  restart();
  int64_t live = memory_stats(device).allocated;
  for (int64_t number = 1;; ++number) {
    INFO("allocation " << number << " of a step on " << device.str() << " in " << name_of(dtype)
                       << ", penalty " << penalty);
    bool threw = false, refused = false;
    {
      farro::testing::RefuseAllocation refusal(number);
      try {
        run();
      } catch (const std::bad_alloc&) {
        threw = true;
      } catch (const MemoryError&) {
        threw = true;
      }
      refused = refusal.refused();
    }
    if (!refused) return number - 1;
    // Farro's allocator asks again after it has given back what it holds, so that some refusals go
    // unnoticed.
    CHECK(hash_of(step.parameters()) == (threw ? before : after));
    CHECK(trace_left_behind() == "");
    restart();
    CHECK(memory_stats(device).allocated == live);
    CHECK(step.result_of(run()) == result);
    CHECK(hash_of(step.parameters()) == after);
    restart();
  }
}

}  // namespace

TEST_CASE(
    "a training step throws where malloc fails, changes no parameter, and works the next time",
    "[A13]") {
  if (farro::testing::allocation_count() < 0)
    SKIP("malloc can't be made to fail here: not glibc, or a sanitizer");
  int64_t total = 0;
  for (Device device : host_devices()) {
    // Not float32: oneDNN 2 reads through the null pointer where an allocation of its own fails.
    for (DType dtype : {kFloat64}) {
      for (bool penalty : {false, true}) {
        for (auto hooks : {TrainingStep::Hooks::None, TrainingStep::Hooks::Everywhere}) {
          int64_t count = check_allocations(device, dtype, penalty, hooks);
          CHECK(count > 20);
          total += count;
        }
      }
    }
  }
  WARN(total << " allocations failed");
}
