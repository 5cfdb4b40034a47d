#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>

using namespace farro;
using farro::test::leaf;
using Inputs = std::vector<Tensor>;
using Values = std::vector<double>;

namespace {

Tensor values(const Dims& sizes, uint64_t seed) { return test::random(sizes, {}, seed, 0.3, 1.6); }

/// x₀² x₁ and sin x₁
Inputs pair_of(const Inputs& x) { return {x[0] * x[0] * x[1], sin(x[1])}; }

struct Cube : autograd::Function<Cube> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x * x;
  }
  static autograd::Grads backward(autograd::Context& ctx, const autograd::Grads& dy) {
    Tensor x = ctx.saved(0);
    return {dy[0] * x * x * 3.0};
  }
};

struct OnceSquare : autograd::Function<OnceSquare> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(autograd::Context& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x;
  }
  static autograd::Grads backward(autograd::Context& ctx, const autograd::Grads& dy) {
    return {dy[0] * ctx.saved(0) * 2.0};
  }
};

}  // namespace

TEST_CASE("jvp gives values and their change", "[A24]") {
  Tensor x = test::from_values({2}), z = test::from_values({0.5});
  auto [y, dy] = jvp(pair_of, {x, z}, {test::from_values({1}), test::from_values({3})});
  CHECK(y[0].item() == 2.0);
  CHECK(dy[0].item() == 2 * 2 * 0.5 + 4 * 3);
  CHECK(std::abs(dy[1].item() - 3 * std::cos(0.5)) < 1e-15);
  CHECK_FALSE(y[0].requires_grad());
  CHECK_FALSE(dy[0].requires_grad());
  // A function of one tensor gives a pair of tensors; an undefined tangent is zero.
  auto [e, de] = jvp([](const Tensor& t) { return exp(t).sum(); }, {test::from_values({0, 0})},
                     {test::from_values({1, 2})});
  CHECK(e.item() == 2);
  CHECK(de.item() == 3);
  CHECK(jvp(pair_of, {x, z}, {Tensor(), test::from_values({1})}).second[0].item() == 4);
  CHECK(jvp([](const Tensor& t) { return ones_like(t); }, {x}, {x}).second.item() == 0);
  CHECK_THROWS_AS(jvp(pair_of, {x, z}, {x}), ValueError);
  CHECK_THROWS_AS(jvp(pair_of, {x, z}, {x, values({2}, 1)}), ShapeError);
}

TEST_CASE("jvp of inputs that come back as they are", "[A24]") {
  Tensor x = test::from_values({2}), z = test::from_values({0.5});
  Inputs tangents = {test::from_values({1}), test::from_values({3})};
  auto swapped = jvp([](const Inputs& in) { return Inputs{in[1], in[0]}; }, {x, z}, tangents);
  CHECK(swapped.second[0].item() == 3);
  CHECK(swapped.second[1].item() == 1);
  // The gradient of a sum is the gradient that came, as a tensor.
  auto gradient_of_sum = [](const Inputs& in) {
    Tensor y = leaf({1});
    return grad({y + 1.0}, {y}, {.create_graph = true}, {in[0]});
  };
  CHECK(jvp(gradient_of_sum, {x}, {tangents[1]}).second[0].item() == 3);
}

TEST_CASE("vjp gives values and gradients", "[A24]") {
  Tensor x = test::from_values({2}), z = test::from_values({0.5}), one = test::from_values({1});
  auto [y, dx] = vjp(pair_of, {x, z}, {one, one});
  CHECK(dx[0].item() == 2);
  CHECK(std::abs(dx[1].item() - (4 + std::cos(0.5))) < 1e-15);
  CHECK(vjp([](const Tensor& t) { return t.sum(); }, {values({3}, 1)}).second[0].to_vector() ==
        Values{1, 1, 1});
  CHECK(vjp([&](const Inputs& in) { return in[0] * 2.0; }, {x, z}, {one}).second[1].item() == 0);
}

