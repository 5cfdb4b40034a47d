#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <support/compare.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise/inplace.hpp>
#include <farro/autograd/ops/pointwise_list.hpp>
#include <farro/autograd/ops/shape.hpp>

/// What pointwise operations refuse, what they give at ties and edges, and how they write in place.
/// Expected values are those of PyTorch.

namespace farro::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor integers(const std::vector<double>& values, DType dtype = kInt64) {
  return from_values(values, {.dtype = dtype});
}

/// Throws E naming the operation, and leaves self as it was.
template <class E, class F>
void check_refused(const Tensor& self, const std::string& operation, const F& f) {
  Tensor before = self.detach().clone();
  uint32_t version = self.version();
  CHECK_THROWS_MATCHES(
      f(), E, Catch::Matchers::MessageMatches(Catch::Matchers::StartsWith("[" + operation + "]")));
  CHECK(bitwise_equal(self.detach(), before));
  CHECK(self.version() == version);
}

void check_values(const char* what, const Tensor& actual, const std::vector<double>& expected) {
  INFO(what);
  CHECK(difference(actual.detach().to(kFloat64), from_values(expected, actual.sizes()),
                   {1e-12, 0}) == "");
}

}  // namespace

TEST_CASE("pointwise: subtraction and negation refuse bool") {
  Tensor mask = integers({1, 0}, kBool), numbers = integers({1, 2}), reals = from_values({1, 2});
  for (const Tensor& other : {mask, numbers, reals, Tensor(1), Tensor(true)}) {
    check_refused<TypeError>(mask, "sub", [&] { return mask - other; });
    check_refused<TypeError>(mask, "sub", [&] { return other - mask; });
    check_refused<TypeError>(mask, "sub", [&] { return sub(mask, other, 2); });
    check_refused<TypeError>(mask, "sub", [&] { return mask.sub_(other); });
  }
  check_refused<TypeError>(numbers, "sub", [&] { return numbers - true; });
  check_refused<TypeError>(reals, "sub", [&] { return reals.sub_(mask, 2); });
  check_refused<TypeError>(mask, "neg", [&] { return -mask; });
  check_refused<TypeError>(mask, "neg", [&] { return neg_(mask); });
}

TEST_CASE("pointwise: what else bool is not for") {
  Tensor mask = integers({1, 0}, kBool), yes = integers({1, 1}, kBool);
  check_refused<TypeError>(mask, "abs", [&] { return abs(mask); });
  check_refused<TypeError>(mask, "relu", [&] { return relu(mask); });
  check_refused<TypeError>(mask, "floor", [&] { return floor(mask); });
  check_refused<TypeError>(mask, "pow", [&] { return pow(mask, yes); });
  check_refused<TypeError>(mask, "div_floor", [&] { return floor_divide(mask, yes); });
  check_refused<TypeError>(mask, "remainder", [&] { return remainder(mask, yes); });
  check_refused<TypeError>(mask, "fmod", [&] { return fmod(mask, yes); });
  CHECK(bitwise_equal(mask + yes, yes));
  CHECK(bitwise_equal(mask * yes, mask));
  CHECK(bitwise_equal(square(mask), integers({1, 0})));
  CHECK(bitwise_equal(pow(mask, 2), integers({1, 0})));
  CHECK(bitwise_equal(clamp(mask, 0, 1), integers({1, 0})));
  CHECK(bitwise_equal(floor_divide(mask, integers({1, 1})), integers({1, 0})));
}

TEST_CASE("pointwise: an integer divided by 0 is an error, and nothing is written") {
  using Divide = Tensor (*)(const Tensor&, const Tensor&);
  struct Case {
    const char* name;
    Divide divide;
  };
  const Case cases[] = {
      {"div_floor", [](const Tensor& x, const Tensor& z) { return div(x, z, "floor"); }},
      {"div_trunc", [](const Tensor& x, const Tensor& z) { return div(x, z, "trunc"); }},
      {"fmod", fmod},
      {"remainder", remainder}};
  for (const Case& c : cases) {
    for (DType dtype : {kInt64, kInt32, kInt16, kInt8, kUInt8}) {
      Tensor x = integers({7, 8, 9}, dtype);
      check_refused<ValueError>(x, c.name, [&] { return c.divide(x, integers({1, 0, 2}, dtype)); });
      check_refused<ValueError>(x, c.name, [&] { return c.divide(x, 0); });
      check_refused<ValueError>(x, c.name, [&] {
        return c.divide(x, zeros({2, 1}, {.dtype = dtype}));
      });
      Tensor many = full({3, 700}, 1, {.dtype = dtype});
      many.select(0, 2).select(0, 699).fill_(0);
      check_refused<ValueError>(x, c.name, [&] {
        return c.divide(x.reshape({3, 1}), many.transpose(0, 1).transpose(0, 1));
      });
      CHECK(c.divide(empty({0}, {.dtype = dtype}), integers({0}, dtype)).numel() == 0);
    }
    Tensor reals = c.divide(from_values({1, 0}), 0);
    CHECK(std::isnan(reals.select(0, 1).item_double()));
    check_refused<TypeError>(reals, c.name, [&] { return c.divide(Tensor(true), Tensor(true)); });
  }
  // 256 is 0 as int8.
  check_refused<ValueError>(integers({7}, kInt8), "remainder",
                            [&] { return remainder(integers({7}, kInt8), 256); });
  check_values("7 / 0", div(integers({7, -7, 0}), 0), {kInf, -kInf, kNan});
  // The smallest integer by -1 wraps.
  double least = -9223372036854775808.0;
  CHECK(bitwise_equal(div(integers({least}), integers({-1}), "trunc"), integers({least})));
  CHECK(bitwise_equal(fmod(integers({least}), integers({-1})), integers({0})));
}

