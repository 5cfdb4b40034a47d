#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <support/threads.hpp>
#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/saved_tensors.hpp>
#include <farro/autograd/tape_meter.hpp>
#include <farro/backends/memory.hpp>

using namespace farro;
using farro::test::leaf;
using Values = std::vector<double>;

namespace {

constexpr int64_t kBytes = 8000;  // of a tensor of 1000 numbers

Tensor thousand(double value = 0.5) { return leaf(Values(1000, value)); }

void check(const TapeMeter& meter, int64_t nodes, int64_t tensors, int64_t bytes, int64_t peak) {
  TapeMeterStats stats = meter.stats();
  CHECK(stats.nodes == nodes);
  CHECK(stats.saved_tensors == tensors);
  CHECK(stats.saved_bytes == bytes);
  CHECK(stats.peak_saved_bytes == peak);
}

}  // namespace

TEST_CASE("a meter counts nodes and the distinct memory of saved tensors, which backward frees",
          "[A3][A6]") {
  Tensor x = thousand();
  TapeMeter meter;
  check(meter, 0, 0, 0, 0);
  Tensor y = x * x;  // a node, and the leaf's
  check(meter, 2, 2, kBytes, kBytes);
  y = exp(y);  // keeps its result
  check(meter, 3, 3, 2 * kBytes, 2 * kBytes);
  y = (y + y).sum();  // keep nothing
  check(meter, 5, 3, 2 * kBytes, 2 * kBytes);
  y.backward({.retain_graph = true});
  check(meter, 5, 3, 2 * kBytes, 2 * kBytes);
  y.backward();
  check(meter, 5, 0, 0, 2 * kBytes);
  meter.reset_peak();
  check(meter, 5, 0, 0, 0);
  CHECK(x.grad().to_vector()[0] == 2 * (2 * 0.5 * std::exp(0.25) * 2));
}

TEST_CASE("a meter sees memory fall node by node, and the tape of a gradient") {
  Tensor x = thousand();
  TapeMeter meter;
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = tanh(y);
  check(meter, 11, 10, 10 * kBytes, 10 * kBytes);
  std::vector<int64_t> bytes;
  Tensor z = y + y;
  z.register_hook([&](const Tensor&) { bytes.push_back(meter.stats().saved_bytes); });
  x.register_hook([&](const Tensor&) { bytes.push_back(meter.stats().saved_bytes); });
  z.sum().backward();
  CHECK(bytes == std::vector<int64_t>{10 * kBytes, 0});
  meter.reset_peak();
  {
    Tensor g = grad({tanh(x).sum()}, {x}, {.create_graph = true})[0];
    CHECK(meter.stats().saved_tensors > 1);
    CHECK(meter.stats().saved_bytes > kBytes);
  }
  CHECK(meter.stats().saved_tensors == 0);
  CHECK(meter.stats().saved_bytes == 0);
}

TEST_CASE("under a meter saved tensors are what they are without one", "[A3]") {
  Tensor x = leaf({1, 2});
  TapeMeter meter;
  Tensor b = x * 1;
  Tensor y = (b * b).sum();
  b.add_(1);
  CHECK_THROWS_AS(y.backward(), GradError);
  auto f = [&] { return exp(x * x); };
  Tensor z = f();
  // The leaf itself is differentiated again, not an alias of it.
  Tensor g = grad({z}, {x}, {.create_graph = true}, {test::from_values({1, 1})})[0];
  Tensor h = grad({g.sum()}, {x})[0];
  CHECK(test::allclose(h, (exp(x * x) * (4.0 * x * x + 2.0)).detach()));
  z = f();
  z.sum().backward();
  CHECK_THROWS_AS(z.sum().backward(), GradError);
}

