#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <numbers>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <support/example_program.hpp>
#include <farro/backends/runtime.hpp>
#include <farro/examples/burgers/derivatives.hpp>
#include <farro/examples/burgers/exact.hpp>
#include <farro/examples/burgers/network.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double kViscosity = 0.01 / std::numbers::pi;

/// The first derivative of f at x, exact for polynomials up to degree 4.
template <class F>
double slope(const F& f, double x, double h) {
  return (f(x - 2 * h) - 8 * f(x - h) + 8 * f(x + h) - f(x + 2 * h)) / (12 * h);
}
template <class F>
double curvature(const F& f, double x, double h) {
  return (-f(x - 2 * h) + 16 * f(x - h) - 30 * f(x) + 16 * f(x + h) - f(x + 2 * h)) / (12 * h * h);
}

}  // namespace

TEST_CASE("example burgers: the quadrature has the moments of exp(-z²)") {
  for (int n : {1, 2, 5, 40, 200}) {
    example::GaussHermite rule = example::gauss_hermite(n);
    double moment =
        std::sqrt(std::numbers::pi);  // of z^k, k = 0, 2, 4, …: (k - 1)/2 times the one before
    for (int k = 0; k < std::min(2 * n, 30); k += 2) {
      double sum = 0, odd = 0;
      for (size_t i = 0; i < rule.nodes.size(); ++i) {
        sum += rule.weights[i] * std::pow(rule.nodes[i], k);
        odd += rule.weights[i] * std::pow(rule.nodes[i], k + 1);
      }
      CAPTURE(n, k);
      CHECK(std::abs(sum - moment) < 1e-12 * moment);
      CHECK(std::abs(odd) < 1e-11 * moment);
      moment *= 0.5 * (k + 1);
    }
  }
}

TEST_CASE("example burgers: the exact solution solves the equation") {
  example::BurgersSolution u(kViscosity);
  for (double x : {-1.0, -0.7, 0.0, 0.3, 1.0}) {
    CHECK(std::abs(u(0, x) + std::sin(std::numbers::pi * x)) < 1e-14);
    CHECK(std::abs(u(1e-9, x) + std::sin(std::numbers::pi * x)) < 1e-7);
  }
  for (double t : {0.1, 0.4, 0.8, 1.0}) {
    CHECK(std::abs(u(t, 1)) < 1e-12);
    CHECK(std::abs(u(t, 0)) < 1e-12);
    for (double x : {0.002, 0.01, 0.05, 0.3, 0.9}) {
      CAPTURE(t, x);
      CHECK(std::abs(u(t, x) + u(t, -x)) < 1e-12);
      double u_t = slope([&](double s) { return u(s, x); }, t, 1e-4);
      double u_x = slope([&](double y) { return u(t, y); }, x, 1e-4);
      double u_xx = curvature([&](double y) { return u(t, y); }, x, 1e-4);
      CHECK(std::abs(u_t + u(t, x) * u_x - kViscosity * u_xx) <
            2e-5 * (1 + std::abs(u(t, x) * u_x)));
    }
  }
}

TEST_CASE("example burgers: the exact solution's steepest slope is the known one") {
  // Basdevant et al., Spectral and finite difference solutions of the Burgers equation, 1986:
  // 152.00516 at πt = 1.6037.
  example::BurgersSolution u(kViscosity);
  auto steepness = [&](double t) { return -slope([&](double x) { return u(t, x); }, 0, 2e-4); };
  double at = 1.6037 / std::numbers::pi;
  CHECK(std::abs(steepness(at) - 152.00516) < 1e-3);
  CHECK(steepness(at - 0.01) < steepness(at));
  CHECK(steepness(at + 0.01) < steepness(at));
}

TEST_CASE("example burgers: more nodes of the quadrature change nothing") {
  example::BurgersSolution u(kViscosity), finer(kViscosity, 280);
  for (double t : {0.01, 0.3, 1.0}) {
    for (double x : {-0.99, -0.5, -0.003, 0.02, 0.7})
      CHECK(std::abs(u(t, x) - finer(t, x)) < 1e-11);
  }
}

