#include <catch2/catch_test_macros.hpp>

#include <mutex>

#include <support/compare.hpp>
#include <support/threads.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;
using Values = std::vector<double>;

TEST_CASE("fifty threads that reach one leaf sum exactly", "[A17]") {
  test::for_each_device([](Device device) {
    CAPTURE(device.str());
    Tensor w = test::from_values({1, 2, 3}, {.device = device, .requires_grad = true});
    test::on_threads(50, [&](int i) {
      for (int round = 0; round < 20; ++round) (w * (i + 1)).sum().backward();
    });
    CHECK(w.grad().to_vector() == Values(3, 20 * 51 * 25));
  });
}

TEST_CASE("independent graphs run in several threads", "[A17]") {
  test::for_each_device([](Device device) {
    CAPTURE(device.str());
    // Large enough for kernels that fork.
    Tensor values = test::random({300'000}, {.device = device});
    auto gradient = [&](int i) {
      Tensor x = values.clone().requires_grad_();
      (tanh(x * (i + 1)) * x).sum().backward();
      return test::hash(x.grad());
    };
    std::vector<uint64_t> expected, got(8);
    for (int i = 0; i < 8; ++i) expected.push_back(gradient(i));
    test::on_threads(8, [&](int i) { got[static_cast<size_t>(i)] = gradient(i); });
    CHECK(got == expected);
  });
}

TEST_CASE("threads share a part of a graph that one of them built", "[A17]") {
  Tensor x = test::leaf({1, 2, 3});
  Tensor shared = x * x;
  test::on_threads(16, [&](int i) { (shared * (i + 1)).sum().backward({.retain_graph = true}); });
  CHECK(x.grad().to_vector() == Values{2 * 136, 4 * 136, 6 * 136});
}

TEST_CASE("a graph built in one thread is differentiated and destroyed in another", "[A17]") {
  Tensor x = test::leaf({2});
  Tensor y;
  test::on_threads(1, [&](int) {
    y = x;
    for (int i = 0; i < 1000; ++i) y = y * 1 + x;
  });
  test::on_threads(1, [&](int) {
    y.backward();
    y = {};
  });
  CHECK(x.grad().to_vector() == Values{1001});
}

TEST_CASE("a leaf's accumulator may come and go in many threads", "[A17]") {
  Tensor x = test::leaf({1});
  test::on_threads(8, [&](int) {
    for (int i = 0; i < 500; ++i) {
      Tensor y = x + x;
      if (i % 2 == 0) y.backward();
    }
  });
  CHECK(x.grad().to_vector() == Values{8 * 250 * 2});
}