TEST_CASE("jvp goes through maps, custom functions, views and changes in place",
          "[A24][A21][A23][A4]") {
  Tensor x = values({4}, 1), v = values({4}, 2);
  auto check = [&](const TensorFunction& f) {
    Tensor by_rows = jacobian(f, x), by_columns = jacobian(f, x, {.forward_mode = true});
    CHECK(test::difference(by_columns, by_rows, {1e-12, 1e-12}) == "");
  };
  check([](const Tensor& t) { return map([](auto a) { return a * math::tanh(a); }, t); });
  check([](const Tensor& t) { return Cube::apply(t); });
  check([](const Tensor& t) {
    Tensor y = t * 1.0;
    y.slice(0, 1, 3).mul_(t.slice(0, 0, 2));
    y.select(0, 3).add_(t.sum());
    return y * y;
  });
  check([](const Tensor& t) { return matmul(t.view({2, 2}), t.view({2, 2}).transpose(0, 1)); });
  check([](const Tensor& t) { return std::pair(t.sum() * t, t).first.to(kFloat64); });
  CHECK_THROWS_AS(jvp([](const Tensor& t) { return OnceSquare::apply(t); }, {x}, {v}), GradError);
}

TEST_CASE("derivatives of derivatives, in each mode over each", "[A24][A8]") {
  // f = sum x⁴: Hessian 12 x², third derivative 24 x.
  auto f = [](const Tensor& x) { return (x * x * x * x).sum(); };
  Tensor x = test::from_values({0.5, 2}), v = test::from_values({1, -1});
  CHECK(hessian(f, x).to_vector() == Values{3, 0, 0, 48});
  auto [value, product] = hvp(f, {x}, {v});
  CHECK(value.item() == 16.0625);
  CHECK(product[0].to_vector() == Values{3, -48});
  // Reverse over forward.
  Tensor leaf = x.clone().requires_grad_();
  Tensor slope = jvp(f, {leaf}, {v}, {.create_graph = true}).second;
  CHECK(grad({slope}, {leaf})[0].to_vector() == Values{3, -48});
  // Forward over forward.
  auto along = [&](const Tensor& t) { return jvp(f, {t}, {v}, {.create_graph = true}).second; };
  CHECK(jvp(along, {x}, {v}).second.item() == 3 + 48);
  // Forward over reverse over reverse.
  auto twice = [&](const Tensor& t) { return vjp(f, {t}, {}, {.create_graph = true}).second[0]; };
  auto thrice = [&](const Tensor& t) {
    return vjp(twice, {t}, {v}, {.create_graph = true}).second[0];
  };
  CHECK(jvp(thrice, {x}, {v}).second.to_vector() == Values{12, 48});
  // With respect to the tangent as well.
  Tensor direction = v.clone().requires_grad_();
  Tensor change = jvp(f, {x}, {direction}, {.create_graph = true}).second;
  CHECK(grad({change}, {direction})[0].to_vector() == Values{0.5, 32});
  Tensor h = hessian(f, leaf, {.create_graph = true});
  CHECK(grad({h.sum()}, {leaf})[0].to_vector() == Values{12, 48});
}

TEST_CASE("jacobians and Hessians of several inputs and outputs", "[A24]") {
  Tensor a = values({2, 3}, 1), b = values({3}, 2);
  auto f = [](const Inputs& x) { return Inputs{matmul(x[0], x[1]), x[1] * 2.0}; };
  for (bool forward : {false, true}) {
    auto j = jacobian(f, {a, b}, {.forward_mode = forward});
    CHECK(j[0][0].sizes() == Dims{2, 2, 3});
    CHECK(test::difference(j[0][1], a, {1e-13, 1e-13}) == "");
    CHECK(j[1][0].sizes() == Dims{3, 2, 3});
    CHECK(j[1][0].abs().sum().item() == 0);
    CHECK(j[1][1].to_vector() == Values{2, 0, 0, 0, 2, 0, 0, 0, 2});
    CHECK(jacobian([](const Tensor& t) { return t * 2.0; }, zeros({0}), {.forward_mode = forward})
              .sizes() == Dims{0, 0});
  }
  auto h = hessian([](const Inputs& x) { return (matmul(x[0], x[1]) * matmul(x[0], x[1])).sum(); },
                   {a, b});
  CHECK(h[0][1].sizes() == Dims{2, 3, 3});
  CHECK(test::difference(h[1][1], matmul(a.transpose(0, 1), a) * 2.0, {1e-12, 1e-12}) == "");
  CHECK_THROWS_AS(hessian([](const Tensor& t) { return t * t; }, b), ValueError);
  CHECK_THROWS_AS(jacobian([](const Inputs& x) { return Inputs{x[0], x[0]}; }, b), ValueError);
}