TEST_CASE("example burgers: both ways give the same derivatives, and those of differences") {
  test::for_each_device([](Device device) {
    CAPTURE(device.str());
    manual_seed(3);
    TensorOptions form{.dtype = kFloat64, .device = device};
    example::BurgersNetwork net(16, 3);
    net.to(device, kFloat64);
    Tensor t = rand({50, 1}, form), x = rand({50, 1}, form) * 2.0 - 1.0;
    auto f = [&](const Tensor& time, const Tensor& place) { return net(time, place); };
    example::Derivatives reverse = example::by_reverse(f, t, x),
                         forward = example::by_forward(f, t, x);
    test::Tolerance close{1e-12, 1e-12};
    CHECK(test::difference(forward.u, reverse.u, close) == "");
    CHECK(test::difference(forward.u_t, reverse.u_t, close) == "");
    CHECK(test::difference(forward.u_x, reverse.u_x, close) == "");
    CHECK(test::difference(forward.u_xx, reverse.u_xx, close) == "");
    double h = 1e-3;
    Tensor u_xx = (f(t, x + h) - f(t, x) * 2.0 + f(t, x - h)) / (h * h);
    CHECK(test::difference(u_xx, reverse.u_xx, {1e-3, 1e-3}) == "");
    Tensor u_t = (f(t + h, x) - f(t - h, x)) / (2 * h);
    CHECK(test::difference(u_t, reverse.u_t, {1e-4, 1e-4}) == "");

    // What training needs: the parameters' gradients.
    auto gradients = [&](const example::Derivatives& d) {
      Tensor r = example::burgers_residual(d, kViscosity);
      std::vector<Tensor> parameters;
      for (const Tensor& p : net.parameters()) parameters.push_back(p);
      return grad({(r * r).mean()}, parameters, {.materialize_grads = true});
    };
    auto by_forward = gradients(forward), by_reverse = gradients(reverse);
    for (size_t i = 0; i < by_forward.size(); ++i) {
      CHECK(by_reverse[i].abs().max().item() > 0);
      CHECK(test::difference(by_forward[i], by_reverse[i], {1e-10, 1e-10}) == "");
    }
  });
}

TEST_CASE("example burgers: the network has the initial and boundary values") {
  manual_seed(4);
  example::BurgersNetwork net(8, 2);
  net.to(kFloat64);
  NoGrad guard;
  TensorOptions form{.dtype = kFloat64};
  Tensor x = linspace(-1, 1, 21, form).unsqueeze(1), t = linspace(0, 1, 21, form).unsqueeze(1);
  CHECK(test::difference(net(zeros_like(x), x), -sin(x * std::numbers::pi), {1e-14, 1e-14}) == "");
  for (double border : {-1.0, 1.0}) CHECK(net(t, full_like(t, border)).abs().max().item() < 1e-14);
}

TEST_CASE(
    "example burgers: a short training lowers the error, the same for both ways, and is drawn") {
  test::TemporaryFolder folder;
  std::string small = "--steps 300 --points 256 --width 16 --depth 3 --threads 1 --dtype float64 ";
  test::ProgramResult reverse = test::run_example(folder, "burgers", small + "--output a");
  INFO(reverse.err);
  REQUIRE(reverse.status == 0);
  const std::string label = "relative L2 error ";
  double before = test::number_after(reverse.out.substr(0, reverse.out.find(" before")), label);
  double after = test::number_after(reverse.out, label);
  CHECK(before > 0.4);
  CHECK(after < 0.9 * before);
  std::string svg = test::contents_of(folder / "a" / "burgers.svg");
  CHECK_THAT(svg, ContainsSubstring("t = 0.25") && ContainsSubstring("Training loss") &&
                      ContainsSubstring("</svg>"));

  test::ProgramResult forward =
      test::run_example(folder, "burgers", small + "--derivatives forward --output b");
  REQUIRE(forward.status == 0);
  CHECK(std::abs(test::number_after(forward.out, label) - after) < 0.01 * after);
}

TEST_CASE("example burgers: the same bits on Serial and OpenMP with 1 and 2 threads") {
  test::serial_and_openmp();
  test::TemporaryFolder folder;
  std::string small = "--steps 20 --points 64 --width 8 --depth 2 ", expected;
  for (const char* way :
       {"--backend serial", "--backend openmp --threads 1", "--backend openmp --threads 2"}) {
    test::ProgramResult result = test::run_example(folder, "burgers", small + way);
    REQUIRE(result.status == 0);
    std::string svg = test::contents_of(folder / "burgers" / "burgers.svg");
    REQUIRE(svg.size() > 1000);
    if (expected.empty()) expected = svg;
    CHECK(svg == expected);
  }
}

TEST_CASE("example burgers: errors are one line, with status 2") {
  test::TemporaryFolder folder;
  for (const char* arguments : {"--steps 0", "--derivatives sideways", "--nonsense"}) {
    test::check_one_line_error(test::run_example(folder, "burgers", arguments), "--help");
  }
  test::check_one_line_error(test::run_example(folder, "burgers", "--backend nonsense"),
                             "nonsense");
  test::check_one_line_error(test::run_example(folder, "burgers", "--output err/x"), "--output");
  test::ProgramResult help = test::run_example(folder, "burgers", "--help");
  CHECK(help.status == 0);
  CHECK_THAT(help.out, ContainsSubstring("--derivatives"));
}
