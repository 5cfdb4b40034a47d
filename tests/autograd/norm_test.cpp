#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/norm.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;
using test::random;

namespace {

const TensorOptions kLeaf{.dtype = kFloat64, .requires_grad = true};
const TensorOptions kData{.dtype = kFloat64};

}  // namespace

TEST_CASE("batch_norm: first and second derivatives, training and not", "[A8][A19]") {
  std::vector<Tensor> inputs = {random({4, 3}, kLeaf), random({3, 2, 5}, kLeaf),
                                random({2, 3, 2, 2}, kLeaf),
                                test::with_strides(random({4, 3}, kLeaf), {1, 4})};
  for (const Tensor& x : inputs) {
    int64_t c = x.size(1);
    Tensor weight = random({c}, kLeaf, 2, 0.5, 2), bias = random({c}, kLeaf, 3),
           mean = random({c}, kData, 4);
    Tensor var = random({c}, kData, 5, 0.5, 2);
    for (bool training : {true, false}) {
      INFO(to_string(x.sizes()) << (training ? ", training" : ""));
      // Running statistics are left alone: a momentum of 0.
      auto f = [&](const std::vector<Tensor>& in) {
        return batch_norm(in[0], mean, var, in[1], in[2], training, 0);
      };
      auto bare = [&](const std::vector<Tensor>& in) {
        return batch_norm(in[0], mean, var, {}, {}, training, 0);
      };
      CHECK(gradcheck(f, {x, weight, bias}));
      CHECK(gradgradcheck(f, {x, weight, bias}));
      CHECK(gradcheck(bare, {x}));
      CHECK(gradgradcheck(bare, {x}));
    }
  }
}

TEST_CASE("batch_norm: running statistics move by the momentum, in place") {
  Tensor x = test::from_values({1, 2, 3, 6}, {4, 1}, kData), mean = zeros({1}, kData),
         var = ones({1}, kData);
  uint32_t before = mean.version();
  batch_norm(x, mean, var, {}, {}, true, 0.5);
  CHECK(mean.item() == 1.5);
  CHECK(var.item() == 0.5 + 0.5 * 14.0 / 3);
  CHECK(mean.version() == before + 1);
  batch_norm(x, mean, var, {}, {}, false);
  CHECK(mean.item() == 1.5);
}

TEST_CASE("batch_norm: errors come before any change") {
  Tensor x = random({4, 3}, kData), mean = zeros({3}, kData), var = ones({3}, kData);
  CHECK_THROWS_AS(batch_norm(random({3}, kData), mean, var), ShapeError);
  CHECK_THROWS_AS(batch_norm(x, zeros({2}, kData), var), ShapeError);
  CHECK_THROWS_AS(batch_norm(x, mean, var, ones({4}, kData), {}, true), ShapeError);
  CHECK_THROWS_AS(batch_norm(x, {}, {}), ValueError);
  CHECK_THROWS_AS(batch_norm(random({1, 3}, kData), mean, var, {}, {}, true), ValueError);
  CHECK(sum(abs(mean)).item() == 0);
}

TEST_CASE("layer_norm and group_norm: first and second derivatives", "[A8][A19]") {
  Tensor x = random({3, 4, 2}, kLeaf), weight = random({4, 2}, kLeaf, 2, 0.5, 2),
         bias = random({4, 2}, kLeaf, 3);
  auto layer = [](const std::vector<Tensor>& in) {
    return layer_norm(in[0], in[1].sizes(), in[1], in[2]);
  };
  CHECK(gradcheck(layer, {x, weight, bias}));
  CHECK(gradgradcheck(layer, {x, weight, bias}));
  Tensor strided = test::with_strides(random({3, 4, 2}, kLeaf), {1, 3, 12});
  CHECK(gradcheck(layer, {strided, weight, bias}));
  CHECK(gradcheck([&](const auto& in) { return layer_norm(in[0], {2}); }, {x}));
  CHECK(gradgradcheck([&](const auto& in) { return layer_norm(in[0], {3, 4, 2}); }, {x}));
  CHECK(gradcheck([&](const auto& in) { return layer_norm(in[0], {4, 2}, {}, in[1]); }, {x, bias}));

  Tensor w = random({4}, kLeaf, 4, 0.5, 2), b = random({4}, kLeaf, 5);
  auto group = [](const std::vector<Tensor>& in) { return group_norm(in[0], 2, in[1], in[2]); };
  CHECK(gradcheck(group, {x, w, b}));
  CHECK(gradgradcheck(group, {x, w, b}));
  CHECK(gradcheck([](const auto& in) { return instance_norm(in[0], {}, {}, in[1], in[2]); },
                  {x, w, b}));
}

TEST_CASE("layer_norm and group_norm: low precision, empty inputs and errors") {
  Tensor x = random({5, 6}, {.dtype = kBFloat16}), w = ones({6}, {.device = x.device()});
  CHECK(layer_norm(x, {6}, w).dtype() == kBFloat16);
  CHECK(layer_norm(random({0, 6}, kLeaf), {6}).sizes() == Dims{0, 6});
  CHECK_THROWS_AS(layer_norm(x, {5}), ShapeError);
  CHECK_THROWS_AS(layer_norm(x, {6}, ones({5}, {.device = x.device()})), ShapeError);
  CHECK_THROWS_AS(group_norm(x, 4), ValueError);
  CHECK_THROWS_AS(layer_norm(ones({2, 2}, {.dtype = kInt64}), {2}), TypeError);
}

TEST_CASE("norms: the same bits on Serial and OpenMP, forward and backward", "[bits][A20]") {
  std::vector<std::vector<Tensor>> results;
  auto [serial, openmp] = test::serial_and_openmp();
  for (Device device : {serial, openmp}) {
    TensorOptions leaf{.dtype = kFloat32, .device = device, .requires_grad = true};
    Tensor x = random({32, 16, 9, 9}, leaf), w = random({16}, leaf, 2), b = random({16}, leaf, 3);
    Tensor y = batch_norm(x, {}, {}, w, b, true), z = layer_norm(y, {9, 9});
    sum(z * z * y).backward();
    results.push_back({y, z, x.grad(), w.grad(), b.grad()});
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    CHECK(test::bitwise_equal(results[0][i], results[1][i]));
}
