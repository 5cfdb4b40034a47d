#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/compare.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/warning.hpp>

using namespace farro;
using autograd::BackwardContext;
using autograd::Grads;
using Catch::Matchers::ContainsSubstring;
using farro::test::leaf;
using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

namespace {

Tensor variable(const Dims& sizes, uint64_t seed = 1) {
  return test::random(sizes, {.requires_grad = true}, seed, 0.2, 1.5);
}

/// x² with the given backward.
template <class F>
Tensor square(const Tensor& x, F backward) {
  NoGrad guard;
  Tensor y = x * x;
  EnableGrad on;
  return autograd::record("SquareBackward", y, {x}, {x}, backward);
}

/// Collects warnings while it lives.
class Warnings {
 public:
  Warnings()
      : previous_(set_warning_handler([this](const std::string& text) { texts.push_back(text); })) {
  }
  ~Warnings() { set_warning_handler(previous_); }
  std::vector<std::string> texts;

 private:
  WarningHandler previous_;
};

}  // namespace

TEST_CASE("gradcheck passes what is right", "[A25]") {
  auto f = [](const auto& in) { return tanh(in[0]) * in[1]; };
  CHECK(gradcheck(f, {variable({2, 3}), variable({3}, 2)}));
  CHECK(gradgradcheck(f, {variable({2, 3}), variable({3}, 2)}));
}

TEST_CASE("gradcheck takes functions that return a tensor, a pair or a list", "[A25]") {
  Inputs in = {variable({3})};
  CHECK(gradcheck([](const Inputs& x) { return exp(x[0]); }, in));
  CHECK(gradcheck([](auto& x) { return std::pair(exp(x[0]), x[0] * x[0]); }, in));
  CHECK(gradcheck([](auto& x) { return Inputs{exp(x[0]), x[0] * x[0], x[0]}; }, in));
  CHECK(gradcheck([](auto& x) { return x[0].split(2); }, in));
}

TEST_CASE("gradcheck takes 0-d and empty tensors", "[A25]") {
  auto f = [](auto& x) { return exp(x[0]) * x[0]; };
  CHECK(gradcheck(f, {variable({})}));
  CHECK(gradcheck(f, {variable({0})}));
  CHECK(gradcheck(f, {variable({2, 0, 3})}));
  CHECK(gradgradcheck(f, {variable({})}));
}

TEST_CASE("gradcheck leaves inputs as they were", "[A25]") {
  Tensor x = variable({5});
  auto before = test::bytes_of(x);
  uint32_t version = x.version();
  gradcheck([](auto& in) { return in[0] * in[0]; }, {x});
  CHECK(test::bytes_of(x) == before);
  CHECK(x.version() == version);
  CHECK_FALSE(x.grad().defined());
  int calls = 0;
  auto throws = [&](auto& in) {
    if (++calls == 3) throw ValueError("enough");
    return in[0] * in[0];
  };
  CHECK_THROWS_AS(gradcheck(throws, {x}), ValueError);
  CHECK(test::bytes_of(x) == before);
}

TEST_CASE("gradcheck works under NoGrad", "[A25]") {
  NoGrad guard;
  CHECK(gradcheck([](auto& in) { return in[0] * in[0]; }, {variable({2})}));
}

TEST_CASE("gradcheck looks at inputs that require grad only", "[A25]") {
  auto f = [](auto& in) { return in[0] * in[1] * in[2].to(kFloat64); };
  CHECK(gradcheck(
      f, {variable({2}), test::random({2}), test::from_values({1, 2}, {.dtype = kInt64})}));
}

TEST_CASE("gradcheck takes transposed inputs", "[A25]") {
  Tensor x = test::with_strides(variable({2, 3}), {1, 2});
  CHECK(gradcheck([](auto& in) { return in[0] * in[0] * in[0].sum(); }, {x}));
}

TEST_CASE("gradcheck needs an input that requires grad", "[A25]") {
  auto f = [](auto& in) { return in[0] * 2; };
  CHECK_THROWS_AS(gradcheck(f, {test::random({2})}), ValueError);
  CHECK_THROWS_AS(gradcheck(f, {test::random({2})}, {.raise_exception = false}), ValueError);
  CHECK_THROWS_AS(gradgradcheck(f, {test::random({2})}), ValueError);
}

TEST_CASE("gradcheck rejects inputs whose elements share places", "[A25]") {
  auto f = [](auto& in) { return in[0] * 2; };
  Tensor expanded = test::random({1}).expand({3}).requires_grad_();
  CHECK_THROWS_AS(gradcheck(f, {expanded}), GradError);
  CHECK_THROWS_AS(gradcheck(f, {expanded}, {.raise_exception = false}), GradError);
  CHECK_NOTHROW(gradcheck(f, {test::random({1}).expand({1}).requires_grad_()}));
}

