#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>

#include <support/compare.hpp>
#include <support/devices.hpp>
#include <farro/autograd/checkpoint.hpp>
#include <farro/autograd/derivatives.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/function.hpp>
#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/map_reduce.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/launch.hpp>
#include <farro/backends/memory.hpp>

using namespace farro;
using Inputs = std::vector<Tensor>;

namespace {

struct Wave {
  template <class T>
  FARRO_FUNCTION T operator()(T x, T w) const {
    return math::sin(x * T(3)) * w + x * x;
  }
};

constexpr Reduce kAll[] = {Reduce::Sum, Reduce::Mean, Reduce::Max};

Tensor variable(const Dims& sizes, uint64_t seed, Device device = Device(),
                DType dtype = kFloat64) {
  return test::random(sizes, {.dtype = dtype, .device = device, .requires_grad = true}, seed, 0.3,
                      1.6);
}

/// What it stands for, by the operations that there were before.
Tensor composed(Reduce op, IntList dims, const Tensor& x, const Tensor& w) {
  Tensor values = map(Wave{}, x, w);
  return op == Reduce::Sum    ? sum(values, dims)
         : op == Reduce::Mean ? mean(values, dims)
                              : amax(values, dims);
}

struct Case {
  Dims x, w, dims;
};
const Case kCases[] = {
    {{5, 7}, {5, 7}, {}},
    {{5, 7}, {7}, {1}},
    {{5, 7}, {5, 1}, {0}},
    {{3, 5, 9}, {9}, {0, 2}},
    {{3, 5, 9}, {3, 1, 1}, {1}},
    {{3, 5, 9}, {5, 1}, {-1, 0}},
    {{}, {}, {}},
    {{1}, {1}, {0}},
    {{2, 9000}, {9000}, {1}},
    {{9000, 6}, {6}, {0}},
    {{13, 1, 11}, {4, 1}, {1}},
    {{4}, {3, 4}, {0}},
};

IntList list(const Dims& dims) { return IntList(dims.begin(), static_cast<size_t>(dims.size())); }

}  // namespace

TEST_CASE("map_reduce has the bits of map and a reduction", "[A23][A20][bits]") {
  for (Device device : test::host_devices()) {
    for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      for (const Case& c : kCases) {
        for (Reduce op : kAll) {
          CAPTURE(device.str(), name_of(dtype), to_string(c.x), to_string(c.w), to_string(c.dims),
                  static_cast<int>(op));
          Tensor x = variable(c.x, 1, device, dtype), w = variable(c.w, 2, device, dtype);
          if (dtype == kBFloat16) {  // which the separate map rounds to in between
            Tensor fused = map_reduce(Wave{}, op, list(c.dims), x, w);
            CHECK(fused.dtype() == kBFloat16);
            CHECK(test::difference(fused.to(kFloat32),
                                   composed(op, list(c.dims), x.to(kFloat32), w.to(kFloat32)),
                                   {0.01, 0.01}) == "");
          } else {
            CHECK(test::bitwise_equal(map_reduce(Wave{}, op, list(c.dims), x, w),
                                      composed(op, list(c.dims), x, w)));
          }
        }
      }
    }
  }
}

TEST_CASE("map_reduce has the gradients of map and a reduction", "[A23]") {
  for (Device device : test::host_devices()) {
    for (const Case& c : kCases) {
      for (Reduce op : kAll) {
        CAPTURE(device.str(), to_string(c.x), to_string(c.w), to_string(c.dims),
                static_cast<int>(op));
        Tensor x = variable(c.x, 1, device), w = variable(c.w, 2, device);
        Tensor fused = map_reduce(Wave{}, op, list(c.dims), x, w),
               separate = composed(op, list(c.dims), x, w);
        CHECK(fused.grad_fn()->name() == "MapReduceBackward");
        Tensor dy = test::random(fused.sizes(), {.dtype = kFloat64, .device = device}, 9, -1, 1);
        auto one = grad({fused}, {x, w}, {}, {dy}), two = grad({separate}, {x, w}, {}, {dy});
        for (size_t i = 0; i < 2; ++i)
          CHECK(test::difference(one[i], two[i], {1e-12, 1e-12}) == "");
      }
    }
  }
}

