#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include <farro/farro.hpp>
#include <farro/testing/gradcheck.hpp>

/// The second half of docs/autograd.md.

using namespace farro;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

using Values = std::vector<double>;

/// width · log cosh(x / width)
struct LogCosh : autograd::Function<LogCosh> {
  static Tensor forward(autograd::Context& ctx, const Tensor& x, double width) {
    ctx.save_for_backward({x});
    ctx.keep("width", width);
    Tensor a = abs(x) / width;  // exp of this would be too large a number
    return (a + log1p(exp(a * -2)) - std::log(2.0)) * width;
  }
  static autograd::Grads backward(autograd::Context& ctx, const Tensor& dy) {
    return {dy * tanh(ctx.saved(0) / ctx.kept<double>("width")), {}};  // one for each argument
  }
};

struct Huber {
  double delta = 1;
  template <class T>
  FARRO_FORMULA T operator()(T x, T y) const {
    T r = math::abs(x - y);
    return select(r < T(delta), T(0.5) * r * r, T(delta) * (r - T(0.5 * delta)));
  }
};

}  // namespace

TEST_CASE("autograd.md: a custom function") {
  Tensor x = tensor({-2000., 0., 3.}, {.dtype = kFloat64, .requires_grad = true});
  Tensor y = LogCosh::apply(x, 2.0);
  y.sum().backward();

  CHECK(y.grad_fn()->name() == "LogCoshBackward");
  CHECK(std::abs(y[2].item() - 2 * std::log(std::cosh(1.5))) < 1e-12);
  CHECK(x.grad().to_vector() == Values{-1, 0, std::tanh(1.5)});
  CHECK_THAT([](const auto& in) { return LogCosh::apply(in[0], 2.0); },
             testing::PassesGradgradcheck({x.slice(0, 1).detach().requires_grad_()}));
}

TEST_CASE("autograd.md: map") {
  Tensor x = rand({1000, 3}, {.requires_grad = true}), target = rand({3});
  Tensor loss = map(Huber{0.3}, x, target).mean();  // broadcasts
  Tensor other =
      map([](auto a, auto b) { return a * math::exp(-b * b); }, x, target);  // host backends
  loss.backward();

  CHECK(x.grad().sizes() == Dims{1000, 3});
  CHECK(other.sizes() == Dims{1000, 3});
  Tensor r = abs(x - target);
  Tensor expected = where(lt(r, 0.3), r * r * 0.5, (r - 0.15) * 0.3).mean();
  CHECK(std::abs(loss.item() - expected.item()) < 1e-6);
}

TEST_CASE("autograd.md: map_reduce") {
  Tensor x = rand({1000, 3}, {.requires_grad = true}), target = rand({3});
  Tensor total = map_reduce(Huber{0.3}, Reduce::Mean, {}, x, target);  // over everything
  Tensor worst = map_reduce(Huber{0.3}, Reduce::Max, {0}, x, target);  // of each column
  worst.sum().backward();  // reaches the element that was the largest, the first of equal ones

  Tensor all = map(Huber{0.3}, x, target);
  CHECK(total.item() == all.mean().item());
  CHECK(worst.to_vector() == amax(all, {0}).to_vector());
  CHECK(count_nonzero(x.grad()).item() == 3);
}

TEST_CASE("autograd.md: forward mode and what is built on it") {
  auto f = [](const Tensor& x) { return (x * x * x).sum(); };
  Tensor x = tensor({1., 2.}, {.dtype = kFloat64}), v = tensor({1., -1.}, {.dtype = kFloat64});
  auto [y, dy] = jvp(f, {x}, {v});           // 9, and 3·1² · 1 + 3·2² · (−1) = −9
  auto [z, dx] = vjp(f, {x});                // 9, and {3, 12}
  Tensor h = hessian(f, x);                  // 6, 0; 0, 12
  auto [value, product] = hvp(f, {x}, {v});  // 9, and {6, −12}, without the Hessian
  auto powers = [](const Tensor& t) -> Tensor { return cat({t, t * t}); };
  Tensor j = jacobian(powers, x);  // 1, 0; 0, 1; 2, 0; 0, 4

  CHECK(y.item() == 9);
  CHECK(dy.item() == -9);
  CHECK(z.item() == 9);
  CHECK(dx[0].to_vector() == Values{3, 12});
  CHECK(h.to_vector() == Values{6, 0, 0, 12});
  CHECK(value.item() == 9);
  CHECK(product[0].to_vector() == Values{6, -12});
  CHECK(j.to_vector() == Values{1, 0, 0, 1, 2, 0, 0, 4});
}

