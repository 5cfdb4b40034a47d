#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::test {
namespace {

using Values = std::vector<double>;
using Inputs = std::vector<Tensor>;

Tensor counting(IntList sizes) { return arange(Dims(sizes).product()).reshape(sizes); }
bool shares(const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); }

/// Gradients of first and second order, of a contiguous, a transposed and a stepped input.
template <class F>
void check_gradients(const Dims& sizes, F f) {
  auto run = [&](const Tensor& x) {
    CHECK(gradcheck([&](const Inputs& in) { return f(in[0]); }, {x}));
    CHECK(gradgradcheck([&](const Inputs& in) { return f(in[0] * in[0]); }, {x}));
  };
  Tensor x = random(sizes, {.requires_grad = true});
  run(x);
  Dims backwards(sizes.size(), 1);
  for (int d = 1; d < sizes.size(); ++d)
    backwards[d] = backwards[d - 1] * std::max<int64_t>(sizes[d - 1], 1);
  run(with_strides(x.detach(), backwards).requires_grad_());
  Dims stepped = contiguous_strides(sizes);
  for (int64_t& s : stepped) s *= 2;
  run(with_strides(x.detach(), stepped).requires_grad_());
}

TEST_CASE("view: shares memory, infers one size, and refuses what needs a copy", "[A19]") {
  Tensor x = counting({2, 3, 4});
  CHECK(x.view({6, -1}).sizes() == Dims{6, 4});
  CHECK(x.view({-1}).sizes() == Dims{24});
  CHECK(shares(x.view({4, 6}), x));
  CHECK(x.transpose(0, 1).view({3, 2, 2, 2}).to_vector() == x.transpose(0, 1).to_vector());
  CHECK(x.slice(2, 0, 2).view({6, 2}).to_vector() ==
        Values{0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21});
  CHECK(x.select(0, 0).view({1, 12, 1}).sizes() == Dims{1, 12, 1});
  CHECK(tensor(5).view({1, 1}).sizes() == Dims{1, 1});
  CHECK(tensor({5}).view({}).dim() == 0);
  CHECK(zeros({0, 3}).view({3, 0, 2}).numel() == 0);
  CHECK(zeros({0, 3}).view({-1, 5}).sizes() == Dims{0, 5});
  CHECK_THROWS_AS(x.transpose(0, 1).view({6, 4}), ShapeError);
  CHECK_THROWS_AS(x.view({5, 5}), ShapeError);
  CHECK_THROWS_AS(x.view({-1, -1}), ShapeError);
  CHECK_THROWS_AS(x.view({-2, 12}), ShapeError);
  CHECK_THROWS_AS(x.view({7, -1}), ShapeError);
  CHECK_THROWS_AS(zeros({0}).view({0, -1}), ShapeError);
}

TEST_CASE("reshape: a view where possible, else a copy") {
  Tensor x = counting({2, 3});
  CHECK(shares(x.reshape({3, 2}), x));
  Tensor y = x.t().reshape({6});
  CHECK_FALSE(shares(y, x));
  CHECK(y.to_vector() == Values{0, 3, 1, 4, 2, 5});
}

TEST_CASE("flatten and unflatten") {
  Tensor x = zeros({2, 3, 4});
  CHECK(x.flatten().sizes() == Dims{24});
  CHECK(x.flatten(1).sizes() == Dims{2, 12});
  CHECK(x.flatten(0, -2).sizes() == Dims{6, 4});
  CHECK(x.flatten(1, 1).is_same(x));
  CHECK(tensor(1).flatten().sizes() == Dims{1});
  CHECK(x.unflatten(2, {2, -1}).sizes() == Dims{2, 3, 2, 2});
}

