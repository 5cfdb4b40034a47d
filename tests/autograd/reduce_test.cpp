#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include <support/compare.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>

using namespace farro;
using test::bitwise_equal;
using test::from_values;
using test::random;

namespace {

const TensorOptions kLeaf{.dtype = kFloat64, .requires_grad = true};

struct Reduction {
  const char* name;
  Tensor (*f)(const Tensor&);
};

/// Reductions of a tensor of any shape; those along a dimension take the last.
const std::vector<Reduction> kReductions = {
    {"sum", [](const Tensor& x) { return sum(x); }},
    {"sum of the last", [](const Tensor& x) { return sum(x, {-1}); }},
    {"sum of the first, kept", [](const Tensor& x) { return sum(x, {0}, true); }},
    {"mean", [](const Tensor& x) { return mean(x, {-1}, true); }},
    {"prod", [](const Tensor& x) { return prod(x); }},
    {"prod of the last", [](const Tensor& x) { return prod(x, -1); }},
    {"amax", [](const Tensor& x) { return amax(x, {0}); }},
    {"min", [](const Tensor& x) { return min(x); }},
    {"max of the last", [](const Tensor& x) { return max(x, -1).first; }},
    {"var", [](const Tensor& x) { return var(x, {}, 0); }},
    {"var of the last", [](const Tensor& x) { return var(x, {-1}, 0, true); }},
    {"std",
     [](const Tensor& x) {
       return farro::std(x + arange(x.numel(), {.device = x.device()}).reshape(x.sizes()), {}, 0.5);
     }},
    {"norm", [](const Tensor& x) { return norm(x, 2, {-1}); }},
    {"norm of order 1", [](const Tensor& x) { return norm(x, 1); }},
    {"norm of order 3", [](const Tensor& x) { return norm(x, 3, {0}, true); }},
    {"norm of order 1.5", [](const Tensor& x) { return norm(x, 1.5); }},
    {"norm of order infinity", [](const Tensor& x) { return norm(x, INFINITY); }},
    {"logsumexp", [](const Tensor& x) { return logsumexp(x, {-1}); }},
    {"cumsum", [](const Tensor& x) { return cumsum(x, -1); }},
    {"cumprod", [](const Tensor& x) { return cumprod(x, 0); }},
    {"cummax", [](const Tensor& x) { return cummax(x, 0).first; }},
};

}  // namespace

TEST_CASE("reductions: first and second derivatives", "[A8][A19]") {
  std::vector<Tensor> inputs = {random({2, 3}, kLeaf, 1, 0.5, 2), random({4}, kLeaf, 2, 0.5, 2),
                                random({}, kLeaf, 3, 0.5, 2), random({2, 1, 3}, kLeaf, 4, 0.5, 2),
                                test::with_strides(random({3, 4}, kLeaf, 5, 0.5, 2), {1, 3})};
  for (const Reduction& r : kReductions) {
    for (const Tensor& x : inputs) {
      INFO(r.name << " of " << to_string(x.sizes()));
      auto f = [&](const std::vector<Tensor>& in) { return r.f(in[0]); };
      CHECK(gradcheck(f, {x}));
      CHECK(gradgradcheck(f, {x}));
    }
  }
}

TEST_CASE("reductions: gradients do not depend on the layout", "[A19]") {
  for (const Reduction& r : kReductions) {
    Tensor x = random({5, 4}, kLeaf), y = test::with_strides(x, {1, 5});
    r.f(x).sum().backward();
    r.f(y).sum().backward();
    INFO(r.name);
    CHECK(bitwise_equal(x.grad(), y.grad()));
  }
}

