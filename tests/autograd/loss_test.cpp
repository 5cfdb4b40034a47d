#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/loss.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/softmax.hpp>
#include <farro/backends/launch.hpp>

using namespace farro;
using test::from_values;
using test::random;

namespace {

const TensorOptions kLeaf{.dtype = kFloat64, .requires_grad = true};
const std::vector<Reduction> kReductions = {Reduction::None, Reduction::Mean, Reduction::Sum};

Tensor classes(const std::vector<double>& values, const Dims& sizes) {
  return from_values(values, sizes, {.dtype = kInt64});
}

struct Case {
  Tensor x, target;
};
std::vector<Case> cases() {
  return {{random({4, 3}, kLeaf), classes({0, 2, 1, 2}, {4})},
          {random({3}, kLeaf), classes({1}, {})},
          {random({2, 3, 2}, kLeaf), classes({0, 1, 2, 1}, {2, 2})},
          {test::with_strides(random({4, 3}, kLeaf), {1, 4}), classes({0, 1, 1, 0}, {4})}};
}

}  // namespace

TEST_CASE("cross_entropy and nll_loss: first and second derivatives", "[A8][A19]") {
  Tensor weight = from_values({0.5, 2, 1}, {3}, {.dtype = kFloat64});
  for (const Case& c : cases()) {
    for (Reduction reduction : kReductions) {
      for (bool weighted : {false, true}) {
        Tensor w = weighted ? weight : Tensor();
        int64_t ignored = weighted && c.x.dim() > 1 ? 2 : -100;
        INFO(to_string(c.x.sizes())
             << ", " << name_of(reduction) << (weighted ? ", weighted" : ""));
        for (double smoothing : {0.0, 0.3}) {
          auto f = [&](const auto& in) {
            return cross_entropy(in[0], c.target, w, ignored, reduction, smoothing);
          };
          CHECK(gradcheck(f, {c.x}));
          CHECK(gradgradcheck(f, {c.x}));
        }
        CHECK(gradcheck(
            [&](const auto& in) { return nll_loss(in[0], c.target, w, ignored, reduction); },
            {c.x}));
      }
    }
  }
  Tensor x = random({4, 3}, kLeaf), p = softmax(random({4, 3}, {.dtype = kFloat64}, 9), 1).detach();
  p.requires_grad_();
  CHECK(gradgradcheck(
      [&](const auto& in) {
        return cross_entropy(in[0], in[1], weight, -100, Reduction::Mean, 0.1);
      },
      {x, p}));
}

TEST_CASE("cross_entropy: the fused kernel is nll_loss of log_softmax") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
    for (int64_t n : {3, 10, 1000}) {
      TensorOptions leaf{.dtype = dtype, .requires_grad = true};
      Tensor x = random({20, n}, leaf, 1, -4, 4), y = x.detach().clone().requires_grad_();
      Tensor target = randint(0, n, {20}, {.device = x.device()}),
             fused = cross_entropy(x, target, {}, 1);
      Tensor apart = nll_loss(log_softmax(y, 1), target, {}, 1);
      fused.backward();
      apart.backward();
      test::Tolerance t = dtype == kFloat64   ? test::Tolerance{}
                          : dtype == kFloat32 ? test::Tolerance{1e-5, 1e-6}
                                              : test::Tolerance{0.03, 0.01};
      CHECK(test::difference(fused, apart, t) == "");
      CHECK(test::difference(x.grad(), y.grad(), t) == "");
      ReferenceKernels scope;
      CHECK(test::difference(cross_entropy(x, target, {}, 1), fused, t) == "");
    }
  }
}

TEST_CASE("cross_entropy: ignored targets, extreme logits, errors") {
  Tensor x = from_values({1e4, 0, -1e4, 0}, {2, 2}, kLeaf);
  Tensor loss = cross_entropy(x, classes({0, 1}, {2}));
  CHECK(loss.item() == 0);
  Tensor none = cross_entropy(x, classes({-100, -100}, {2}));
  CHECK(std::isnan(none.item()));
  none.backward();
  CHECK(x.grad().to_vector() == std::vector<double>{0, 0, 0, 0});
  CHECK_THROWS_AS(cross_entropy(x, classes({0, 2}, {2})), IndexError);
  CHECK_THROWS_AS(cross_entropy(x, classes({0}, {1})), ShapeError);
  CHECK_THROWS_AS(cross_entropy(x, from_values({0, 1}, {2}, {.dtype = kInt32})), TypeError);
  CHECK_THROWS_AS(cross_entropy(x, classes({0, 1}, {2}), {}, -100, Reduction::Mean, 2), ValueError);
  CHECK_THROWS_AS(nll_loss(x, classes({0, 1}, {2}), ones({3})), ShapeError);
  CHECK_THROWS_AS(reduction_from_name("average"), ValueError);
}

TEST_CASE("mse_loss and l1_loss: derivatives") {
  Tensor x = random({3, 2}, kLeaf, 1), y = random({3, 2}, kLeaf, 2),
         w = random({3, 2}, {.dtype = kFloat64}, 3, 0.5, 1);
  for (Reduction reduction : kReductions) {
    CHECK(gradgradcheck([&](const auto& in) { return mse_loss(in[0], in[1], reduction); }, {x, y}));
    CHECK(gradcheck([&](const auto& in) { return mse_loss(in[0], in[1], reduction, w); }, {x, y}));
    CHECK(gradcheck([&](const auto& in) { return l1_loss(in[0], in[1], reduction); }, {x, y}));
  }
}