TEST_CASE("squeeze and unsqueeze") {
  Tensor x = zeros({1, 3, 1, 2});
  CHECK(x.squeeze().sizes() == Dims{3, 2});
  CHECK(x.squeeze(0).sizes() == Dims{3, 1, 2});
  CHECK(x.squeeze(1).sizes() == Dims{1, 3, 1, 2});
  CHECK(squeeze(x, IntList{0, -2}).sizes() == Dims{3, 2});
  CHECK(x.unsqueeze(-1).sizes() == Dims{1, 3, 1, 2, 1});
  CHECK(tensor(1).unsqueeze(0).sizes() == Dims{1});
  CHECK(tensor(1).squeeze().dim() == 0);
  CHECK_THROWS_AS(x.squeeze(4), IndexError);
  CHECK_THROWS_AS(x.unsqueeze(6), IndexError);
  CHECK_THROWS_AS(zeros({1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0), ShapeError);
}

TEST_CASE("permute, transpose, t, movedim") {
  Tensor x = counting({2, 3, 4});
  CHECK(x.permute({2, 0, 1}).sizes() == Dims{4, 2, 3});
  CHECK(x.permute({-1, 0, 1})[{1, 0, 2}].item_int() == 9);
  CHECK(x.transpose(-1, 0).sizes() == Dims{4, 3, 2});
  CHECK(counting({2, 3}).t().to_vector() == Values{0, 3, 1, 4, 2, 5});
  CHECK(tensor({1, 2}).t().sizes() == Dims{2});
  CHECK(movedim(x, 0, -1).sizes() == Dims{3, 4, 2});
  CHECK(movedim(x, {0, 1}, {2, 0}).sizes() == Dims{3, 4, 2});
  CHECK(shares(x.permute({2, 0, 1}), x));
  CHECK_THROWS_AS(x.permute({0, 1}), ShapeError);
  CHECK_THROWS_AS(x.permute({0, 0, 1}), ShapeError);
  CHECK_THROWS_AS(x.transpose(0, 3), IndexError);
  CHECK_THROWS_AS(x.t(), ShapeError);
  CHECK_THROWS_AS(movedim(x, {0, 1}, {0}), ShapeError);
}

TEST_CASE("expand: repeats without a copy") {
  Tensor x = tensor({{1}, {2}});
  CHECK(x.expand({3, 2, 2}).to_vector() == Values{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2});
  CHECK(x.expand({-1, 3}).sizes() == Dims{2, 3});
  CHECK(x.expand({2, 0}).numel() == 0);
  CHECK(shares(x.expand({4, 2, 5}), x));
  CHECK(x.expand_as(zeros({2, 2})).sizes() == Dims{2, 2});
  CHECK(broadcast_tensors({x, zeros({3})})[1].sizes() == Dims{2, 3});
  CHECK_THROWS_AS(x.expand({3, 1}), ShapeError);
  CHECK_THROWS_AS(x.expand({-1, 2, 1}), ShapeError);
  CHECK_THROWS_AS(x.expand({2}), ShapeError);
}

TEST_CASE("slice, narrow, select: Python's bounds") {
  Tensor x = arange(10);
  CHECK(x.slice(0, 2, 5).to_vector() == Values{2, 3, 4});
  CHECK(x.slice(0, -3).to_vector() == Values{7, 8, 9});
  CHECK(x.slice(0, {}, -8).to_vector() == Values{0, 1});
  CHECK(x.slice(0, 1, 100, 4).to_vector() == Values{1, 5, 9});
  CHECK(x.slice(0, 5, 2).numel() == 0);
  CHECK(x.slice(0, 50).numel() == 0);
  CHECK(x.narrow(0, -2, 2).to_vector() == Values{8, 9});
  CHECK(x.select(0, -1).item_int() == 9);
  CHECK(x[3].item_int() == 3);
  CHECK_THROWS_AS(x.slice(0, 0, 5, 0), ValueError);
  CHECK_THROWS_AS(x.slice(0, 0, 5, -1), ValueError);
  CHECK_THROWS_AS(x.narrow(0, 8, 3), IndexError);
  CHECK_THROWS_AS(x.select(0, 10), IndexError);
  CHECK_THROWS_AS(x.select(0, -11), IndexError);
  CHECK_THROWS_AS(tensor(1).select(0, 0), IndexError);
  CHECK_THROWS_AS(tensor(1).slice(0), IndexError);
}

TEST_CASE("split, chunk, unbind: pieces that share memory") {
  Tensor x = arange(10);
  CHECK(x.split(4).size() == 3);
  CHECK(x.split(4)[2].to_vector() == Values{8, 9});
  CHECK(split(x, {1, 2, 7})[1].to_vector() == Values{1, 2});
  CHECK(x.chunk(3).size() == 3);
  CHECK(x.chunk(3)[2].to_vector() == Values{8, 9});
  CHECK(x.chunk(4).size() == 4);
  CHECK(arange(5).chunk(4).size() == 3);
  CHECK(zeros({0}).chunk(2).size() == 2);
  CHECK(counting({2, 3}).unbind(1)[2].to_vector() == Values{2, 5});
  CHECK(shares(x.split(4)[1], x));
  CHECK_THROWS_AS(x.split(0), ValueError);
  CHECK_THROWS_AS(split(x, {4, 4}), ShapeError);
  CHECK_THROWS_AS(x.chunk(0), ValueError);
}

TEST_CASE("diagonal and as_strided") {
  Tensor x = counting({3, 4});
  CHECK(x.diagonal().to_vector() == Values{0, 5, 10});
  CHECK(x.diagonal(2).to_vector() == Values{2, 7});
  CHECK(x.diagonal(-1).to_vector() == Values{4, 9});
  CHECK(x.diagonal(9).numel() == 0);
  CHECK(x.diagonal(-9).numel() == 0);
  CHECK(counting({2, 3, 3}).diagonal(0, 1, 2).to_vector() == Values{0, 4, 8, 9, 13, 17});
  CHECK(x.as_strided({3, 2}, {1, 1}, 2).to_vector() == Values{2, 3, 3, 4, 4, 5});
  CHECK_THROWS_AS(x.diagonal(0, 1, 1), ShapeError);
  CHECK_THROWS_AS(x.as_strided({13}, {1}, 0), ShapeError);
  CHECK_THROWS_AS(x.as_strided({2}, {-1}, 5), ShapeError);
  CHECK_THROWS_AS(x.as_strided({2}, {1, 1}, 0), ShapeError);
  CHECK(x.as_strided({0, 5}, {100, 100}, 12).numel() == 0);
}

TEST_CASE("cat and stack: join, promote and check") {
  for_each_device([](Device device) {
    Tensor a = counting({2, 2}).to(device), b = (counting({1, 2}) + 10).to(device);
    CHECK(cat({a, b}).to_vector() == Values{0, 1, 2, 3, 10, 11});
    CHECK(cat({a, a}, -1).to_vector() == Values{0, 1, 0, 1, 2, 3, 2, 3});
    CHECK(cat({a, b.to(kFloat32)}).dtype() == kFloat32);
    CHECK(cat({zeros({0}, {.device = device}), a}, 1).sizes() == Dims{2, 2});
    CHECK(cat({zeros({0}, {.device = device}), zeros({3}, {.device = device})}).sizes() == Dims{3});
    CHECK(cat({a.t(), a}, 0)[1].to_vector() == Values{1, 3});
    CHECK(stack({a, a}, 1).sizes() == Dims{2, 2, 2});
    CHECK(stack({a, a + 4}, -1).to_vector() == Values{0, 4, 1, 5, 2, 6, 3, 7});
    CHECK(stack({tensor(1, {.device = device}), tensor(2, {.device = device})}).to_vector() ==
          Values{1, 2});
    CHECK_THROWS_AS(cat({a, b}, 1), ShapeError);
    CHECK_THROWS_AS(stack({a, b}), ShapeError);
    CHECK_THROWS_AS(cat({a, tensor(1, {.device = device})}), ShapeError);
  });
  CHECK_THROWS_AS(cat({}), ValueError);
  CHECK_THROWS_AS(stack({}), ValueError);
}

TEST_CASE("cat: tensors on two devices are refused") {
  auto [serial, openmp] = serial_and_openmp();
  CHECK_THROWS_AS(cat({zeros({1}, {.device = serial}), zeros({1}, {.device = openmp})}),
                  BackendError);
}

TEST_CASE("flip, roll, repeat, tile, repeat_interleave") {
  Tensor x = counting({2, 3});
  CHECK(flip(x, {1}).to_vector() == Values{2, 1, 0, 5, 4, 3});
  CHECK(flip(x, {0, -1}).to_vector() == Values{5, 4, 3, 2, 1, 0});
  CHECK(roll(x, {1}).to_vector() == Values{5, 0, 1, 2, 3, 4});
  CHECK(roll(x, {-1, 1}, {1, 0}).to_vector() == Values{4, 5, 3, 1, 2, 0});
  CHECK(repeat(x, {2, 1, 2}).sizes() == Dims{2, 2, 6});
  CHECK(repeat(tensor({1, 2}), {2, 2}).to_vector() == Values{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK_FALSE(shares(repeat(x, {1, 1}), x));
  CHECK(repeat(x, {0, 1}).sizes() == Dims{0, 3});
  CHECK(tile(x, {2}).sizes() == Dims{2, 6});
  CHECK(repeat_interleave(x, 2).to_vector() == Values{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(repeat_interleave(x, 2, 0).sizes() == Dims{4, 3});
  CHECK(repeat_interleave(x, tensor({1, 0, 2}), 1).to_vector() == Values{0, 2, 2, 3, 5, 5});
  CHECK(repeat_interleave(x, tensor({2}), 0).sizes() == Dims{4, 3});
  CHECK_THROWS_AS(flip(x, {0, 0}), ShapeError);
  CHECK_THROWS_AS(roll(x, {1, 2}, {0}), ShapeError);
  CHECK_THROWS_AS(repeat(x, {2}), ShapeError);
  CHECK_THROWS_AS(repeat(x, {-1, 1}), ShapeError);
  CHECK_THROWS_AS(repeat_interleave(x, tensor({1.5, 2., 2.}), 1), TypeError);
}

TEST_CASE("geometry: gradients of first and second order", "[A8][A19]") {
  check_gradients({2, 3, 2}, [](const Tensor& x) { return x.reshape({3, 4}); });
  check_gradients({2, 3}, [](const Tensor& x) {
    return Inputs{x.t(), x.unsqueeze(1), x.permute({1, 0})};
  });
  check_gradients({2, 1, 3}, [](const Tensor& x) {
    return Inputs{x.squeeze(1), x.expand({2, 2, 2, 3}), x.flatten()};
  });
  check_gradients({4, 3}, [](const Tensor& x) {
    return Inputs{x.slice(0, 1, 4, 2), x.select(1, -1), x.diagonal(-1)};
  });
  check_gradients({5, 2}, [](const Tensor& x) { return x.split(2); });
  check_gradients({2, 3}, [](const Tensor& x) { return x.unbind(1)[1]; });
  check_gradients({2, 3}, [](const Tensor& x) {
    return Inputs{cat({x, x * 2.0}, 1), stack({x, x}, 0)};
  });
  check_gradients({2, 3}, [](const Tensor& x) {
    return Inputs{flip(x, {0}), roll(x, {1}, {1}), repeat(x, {2, 1, 2})};
  });
  check_gradients({2, 3}, [](const Tensor& x) {
    return Inputs{repeat_interleave(x, 2, 1), movedim(x, 0, 1)};
  });
  check_gradients({}, [](const Tensor& x) {
    return Inputs{x.view({1}), x.expand({3}), flip(x, {})};
  });
  check_gradients({0, 2}, [](const Tensor& x) {
    return Inputs{x.view({2, 0}), x.slice(1, 0, 1), cat({x, x})};
  });
}

TEST_CASE("as_strided: gradients where views and inputs overlap", "[A8]") {
  Tensor x = random({3, 4}, {.requires_grad = true});
  auto strided = [](const Inputs& in) { return in[0].as_strided({4, 3}, {2, 1}, 1); };
  CHECK(gradcheck(strided, {x}));
  CHECK(gradgradcheck([&](const Inputs& in) { return strided({in[0] * in[0]}); }, {x}));
  CHECK(gradcheck([](const Inputs& in) { return in[0].as_strided({2, 3}, {4, 1}, 2); }, {x}));

  // An input that is expanded: its elements share the gradient of their place.
  Tensor base = leaf({1, 2});
  Tensor wide = base.unsqueeze(1).expand({2, 3});
  wide.as_strided({2}, {1}, 0).backward(tensor({3., 6.}, {.dtype = kFloat64}));
  CHECK(allclose(base.grad(), tensor({3., 6.}, {.dtype = kFloat64})));
}

TEST_CASE("geometry: an output that got no gradient counts as zeros") {
  Tensor x = leaf({1, 2, 3, 4});
  auto pieces = x.split(2);
  pieces[1].backward(tensor({5., 6.}, {.dtype = kFloat64}));
  CHECK(x.grad().to_vector() == Values{0, 0, 5, 6});
}

TEST_CASE("geometry: views write through, and outputs of split refuse recorded changes", "[A4]") {
  Tensor x = zeros({2, 3});
  x.t().select(0, 1).fill_(4);
  CHECK(x.to_vector() == Values{0, 4, 0, 0, 4, 0});
  Tensor y = leaf({1, 2, 3, 4}) * 1.0;
  CHECK_THROWS_AS(y.split(2)[0].mul_(2.0), GradError);
}

}  // namespace
}  // namespace farro::test
