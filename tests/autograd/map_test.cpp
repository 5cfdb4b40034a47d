#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/map.hpp>
#include <farro/autograd/map_reduce.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/launch.hpp>

using namespace farro;
using farro::test::leaf;
using Inputs = std::vector<Tensor>;

namespace {

struct Gaussian {
  template <class T>
  FARRO_FORMULA T operator()(T x, T mean, T sigma) const {
    T z = (x - mean) / sigma;
    return math::exp(T(-0.5) * z * z);
  }
};

struct Gate {
  template <class T>
  FARRO_FORMULA T operator()(T x, T w, T b) const {
    return math::tanh(x * w + b) * math::sigmoid(x) + x;
  }
};

/// More inputs than one kernel has directions, and a constant.
struct Mix {
  double scale = 0.5;
  template <class T>
  FARRO_FORMULA T operator()(T a, T b, T c, T d, T e, T f, T g, T h) const {
    return a * b + math::sin(c * d) * T(scale) + e / (f * f + T(1)) -
           select(g > h, g * g, h * h * h);
  }
};

struct Polar {
  template <class T>
  FARRO_FORMULA std::array<T, 2> operator()(T r, T angle) const {
    return {r * math::cos(angle), r * math::sin(angle)};
  }
};

/// A custom function whose backward is a map as well.
struct GateByMaps : autograd::Function<GateByMaps> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x, const Tensor& w, const Tensor& b) {
    ctx.save_for_backward({x, w, b});
    return map(Gate{}, x, w, b);
  }
  static autograd::Grads backward(autograd::Context& ctx, const autograd::Grads& dy) {
    auto derivative = [](auto x, auto w, auto b, auto g) {
      auto t = math::tanh(x * w + b), s = math::sigmoid(x), slope = (1 - t * t) * s;
      return std::array{g * (slope * w + t * s * (1 - s) + 1), g * slope * x, g * slope};
    };
    auto [dx, dw, db] = map(derivative, ctx.saved(0), ctx.saved(1), ctx.saved(2), dy[0]);
    return {dx, dw, db};
  }
};

Tensor variable(const Dims& sizes, uint64_t seed, Device device = Device(),
                DType dtype = kFloat64) {
  return test::random(sizes, {.dtype = dtype, .device = device, .requires_grad = true}, seed, 0.3,
                      1.6);
}

Inputs eight(const Dims& sizes) {
  Inputs inputs;
  for (uint64_t i = 0; i < 8; ++i) inputs.push_back(variable(sizes, 20 + i));
  return inputs;
}

Tensor mix(const Inputs& x) { return map(Mix{}, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]); }

}  // namespace

TEST_CASE("map computes what the composed operations compute", "[A23]") {
  for (Device device : test::host_devices()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      CAPTURE(device.str(), name_of(dtype));
      Tensor x = variable({3, 1, 37}, 1, device, dtype), w = variable({5, 1}, 2, device, dtype),
             b = variable({37}, 3, device, dtype);
      Tensor fused = map(Gate{}, x, w, b);
      Tensor composed = tanh(x * w + b) * sigmoid(x) + x;
      CHECK(fused.sizes() == Dims{3, 5, 37});
      CHECK(fused.grad_fn()->name() == "MapBackward");
      double tolerance = dtype == kFloat32 ? 1e-5 : 1e-13;
      CHECK(test::difference(fused, composed, {tolerance, tolerance}) == "");
      Tensor dy = test::random(fused.sizes(), {.dtype = dtype, .device = device}, 9, -1, 1);
      auto one = grad({fused}, {x, w, b}, {}, {dy}), two = grad({composed}, {x, w, b}, {}, {dy});
      for (size_t i = 0; i < 3; ++i)
        CHECK(test::difference(one[i], two[i], {20 * tolerance, 20 * tolerance}) == "");
    }
  }
}

TEST_CASE("map passes gradcheck and gradgradcheck", "[A23]") {
  auto gaussian = [](const Inputs& in) { return map(Gaussian{}, in[0], in[1], in[2]); };
  auto lambda = [](const Inputs& in) {
    return map([](auto x, auto y) { return x * math::tanh(y) + math::log(x); }, in[0], in[1]);
  };
  for (const Dims& sizes : {Dims{}, Dims{1}, Dims{7}, Dims{2, 3}, Dims{0}}) {
    CAPTURE(to_string(sizes));
    Inputs three{variable(sizes, 1), variable({}, 2), variable(sizes, 3)};
    CHECK(gradcheck(gaussian, three));
    CHECK(gradgradcheck(gaussian, three));
    Inputs two{variable(sizes, 1), variable(sizes, 2)};
    CHECK(gradcheck(lambda, two));
    CHECK(gradgradcheck(lambda, two));
    CHECK(gradcheck([](const Inputs& in) { return mix(in); }, eight(sizes)));
  }
  CHECK(gradgradcheck([](const Inputs& in) { return mix(in); }, eight({2})));
  Tensor x = variable({3, 4}, 5), y = variable({4, 3}, 6);
  CHECK(gradcheck(
      [&](const Inputs& in) {
        return lambda({in[0].transpose(0, 1), in[1]});
      },
      {x, y}));
}

