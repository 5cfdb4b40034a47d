#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/backends/memory.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/examples/train_fashion_mnist/network.hpp>
#include <farro/nn/nn.hpp>
#include <farro/optim/adam.hpp>

#include <allocations/count_allocations.hpp>

using namespace farro;

namespace {

struct Dense : nn::Module {
  nn::Ref<nn::Linear> fc1{{.in_features = 784, .out_features = 256}};
  nn::Ref<nn::Linear> fc2{{.in_features = 256, .out_features = 128}};
  nn::Ref<nn::Linear> fc3{{.in_features = 128, .out_features = 10}};
  FARRO_MEMBERS(Dense, fc1, fc2, fc3)

  Tensor forward(const Tensor& image) { return fc3(relu(fc2(relu(fc1(image.flatten(1)))))); }
};

struct Counts {
  int64_t allocations = 0;  ///< calls of malloc and its kin
  int64_t system = 0;       ///< requests of Farro's allocator to the system
  int64_t faults = 0;       ///< pages that were touched first
};

Counts counts_now(Device device) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {testing::allocation_count(), memory_stats(device).system_allocations, usage.ru_minflt};
}

/// What some training steps cost once the first ones have filled every cache.
template <class Network>
Counts steady_steps(Device device) {
  manual_seed(1);
  Network network;
  network.to(device);
  optim::Adam adam(network.parameters(), {.lr = 1e-3});
  Tensor image = randn({16, 1, 28, 28}, {.device = device}),
         label = randint(0, 10, {16}, {.device = device});
  auto step = [&] {
    adam.zero_grad();
    nn::functional::cross_entropy(network(image), label).backward();
    adam.step();
  };
  for (int i = 0; i < 5; ++i) step();
  Counts before = counts_now(device);
  {
    // FARRO_TRACE_ALLOCATIONS=1 shows who allocates.
    std::optional<testing::TraceAllocations> trace;
    if (std::getenv("FARRO_TRACE_ALLOCATIONS")) trace.emplace();
    for (int i = 0; i < 3; ++i) step();
  }
  Counts after = counts_now(device);
  return {after.allocations - before.allocations, after.system - before.system,
          after.faults - before.faults};
}

/// A step asks the system for no memory and touches no new page. What is left are small blocks of
/// malloc's own lists: some of Farro's bookkeeping, and what oneDNN makes for each call; `limit`
/// keeps them from growing.
template <class Network>
void check_steady_steps(int64_t limit) {
  if (testing::allocation_count() < 0)
    SKIP("allocations can't be counted here: not glibc, or a sanitizer");
  for (const char* device : {"serial", "openmp"}) {
    if (!is_available(device)) continue;
    INFO(device);
    Counts counts = steady_steps<Network>(Device(device));
    // The system itself may take pages away and give them back: it has some tries.
    for (int i = 0; i < 8 && counts.faults > 0; ++i) counts = steady_steps<Network>(Device(device));
    CHECK(counts.allocations <= 3 * limit);
    CHECK(counts.system == 0);
    CHECK(counts.faults == 0);
  }
}

}  // namespace

TEST_CASE("a steady training step of a dense network asks the system for nothing", "[P4]") {
  check_steady_steps<Dense>(13);
}

TEST_CASE("a steady training step of a convolutional network asks the system for nothing", "[P4]") {
  check_steady_steps<example::Network>(420);  // with oneDNN 3.12; half of it with 2.6
}
