#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/record.hpp>

namespace farro::test {
namespace {

TEST_CASE(
    "to: nothing to change gives the same tensor, else a copy whose gradient comes back in kind") {
  for_each_device([](Device device) {
    Tensor x = random({2, 3}, {.device = device, .requires_grad = true});
    CHECK(x.to(kFloat64).is_same(x));
    CHECK(x.to(device).is_same(x));

    Tensor y = x.to(kFloat32);
    y.backward(full({2, 3}, 0.5, {.dtype = kFloat32, .device = device}));

    CHECK(y.dtype() == kFloat32);
    CHECK(y.grad_fn()->name() == "ToCopyBackward");
    CHECK(x.grad().dtype() == kFloat64);
    CHECK(allclose(x.grad(), full({2, 3}, 0.5, {.dtype = kFloat64})));
  });
}

TEST_CASE("to: moves between devices, with the gradient moving back") {
  Tensor x = random({3, 4}, {.device = host_device(), .requires_grad = true});
  for_each_device([&](Device device) {
    x.set_grad({});
    Tensor y = x.t().to(device, kFloat64);
    CHECK(y.device() == device);
    CHECK(bitwise_equal(y.detach(), x.detach().t()));
    y.backward(ones_like(y));
    CHECK(x.grad().device() == host_device());
  });
}

TEST_CASE("to: integers and bool have no history") {
  Tensor x = leaf({1.5, -2.5});
  CHECK_FALSE(x.to(kInt64).requires_grad());
  CHECK(x.to(kInt64).to_vector() == std::vector<double>{1, -2});
  CHECK(x.to(kBool).to_vector() == std::vector<double>{1, 1});
}

TEST_CASE("contiguous: the tensor itself if it is, else a copy") {
  Tensor x = random({3, 4}, {.requires_grad = true});
  CHECK(x.contiguous().is_same(x));
  Tensor y = x.t().contiguous();
  CHECK(y.is_contiguous());
  CHECK(y.storage() != x.storage());
  CHECK(bitwise_equal(y.detach(), x.detach().t()));
}

TEST_CASE("clone, contiguous, to: gradients of every order", "[A8][A19]") {
  for (Dims sizes : {Dims{}, Dims{0, 3}, Dims{2, 3}}) {
    Tensor x = random(sizes, {.requires_grad = true});
    CHECK(gradcheck([](const auto& in) { return in[0].clone(); }, {x}));
    CHECK(gradgradcheck(
        [](const auto& in) { return in[0].clone() * in[0].to(kFloat64).contiguous(); }, {x}));
  }
}

TEST_CASE("copy_: broadcasts, converts and raises the version") {
  for_each_device([](Device device) {
    Tensor x = zeros({2, 3}, {.dtype = kInt32, .device = device});
    Tensor& same = x;
    uint32_t before = x.version();
    CHECK(&x.copy_(tensor({1.9, -2.9, 3.0}, {.device = device})) == &same);
    CHECK(x.to_vector() == std::vector<double>{1, -2, 3, 1, -2, 3});
    CHECK(x.version() == before + 1);
    CHECK_THROWS_AS(x.copy_(zeros({2})), ShapeError);
    CHECK_THROWS_AS(x.copy_(zeros({1, 2, 3})), ShapeError);
    CHECK(x.version() == before + 1);
  });
}

TEST_CASE("copy_: a source that overlaps the target is read as it was before") {
  Tensor x = arange(6);
  x.slice(0, 1).copy_(x.slice(0, 0, 5));
  CHECK(x.to_vector() == std::vector<double>{0, 0, 1, 2, 3, 4});
  Tensor m = arange(4).reshape({2, 2});
  m.copy_(m.t());
  CHECK(m.to_vector() == std::vector<double>{0, 2, 1, 3});
}

TEST_CASE("copy_, fill_, zero_: the tape forgets the old value", "[A4]") {
  Tensor a = leaf({1, 2, 3}), b = leaf({5});
  Tensor y = a * 2.0;
  y.copy_(b);
  (y * tensor({1., 10., 100.}, {.dtype = kFloat64})).backward(ones({3}, {.dtype = kFloat64}));
  CHECK(a.grad().to_vector() == std::vector<double>{0, 0, 0});
  CHECK(b.grad().to_vector() == std::vector<double>{111});

  Tensor z = a * 3.0;
  z.zero_();
  CHECK(z.grad_fn()->name() == "ZeroBackward");
  CHECK(z.to_vector() == std::vector<double>{0, 0, 0});
  z.fill_(2.5);
  CHECK(z.to_vector() == std::vector<double>{2.5, 2.5, 2.5});
  z.slice(0, 0, 1).copy_(b);
  a.set_grad({});
  b.set_grad({});
  z.backward(ones({3}, {.dtype = kFloat64}));
  CHECK(a.grad().to_vector() == std::vector<double>{0, 0, 0});
  CHECK(b.grad().to_vector() == std::vector<double>{1});
}

TEST_CASE("copy_: the rules of changes in place hold", "[A2]") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(x.zero_(), GradError);
  CHECK_THROWS_AS(x.fill_(1), GradError);
  CHECK_THROWS_AS(zeros({1}).expand({3}).copy_(ones({3})), GradError);
  CHECK_THROWS_AS(zeros({3}).fill_(ones({3})), ShapeError);
  NoGrad guard;
  x.fill_(4);
  CHECK(x.to_vector() == std::vector<double>{4, 4});
}

TEST_CASE("sum_to_sizes: undoes broadcasting") {
  Tensor g = random({2, 3, 4}, {.requires_grad = true});
  for (Dims sizes : {Dims{2, 3, 4}, Dims{3, 4}, Dims{1, 4}, Dims{3, 1}, Dims{}, Dims{2, 1, 1}}) {
    CHECK(gradcheck([&](const auto& in) { return autograd::sum_to_sizes(in[0], sizes); }, {g}));
    CHECK(autograd::sum_to_sizes(g, sizes).sizes() == sizes);
  }
}

}  // namespace
}  // namespace farro::test