TEST_CASE("autograd.md: derivatives of derivatives") {
  Tensor x = tensor({0.5}, {.dtype = kFloat64, .requires_grad = true});
  Tensor first = grad({sin(x)}, {x}, {.create_graph = true})[0];
  Tensor second = grad({first}, {x}, {.create_graph = true})[0];
  Tensor third = grad({second}, {x})[0];  // −cos 0.5

  CHECK(std::abs(third.item() + std::cos(0.5)) < 1e-15);
}

TEST_CASE("autograd.md: checkpointing") {
  Tensor x = rand({64, 32}, {.requires_grad = true}), w = rand({32, 32}, {.requires_grad = true});
  auto block = [&](const Tensor& in) {
    Tensor h = in;
    for (int layer = 0; layer < 10; ++layer) h = tanh(matmul(h, w));
    return h;
  };
  Tensor whole = block(x), lean = checkpoint(block, x);
  int64_t all = tape_stats(whole).saved_bytes;    // 94208: x, w, and ten results
  int64_t little = tape_stats(lean).saved_bytes;  // 0: backward computes them again, from x
  Tensor a = grad({whole.sum()}, {w})[0], b = grad({lean.sum()}, {w})[0];  // the same bits

  CHECK(all == 94208);
  CHECK(little == 0);
  CHECK(a.to_vector() == b.to_vector());
}

TEST_CASE("autograd.md: a meter of the tape") {
  Tensor x = rand({64, 32}, {.requires_grad = true}), w = rand({32, 32}, {.requires_grad = true});
  auto layer = [&](const Tensor& in) { return tanh(sin(matmul(in, w))); };
  auto peak = [&](bool lean) {
    TapeMeter meter;
    Tensor h = x;
    for (int i = 0; i < 10; ++i) h = lean ? checkpoint(layer, h) : layer(h);
    h.sum().backward();
    return meter.stats().peak_saved_bytes;
  };
  int64_t all = peak(false), less = peak(true);  // 176128 and 102400 bytes

  CHECK(all == 176128);
  CHECK(less == 102400);
}

TEST_CASE("autograd.md: saved tensors") {
  int64_t bytes = 0;
  Tensor x = rand({1000}, {.requires_grad = true}), loss;
  {
    SavedTensors count(
        [&](const Tensor& t) {
          bytes += t.numel() * 4;
          return t;
        },
        [](const Tensor& t) { return t; });
    loss = (sin(x) * x).sum();  // keeps x twice, and sin x
  }
  loss.backward();
  x.set_grad({});
  {
    SavedTensorsAs half(kBFloat16);  // half the memory, and gradients of three digits
    loss = (sin(x) * x).sum();
  }
  loss.backward();

  CHECK(bytes == 12000);
  Tensor exact = cos(x) * x + sin(x);
  double error = (x.grad() - exact).abs().max().item();
  CHECK(error > 0);
  CHECK(error < 0.02);
}

TEST_CASE("autograd.md: anomaly mode") {
  AnomalyMode watch;
  Tensor x = zeros({3}, {.requires_grad = true});
  Tensor y = (sqrt(x) * 0).sum();  // the derivative of sqrt is infinite there, times 0
  std::string error;
  try {
    y.backward();
  } catch (const GradError& e) {
    error = e.what();  // names SqrtBackward, and the calls that led to sqrt
  }

  CHECK_THAT(
      error,
      StartsWith(
          R"([SqrtBackward] the gradient of input 0, of shape [3], holds a NaN; the forward was called at:)"));
}

TEST_CASE("autograd.md: gradient checks") {
  TensorOptions form{.dtype = kFloat64, .requires_grad = true};
  Tensor x = rand({3, 4}, form), y = rand({4}, form);
  auto f = [](const auto& in) { return tanh(in[0]) * in[1]; };
  bool right = gradcheck(f, {x, y}) && gradgradcheck(f, {x, y});
  right = right && gradcheck(f, {x, y}, {.check_forward_ad = true, .fast_mode = true});
  REQUIRE_THAT(f, testing::PassesGradcheck({x, y}));  // in a test with Catch2

  CHECK(right);
}

TEST_CASE("autograd.md: a gradient check that fails") {
  Tensor x = tensor({1., 2.}, {.dtype = kFloat64, .requires_grad = true});
  auto square = [](const Tensor& t) -> Tensor { return t.detach() * t; };  // a factor is lost
  std::string report;
  try {
    gradcheck(square, {x});
  } catch (const GradcheckError& error) {
    report = error.what();
  }

  CHECK_THAT(report, ContainsSubstring(R"(numerical:
   2 0
   0 4
analytical:
   1 0
   0 2)"));
}