TEST_CASE("map has derivatives of any order", "[A23][A8]") {
  Tensor x = leaf({0.7, 1.3});
  Tensor y = map([](auto t) { return t * t * t * t * t; }, x);
  double factor = 1;
  for (int order = 1; order <= 5; ++order) {
    y = grad({y.sum()}, {x}, {.create_graph = true})[0];
    factor *= 6 - order;
    auto values = y.to_vector();
    CHECK(std::abs(values[0] - factor * std::pow(0.7, 5 - order)) < 1e-12 * factor);
    CHECK(std::abs(values[1] - factor * std::pow(1.3, 5 - order)) < 1e-12 * factor);
  }
}

TEST_CASE("map gives several outputs", "[A23]") {
  auto polar = [](const Inputs& in) {
    auto [x, y] = map(Polar{}, in[0], in[1]);
    return Inputs{x, y};
  };
  Inputs in{variable({3, 2}, 1), variable({2}, 2)};
  CHECK(gradcheck(polar, in));
  CHECK(gradgradcheck(polar, in));
  auto [x, y] = map(Polar{}, in[0], in[1]);
  CHECK(test::difference(x, in[0] * cos(in[1]), {1e-13, 1e-13}) == "");
  // Only one of them is used: the other's gradient counts as zeros.
  Tensor g = grad({y.sum()}, {in[0]})[0];
  CHECK(test::difference(g, sin(in[1]).expand({3, 2}), {1e-13, 1e-13}) == "");
  auto pair = map([](auto a) { return std::tuple(a * a, math::exp(a)); }, in[0]);
  static_assert(std::tuple_size_v<decltype(pair)> == 2);
  CHECK(test::difference(pair[1], exp(in[0]), {1e-13, 1e-13}) == "");
}

TEST_CASE("map takes numbers among its inputs", "[A23]") {
  Tensor x = leaf({1, 2});
  Tensor y = map([](auto a, auto b) { return a * a * b; }, x, 3.0);
  CHECK(y.to_vector() == std::vector<double>{3, 12});
  y.sum().backward();
  CHECK(x.grad().to_vector() == std::vector<double>{6, 12});
}

TEST_CASE("map differentiates only with respect to what needs it", "[A23]") {
  Tensor x = variable({4}, 1), w = test::random({4}, {.dtype = kFloat64}, 2, 0.3, 1.6);
  Tensor y = map([](auto a, auto b) { return math::sqrt(b) * a; }, x, w);
  y.sum().backward();
  CHECK(x.grad().defined());
  CHECK_FALSE(w.grad().defined());
  CHECK_FALSE(map(Gaussian{}, w, w, w).requires_grad());
  NoGrad guard;
  CHECK_FALSE(map(Gaussian{}, x, x, w).requires_grad());
}

TEST_CASE("an infinite derivative of one input leaves the other's alone", "[A23][A18]") {
  Tensor x = leaf({0.0, 4.0}), y = leaf({2.0, 3.0});
  map([](auto a, auto b) { return math::sqrt(a) * b; }, x, y).sum().backward();
  CHECK(y.grad().to_vector() == std::vector<double>{0, 2});
  CHECK(x.grad().to_vector() == std::vector<double>{std::numeric_limits<double>::infinity(), 0.75});
  // Ties are those of the operations.
  Tensor a = leaf({1.0}), b = leaf({1.0});
  map([](auto s, auto t) { return math::maximum(s, t) + math::abs(s - t); }, a, b).sum().backward();
  CHECK(a.grad().item() == 0.5);
  CHECK(b.grad().item() == 0.5);
}

