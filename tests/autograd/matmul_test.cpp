#include <catch2/catch_test_macros.hpp>

#include <cmath>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/matmul.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/error.hpp>
#include <farro/backends/launch.hpp>

#include <support/compare.hpp>

using namespace farro;

namespace {

Tensor leaf(const Dims& sizes, uint64_t seed, Device device = {}, DType dtype = kFloat64) {
  return test::random(sizes, {.dtype = dtype, .device = device, .requires_grad = true}, seed);
}

}  // namespace

TEST_CASE("matmul: first and second derivatives agree with finite differences") {
  auto check = [](const TensorFunction& f, const std::vector<Tensor>& inputs) {
    CHECK(gradcheck(f, inputs));
    CHECK(gradgradcheck(f, inputs));
  };
  auto product = [](const auto& in) { return matmul(in[0], in[1]); };
  check(product, {leaf({3, 4}, 1), leaf({4, 2}, 2)});
  check(product, {leaf({4}, 1), leaf({4}, 2)});
  check(product, {leaf({3, 4}, 1), leaf({4}, 2)});
  check(product, {leaf({4}, 1), leaf({4, 2}, 2)});
  check(product, {leaf({2, 3, 4}, 1), leaf({4, 2}, 2)});
  check(product, {leaf({3, 4}, 1), leaf({2, 4, 2}, 2)});
  check(product, {leaf({2, 1, 3, 4}, 1), leaf({3, 4, 2}, 2)});
  check(product, {leaf({4}, 1), leaf({2, 4, 3}, 2)});
  check(product, {leaf({2, 3, 4}, 1), leaf({4}, 2)});
  check([](const auto& in) { return matmul(in[0].t(), in[1].t()); },
        {leaf({4, 3}, 1), leaf({2, 4}, 2)});
  check([](const auto& in) { return addmm(in[0], in[1], in[2], {.beta = 0.5, .alpha = -2}); },
        {leaf({2}, 3), leaf({3, 4}, 1), leaf({4, 2}, 2)});
  check([](const auto& in) { return linear(in[0], in[1], in[2]); },
        {leaf({2, 3, 4}, 1), leaf({5, 4}, 2), leaf({5}, 3)});
  check([](const auto& in) { return outer(in[0], in[1]); }, {leaf({3}, 1), leaf({2}, 2)});
}

TEST_CASE("matmul: linear is a product with the transpose plus bias") {
  test::for_each_device([](Device device) {
    for (DType dtype : {kFloat32, kFloat64}) {
      Tensor x = leaf({6, 3, 5}, 1, device, dtype), w = leaf({7, 5}, 2, device, dtype),
             b = leaf({7}, 3, device, dtype);
      test::Tolerance tolerance =
          dtype == kFloat32 ? test::Tolerance{1e-5, 1e-6} : test::Tolerance{};
      Tensor y = linear(x, w, b), expected = matmul(x, w.t()) + b;
      CHECK(test::difference(y.detach(), expected.detach(), tolerance) == "");
      CHECK(test::difference(linear(x[0][0], w, b).detach(), expected[0][0].detach(), tolerance) ==
            "");
      Tensor turned = test::with_strides(x.detach(), {1, 30, 6});
      CHECK(test::difference(linear(turned, w, b).detach(), expected.detach(), tolerance) == "");
      CHECK(test::difference(linear(x, w.detach().t().contiguous().t(), b).detach(),
                             expected.detach(), tolerance) == "");
    }
  });
}

TEST_CASE("matmul: transposed, sliced and expanded operands [A19]") {
  test::for_each_device([](Device device) {
    Tensor a = leaf({4, 6}, 1, device), b = leaf({6, 5}, 2, device);
    Tensor expected = matmul(a, b).detach();
    CHECK(test::allclose(matmul(a.t().contiguous().t(), b).detach(), expected));
    CHECK(test::allclose(matmul(a, b.t().contiguous().t()).detach(), expected));
    CHECK(test::allclose(
        matmul(a.slice(1, 0, 6, 2), b.slice(0, 0, 6, 2)).detach(),
        matmul(a.slice(1, 0, 6, 2).contiguous(), b.slice(0, 0, 6, 2).contiguous()).detach()));
    Tensor row = leaf({1, 6}, 3, device);
    Tensor y = matmul(row.expand({4, 6}), b);
    CHECK(test::allclose(y.detach(), matmul(row, b).expand({4, 5}).detach()));
    y.backward(test::random({4, 5}, {.device = device}, 9));
    CHECK(row.grad().sizes() == Dims{1, 6});
  });
}