TEST_CASE("pointwise: factors, bounds and exponents of integers are whole") {
  Tensor x = integers({1, 2}), z = integers({3, 4});
  check_refused<TypeError>(x, "add", [&] { return add(x, z, 0.5); });
  check_refused<TypeError>(x, "add", [&] { return x.add_(z, 0.5); });
  check_refused<TypeError>(x, "sub", [&] { return sub(x, z, 0.5); });
  check_refused<TypeError>(x, "addcmul", [&] { return addcmul(x, x, z, 0.5); });
  check_refused<TypeError>(x, "addcmul", [&] { return addcmul_(x, x, z, 0.5); });
  check_refused<TypeError>(x, "clamp", [&] { return clamp_(x, 0.5); });
  check_refused<TypeError>(x, "pow", [&] { return pow_(x, 0.5); });
  check_refused<ValueError>(x, "pow", [&] { return pow_(x, -1); });
  check_refused<ValueError>(x, "pow", [&] { return pow(x, -1); });
  CHECK(bitwise_equal(add(x, z, 2), integers({7, 10})));
  CHECK(bitwise_equal(pow(integers({1, 2, -1}), integers({-1, -1, -3})), integers({1, 0, -1})));
  check_values("add", add(from_values({1, 2}), z, 0.5), {2.5, 4});
}

TEST_CASE("pointwise: comparisons are of the common dtype") {
  for (DType dtype : {kFloat16, kBFloat16}) {
    Tensor x = from_values({0.1, 0.2, 3}, {.dtype = dtype});
    for (const Tensor& tenth : {Tensor(0.1), from_values({0.1}, Dims{}, {.dtype = kFloat64}),
                                from_values({0.1}, Dims{}, {.dtype = kFloat32})}) {
      INFO(name_of(dtype) << " with " << name_of(tenth.dtype()));
      CHECK(bitwise_equal(x == tenth, integers({1, 0, 0}, kBool)));
      CHECK(bitwise_equal(x != tenth, integers({0, 1, 1}, kBool)));
      CHECK(bitwise_equal(x < tenth, integers({0, 0, 0}, kBool)));
      CHECK(bitwise_equal(x <= tenth, integers({1, 0, 0}, kBool)));
      CHECK(bitwise_equal(tenth < x, integers({0, 1, 1}, kBool)));
      CHECK(bitwise_equal(tenth >= x, integers({1, 0, 0}, kBool)));
    }
  }
  CHECK(bitwise_equal(from_values({0.1}, {.dtype = kFloat32}) == 0.1, integers({1}, kBool)));
  CHECK(bitwise_equal(integers({1, 2}, kInt8) == 257, integers({1, 0}, kBool)));
  CHECK(bitwise_equal(integers({1, 2}, kUInt8) == -255, integers({1, 0}, kBool)));
  CHECK(bitwise_equal(integers({1, 2}) < 1.5, integers({1, 0}, kBool)));
  CHECK(bitwise_equal(maximum(integers({1, 2}, kInt8), 257), integers({1, 2}, kInt8)));
}