TEST_CASE("map_reduce passes gradcheck and gradgradcheck", "[A23][A26]") {
  for (Reduce op : kAll) {
    for (const Dims& sizes : {Dims{}, Dims{1}, Dims{2, 3}, Dims{3, 2}}) {
      for (const Dims& dims : {Dims{}, Dims{0}, Dims{-1}}) {
        if (sizes.empty() && !dims.empty()) continue;
        CAPTURE(static_cast<int>(op), to_string(sizes), to_string(dims));
        auto f = [&](const Inputs& in) { return map_reduce(Wave{}, op, list(dims), in[0], in[1]); };
        Inputs in{variable(sizes, 1),
                  variable(sizes.empty() ? Dims{} : Dims{sizes[sizes.size() - 1]}, 2)};
        CHECK(gradcheck(f, in, {.check_forward_ad = true}));
        CHECK(gradgradcheck(f, in));
      }
    }
  }
  auto sums = [](const Inputs& in) { return map_reduce(Wave{}, Reduce::Sum, {}, in[0], in[1]); };
  CHECK(gradcheck(sums, {variable({0}, 1), variable({}, 2)}));
  CHECK(gradcheck(
      [&](const Inputs& in) {
        return sums({in[0].transpose(0, 1), in[1]});
      },
      {variable({3, 4}, 1), variable({3}, 2)}));
}

TEST_CASE("map_reduce of a lambda, of numbers and of nothing", "[A23]") {
  Tensor x = test::leaf({1, 5, 3}), y = test::leaf({2, 2, 2});
  auto squared = [](auto a, auto b) { return (a - b) * (a - b); };
  CHECK(map_reduce(squared, Reduce::Mean, {}, x, y).item<double>() == 11.0 / 3);
  CHECK(map_reduce(squared, Reduce::Max, {}, x, 2.5).item<double>() == 6.25);
  Tensor none = zeros({0, 3}, {.dtype = kFloat64});
  CHECK(map_reduce(squared, Reduce::Sum, {0}, none, y).to_vector() == std::vector<double>{0, 0, 0});
  CHECK(std::isnan(map_reduce(squared, Reduce::Mean, {}, none, 1).item<double>()));
  CHECK(map_reduce(squared, Reduce::Max, {1}, none, 1).sizes() == Dims{0});
  CHECK_THROWS_AS(map_reduce(squared, Reduce::Max, {0}, none, 1), ValueError);
  CHECK_THROWS_AS(map_reduce(squared, Reduce::Sum, {1}, x, y), IndexError);
  CHECK_THROWS_AS(map_reduce(squared, Reduce::Sum, {0, -1}, x, y), ValueError);
  CHECK_THROWS_AS(map_reduce(squared, Reduce::Sum, {}, x, test::leaf({1, 2})), ShapeError);
}

TEST_CASE("the largest of a map: the first of equals has the gradient, and a NaN wins",
          "[A23][A18]") {
  auto absolute = [](auto a) { return math::abs(a); };
  Tensor x = test::leaf({-3, 1, 3, 2});
  map_reduce(absolute, Reduce::Max, {}, x).backward();
  CHECK(x.grad().to_vector() == std::vector<double>{-1, 0, 0, 0});
  double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor y = test::leaf({1, nan, 7});
  Tensor top = map_reduce(absolute, Reduce::Max, {}, y);
  CHECK(std::isnan(top.item<double>()));
}

TEST_CASE("the plain kernel of map_reduce agrees", "[A23]") {
  for (const Case& c : kCases) {
    for (Reduce op : kAll) {
      CAPTURE(to_string(c.x), to_string(c.w), to_string(c.dims), static_cast<int>(op));
      Tensor x = variable(c.x, 1), w = variable(c.w, 2);
      Tensor fast = map_reduce(Wave{}, op, list(c.dims), x, w);
      Tensor dy = test::random(fast.sizes(), {.dtype = kFloat64}, 9, -1, 1);
      auto expected = grad({fast}, {x, w}, {}, {dy});
      ReferenceKernels reference;
      Tensor plain = map_reduce(Wave{}, op, list(c.dims), x, w);
      CHECK(test::difference(plain, fast, {1e-12, 1e-12}) == "");
      auto got = grad({plain}, {x, w}, {}, {dy});
      for (size_t i = 0; i < 2; ++i)
        CHECK(test::difference(got[i], expected[i], {1e-12, 1e-12}) == "");
    }
  }
}

TEST_CASE("map_reduce keeps nothing of the formula's size", "[A23]") {
  Tensor x = variable({1 << 20}, 1), w = variable({1 << 20}, 2);
  map_reduce(Wave{}, Reduce::Sum, {}, x, w);
  reset_peak_memory_stats(x.device());
  int64_t before = memory_stats(x.device()).allocated;
  Tensor y = map_reduce(Wave{}, Reduce::Sum, {}, x, w);
  CHECK(memory_stats(x.device()).peak_allocated - before < (1 << 18));
}
