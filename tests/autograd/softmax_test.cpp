#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/softmax.hpp>

using namespace farro;
using test::random;

namespace {
const TensorOptions kLeaf{.dtype = kFloat64, .requires_grad = true};
}

TEST_CASE("softmax and log_softmax: first and second derivatives", "[A8][A19]") {
  std::vector<Tensor> inputs = {random({3, 4}, kLeaf), random({5}, kLeaf), random({}, kLeaf),
                                random({2, 3, 2}, kLeaf),
                                test::with_strides(random({3, 4}, kLeaf), {1, 3})};
  for (const Tensor& x : inputs) {
    for (int64_t dim : {0, -1}) {
      INFO(to_string(x.sizes()) << ", dim " << dim);
      CHECK(gradcheck([&](const auto& in) { return softmax(in[0], dim); }, {x}));
      CHECK(gradgradcheck([&](const auto& in) { return softmax(in[0], dim); }, {x}));
      CHECK(gradcheck([&](const auto& in) { return log_softmax(in[0], dim); }, {x}));
      CHECK(gradgradcheck([&](const auto& in) { return log_softmax(in[0], dim); }, {x}));
      CHECK(gradcheck([&](const auto& in) { return softmin(in[0], dim); }, {x}));
    }
  }
}

TEST_CASE("softmax: rows add up to 1, dtypes and errors") {
  Tensor x = random({4, 7}, {.dtype = kFloat32});
  CHECK(test::allclose(softmax(x, 1).sum({1}),
                       test::from_values({1, 1, 1, 1}, {4}, {.dtype = kFloat32}), {1e-6, 1e-6}));
  CHECK(softmax(x, 0, kFloat64).dtype() == kFloat64);
  CHECK(softmax(test::from_values({1, 2}, {2}, {.dtype = kInt64}), 0).dtype() == kFloat32);
  CHECK(softmax(random({0, 3}, kLeaf), 1).numel() == 0);
  CHECK_THROWS_AS(softmax(x, 2), IndexError);
  CHECK_THROWS_AS(softmax(x, 0, kInt32), TypeError);
}