TEST_CASE("pointwise: gradients at ties and edges", "[A18]") {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor&);
    std::vector<double> x, gradient;
  };
  const Case cases[] = {
      {"relu", relu, {0, -0.0, 1, -1}, {0, 0, 1, 0}},
      {"abs", abs, {0, -0.0, 1, -1}, {0, 0, 1, -1}},
      {"sign", sign, {0, -0.0, 2}, {0, 0, 0}},
      {"clamp",
       [](const Tensor& x) { return clamp(x, -1, 1); },
       {-1, 1, kNan, -1.5, 1.5},
       {1, 1, 0, 0, 0}},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, {-1, 1, 0}, {0, 0, 1}},
      {"relu6", relu6, {0, 6, 3}, {0, 0, 1}},
      {"hardsigmoid", hardsigmoid, {-3, 3, 0}, {0, 0, 1.0 / 6}},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, {0, -0.0, 1}, {0.01, 0.01, 1}},
      {"elu", [](const Tensor& x) { return elu(x); }, {0, -0.0, 1}, {1, 1, 1}},
      {"softshrink", [](const Tensor& x) { return softshrink(x); }, {-0.5, 0.5, 1}, {0, 0, 1}},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }, {-0.5, 0.5, 1}, {0, 0, 1}},
      {"threshold", [](const Tensor& x) { return threshold(x, 0.5, -1); }, {0.5, 0.6}, {0, 1}},
      {"softsign", softsign, {0, -0.0}, {1, 1}},
      {"sqrt", sqrt, {0}, {kInf}},
      {"rsqrt", rsqrt, {0}, {-kInf}},
      {"log", log, {0, -0.0}, {kInf, -kInf}},
      {"log1p", log1p, {-1}, {kInf}},
      {"acos", acos, {1}, {-kInf}},
      {"sinc", sinc, {0, -0.0}, {0, 0}},
      {"silu", silu, {0, -0.0}, {0.5, 0.5}},
      {"gelu", [](const Tensor& x) { return gelu(x); }, {0, -0.0}, {0.5, 0.5}},
      {"pow 0", [](const Tensor& x) { return pow(x, 0); }, {0, -0.0, 2}, {0, 0, 0}},
      {"pow 2", [](const Tensor& x) { return pow(x, 2); }, {0, 3}, {0, 6}},
      {"pow 0.5", [](const Tensor& x) { return pow(x, 0.5); }, {0, 4}, {kInf, 0.25}},
      {"0 to the x", [](const Tensor& x) { return pow(0.0, x); }, {0, 1}, {0, 0}},
      {"nan_to_num",
       [](const Tensor& x) { return nan_to_num(x); },
       {kNan, kInf, -kInf, 1},
       {0, 0, 0, 1}},
      {"frac", frac, {1, -1}, {1, 1}},
      {"round", [](const Tensor& x) { return round(x); }, {0.5, 1.5}, {0, 0}},
      {"lgamma", lgamma, {0, -1}, {-kInf, kNan}},
  };
  for (DType dtype : {kFloat64, kFloat32}) {
    for (const Case& c : cases) {
      Tensor x = from_values(c.x, {.dtype = dtype, .requires_grad = true}), y = c.f(x);
      Tensor kernel =
          grad({y}, {x}, {.retain_graph = true}, {ones(y.sizes(), {.dtype = dtype})})[0];
      Tensor recorded =
          grad({y}, {x}, {.create_graph = true}, {ones(y.sizes(), {.dtype = dtype})})[0];
      Tensor expected = from_values(c.gradient);
      INFO(c.name << " of " << name_of(dtype));
      CHECK(difference(kernel.to(kFloat64), expected, {1e-6, 0}) == "");
      CHECK(difference(recorded.detach().to(kFloat64), expected, {1e-6, 0}) == "");
    }
  }
}

TEST_CASE("pointwise: gradients of two inputs at ties and edges", "[A18]") {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor&, const Tensor&);
    std::vector<double> x, z, dx, dz;
  };
  const Case cases[] = {
      {"maximum", maximum, {1, kNan, 1}, {1, 1, kNan}, {0.5, 1, 1}, {0.5, 1, 1}},
      {"minimum", minimum, {1, kNan, 1}, {1, 1, kNan}, {0.5, 1, 1}, {0.5, 1, 1}},
      {"fmax", fmax, {1, kNan, 1}, {1, 1, kNan}, {1, 0, 1}, {0, 1, 0}},
      {"fmin", fmin, {1, kNan, 1}, {1, 1, kNan}, {1, 0, 1}, {0, 1, 0}},
      {"hypot", hypot, {0}, {0}, {kNan}, {kNan}},
      {"xlogy", xlogy, {0, 0, 0}, {0, -1, kNan}, {0, 0, kNan}, {kNan, 0, kNan}},
      {"pow", pow, {0, 0, 0, -2}, {0, 2, -1, 2}, {0, 0, -kInf, -4}, {0, 0, -kInf, kNan}},
      {"copysign", copysign, {0, -2}, {-1, 0}, {0, -1}, {0, 0}},
      {"div", [](const Tensor& x, const Tensor& z) { return div(x, z); }, {0}, {0}, {kInf}, {kNan}},
      {"remainder", remainder, {4, -4}, {2, 3}, {1, 1}, {-2, 2}},
      {"fmod", fmod, {4, -4}, {2, 3}, {1, 1}, {-2, 1}},
      {"logaddexp", logaddexp, {1}, {1}, {0.5}, {0.5}},
  };
  for (const Case& c : cases) {
    Tensor x = leaf(c.x), z = leaf(c.z), y = c.f(x, z), dy = ones(y.sizes(), {.dtype = kFloat64});
    auto kernel = grad({y}, {x, z}, {.retain_graph = true}, {dy});
    auto recorded = grad({y}, {x, z}, {.create_graph = true}, {dy});
    check_values(c.name, kernel[0], c.dx);
    check_values(c.name, kernel[1], c.dz);
    check_values(c.name, recorded[0], c.dx);
    check_values(c.name, recorded[1], c.dz);
  }
}

