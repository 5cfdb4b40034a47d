#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <support/threads.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>

using namespace farro;
using farro::test::leaf;
using Values = std::vector<double>;

TEST_CASE("NoGrad records nothing and ends with its scope", "[A12]") {
  Tensor x = leaf({1, 2});
  {
    NoGrad guard;
    CHECK_FALSE(grad_mode_enabled());
    CHECK_FALSE((x * x).requires_grad());
    CHECK(x.requires_grad());
  }
  CHECK(grad_mode_enabled());
  CHECK((x * x).requires_grad());
}

TEST_CASE("grad modes nest in any order", "[A12]") {
  Tensor x = leaf({1, 2});
  auto records = [&] { return (x * x).requires_grad(); };
  NoGrad off;
  {
    EnableGrad on;
    CHECK(records());
    {
      SetGradEnabled set(false);
      CHECK_FALSE(records());
      {
        EnableGrad again;
        CHECK(records());
        {
          InferenceMode inference;
          CHECK_FALSE(records());
          CHECK(inference_mode_enabled());
        }
        CHECK_FALSE(inference_mode_enabled());
        CHECK(records());
      }
      CHECK_FALSE(records());
    }
    SetGradEnabled set(true);
    CHECK(records());
  }
  CHECK_FALSE(records());
}

TEST_CASE("grad modes end with their scope when an exception leaves it", "[A12]") {
  CHECK_THROWS([] {
    NoGrad guard;
    throw std::runtime_error("out");
  }());
  CHECK(grad_mode_enabled());
}

TEST_CASE("grad modes belong to their thread", "[A12]") {
  NoGrad guard;
  bool other = false;
  test::on_threads(1, [&](int) { other = grad_mode_enabled(); });
  CHECK(other);
}

TEST_CASE(
    "tensors of inference mode can't be saved, changed in place or set to require grad outside",
    "[A12]") {
  Tensor x = leaf({1, 2}), made;
  {
    InferenceMode inference;
    made = x * 2;
    CHECK_FALSE(made.requires_grad());
    made.add_(1);
    CHECK(made.to_vector() == Values{3, 5});
  }
  CHECK_THROWS_AS(x * made, GradError);
  CHECK_THROWS_AS(made.add_(1), GradError);
  CHECK_THROWS_AS(made.requires_grad_(), GradError);
  CHECK(made.to_vector() == Values{3, 5});
  CHECK_NOTHROW(x + made);  // saves nothing
  Tensor copy = made.clone();
  CHECK_NOTHROW((x * copy).sum().backward());
  CHECK(x.grad().to_vector() == Values{3, 5});
}

TEST_CASE("InferenceMode can be switched off within itself", "[A12]") {
  Tensor x = leaf({1, 2});
  InferenceMode inference;
  {
    InferenceMode off(false);
    CHECK_FALSE(inference_mode_enabled());
    CHECK((x * x).requires_grad());
  }
  CHECK(inference_mode_enabled());
}

TEST_CASE("views made in NoGrad have no history", "[A12]") {
  Tensor x = leaf({1, 2});
  NoGrad guard;
  CHECK_FALSE(x.slice(0, 0, 1).requires_grad());
  CHECK_FALSE(x.transpose(0, 0).requires_grad());
}
