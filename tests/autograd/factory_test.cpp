#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <numeric>

#include <support/compare.hpp>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::test {
namespace {

using Values = std::vector<double>;

TEST_CASE("factories: options say dtype, device and whether a gradient is wanted") {
  for_each_device([](Device device) {
    for (DType dtype :
         {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool}) {
      Tensor x = ones({2, 0, 3}, {.dtype = dtype, .device = device});
      CHECK(x.dtype() == dtype);
      CHECK(x.device() == device);
      CHECK(x.sizes() == Dims{2, 0, 3});
      CHECK(ones({2}, {.dtype = dtype, .device = device}).to_vector() == Values{1, 1});
      CHECK(zeros({}, {.dtype = dtype, .device = device}).to_vector() == Values{0});
      CHECK_FALSE(x.requires_grad());
    }
    CHECK(zeros({2}, {.device = device, .requires_grad = true}).requires_grad());
  });
  CHECK(zeros({2}).dtype() == kFloat32);
  CHECK(zeros({2}).device() == Device());
  CHECK_THROWS_AS(zeros({2}, {.dtype = kInt64, .requires_grad = true}), TypeError);
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(empty({int64_t{1} << 40, int64_t{1} << 40}), ShapeError);
}

TEST_CASE("factories: the default dtype is that of floating-point data and can be set") {
  struct Restore {
    ~Restore() { set_default_dtype(kFloat32); }
  } restore;
  set_default_dtype(kFloat64);
  CHECK(zeros({1}).dtype() == kFloat64);
  CHECK(tensor({1.5}).dtype() == kFloat64);
  CHECK(arange(0, 1, 0.5).dtype() == kFloat64);
  CHECK(tensor({1}).dtype() == kInt64);
  CHECK_THROWS_AS(set_default_dtype(kInt64), TypeError);
}

TEST_CASE("full: its dtype is that of the number") {
  CHECK(full({2}, 3).dtype() == kInt64);
  CHECK(full({2}, true).dtype() == kBool);
  CHECK(full({2}, 2.5).dtype() == kFloat32);
  CHECK(full({2}, (int64_t{1} << 60) + 1).data<int64_t>()[1] == (int64_t{1} << 60) + 1);
  CHECK(full({2}, 2.5, {.dtype = kInt8}).to_vector() == Values{2, 2});
  CHECK(scalar_tensor(0.1, {.dtype = kFloat64}).item() == 0.1);
  CHECK(scalar_tensor(3).dim() == 0);
}

TEST_CASE("the _like factories take over what options leave open") {
  Tensor x = zeros({2, 3}, {.dtype = kFloat64, .device = host_device(), .requires_grad = true});
  Tensor y = ones_like(x);
  CHECK(y.dtype() == kFloat64);
  CHECK(y.device() == host_device());
  CHECK_FALSE(y.requires_grad());
  CHECK(full_like(x.t(), 7, {.dtype = kInt16}).sizes() == Dims{3, 2});
  CHECK(zeros_like(x, {.device = Device()}).device() == Device());
  CHECK(empty_like(x).sizes() == x.sizes());
}

TEST_CASE("tensor: from numbers, nested lists and vectors, with PyTorch's dtypes") {
  CHECK(tensor({1, 2, 3}).dtype() == kInt64);
  CHECK(tensor({1.f, 2.f}).dtype() == kFloat32);
  CHECK(tensor({1.0, 2.0}).dtype() == kFloat32);
  CHECK(tensor({true, false}).dtype() == kBool);
  CHECK(tensor(2.5).dim() == 0);
  CHECK(tensor(true).dtype() == kBool);
  CHECK(tensor({uint8_t{7}}, {.dtype = kUInt8}).to_vector() == Values{7});
  CHECK(tensor({{1., 2.}, {3., 4.}, {5., 6.}}).sizes() == Dims{3, 2});
  CHECK(tensor({{1., 2.}, {3., 4.}}, {.dtype = kFloat64}).to_vector() == Values{1, 2, 3, 4});
  CHECK(tensor({{{1}, {2}}, {{3}, {4}}}).sizes() == Dims{2, 2, 1});
  CHECK(tensor({{{{1}}}}).dim() == 4);
  CHECK(tensor(std::vector<int>{}).sizes() == Dims{0});
  CHECK(tensor(std::vector<bool>{true, false}).to_vector() == Values{1, 0});
  CHECK(tensor({0.1}, {.dtype = kFloat64}).item() == 0.1);
  CHECK_THROWS_AS(tensor({{1, 2}, {3}}), ShapeError);
  CHECK(from_vector<float>({1, 2, 3, 4}, {2, 2}).to_vector() == Values{1, 2, 3, 4});
  CHECK(from_vector(std::vector<bool>{true, false}, {2, 1}).dtype() == kBool);
  CHECK(from_vector(std::vector<int32_t>{5}, {}).dim() == 0);
  CHECK_THROWS_AS(from_vector<float>({1, 2, 3}, {2, 2}), ShapeError);
  CHECK(tensor({1., 2.}, {.requires_grad = true}).is_leaf());
}

TEST_CASE("arange: PyTorch's dtypes and lengths") {
  CHECK(arange(4).dtype() == kInt64);
  CHECK(arange(4).to_vector() == Values{0, 1, 2, 3});
  CHECK(arange(1, 8, 3).to_vector() == Values{1, 4, 7});
  CHECK(arange(5, 0, -2).to_vector() == Values{5, 3, 1});
  CHECK(arange(0.0, 1.0, 0.25).dtype() == kFloat32);
  CHECK(arange(1.5).to_vector() == Values{0, 1});
  CHECK(arange(0, 3, 1, {.dtype = kFloat64}).dtype() == kFloat64);
  CHECK(arange(3, {.dtype = kInt8}).dtype() == kInt8);
  CHECK(arange(2, 2).numel() == 0);
  CHECK_THROWS_AS(arange(0, 3, 0), ValueError);
  CHECK_THROWS_AS(arange(0, 3, -1), ValueError);
  CHECK_THROWS_AS(arange(NAN), ValueError);
}

TEST_CASE("linspace, eye, one_hot") {
  CHECK(linspace(0, 1, 5, {.dtype = kFloat64}).to_vector() == Values{0, 0.25, 0.5, 0.75, 1});
  CHECK(linspace(2, 9, 1).to_vector() == Values{2});
  CHECK(linspace(2, 9, 0).numel() == 0);
  CHECK_THROWS_AS(linspace(0, 1, -1), ValueError);
  CHECK(eye(2).to_vector() == Values{1, 0, 0, 1});
  CHECK(eye(2, 3, {.dtype = kInt32}).to_vector() == Values{1, 0, 0, 0, 1, 0});
  CHECK(eye(3, 1).to_vector() == Values{1, 0, 0});
  CHECK(eye(0).sizes() == Dims{0, 0});
  for_each_device([](Device device) {
    Tensor hot = one_hot(tensor({{0, 2}, {1, 0}}, {.device = device}));
    CHECK(hot.sizes() == Dims{2, 2, 3});
    CHECK(hot.dtype() == kInt64);
    CHECK(hot.to_vector() == Values{1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0});
    CHECK(one_hot(tensor(1, {.device = device}), 3).to_vector() == Values{0, 1, 0});
    CHECK(one_hot(zeros({0}, {.dtype = kInt64, .device = device}), 2).sizes() == Dims{0, 2});
    CHECK_THROWS_AS(one_hot(tensor({3}, {.device = device}), 3), IndexError);
    CHECK_THROWS_AS(one_hot(tensor({-1}, {.device = device})), IndexError);
  });
}

TEST_CASE("tril and triu: triangles of every matrix, with gradients", "[A8][A19]") {
  Tensor x = arange(1, 10).reshape({3, 3});
  CHECK(tril(x).to_vector() == Values{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(tril(x, -1).to_vector() == Values{0, 0, 0, 4, 0, 0, 7, 8, 0});
  CHECK(triu(x, 1).to_vector() == Values{0, 2, 3, 0, 0, 6, 0, 0, 0});
  CHECK(triu(x.t(), -1).to_vector() == Values{1, 4, 7, 2, 5, 8, 0, 6, 9});
  CHECK(triu(zeros({2, 0, 3})).sizes() == Dims{2, 0, 3});
  CHECK_THROWS_AS(tril(zeros({3})), ShapeError);
  Tensor y = random({2, 3, 4}, {.requires_grad = true});
  CHECK(gradcheck(
      [](const auto& in) {
        return std::vector<Tensor>{tril(in[0]), triu(in[0].transpose(0, 2), 1)};
      },
      {y}));
}

TEST_CASE("random factories: a seed decides, on every host backend alike", "[A20]") {
  auto draw = [](Device device) {
    manual_seed(5);
    TensorOptions options{.device = device};
    return std::vector<Tensor>{rand({3, 4}, options),
                               randn({70'000}, {.dtype = kFloat64, .device = device}),
                               randint(-2, 3, {100}, options), randperm(50, options),
                               bernoulli(full({64}, 0.5, {.device = device}))};
  };
  auto a = draw(host_device()), b = draw(Device()), again = draw(Device());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(bitwise_equal(a[i], b[i]));
    CHECK(bitwise_equal(b[i], again[i]));
  }
  for (double v : a[2].to_vector()) CHECK((v >= -2 && v < 3 && v == std::floor(v)));
  Values order = a[3].to_vector();
  std::sort(order.begin(), order.end());
  Values expected(50);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order == expected);
  for (double v : a[0].to_vector()) CHECK((v >= 0 && v < 1));
  for (double v : a[4].to_vector()) CHECK((v == 0 || v == 1));
  Generator own(5);
  manual_seed(9);
  CHECK(bitwise_equal(rand({3, 4}, {}, &own), a[0]));
}

TEST_CASE("random factories: options and errors") {
  CHECK(rand({2}, {.requires_grad = true}).is_leaf());
  CHECK(rand({2}, {.requires_grad = true}).requires_grad());
  CHECK(randn_like(zeros({2, 0}, {.dtype = kFloat64})).sizes() == Dims{2, 0});
  CHECK(rand_like(zeros({2}, {.dtype = kFloat16})).dtype() == kFloat16);
  CHECK(randint(0, 9, {2}, {.dtype = kFloat32}).dtype() == kFloat32);
  CHECK_THROWS_AS(randint(3, 3, {2}), ValueError);
  CHECK_THROWS_AS(randint(0, 3, {2}, {.requires_grad = true}), TypeError);
  CHECK_THROWS_AS(rand({2}, {.dtype = kInt64}), TypeError);
  CHECK_THROWS_AS(randperm(-1), ValueError);
  CHECK_THROWS_AS(bernoulli(zeros({2}, {.dtype = kInt64})), TypeError);
}

}  // namespace
}  // namespace farro::test