TEST_CASE("pointwise: in place gives what out of place gives, on every device and layout", "[A4]") {
  for_each_device([](Device device) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt8}) {
      Tensor x = from_values({1, 2, 3, 4, 5, 6}, {2, 3}, {.dtype = dtype, .device = device});
      Tensor z = from_values({3, 2, 1}, {.dtype = dtype, .device = device});
      for (Tensor self : {x.clone(), with_strides(x, {1, 2}), with_strides(x, {6, 2})}) {
        INFO(name_of(dtype) << " strides " << to_string(self.strides()));
        Tensor expected = mul(add(x, z), 2);
        self.add_(z).mul_(2);
        CHECK(bitwise_equal(self, expected));
      }
    }
  });
}

TEST_CASE("pointwise: in place over memory that the other operand reads") {
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) values.push_back(i % 97);
  Tensor x = from_values(values);
  Tensor shifted = x.clone();
  shifted.narrow(0, 1, 2999).add_(shifted.narrow(0, 0, 2999));
  CHECK(bitwise_equal(shifted.narrow(0, 1, 2999), x.narrow(0, 1, 2999) + x.narrow(0, 0, 2999)));
  Tensor flipped = x.clone().reshape({30, 100});
  Tensor square_part = flipped.narrow(1, 0, 30),
         expected = square_part.clone() * square_part.transpose(0, 1).clone();
  square_part.mul_(square_part.transpose(0, 1));
  CHECK(bitwise_equal(square_part, expected));
  Tensor doubled = x.clone();
  CHECK(doubled.add_(doubled).is_same(doubled));
  CHECK(bitwise_equal(doubled, x + x));
  Tensor first = x.clone();
  first.add_(first.narrow(0, 5, 1));  // broadcast from its own memory
  CHECK(bitwise_equal(first, x + 5.0));
}

TEST_CASE("pointwise: in place refuses overlapping memory, other shapes, leaves", "[A2]") {
  Tensor row = from_values({1, 2, 3});
  check_refused<GradError>(row, "add", [&] { return row.expand({2, 3}).add_(1.0); });
  check_refused<ShapeError>(row, "mul", [&] {
    return row.mul_(ones({2, 3}, {.dtype = kFloat64}));
  });
  check_refused<ShapeError>(row, "add", [&] { return row.add_(ones({2}, {.dtype = kFloat64})); });
  Tensor leaf_row = leaf({1, 2, 3});
  check_refused<GradError>(leaf_row, "add", [&] { return leaf_row.add_(1.0); });
  {
    NoGrad scope;
    leaf_row.add_(1.0);
  }
  check_values("no_grad", leaf_row, {2, 3, 4});
  check_refused<TypeError>(integers({1, 2}), "div", [&] { return integers({1, 2}).div_(2); });
}

TEST_CASE("pointwise: inputs that do not fit are named before any work") {
  Tensor x = ones({2, 3}), z = ones({4});
  CHECK_THROWS_MATCHES(
      add(x, z), ShapeError,
      Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("[2, 3]") &&
                                      Catch::Matchers::ContainsSubstring("[4]")));
  CHECK_THROWS_AS(where(ones({2}), ones({2}), ones({2})), TypeError);
  CHECK_THROWS_AS(bitwise_and(ones({2}), ones({2})), TypeError);
  CHECK_THROWS_AS(gelu(integers({1})), TypeError);
  CHECK_THROWS_AS(gelu(ones({2}), "sinh"), ValueError);
  CHECK_THROWS_AS(div(x, x, "up"), ValueError);
  CHECK_THROWS_AS(clamp(x, std::nullopt), ValueError);
  CHECK_THROWS_AS(hardtanh(x, 1, -1), ValueError);
  CHECK_THROWS_AS(polygamma(-1, x), ValueError);
  CHECK_THROWS_AS(prelu(x, ones({2})), ShapeError);
}

}  // namespace farro::test
