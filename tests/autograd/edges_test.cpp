#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include <support/compare.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/backends/launch.hpp>

using namespace farro;
using Values = std::vector<double>;

namespace {

/// 19 numbers, so that packs and what is left over meet a NaN.
Tensor with_nan(DType dtype, Device device) {
  Values values(19, 1);
  for (size_t i : {3, 17, 18}) values[i] = std::nan("");
  return test::from_values(values, {.dtype = dtype, .device = device});
}

template <class F>
void everywhere(F f) {
  test::for_each_device([&](Device device) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
      CAPTURE(device.str(), name_of(dtype));
      f(with_nan(dtype, device));
      if (device.is_host()) {
        ReferenceKernels reference;
        f(with_nan(dtype, device));
      }
    }
  });
}

}  // namespace

TEST_CASE("comparisons and logic know NaN") {
  Values nan(19, 0), number(19, 1), all(19, 1);
  for (size_t i : {3, 17, 18}) std::swap(nan[i], number[i]);
  everywhere([&](const Tensor& x) {
    CHECK(isnan(x).to_vector() == nan);
    CHECK(isfinite(x).to_vector() == number);
    CHECK(ne(x, x).to_vector() == nan);
    CHECK(eq(x, x).to_vector() == number);
    CHECK(lt(x, 2).to_vector() == number);
    CHECK(logical_and(x, x).to_vector() == all);
    CHECK(logical_or(x, x).to_vector() == all);
    CHECK(logical_xor(x, 0).to_vector() == all);
    CHECK(logical_not(x).to_vector() == Values(19, 0));
  });
}

TEST_CASE("nansum and nanmean leave NaN out") {
  everywhere([](const Tensor& x) {
    CHECK(nansum(x).item() == 16);
    CHECK(nanmean(x).item() == 1);
  });
}

TEST_CASE("NaN wins in maximum and minimum, and loses in fmax and fmin") {
  everywhere([](const Tensor& x) {
    CHECK(sum(isnan(maximum(x, 0))).item() == 3);
    CHECK(sum(isnan(minimum(0, x))).item() == 3);
    CHECK(sum(isnan(fmax(x, 0))).item() == 0);
    CHECK(sum(isnan(fmin(0, x))).item() == 0);
    CHECK(std::isnan(amax(x).item()));
    CHECK(std::isnan(min(x).item()));
  });
}

TEST_CASE("gradients at kinks are PyTorch's", "[A18]") {
  test::for_each_device([](Device device) {
    CAPTURE(device.str());
    auto gradient = [&](const Values& values, auto f) {
      Tensor x = test::from_values(values, {.device = device, .requires_grad = true});
      f(x).sum().backward();
      return x.grad().to_vector();
    };
    CHECK(gradient({0, -0.0, 2}, [](const Tensor& x) { return abs(x); }) == Values{0, 0, 1});
    CHECK(gradient({0, -1, 1}, [](const Tensor& x) { return relu(x); }) == Values{0, 0, 1});
    CHECK(gradient({0, 0}, [](const Tensor& x) { return norm(x); }) == Values{0, 0});
    CHECK(gradient({3, 1, 3, 3}, [](const Tensor& x) { return max(x); }) ==
          Values{1. / 3, 0, 1. / 3, 1. / 3});
    CHECK(gradient({1, 3, 1}, [](const Tensor& x) { return min(x); }) == Values{0.5, 0, 0.5});
    CHECK(gradient({3, 1, 3}, [](const Tensor& x) { return amax(x, {0}); }) == Values{0.5, 0, 0.5});
    CHECK(gradient({3, 1, 3}, [](const Tensor& x) { return max(x, 0).first; }) == Values{1, 0, 0});
    CHECK(gradient({1, 3, 1}, [](const Tensor& x) { return min(x, 0).first; }) == Values{1, 0, 0});
  });
}

TEST_CASE("at a tie maximum and minimum give each input half of the gradient", "[A18]") {
  Tensor a = test::leaf({1, 2, 3}), b = test::leaf({1, 5, 0});
  minimum(a, b).sum().backward();
  CHECK(a.grad().to_vector() == Values{0.5, 1, 0});
  CHECK(b.grad().to_vector() == Values{0.5, 0, 1});
  a.set_grad({});
  b.set_grad({});
  maximum(a, b).sum().backward();
  CHECK(a.grad().to_vector() == Values{0.5, 0, 1});
  CHECK(b.grad().to_vector() == Values{0.5, 1, 0});
}