TEST_CASE("matmul: empty operands give zeros or nothing, gradients too [A19]") {
  test::for_each_device([](Device device) {
    Tensor a = leaf({3, 0}, 1, device), b = leaf({0, 2}, 2, device);
    Tensor y = matmul(a, b);
    CHECK(test::allclose(y.detach(), test::from_values({0, 0, 0, 0, 0, 0}, {3, 2},
                                                       {.dtype = kFloat64, .device = device})));
    y.backward(test::random({3, 2}, {.device = device}));
    CHECK(a.grad().sizes() == Dims{3, 0});
    Tensor c = leaf({0, 4}, 3, device), w = leaf({5, 4}, 4, device), bias = leaf({5}, 5, device);
    Tensor z = linear(c, w, bias);
    CHECK(z.sizes() == Dims{0, 5});
    z.backward(test::random({0, 5}, {.device = device}));
    CHECK(w.grad().to_vector() == std::vector<double>(20, 0.0));
    CHECK(bias.grad().to_vector() == std::vector<double>(5, 0.0));
    CHECK(matmul(leaf({2, 0, 4}, 1, device), leaf({4, 3}, 2, device)).sizes() == Dims{2, 0, 3});
    CHECK(dot(leaf({0}, 1, device), leaf({0}, 2, device)).item() == 0);
  });
}

TEST_CASE("matmul: Serial and OpenMP give the same bits, forward and backward", "[bits][A20]") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
    for (int64_t n : {5, 40, 300}) {
      std::vector<Tensor> first;
      auto [serial, openmp] = test::serial_and_openmp();
      for (Device device : {serial, openmp}) {
        Tensor x = leaf({n, n + 3}, 1, device, dtype), w = leaf({n + 1, n + 3}, 2, device, dtype);
        Tensor b = leaf({n + 1}, 3, device, dtype);
        Tensor y = linear(x, w, b);
        y.backward(test::random({n, n + 1}, {.dtype = dtype, .device = device}, 4));
        std::vector<Tensor> all{y.detach(), x.grad(), w.grad(), b.grad()};
        if (first.empty()) first = all;
        for (size_t i = 0; i < all.size(); ++i) {
          CAPTURE(n, i, name_of(dtype));
          CHECK(test::bitwise_equal(first[i], all[i]));
        }
      }
    }
  }
}

TEST_CASE("matmul: the library's gradients agree with the plain kernel's") {
  Tensor x = leaf({3, 20, 30}, 1), w = leaf({25, 30}, 2);
  linear(x, w).backward(test::random({3, 20, 25}, {}, 4));
  Tensor dx = x.grad(), dw = w.grad();
  x.set_grad({});
  w.set_grad({});
  ReferenceKernels scope;
  linear(x, w).backward(test::random({3, 20, 25}, {}, 4));
  CHECK(test::difference(x.grad(), dx) == "");
  CHECK(test::difference(w.grad(), dw) == "");
}

TEST_CASE("matmul: integers") {
  Tensor a = test::from_values({1, 2, 3, 4}, {2, 2}, {.dtype = kInt64});
  CHECK(matmul(a, a).to_vector() == std::vector<double>{7, 10, 15, 22});
  CHECK(addmm(a, a, a, {.beta = 2, .alpha = 3}).to_vector() == std::vector<double>{23, 34, 51, 74});
}

TEST_CASE("matmul: a summand with factor 0 is left out, NaN and all") {
  Tensor nan = test::from_values({std::nan(""), std::nan("")}, {2}, {.dtype = kFloat64});
  Tensor a = leaf({3, 4}, 1), b = leaf({4, 2}, 2);
  CHECK(test::allclose(addmm(nan, a, b, {.beta = 0}).detach(), mm(a, b).detach()));
}

TEST_CASE("matmul: what is not saved may change in place") {
  Tensor x = test::random({3, 4}, {}, 1), w = leaf({4, 2}, 2);
  Tensor y = mm(x.detach(), w.detach().requires_grad_());
  Tensor frozen = test::random({4, 2}, {}, 3), input = leaf({3, 4}, 4);
  Tensor h = input * 2;
  Tensor z = mm(h, frozen);
  h.zero_();  // only frozen is needed for h's gradient
  z.backward(test::random({3, 2}, {}, 5));
  CHECK(input.grad().defined());
}

TEST_CASE("matmul: wrong arguments are typed errors [A12]") {
  Tensor a = leaf({3, 4}, 1), b = leaf({4, 2}, 2), v = leaf({4}, 3);
  CHECK_THROWS_AS(mm(a, a), ShapeError);
  CHECK_THROWS_AS(mm(a, v), ShapeError);
  CHECK_THROWS_AS(bmm(a, b), ShapeError);
  CHECK_THROWS_AS(mv(a, leaf({3}, 1)), ShapeError);
  CHECK_THROWS_AS(dot(v, leaf({3}, 1)), ShapeError);
  CHECK_THROWS_AS(matmul(test::random({}, {}, 1), a), ShapeError);
  CHECK_THROWS_AS(matmul(leaf({2, 3, 4}, 1), leaf({3, 4, 2}, 1)), ShapeError);
  CHECK_THROWS_AS(mm(a, b.to(kFloat32)), TypeError);
  CHECK_THROWS_AS(linear(a, b), ShapeError);
  CHECK_THROWS_AS(linear(a, leaf({5, 4}, 1), leaf({4}, 1)), ShapeError);
  CHECK_THROWS_AS(addmm(leaf({5}, 1), a, b), ShapeError);
}

TEST_CASE("matmul: operands on two devices are refused") {
  auto [serial, openmp] = test::serial_and_openmp();
  Tensor a = leaf({3, 4}, 1), b = leaf({4, 5}, 2);
  CHECK_THROWS_AS(mm(a.to(serial), b.to(openmp)), BackendError);
}