TEST_CASE("gradcheck warns of inputs that are less than float64", "[A25]") {
  Warnings warnings;
  Tensor x = test::random({2}, {.dtype = kFloat32, .requires_grad = true});
  CHECK(gradcheck([](auto& in) { return in[0] * 2; }, {x}, {.eps = 1e-2, .atol = 1e-2}));
  REQUIRE(warnings.texts.size() == 1);
  CHECK_THAT(warnings.texts[0], ContainsSubstring("input 0") && ContainsSubstring("float32"));
  gradcheck([](auto& in) { return in[0] * 2; }, {variable({2})});
  CHECK(warnings.texts.size() == 1);
}

TEST_CASE("an output without history must not depend on the inputs", "[A25]") {
  CHECK(gradcheck(
      [](auto& in) {
        return Inputs{in[0] * 2, test::from_values({5})};
      },
      {variable({2})}));
  CHECK(gradcheck([](auto& in) { return Inputs{in[0] * 2, in[0].argmax(0)}; }, {variable({3})}));
  CHECK_THROWS_AS(gradcheck([](auto& in) { return in[0].detach() * 2; }, {variable({2})}),
                  GradcheckError);
}

TEST_CASE("relu at 0 fails", "[A28]") {
  auto f = [](auto& in) { return relu(in[0]); };
  CHECK_THROWS_AS(gradcheck(f, {leaf({1, 0})}), GradcheckError);
  CHECK(gradcheck(f, {leaf({1, -1})}));
}

TEST_CASE("a wrong sign fails", "[A28]") {
  auto f = [](auto& in) {
    return square(in[0],
                  [](const BackwardContext& c) -> Grads { return {c.grad() * c.saved(0) * -2}; });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({3})}), GradcheckError);
  CHECK_FALSE(gradcheck(f, {variable({3})}, {.raise_exception = false}));
}

TEST_CASE("a missing term fails", "[A28]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext& c) -> Grads { return {c.grad() * c.saved(0)}; });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({3})}), GradcheckError);
}

TEST_CASE("a gradient that goes missing altogether fails", "[A28]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext&) -> Grads { return {}; });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({3})}), GradcheckError);
}

TEST_CASE("a transposed gradient fails", "[A28]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext& c) -> Grads {
      return {(c.grad() * c.saved(0) * 2).transpose(0, 1).contiguous()};
    });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({3, 3})}), GradcheckError);
}

TEST_CASE("a backward that gives another result each time fails", "[A28]") {
  double noise = 1e-9;
  auto f = [&](auto& in) {
    return square(in[0], [&](const BackwardContext& c) -> Grads {
      return {c.grad() * c.saved(0) * (2 + (noise += 1e-9))};
    });
  };
  CHECK_THROWS_WITH(gradcheck(f, {variable({3})}), ContainsSubstring("two runs"));
  CHECK(gradcheck(f, {variable({3})}, {.nondet_tol = 1e-6}));
}

TEST_CASE("a backward that is not zero for a zero gradient fails", "[A25]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext& c) -> Grads {
      return {c.grad() * c.saved(0) * 2 + 1e-7};
    });
  };
  CHECK_THROWS_WITH(gradcheck(f, {variable({3})}), ContainsSubstring("zero"));
}

TEST_CASE("a gradient of another shape fails", "[A25]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext& c) -> Grads {
      return {(c.grad() * c.saved(0) * 2).reshape({3, 1})};
    });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({3})}), GradError);
}

TEST_CASE("a backward that can't take null gradients fails unless that is not asked for", "[A25]") {
  auto f = [](auto& in) {
    Inputs outputs;
    {
      NoGrad guard;
      outputs = {in[0] * 2, in[0] * 3};
    }
    autograd::record("PairBackward", outputs, {in[0]}, {}, [](const BackwardContext& c) -> Grads {
      return {c.grad(0).clone() * 2 +
              (c.grad(1).defined() ? c.grad(1) * 3 : zeros_like(c.grad(0)))};
    });
    return outputs;
  };
  // A lone Jacobian of output 1 needs it as well.
  CHECK_THROWS(gradcheck(f, {variable({2})}));
  auto only_first = [&](auto& in) { return f(in)[0]; };
  CHECK(gradcheck(only_first, {variable({2})}, {.check_undefined_grad = false}));
}

TEST_CASE("the text of a mismatch names output, input and both Jacobians", "[A25]") {
  auto f = [](auto& in) {
    return Inputs{in[0] * 2, square(in[1], [](const BackwardContext& c) -> Grads {
                    return {c.grad() * c.saved(0)};
                  })};
  };
  try {
    gradcheck(f, {leaf({1, 2}), leaf({3, 100})});
    FAIL("passed");
  } catch (const GradcheckError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("output 1") && ContainsSubstring("input 1"));
    CHECK_THAT(error.what(), ContainsSubstring("numerical:\n     6   0\n     0 200\n"));
    CHECK_THAT(error.what(), ContainsSubstring("analytical:\n     3   0\n     0 100\n"));
  }
}

TEST_CASE("gradcheck takes NaN and infinity among the inputs", "[A25]") {
  Tensor x = leaf({1, std::nan(""), HUGE_VAL});
  CHECK(gradcheck([](auto& in) { return nansum(where(isinf(in[0]), 0, in[0])); }, {x}));
}

