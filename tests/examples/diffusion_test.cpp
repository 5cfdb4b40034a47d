#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <array>
#include <cmath>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <support/example_program.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/examples/diffusion/stencil.hpp>

using namespace farro;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The step by the library's operations.
Tensor composed(const Tensor& u, const Tensor& a, double dt) {
  Tensor out = u.clone();
  for (int d : {0, 1}) {
    int64_t n = u.size(d);
    if (n < 2) continue;
    auto low = [&](const Tensor& x) { return x.slice(d, 0, n - 1); };
    auto high = [&](const Tensor& x) { return x.slice(d, 1, n); };
    Tensor flow = (low(a) + high(a)) * 0.5 * (high(u) - low(u)) * dt;
    low(out).add_(flow);
    high(out).sub_(flow);
  }
  return out;
}

}  // namespace

TEST_CASE("example diffusion: the kernel and its adjoint agree with the library's operations") {
  test::for_each_device([](Device device) {
    for (DType dtype : {kFloat32, kFloat64}) {
      for (const Dims& sizes : {Dims{5, 7}, Dims{1, 4}, Dims{3, 1}, Dims{1, 1}, Dims{0, 3}}) {
        CAPTURE(device.str(), name_of(dtype), to_string(sizes));
        TensorOptions form{.dtype = dtype, .device = device, .requires_grad = true};
        Tensor u = test::random(sizes, form, 1), a = test::random(sizes, form, 2),
               g = test::random(sizes, form, 3).detach();
        Tensor own = example::diffuse(u, a, 0.3), other = composed(u, a, 0.3);
        double tolerance = dtype == kFloat32 ? 1e-6 : 1e-14;
        CHECK(test::difference(own, other, {tolerance, tolerance}) == "");
        auto mine = grad({own}, {u, a}, {}, {g}),
             theirs = grad({other}, {u, a}, {.materialize_grads = true}, {g});
        for (size_t i : {size_t{0}, size_t{1}})
          CHECK(test::difference(mine[i], theirs[i], {tolerance, tolerance}) == "");
      }
    }
  });
}

TEST_CASE("example diffusion: gradient checks of both functions, and what flows is kept") {
  test::for_each_device([](Device device) {
    TensorOptions form{.dtype = kFloat64, .device = device, .requires_grad = true};
    Tensor u = test::random({4, 3}, form, 1), a = test::random({4, 3}, form, 2);
    auto divergence = [](const std::vector<Tensor>& in) {
      return example::Divergence::apply(in[0], in[1], 0.7);
    };
    auto adjoint = [](const std::vector<Tensor>& in) {
      return example::DivergenceGrad::apply(in[0], in[1], 0.7);
    };
    for (bool fast : {false, true}) {
      GradcheckOptions options{.check_forward_ad = true, .fast_mode = fast};
      CHECK(gradcheck(divergence, {u, a}, options));
      CHECK(gradgradcheck(divergence, {u, a}, options));
      CHECK(gradcheck(adjoint, {u, a}, options));
      CHECK(gradgradcheck(adjoint, {u, a}, options));
    }
    // Transposed fields come as views with other strides.
    CHECK(gradcheck(
        [&](const std::vector<Tensor>& in) {
          return divergence({in[0].t(), in[1].t()});
        },
        {u, a}));
    NoGrad guard;
    CHECK(std::abs(divergence({u, a}).sum().item()) < 1e-13);
  });
  Tensor u = zeros({3, 3});
  CHECK_THROWS_AS(example::diffuse(u, zeros({3, 4}), 1), ShapeError);
  CHECK_THROWS_AS(example::diffuse(zeros({3}), zeros({3}), 1), ShapeError);
  CHECK_THROWS_AS(example::diffuse(u.to(kInt64), u.to(kInt64), 1), TypeError);
  CHECK_THROWS_AS(example::diffuse(u, u.to(kFloat64), 1), TypeError);
}

TEST_CASE("example diffusion: Serial and OpenMP have the same bits", "[bits]") {
  auto [serial, openmp] = test::serial_and_openmp();
  std::array<std::vector<std::vector<double>>, 2> results;
  for (size_t k : {size_t{0}, size_t{1}}) {
    TensorOptions form{
        .dtype = kFloat32, .device = k == 0 ? serial : openmp, .requires_grad = true};
    Tensor u = test::random({70, 90}, form, 1), a = test::random({70, 90}, form, 2), y = u;
    for (int step = 0; step < 5; ++step) y = example::diffuse(y, a, 0.1);
    auto g = grad({(y * y).sum()}, {u, a});
    results[k] = {y.to_vector(), g[0].to_vector(), g[1].to_vector()};
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("example diffusion: the diffusivity is found and drawn") {
  test::TemporaryFolder folder;
  std::string small = "--size 16 --time-steps 40 --threads 1 --noise 0.001 --smoothing 0.001 ";
  auto few = test::run_example(folder, "diffusion", small + "--steps 5");
  auto many = test::run_example(folder, "diffusion", small + "--steps 100");
  INFO(many.err);
  REQUIRE(few.status == 0);
  REQUIRE(many.status == 0);
  CHECK_THAT(many.out, ContainsSubstring("agrees with finite differences"));
  const char* label = "relative error of the diffusivity ";
  CHECK(test::number_after(few.out, label) > 0.3);
  CHECK(test::number_after(many.out, label) < 0.05);
  CHECK(test::contents_of(folder / "diffusion" / "diffusivity.png").substr(1, 3) == "PNG");
}

TEST_CASE("example diffusion: errors are one line, with status 2") {
  test::TemporaryFolder folder;
  for (const char* arguments : {"--steps 0", "--dtype int8", "--nonsense"}) {
    test::check_one_line_error(test::run_example(folder, "diffusion", arguments), "--help");
  }
  test::check_one_line_error(test::run_example(folder, "diffusion", "--backend nonsense"),
                             "nonsense");
  test::check_one_line_error(test::run_example(folder, "diffusion", "--output err/x"), "--output");
}