TEST_CASE("map promotes dtypes as an operation does", "[A23]") {
  Tensor f = variable({3}, 1, Device(), kFloat32), d = variable({3}, 2),
         h = variable({3}, 3, Device(), kBFloat16);
  Tensor n = arange(3);
  auto sum = [](auto a, auto b) { return a + b * decltype(a)(2); };
  CHECK(map(sum, f, d).dtype() == kFloat64);
  CHECK(map(sum, h, f).dtype() == kFloat32);
  CHECK(map(sum, h, h).dtype() == kBFloat16);
  CHECK(map(sum, n, n).dtype() == default_dtype());
  CHECK(map(sum, n, n).to_vector() == std::vector<double>{0, 3, 6});
  map(sum, h, f).sum().backward();
  CHECK(h.grad().dtype() == kBFloat16);
  CHECK(f.grad().to_vector() == std::vector<double>{2, 2, 2});
  CHECK(grad({map(sum, f, d).sum()}, {f}, {.create_graph = true})[0].to_vector() ==
        std::vector<double>{1, 1, 1});
}

TEST_CASE("map has the same bits on every backend, and those of its plain kernel nearly",
          "[A23][A20][bits]") {
  std::vector<std::vector<std::vector<double>>> results;
  for (Device device : test::host_devices()) {
    Tensor x = variable({70'001}, 1, device, kFloat32), w = variable({1}, 2, device, kFloat32),
           b = variable({70'001}, 3, device, kFloat32);
    auto run = [&] {
      Tensor y = map(Gate{}, x, w, b);
      auto g = grad({y.sum()}, {x, w, b});
      return std::vector{y.to_vector(), g[0].to_vector(), g[1].to_vector(), g[2].to_vector()};
    };
    results.push_back(run());
    CHECK(results.back() == results.front());
    ReferenceKernels plain;
    auto reference = run();
    for (size_t k = 0; k < reference.size(); ++k) {
      for (size_t i = 0; i < reference[k].size(); ++i) {
        double want = reference[k][i], got = results.back()[k][i];
        if (std::abs(got - want) > 1e-5 * std::max(1.0, std::abs(want)))
          FAIL(k << " " << i << " " << got << " " << want);
      }
    }
  }
}

TEST_CASE("map's saved inputs are watched, and freed", "[A23][A3]") {
  Tensor x = variable({3}, 1), w = test::random({3}, {.dtype = kFloat64}, 2, 0.3, 1.6);
  Tensor y = map([](auto a, auto b) { return a * b; }, x, w);
  w.add_(1.0);
  CHECK_THROWS_AS(y.sum().backward(), GradError);
  Tensor z = map([](auto a, auto b) { return a * b; }, x, w).sum();
  z.backward();
  CHECK_THROWS_AS(z.backward(), GradError);
  CHECK_THROWS_AS(map(Gaussian{}, variable({2}, 1), variable({3}, 2), w), ShapeError);
}

TEST_CASE("map works inside checkpoint, in a custom function, and forward",
          "[A23][A16][A21][A24]") {
  auto gate = [](const Inputs& in) { return map(Gate{}, in[0], in[1], in[2]); };
  Inputs in{variable({3, 5}, 1), variable({5}, 2), variable({3, 1}, 3)};
  Tensor dy = test::random({3, 5}, {.dtype = kFloat64}, 9, -1, 1);
  auto expected = grad({gate(in)}, in, {}, {dy});
  auto again = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return map(Gate{}, x, w, b);
  };
  auto kept = grad({checkpoint(again, in[0], in[1], in[2])}, in, {}, {dy});
  for (size_t i = 0; i < 3; ++i) CHECK(test::bitwise_equal(kept[i], expected[i]));
  CHECK(gradcheck([&](const Inputs& x) { return checkpoint(again, x[0], x[1], x[2]); }, in));

  Tensor own = GateByMaps::apply(in[0], in[1], in[2]);
  CHECK(test::bitwise_equal(own, gate(in)));
  auto twice = [](const Inputs& x) { return GateByMaps::apply(x[0], x[1], x[2]); };
  CHECK(gradcheck(twice, in, {.check_forward_ad = true}));
  CHECK(gradgradcheck(twice, in));

  Inputs along{test::random({3, 5}, {.dtype = kFloat64}, 4, -1, 1),
               test::random({5}, {.dtype = kFloat64}, 5, -1, 1),
               test::random({3, 1}, {.dtype = kFloat64}, 6, -1, 1)};
  auto composed = [](const Inputs& x) { return tanh(x[0] * x[1] + x[2]) * sigmoid(x[0]) + x[0]; };
  CHECK(test::difference(jvp(gate, in, along).second, jvp(composed, in, along).second,
                         {1e-12, 1e-12}) == "");
  auto reduced = [](const Inputs& x) {
    return map_reduce(Gate{}, Reduce::Mean, {0}, x[0], x[1], x[2]);
  };
  auto mean_of = [&](const Inputs& x) { return mean(composed(x), {0}); };
  CHECK(test::difference(jvp(reduced, in, along).second, jvp(mean_of, in, along).second,
                         {1e-12, 1e-12}) == "");
}