TEST_CASE("prod and cumprod: gradients where elements are zero, of any order") {
  for (auto values :
       {std::vector<double>{2, 0, 3}, std::vector<double>{0, 5, 0}, std::vector<double>{0, 0, 0}}) {
    Tensor x = from_values(values, {3}, kLeaf);
    CHECK(gradcheck([](const auto& in) { return prod(in[0]); }, {x}));
    CHECK(gradgradcheck([](const auto& in) { return prod(in[0], 0); }, {x}));
    CHECK(gradcheck([](const auto& in) { return cumprod(in[0], 0); }, {x}));
    CHECK(gradgradcheck([](const auto& in) { return cumprod(in[0], 0); }, {x}));
  }
  Tensor x = from_values({1, 2, 0, 4, 5, 6}, {2, 3}, kLeaf);
  CHECK(gradgradcheck([](const auto& in) { return prod(in[0], 0); }, {x}));
}

TEST_CASE("max: ties share the gradient of the whole, and the first takes that of a dimension",
          "[A18]") {
  Tensor x = from_values({1, 3, 3, 2}, {4}, kLeaf);
  max(x).backward();
  CHECK(x.grad().to_vector() == std::vector<double>{0, 0.5, 0.5, 0});
  x.set_grad({});
  auto [value, index] = max(x, 0);
  value.backward();
  CHECK(index.item<int64_t>() == 1);
  CHECK(x.grad().to_vector() == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("norm and std: the gradient at zero is zero", "[A18]") {
  for (double p : {0.5, 1.0, 1.5, 2.0, 3.0}) {
    Tensor x = from_values({0, 0, 0}, {3}, kLeaf);
    norm(x, p).backward();
    CHECK(x.grad().to_vector() == std::vector<double>{0, 0, 0});
  }
  Tensor x = from_values({2, 2, 2}, {3}, kLeaf);
  farro::std(x).backward();
  CHECK(x.grad().to_vector() == std::vector<double>{0, 0, 0});
}

TEST_CASE("reductions: dtypes, empty inputs and typed errors") {
  Tensor ints = from_values({1, 2, 3}, {3}, {.dtype = kInt32}),
         flags = from_values({1, 0, 1}, {3}, {.dtype = kBool});
  CHECK(sum(ints).dtype() == kInt64);
  CHECK(sum(flags).item<int64_t>() == 2);
  CHECK(prod(ints).item<int64_t>() == 6);
  CHECK(sum(ints, {}, false, kFloat64).dtype() == kFloat64);
  CHECK(any(flags).dtype() == kBool);
  CHECK_FALSE(all(flags).item<bool>());
  CHECK_THROWS_AS(mean(ints), TypeError);
  CHECK(mean(ints, {}, false, kFloat32).item() == 2);

  Tensor none = random({0, 3}, kLeaf);
  CHECK(sum(none).item() == 0);
  CHECK(sum(none, {0}).sizes() == Dims{3});
  CHECK(max(none, 1).first.sizes() == Dims{0});
  CHECK_THROWS_AS(max(none), ValueError);
  CHECK_THROWS_AS(argmax(none, 0), ValueError);
  sum(none).backward();
  CHECK(none.grad().sizes() == none.sizes());

  Tensor x = random({2, 3}, kLeaf);
  CHECK_THROWS_AS(sum(x, {2}), IndexError);
  CHECK_THROWS_AS(sum(x, {0, -2}), ValueError);
  CHECK_THROWS_AS(sum_to_size(x, {3, 3}), ShapeError);
  CHECK(std::isinf(logsumexp(none, {0}).to_vector()[0]));
}

TEST_CASE("sum_to_size: undoes a broadcast") {
  Tensor x = random({2, 3, 4}, kLeaf);
  for (Dims sizes : {Dims{3, 4}, Dims{1, 4}, Dims{2, 1, 4}, Dims{}, Dims{1}, Dims{2, 3, 4}}) {
    CHECK(sum_to_size(x, sizes).sizes() == sizes);
    CHECK(std::abs(sum(sum_to_size(x, sizes)).item() - sum(x).item()) < 1e-12);
    CHECK(gradgradcheck([&](const auto& in) { return square(sum_to_size(in[0], sizes)); }, {x}));
  }
}
