#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <sstream>

#include <support/devices.hpp>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/print.hpp>

namespace farro {
namespace {

// The texts are those that PyTorch prints, without the "torch." before dtypes.

TEST_CASE("print: floats have four digits, or a point where all are whole") {
  CHECK(tensor({1., 2., 3.}).str() == "tensor([1., 2., 3.])");
  CHECK(tensor({1.5, -2.25}).str() == "tensor([ 1.5000, -2.2500])");
  CHECK(tensor({{1., 2.}, {3., 40.}}).str() == "tensor([[ 1.,  2.],\n        [ 3., 40.]])");
  CHECK(tensor(2.5).str() == "tensor(2.5000)");
  CHECK(tensor(3.).str() == "tensor(3.)");
  CHECK(zeros({2, 2}).str() == "tensor([[0., 0.],\n        [0., 0.]])");
}

TEST_CASE("print: integers and truth values are aligned") {
  CHECK(tensor({1, -20, 3}).str() == "tensor([  1, -20,   3])");
  CHECK(tensor({true, false}).str() == "tensor([ True, False])");
  CHECK(tensor(7).str() == "tensor(7)");
  CHECK(tensor({1, 2}, {.dtype = kInt32}).str() == "tensor([1, 2], dtype=int32)");
}

TEST_CASE("print: scientific notation where numbers differ much, are tiny or huge") {
  CHECK(tensor({1e-5}).str() == "tensor([1.0000e-05])");
  CHECK(tensor({0.5, 1000.}).str() == "tensor([5.0000e-01, 1.0000e+03])");
  CHECK(tensor({1., 1000.}).str() == "tensor([   1., 1000.])");
  CHECK(tensor({1., 100000.}).str() == "tensor([1.0000e+00, 1.0000e+05])");
  CHECK(tensor({1e9}).str() == "tensor([1.0000e+09])");
}

TEST_CASE("print: NaN and infinities") {
  CHECK(tensor({1., double(NAN), double(INFINITY)}).str() == "tensor([1., nan, inf])");
  CHECK(tensor({0.5, double(NAN), double(-INFINITY)}).str() == "tensor([0.5000,    nan,   -inf])");
}

TEST_CASE("print: what differs from the defaults is said") {
  CHECK(tensor({1.}, {.dtype = kFloat64}).str() == "tensor([1.], dtype=float64)");
  for (Device device : test::host_devices()) {
    std::string where = device == Device() ? "" : ", device='" + device.str() + "'";
    CHECK(tensor({1.}, {.device = device}).str() == "tensor([1.]" + where + ")");
  }
  Tensor x = tensor({1.}, {.requires_grad = true});
  CHECK(x.str() == "tensor([1.], requires_grad=True)");
  CHECK((x + x).str() == "tensor([2.], grad_fn=<AddBackward>)");
}

TEST_CASE("print: no elements") {
  CHECK(zeros({0}).str() == "tensor([])");
  CHECK(zeros({0, 3}).str() == "tensor([], size=(0, 3))");
  CHECK(zeros({0}, {.dtype = kInt64}).str() == "tensor([], dtype=int64)");
}

TEST_CASE("print: many dimensions, long lines and summaries") {
  CHECK(arange(8).view({2, 2, 2}).str() ==
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
  CHECK(arange(30).str() ==
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  CHECK(arange(1001).str() == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(zeros({40, 40}).str() ==
        "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n        ...,\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.],\n"
        "        [0., 0., 0.,  ..., 0., 0., 0.]])");
}

TEST_CASE("print: transposed tensors, options, streams and the undefined") {
  CHECK(arange(4).view({2, 2}).t().str() == "tensor([[0, 2],\n        [1, 3]])");
  print_options().precision = 2;
  CHECK(tensor({0.123}).str() == "tensor([0.12])");
  print_options() = {};
  std::ostringstream out;
  out << tensor({1});
  CHECK(out.str() == "tensor([1])");
  CHECK(Tensor().str() == "tensor(undefined)");
}

}  // namespace
}  // namespace farro
