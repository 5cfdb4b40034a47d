#include <catch2/catch_test_macros.hpp>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/ops/copy.hpp>
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

TEST_CASE("conv: first and second derivatives agree with finite differences") {
  auto check = [](const TensorFunction& f, const std::vector<Tensor>& inputs) {
    CHECK(gradcheck(f, inputs));
    CHECK(gradgradcheck(f, inputs));
  };
  check([](const auto& in) { return conv1d(in[0], in[1], in[2], {.stride = 2, .padding = 1}); },
        {leaf({2, 2, 6}, 1), leaf({3, 2, 3}, 2), leaf({3}, 3)});
  check(
      [](const auto& in) {
        return conv2d(in[0], in[1], in[2], {.padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
      },
      {leaf({2, 2, 4, 5}, 1), leaf({4, 1, 2, 2}, 2), leaf({4}, 3)});
  check([](const auto& in) { return conv2d(in[0], in[1], {}, {.padding = "same"}); },
        {leaf({1, 2, 4, 3}, 1), leaf({2, 2, 2, 3}, 2)});
  check(
      [](const auto& in) {
        return conv3d(in[0], in[1], {}, {.stride = {1, 2, 1}});
      },
      {leaf({1, 2, 2, 3, 3}, 1), leaf({2, 2, 2, 2, 2}, 2)});
  check(
      [](const auto& in) {
        return conv_transpose2d(in[0], in[1], in[2], {.stride = 2, .output_padding = {1, 0}});
      },
      {leaf({2, 2, 2, 3}, 1), leaf({2, 2, 2, 2}, 2), leaf({2}, 3)});
}

TEST_CASE("conv: padding \"same\" keeps sizes and puts an odd zero behind") {
  Tensor x = test::from_values({1, 2, 3, 4}, {1, 1, 4}, {.dtype = kFloat64});
  Tensor w = test::from_values({1, 10}, {1, 1, 2}, {.dtype = kFloat64});
  CHECK(conv1d(x, w, {}, {.padding = "same"}).to_vector() == std::vector<double>{21, 32, 43, 4});
  CHECK(conv1d(x, w, {}, {.padding = "valid"}).to_vector() == std::vector<double>{21, 32, 43});
  CHECK(conv1d(x.squeeze(0), w).sizes() == Dims{1, 3});
}

TEST_CASE("conv: Serial and OpenMP give the same bits, forward and backward", "[bits][A20]") {
  for (DType dtype : {kFloat32, kFloat64, kBFloat16}) {
    std::vector<Tensor> first;
    auto [serial, openmp] = test::serial_and_openmp();
    for (Device device : {serial, openmp}) {
      Tensor x = leaf({37, 8, 14, 14}, 1, device, dtype), w = leaf({16, 8, 3, 3}, 2, device, dtype);
      Tensor b = leaf({16}, 3, device, dtype);
      Tensor y = conv2d(x, w, b, {.padding = 1});
      y.backward(test::random({37, 16, 14, 14}, {.dtype = dtype, .device = device}, 4));
      std::vector<Tensor> all{y.detach(), x.grad(), w.grad(), b.grad()};
      if (first.empty()) first = all;
      for (size_t i = 0; i < all.size(); ++i) {
        CAPTURE(i, name_of(dtype));
        CHECK(test::bitwise_equal(first[i], all[i]));
      }
    }
  }
}

TEST_CASE("conv: transposed and expanded inputs, and empty batches [A19]") {
  test::for_each_device([](Device device) {
    Tensor x = leaf({2, 5, 6, 3}, 1, device), w = leaf({4, 3, 3, 3}, 2, device);
    Tensor turned = x.permute({0, 3, 1, 2});
    CHECK(test::allclose(conv2d(turned, w).detach(), conv2d(turned.contiguous(), w).detach()));
    Tensor one = leaf({1, 3, 5, 6}, 3, device);
    Tensor y = conv2d(one.expand({4, 3, 5, 6}), w);
    y.backward(test::random(y.sizes(), {.device = device}, 4));
    CHECK(one.grad().sizes() == Dims{1, 3, 5, 6});

    Tensor none = leaf({0, 3, 5, 6}, 5, device), bias = leaf({4}, 6, device);
    w.set_grad({});
    Tensor z = conv2d(none, w, bias);
    CHECK(z.sizes() == Dims{0, 4, 3, 4});
    z.backward(test::random(z.sizes(), {.device = device}, 4));
    CHECK(none.grad().sizes() == none.sizes());
    CHECK(w.grad().to_vector() == std::vector<double>(108, 0.0));
    CHECK(bias.grad().to_vector() == std::vector<double>(4, 0.0));
  });
}

TEST_CASE("conv: float32 and 16-bit results are near those in float64") {
  Tensor x = test::random({3, 4, 9, 9}, {}, 1), w = test::random({6, 4, 3, 3}, {}, 2),
         b = test::random({6}, {}, 3);
  Tensor expected = conv2d(x, w, b, {.stride = 2, .padding = 1});
  for (auto [dtype, bound] :
       {std::pair(kFloat32, 1e-5), std::pair(kFloat16, 2e-2), std::pair(kBFloat16, 1e-1)}) {
    Tensor y = conv2d(x.to(dtype), w.to(dtype), b.to(dtype), {.stride = 2, .padding = 1});
    CHECK(y.dtype() == dtype);
    CHECK(test::difference(y.to(kFloat64), expected, {bound, bound}) == "");
  }
}

TEST_CASE("conv: wrong arguments are typed errors [A12]") {
  Tensor x = leaf({2, 4, 6, 6}, 1), w = leaf({4, 4, 3, 3}, 2);
  CHECK_THROWS_AS(conv1d(x, w), ShapeError);
  CHECK_THROWS_AS(conv2d(leaf({2, 3, 6, 6}, 1), w), ShapeError);
  CHECK_THROWS_AS(conv2d(x, leaf({4, 4, 7, 7}, 2)), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w, leaf({3}, 1)), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w, {}, {.stride = 0}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {}, {.padding = -1}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {}, {.stride = 2, .padding = "same"}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {}, {.padding = "full"}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {}, {.stride = {1, 2, 3}}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, leaf({4, 1, 3, 3}, 2), {}, {.groups = 3}), ShapeError);
  CHECK_THROWS_AS(conv2d(x, w.to(kFloat32)), TypeError);
  CHECK_THROWS_AS(conv_transpose2d(x, w, {}, {.output_padding = 1}), ValueError);
}