TEST_CASE("NaN in a gradient fails", "[A25]") {
  auto f = [](auto& in) {
    return square(in[0],
                  [](const BackwardContext& c) -> Grads { return {c.grad() * std::nan("")}; });
  };
  CHECK_THROWS_AS(gradcheck(f, {variable({2})}), GradcheckError);
}

TEST_CASE("gradgradcheck finds a backward that is not recorded", "[A26]") {
  auto f = [](auto& in) {
    return square(in[0], [](const BackwardContext& c) -> Grads {
      return {c.grad() * c.saved(0).detach() * 2};
    });
  };
  CHECK(gradcheck(f, {variable({3})}));
  CHECK_THROWS_AS(gradgradcheck(f, {variable({3})}), GradcheckError);
  CHECK_FALSE(gradgradcheck(f, {variable({3})}, {.raise_exception = false}));
}

TEST_CASE("gradgradcheck takes the gradients of the outputs", "[A26]") {
  auto f = [](auto& in) { return Inputs{in[0] * in[0], exp(in[0])}; };
  CHECK(gradgradcheck(f, {variable({3})}, {}, {variable({3}, 2), variable({3}, 3)}));
  CHECK(gradgradcheck(f, {variable({3})}, {}, {test::random({3}), variable({3}, 3)}));
  CHECK_THROWS_AS(gradgradcheck(f, {variable({3})}, {}, {variable({3}, 2)}), GradError);
}

TEST_CASE("gradgradcheck of a linear function", "[A26]") {
  CHECK(gradgradcheck([](auto& in) { return in[0] * 3; }, {variable({3})}));
  CHECK(gradgradcheck([](auto& in) { return matmul(in[0], in[1]); },
                      {variable({2, 3}), variable({3, 2}, 2)}));
}

TEST_CASE("gradcheck is the same on every device", "[A25]") {
  test::for_each_device([](Device device) {
    CAPTURE(device.str());
    Tensor x = test::random({2, 3}, {.device = device, .requires_grad = true});
    CHECK(gradcheck([](auto& in) { return tanh(in[0]) * in[0].sum(); }, {x}));
  });
}

TEST_CASE("fast mode passes what is right and fails on what is wrong", "[A26][A28]") {
  GradcheckOptions fast{.fast_mode = true};
  auto f = [](const Inputs& in) { return Inputs{tanh(in[0]) * in[1], in[0].sum()}; };
  Inputs in{variable({2, 3}), variable({3}, 2)};
  CHECK(gradcheck(f, in, fast));
  CHECK(gradgradcheck(f, in, fast));
  auto wrong_sign = [](const Inputs& x) {
    return square(x[0],
                  [](const BackwardContext& c) { return Grads{c.grad() * c.saved(0) * -2.0}; });
  };
  CHECK_THROWS_WITH(gradcheck(wrong_sign, {in[0]}, fast), ContainsSubstring("analytical:"));
  // One wrong element among many.
  auto one_wrong = [](const Inputs& x) {
    return square(x[0], [](const BackwardContext& c) {
      Tensor grad = c.grad() * c.saved(0) * 2.0;
      grad.select(0, 1).mul_(1.1);
      return Grads{grad};
    });
  };
  CHECK_THROWS_AS(gradcheck(one_wrong, {variable({7})}, fast), GradcheckError);
  int calls = 0;
  auto unsteady = [&](const Inputs& x) {
    return square(x[0], [&](const BackwardContext& c) {
      return Grads{c.grad() * c.saved(0) * (2.0 + 1e-7 * ++calls)};
    });
  };
  CHECK_THROWS_AS(gradcheck(unsteady, {in[0]}, fast), GradcheckError);
  // The whole Jacobian takes an evaluation for each element twice, a projection two.
  int evaluations = 0;
  auto counted = [&](const Inputs& x) {
    ++evaluations;
    return x[0] * x[0];
  };
  gradcheck(counted, {variable({50})}, fast);
  CHECK(evaluations < 10);
}

TEST_CASE("gradcheck looks at forward mode too where it is asked to", "[A25][A24]") {
  GradcheckOptions forward{.check_forward_ad = true},
      fast{.check_forward_ad = true, .fast_mode = true};
  auto f = [](const Inputs& in) { return Inputs{tanh(in[0]) * in[1], in[0].sum()}; };
  Inputs in{variable({2, 3}), variable({3}, 2)};
  CHECK(gradcheck(f, in, forward));
  CHECK(gradcheck(f, in, fast));
  CHECK(gradgradcheck(f, in, forward));
  // A backward that is right as it is computed, but not as it is recorded: forward mode goes by the
  // record.
  auto lost = [](const Inputs& x) {
    return square(
        x[0], [](const BackwardContext& c) { return Grads{c.grad().detach() * c.saved(0) * 2.0}; });
  };
  CHECK(gradcheck(lost, {in[0]}));
  CHECK_THROWS_WITH(gradcheck(lost, {in[0]}, forward), ContainsSubstring("forward mode"));
  CHECK_THROWS_AS(gradcheck(lost, {in[0]}, fast), GradcheckError);
}