TEST_CASE("a meter counts the tensors that a SavedTensors scope packs", "[A15]") {
  Tensor x = thousand();
  auto run = [&] { return exp(x * x); };
  SECTION("in another dtype") {
    TapeMeter meter;
    SavedTensorsAs half(kFloat32);
    Tensor y = run();
    // Each save makes a copy: two of the leaf, one of the result.
    check(meter, 3, 3, 3 * kBytes / 2, 3 * kBytes / 2);
    y.sum().backward();
    CHECK(meter.stats().saved_bytes == 0);
  }
  SECTION("within the scope") {
    SavedTensors copies([](const Tensor& t) { return t.clone(); },
                        [](const Tensor& t) { return t; });
    Tensor y;
    {
      TapeMeter meter;
      y = run();
      check(meter, 3, 3, 3 * kBytes, 3 * kBytes);
    }
    y.sum().backward();
    CHECK(x.grad().defined());
  }
  SECTION("as something else") {
    TapeMeter meter;
    std::vector<Tensor> elsewhere;
    SavedTensors numbers(
        [&](const Tensor& t) {
          elsewhere.push_back(t.detach());
          return elsewhere.size() - 1;
        },
        [&](size_t place) { return elsewhere[place]; });
    Tensor y = run();
    check(meter, 3, 3, 0, 0);
    y.sum().backward();
    CHECK(meter.stats().saved_tensors == 0);
  }
  // The scopes have ended in their order.
  Tensor y = run();
  int64_t packed = 0;
  {
    SavedTensors count([&](const Tensor& t) { return ++packed, t; },
                       [](const Tensor& t) { return t; });
    { TapeMeter meter; }
    run();
  }
  CHECK(packed == 3);
  run();
  CHECK(packed == 3);
}

TEST_CASE("graphs outlive their meter, and meters within each other count on") {
  Tensor x = thousand(), y;
  {
    TapeMeter outer;
    Tensor before = x * x;
    {
      TapeMeter inner;
      y = exp(before);
      check(inner, 1, 1, kBytes, kBytes);
    }
    check(outer, 3, 3, 2 * kBytes, 2 * kBytes);
    TapeMeter next;
    check(next, 0, 0, 0, 0);
    y = tanh(y);
    check(next, 1, 1, kBytes, kBytes);
    check(outer, 4, 4, 3 * kBytes, 3 * kBytes);
  }
  y.sum().backward();
  y = {};
  CHECK(x.grad().defined());
}

TEST_CASE("another thread may use and free what a meter counts, and is not counted itself",
          "[A17]") {
  Tensor x = thousand();
  TapeMeter meter;
  std::vector<Tensor> roots;
  for (int i = 0; i < 8; ++i) roots.push_back(exp(x + x));
  check(meter, 17, 8, 8 * kBytes, 8 * kBytes);
  test::on_threads(8, [&](int i) {
    auto k = static_cast<size_t>(i);
    Tensor own = exp(x.detach().requires_grad_());
    roots[k].sum().backward();
    roots[k] = {};
  });
  check(meter, 17, 0, 0, 8 * kBytes);
}

TEST_CASE("checkpointed blocks keep their inputs, and one block's tensors at a time", "[A16]") {
  constexpr int kBlocks = 8;
  Tensor x = thousand();
  auto block = [](const Tensor& a) { return tanh(tanh(tanh(a))); };
  auto run = [&](bool checkpointed) {
    x.set_grad({});
    TapeMeter meter;
    reset_peak_memory_stats();
    int64_t before = memory_stats().allocated;
    Tensor y = x;
    for (int i = 0; i < kBlocks; ++i) y = checkpointed ? checkpoint(block, y) : block(y);
    CHECK(meter.stats().saved_bytes == (checkpointed ? kBlocks : 3 * kBlocks) * kBytes);
    y.sum().backward();
    y = {};
    CHECK(meter.stats().saved_tensors == 0);
    CHECK(meter.stats().saved_bytes == 0);
    return std::pair(meter.stats().peak_saved_bytes, memory_stats().peak_allocated - before);
  };
  auto [plain, plain_memory] = run(false);
  Values expected = x.grad().to_vector();
  auto [peak, memory] = run(true);
  CHECK(x.grad().to_vector() == expected);
  CHECK(plain == 3 * kBlocks * kBytes);
  CHECK(peak == (kBlocks + 3) * kBytes);
  // What is really allocated falls likewise: each block's tensors go when it is done.
  CHECK(plain_memory > 3 * kBlocks * kBytes);
  CHECK(memory < (kBlocks + 8) * kBytes * 5 / 4);
}
