#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/pool.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;
using test::random;

namespace {
const TensorOptions kLeaf{.dtype = kFloat64, .requires_grad = true};
}

TEST_CASE("pooling: first and second derivatives", "[A8][A19]") {
  Tensor line = random({2, 3, 9}, kLeaf), image = random({2, 2, 6, 7}, kLeaf),
         volume = random({1, 2, 4, 5, 4}, kLeaf);
  Tensor strided = test::with_strides(random({2, 2, 5, 4}, kLeaf), {1, 2, 4, 20});
  auto check = [](const Tensor& x, const TensorFunction& f) {
    CHECK(gradcheck(f, {x}));
    CHECK(gradgradcheck(f, {x}));
  };
  using In = const std::vector<Tensor>&;
  check(line, [](In in) { return square(max_pool1d(in[0], 3, 2, 1)); });
  check(image, [](In in) { return square(max_pool2d(in[0], 2)); });
  check(image, [](In in) {
    return square(max_pool2d(in[0], {2, 3}, {1, 2}, {1, 0}, {2, 1}, true));
  });
  check(strided, [](In in) { return square(max_pool2d(in[0], 2)); });
  check(volume, [](In in) { return square(max_pool3d(in[0], 2)); });
  check(line, [](In in) { return square(avg_pool1d(in[0], 3, 2, 1, true, false)); });
  check(image, [](In in) {
    return square(avg_pool2d(in[0], {2, 3}, {2, 1}, {1, 1}, false, true, 5));
  });
  check(strided, [](In in) { return square(avg_pool2d(in[0], 2)); });
  check(volume, [](In in) { return square(avg_pool3d(in[0], 2, 1)); });
}

TEST_CASE("pooling: shapes with and without batch, empty batches, errors") {
  CHECK(max_pool2d(random({3, 8, 8}), 2).sizes() == Dims{3, 4, 4});
  CHECK(max_pool2d(random({0, 3, 8, 8}), 2).sizes() == Dims{0, 3, 4, 4});
  CHECK(avg_pool2d(random({1, 3, 5, 5}), 2, 2, 0, true).sizes() == Dims{1, 3, 3, 3});
  CHECK_THROWS_AS(max_pool2d(random({8, 8}), 2), ShapeError);
  CHECK_THROWS_AS(max_pool2d(random({1, 1, 2, 2}), 3), ShapeError);
  CHECK_THROWS_AS(max_pool2d(random({1, 1, 8, 8}), 2, 2, 2), ValueError);
  CHECK_THROWS_AS(max_pool2d(random({1, 1, 8, 8}), 0), ValueError);
  CHECK_THROWS_AS(max_pool2d(random({1, 1, 8, 8}), {2, 2, 2}), ShapeError);
  CHECK_THROWS_AS(avg_pool1d(random({1, 1, 8}, {.dtype = kInt64}), 2), TypeError);
}

TEST_CASE("pooling: the same bits on Serial and OpenMP", "[bits][A20]") {
  std::vector<std::vector<Tensor>> results;
  auto [serial, openmp] = test::serial_and_openmp();
  for (Device device : {serial, openmp}) {
    Tensor x =
        random({8, 16, 20, 20}, {.dtype = kFloat32, .device = device, .requires_grad = true});
    Tensor y = max_pool2d(x, 3, 2, 1), z = avg_pool2d(x, 3, 1);
    (sum(y * y) + sum(z * z)).backward();
    results.push_back({y, z, x.grad()});
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    CHECK(test::bitwise_equal(results[0][i], results[1][i]));
}
