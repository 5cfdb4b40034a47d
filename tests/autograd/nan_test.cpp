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
