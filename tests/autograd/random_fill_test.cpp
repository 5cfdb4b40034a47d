#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/random_fill.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;

TEST_CASE("random fills: one seed gives one sequence, on every host backend", "[A20][M50]") {
  for (int which = 0; which < 4; ++which) {
    std::vector<Tensor> results;
    auto [serial, openmp] = test::serial_and_openmp();
    for (Device device : {serial, openmp}) {
      Generator generator(7);
      Tensor t = zeros({300, 50}, {.device = device});
      if (which == 0) uniform_(t, -1, 1, &generator);
      if (which == 1) normal_(t, 0, 2, &generator);
      if (which == 2) bernoulli_(t, 0.2, &generator);
      if (which == 3) random_(t, 0, 100, &generator);
      results.push_back(t);
      Tensor again = zeros_like(t);
      uniform_(again, 0, 1, &generator);
      CHECK_FALSE(test::bitwise_equal(t, again));
    }
    CHECK(test::bitwise_equal(results[0], results[1]));
  }
}

TEST_CASE("random fills: in place, on a leaf only without recording, with zero gradient", "[A2]") {
  Tensor leaf = zeros({3}, {.requires_grad = true});
  CHECK_THROWS_AS(uniform_(leaf), GradError);
  uint32_t version = leaf.version();
  {
    NoGrad guard;
    normal_(leaf);
  }
  CHECK(leaf.version() == version + 1);
  Tensor y = leaf * 2;
  uniform_(y);
  sum(y).backward();
  CHECK(leaf.grad().to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("random fills: errors") {
  Tensor ints = zeros({3}, {.dtype = kInt64}), floats = zeros({3});
  CHECK_THROWS_AS(uniform_(ints), TypeError);
  CHECK_THROWS_AS(normal_(floats, 0, -1), ValueError);
  CHECK_THROWS_AS(uniform_(floats, 1, 0), ValueError);
  CHECK_THROWS_AS(bernoulli_(floats, 1.5), ValueError);
  CHECK_THROWS_AS(random_(ints, 3, 3), ValueError);
  CHECK(all(random_(zeros({100}, {.dtype = kUInt8})) >= 0).item<bool>());
}

TEST_CASE("dropout: keeps, scales, and draws the same numbers in backward") {
  Generator generator(3);
  Tensor x = ones({1000}, {.dtype = kFloat64, .requires_grad = true});
  Tensor y = dropout(x, 0.25, true, &generator);
  sum(y).backward();
  CHECK(test::bitwise_equal(x.grad(), y.detach()));
  CHECK(std::abs(y.detach().mean().item() - 1) < 0.1);
  CHECK(dropout(x, 0.5, false).is_same(x));
  CHECK(sum(dropout(x, 1)).item() == 0);
  CHECK_THROWS_AS(dropout(x, -0.1), ValueError);
  auto f = [](const std::vector<Tensor>& in) {
    Generator same(5);
    return square(dropout(in[0], 0.4, true, &same));
  };
  Tensor z = test::random({6}, {.dtype = kFloat64, .requires_grad = true});
  CHECK(gradcheck(f, {z}));
  CHECK(gradgradcheck(f, {z}));
}
