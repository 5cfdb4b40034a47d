#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/compare.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/record.hpp>
#include <farro/testing/gradcheck.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;
using farro::testing::PassesGradcheck;
using farro::testing::PassesGradgradcheck;

namespace {

Tensor variable() { return test::random({3}, {.requires_grad = true}, 1, 0.3, 1.6); }

/// x², whose gradient lacks the factor 2.
Tensor wrong_square(const Tensor& x) {
  return autograd::record(
      "SquareBackward", (x * x).detach(), {x}, {x},
      [](const autograd::BackwardContext& c) { return autograd::Grads{c.grad() * c.saved(0)}; });
}

}  // namespace

TEST_CASE("matchers for gradient checks", "[A27]") {
  auto right = [](const std::vector<Tensor>& in) { return tanh(in[0]) * in[0]; };
  auto wrong = [](const std::vector<Tensor>& in) { return wrong_square(in[0]); };
  REQUIRE_THAT(right, PassesGradcheck({variable()}));
  REQUIRE_THAT(right, PassesGradgradcheck({variable()}));
  REQUIRE_THAT(right, PassesGradcheck({variable()}, {.fast_mode = true}));
  REQUIRE_THAT([](const Tensor& x) { return exp(x); }, PassesGradcheck({variable()}));
  CHECK_THAT(wrong, !PassesGradcheck({variable()}));
  CHECK_THAT(wrong, !PassesGradcheck({variable()}, {.fast_mode = true}));
}

TEST_CASE("a matcher that fails shows the Jacobians and the wrong entry", "[A27][A28]") {
  auto matcher = PassesGradcheck({variable()});
  CHECK_THAT(matcher.describe(), ContainsSubstring("passes gradcheck"));
  CHECK_FALSE(matcher.match([](const Tensor& x) { return wrong_square(x); }));
  CHECK_THAT(matcher.describe(), ContainsSubstring("numerical:") &&
                                     ContainsSubstring("analytical:") && ContainsSubstring("row"));
}

TEST_CASE("what is no gradient error passes through a matcher", "[A27]") {
  CHECK_THROWS_AS(
      PassesGradcheck({variable().detach()}).match([](const Tensor& x) { return x * x; }),
      ValueError);
}
