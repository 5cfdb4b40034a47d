#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/compare.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;
using farro::test::leaf;
using Values = std::vector<double>;

namespace {

/// A tensor with history and values of its own.
Tensor copy_of(const Tensor& x) { return x * 1; }

}  // namespace

TEST_CASE("in-place operations raise the version, views and detach share it", "[A3]") {
  Tensor a = test::from_values({1, 2, 3});
  Tensor view = a.slice(0, 1), detached = a.detach();
  uint32_t before = a.version();
  a.add_(1);
  CHECK(a.version() == before + 1);
  view.mul_(2);
  detached.zero_();
  CHECK(a.version() == before + 3);
  CHECK(view.version() == before + 3);
  CHECK(detached.version() == before + 3);
  CHECK(a.to_vector() == Values{0, 0, 0});
}

TEST_CASE("changing a tensor that backward does not need is fine", "[A3]") {
  Tensor x = leaf({1, 2});
  Tensor b = copy_of(x);
  Tensor sum = (b + b).sum();
  b.mul_(3);
  CHECK_NOTHROW(sum.backward());
  CHECK(x.grad().to_vector() == Values{2, 2});
}

TEST_CASE("changing a saved tensor is an error that names operation, shape and both versions",
          "[A3]") {
  Tensor x = leaf({1, 2});
  Tensor b = copy_of(x);
  Tensor y = (b * b).sum();
  uint32_t saved = b.version();
  b.mul_(3);
  b.add_(1);
  CHECK_THROWS_AS(y.backward({.retain_graph = true}), GradError);
  CHECK_THROWS_WITH(y.backward(), ContainsSubstring("MulBackward") && ContainsSubstring("[2]") &&
                                      ContainsSubstring("version " + std::to_string(saved)) &&
                                      ContainsSubstring("got " + std::to_string(saved + 2)));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("changing a saved tensor through a view or a detached alias is an error", "[A3]") {
  Tensor x = leaf({1, 2});
  Tensor b = copy_of(x);
  Tensor y = (b * b).sum();
  SECTION("detach") { b.detach().zero_(); }
  SECTION("view in no_grad") {
    NoGrad guard;
    b.slice(0, 0, 1).zero_();
  }
  CHECK_THROWS_AS(y.backward(), GradError);
}

TEST_CASE("a saved result may not change either", "[A3]") {
  Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  Tensor loss = y.sum();
  y.detach().zero_();
  CHECK_THROWS_WITH(loss.backward(), ContainsSubstring("ExpBackward"));
}

TEST_CASE("a parameter updated between forward and backward is an error", "[A3]") {
  Tensor w = leaf({1, 2}), x = leaf({3, 4});
  Tensor y = (w * x).sum();
  {
    NoGrad guard;
    w.sub_(1);
  }
  CHECK_THROWS_AS(y.backward(), GradError);
}

TEST_CASE("only what a gradient needs is saved", "[A3]") {
  Tensor w = leaf({1, 2}), x = test::from_values({3, 4});
  Tensor y = (w * x).sum();  // the gradient of w needs x alone
  {
    NoGrad guard;
    w.sub_(1);
  }
  CHECK_NOTHROW(y.backward());
  CHECK(w.grad().to_vector() == Values{3, 4});
}

TEST_CASE("a saved result does not keep its node alive", "[A3]") {
  int64_t before = memory_stats().allocated;
  {
    Tensor x = leaf(Values(1000, 0.5));
    Tensor y = exp(tanh(x));
  }
  CHECK(memory_stats().allocated == before);
}

TEST_CASE("backward frees what was saved", "[A6]") {
  Tensor x = leaf(Values(100'000, 0.5));
  Tensor y = exp(x * 2).sum();
  int64_t before = memory_stats().allocated;
  y.backward();
  // The saved result goes, the gradient of the leaf comes.
  CHECK(memory_stats().allocated <= before);
}

TEST_CASE("in place on a leaf that requires grad is an error in grad mode", "[A2]") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(x.add_(1), GradError);
  CHECK_THROWS_AS(x.zero_(), GradError);
  CHECK_THROWS_AS(x.slice(0, 0, 1).mul_(2), GradError);
  CHECK(x.to_vector() == Values{1, 2});
  uint32_t version = x.version();
  {
    NoGrad guard;
    x.add_(1);
    x.slice(0, 0, 1).mul_(2);
  }
  CHECK(x.version() == version + 2);
  CHECK(x.to_vector() == Values{4, 3});
  CHECK(x.is_leaf());
}

TEST_CASE("in place on memory that overlaps itself is an error", "[A2]") {
  Tensor x = test::from_values({1}).expand({3});
  CHECK_THROWS_AS(x.add_(1), GradError);
  NoGrad guard;
  CHECK_THROWS_AS(x.add_(1), GradError);
}

TEST_CASE("an in-place operation on a tensor with history is recorded", "[A2]") {
  Tensor x = leaf({1, 2});
  Tensor y = copy_of(x);
  y.mul_(x);
  y.add_(x, 3);
  CHECK(y.to_vector() == Values{4, 10});
  y.sum().backward();
  CHECK(x.grad().to_vector() == Values{5, 7});
}

TEST_CASE("an in-place operation gives a plain tensor its history", "[A2]") {
  Tensor x = leaf({1, 2}), total = test::from_values({0, 0});
  total.add_(x * x);
  CHECK(total.requires_grad());
  total.sum().backward();
  CHECK(x.grad().to_vector() == Values{2, 4});
}

TEST_CASE("in place with a result of another shape or dtype is an error that changes nothing",
          "[A2]") {
  Tensor a = test::from_values({1, 2}), n = test::from_values({1, 2}, {.dtype = kInt64});
  uint32_t version = a.version();
  CHECK_THROWS_AS(a.add_(test::from_values({1, 2, 3, 4}, {2, 2})), ShapeError);
  CHECK_THROWS_AS(n.mul_(a), TypeError);
  CHECK(a.version() == version);
  CHECK(a.to_vector() == Values{1, 2});
  CHECK(n.to_vector() == Values{1, 2});
}

TEST_CASE("detach cuts the tape and shares memory", "[A3]") {
  Tensor x = leaf({1, 2});
  Tensor y = (x * x).detach();
  CHECK(y.is_leaf());
  CHECK_FALSE(y.requires_grad());
  CHECK(x.detach().data_ptr() == x.data_ptr());
  CHECK_THROWS_AS(x.slice(0, 0, 1).detach_(), GradError);
  Tensor z = x * x;
  z.detach_();
  CHECK(z.is_leaf());
}
