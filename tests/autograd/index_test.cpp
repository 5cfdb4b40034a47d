#include <catch2/catch_test_macros.hpp>

#include <support/compare.hpp>

#include <farro/autograd/gradcheck.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::test {
namespace {

using Values = std::vector<double>;
using Inputs = std::vector<Tensor>;

Tensor counting(IntList sizes, Device device = {}) {
  return reshape(arange(Dims(sizes).product(), {.device = device}), sizes);
}

TEST_CASE("index: integers, slices, new axes and the ellipsis give views") {
  for_each_device([](Device device) {
    Tensor x = counting({2, 3, 4}, device);
    CHECK(x[{1, 2, 3}].item_int() == 23);
    CHECK(x[{Slice(), 0}].sizes() == Dims{2, 4});
    CHECK(x[{ellipsis, Slice{1, 3}}].to_vector() ==
          Values{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22});
    CHECK(x[{newaxis, -1, ellipsis, 0}].sizes() == Dims{1, 3});
    CHECK(x[{Slice(), Slice(), Slice()}].storage() == x.storage());
    CHECK_THROWS_AS((x[{0, 0, 0, 0}]), IndexError);
    CHECK_THROWS_AS((x[{ellipsis, ellipsis}]), IndexError);
    CHECK_THROWS_AS((x[{2, 0}]), IndexError);
  });
}

TEST_CASE("index: tensors of integers broadcast, and stay in place only side by side") {
  for_each_device([](Device device) {
    Tensor x = counting({2, 3, 4}, device);
    Tensor rows = tensor({1, 0, 1}, {.device = device}),
           columns = tensor({{0}, {-1}}, {.device = device});
    CHECK(x[rows].sizes() == Dims{3, 3, 4});
    CHECK(x[{Slice(), columns, rows}].sizes() == Dims{2, 2, 3});
    CHECK(x[{columns, Slice(), rows}].sizes() == Dims{2, 3, 3});
    CHECK(x[{0, rows}].to_vector() == Values{4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(x[{Slice(), tensor(1, {.device = device})}].sizes() == Dims{2, 4});
    CHECK(x.transpose(0, 2)[{rows, columns}].to_vector() ==
          Values{1, 13, 0, 12, 1, 13, 9, 21, 8, 20, 9, 21});
    CHECK_THROWS_AS(x[tensor({2}, {.device = device})], IndexError);
    CHECK_THROWS_AS(x[tensor({-3}, {.device = device})], IndexError);
    CHECK_THROWS_AS(x[tensor({0.5}, {.device = device})], TypeError);
  });
}

TEST_CASE("index: masks pick what is true") {
  for_each_device([](Device device) {
    Tensor x = counting({2, 3}, device);
    CHECK(x[gt(x, 2)].to_vector() == Values{3, 4, 5});
    CHECK(x[{Slice(), tensor({true, false, true}, {.device = device})}].to_vector() ==
          Values{0, 2, 3, 5});
    CHECK(x[tensor(true, {.device = device})].sizes() == Dims{1, 2, 3});
    CHECK(x[tensor(false, {.device = device})].sizes() == Dims{0, 2, 3});
    CHECK(x[lt(x, 0)].sizes() == Dims{0});
    CHECK_THROWS_AS(x[tensor({true, false, true}, {.device = device})], IndexError);
    CHECK(masked_select(x, tensor({true, false, true}, {.device = device})).to_vector() ==
          Values{0, 2, 3, 5});
    CHECK(masked_fill(x, gt(x, 2), 9).to_vector() == Values{0, 1, 2, 9, 9, 9});
    CHECK_THROWS_AS(masked_select(x, x), TypeError);
    CHECK(nonzero(x).to_vector() == Values{0, 1, 0, 2, 1, 0, 1, 1, 1, 2});
    CHECK(nonzero(tensor(3, {.device = device})).sizes() == Dims{1, 0});
  });
}

TEST_CASE("index_select, gather, scatter, index_add, take_along_dim, embedding") {
  for_each_device([](Device device) {
    TensorOptions on{.device = device};
    Tensor x = counting({2, 3}, device), index = tensor({2, 0}, on);
    CHECK(index_select(x, 1, index).to_vector() == Values{2, 0, 5, 3});
    CHECK(gather(x, 1, tensor({{2, 0}, {1, 1}}, on)).to_vector() == Values{2, 0, 4, 4});
    CHECK(scatter(x, 1, tensor({{0}, {2}}, on), tensor({{9}, {8}}, on)).to_vector() ==
          Values{9, 1, 2, 3, 4, 8});
    CHECK(scatter(x, 0, tensor({{1, 1, 1}}, on), 7).to_vector() == Values{0, 1, 2, 7, 7, 7});
    CHECK(scatter_add(x, 1, tensor({{0, 0}}, on), tensor({{5, 6}}, on)).to_vector() ==
          Values{11, 1, 2, 3, 4, 5});
    CHECK(index_add(x, 0, tensor({1, 1}, on), counting({2, 3}, device), 2).to_vector() ==
          Values{0, 1, 2, 9, 14, 19});
    CHECK(take_along_dim(x, tensor({5, 0}, on)).to_vector() == Values{5, 0});
    CHECK(take_along_dim(x, tensor({{2}}, on), 1).to_vector() == Values{2, 5});
    CHECK(embedding(x, tensor({{1, 0}}, on)).sizes() == Dims{1, 2, 3});
    CHECK(gather(tensor(4, on), 0, tensor({0, 0}, on)).to_vector() == Values{4, 4});
    CHECK(index_select(x, 0, zeros({0}, {.dtype = kInt64, .device = device})).sizes() ==
          Dims{0, 3});
    CHECK_THROWS_AS(index_select(x, 0, tensor({2}, on)), IndexError);
    CHECK_THROWS_AS(gather(x, 1, tensor({{3}}, on)), IndexError);
    CHECK_THROWS_AS(gather(x, 1, tensor({{0}, {0}, {0}}, on)), ShapeError);
    CHECK_THROWS_AS(scatter(x, 1, tensor({{0, 1}}, on), tensor({{1}}, on)), ShapeError);
    CHECK_THROWS_AS(index_add(x, 0, tensor({0}, on), counting({2, 3}, device)), ShapeError);
    CHECK_THROWS_AS(embedding(x, tensor({-3}, on)), IndexError);
  });
}

TEST_CASE("index: a bad position changes nothing") {
  Tensor x = zeros({3});
  uint32_t before = x.version();
  CHECK_THROWS_AS(x.index_put_({tensor({0, 3})}, 1.0), IndexError);
  CHECK(x.to_vector() == Values{0, 0, 0});
  CHECK(x.version() == before);
}

TEST_CASE("index: gradients of first and second order", "[A8][A19]") {
  Tensor i = tensor({2, 0, 2}), m = tensor({{true, false, true}, {false, true, true}});
  auto check = [](Tensor x, auto f) {
    CHECK(gradcheck([&](const Inputs& in) { return f(in[0]); }, {x}));
    CHECK(gradgradcheck([&](const Inputs& in) { return f(in[0] * in[0]); }, {x}));
    Tensor flipped = x.detach().transpose(0, -1).contiguous().transpose(0, -1).requires_grad_();
    CHECK(gradcheck([&](const Inputs& in) { return f(in[0]); }, {flipped}));
  };
  Tensor x = random({2, 3}, {.requires_grad = true});
  check(x, [&](const Tensor& t) {
    return Inputs{t[{Slice(), i}], t[m], t[{0, i}], t[{newaxis, 1}]};
  });
  check(x, [&](const Tensor& t) { return Inputs{index_select(t, 1, i), masked_fill(t, m, 2.0)}; });
  check(x, [&](const Tensor& t) { return gather(t, 1, tensor({{2, 2}, {0, 1}})); });
  check(x, [&](const Tensor& t) {
    return scatter(t, 1, tensor({{2}, {0}}), t.slice(1, 0, 1) * 3.0);
  });
  check(x, [&](const Tensor& t) {
    return scatter_add(t, 1, tensor({{2, 2}}), t.slice(0, 0, 1) * 3.0);
  });
  check(x, [&](const Tensor& t) {
    return index_add(t, 1, tensor({1, 1}), t.slice(1, 0, 2), -0.5);
  });
  check(x, [&](const Tensor& t) { return embedding(t, tensor({{1, 1}, {0, 1}})); });
}

TEST_CASE("a masked assignment of a masked minimum has both gradients, and no version error",
          "[A5]") {
  for_each_device([](Device device) {
    TensorOptions options{.device = device}, variable{.device = device, .requires_grad = true};
    Tensor a = from_values({1, 0, 0}, options), b = from_values({1, 2, 3}, variable),
           c = from_values({2, 2, 2}, variable);
    Tensor bb = b + 1, mask = a != 0;
    bb.index_put_({mask}, minimum(bb[mask], c[mask]));
    bb.sum().backward();
    CHECK(b.grad().to_vector() == std::vector<double>{0.5, 1, 1});
    CHECK(c.grad().to_vector() == std::vector<double>{0.5, 0, 0});
  });
}

TEST_CASE("index_put_: writes or adds, and its history is right", "[A4]") {
  for_each_device([](Device device) {
    TensorOptions on{.device = device};
    Tensor x = zeros({2, 3}, on);
    x.index_put_({Slice(), 1}, tensor({4.f, 5.f}, on));
    CHECK(x.to_vector() == Values{0, 4, 0, 0, 5, 0});
    Index at[] = {tensor({0, 0, 1}, on), tensor({2, 2, 0}, on)};
    index_put_(x, at, 1.0, true);
    CHECK(x.to_vector() == Values{0, 4, 2, 1, 5, 0});
  });
  Tensor a = leaf({1, 2, 3}), b = leaf({7});
  Tensor y = a * 2.0;
  y.index_put_({tensor({0, 2})}, b);
  (y * y).backward(ones({3}, {.dtype = kFloat64}));
  CHECK(y.to_vector() == Values{7, 4, 7});
  CHECK(a.grad().to_vector() == Values{0, 16, 0});
  CHECK(b.grad().to_vector() == Values{28});
  CHECK_THROWS_AS(a.index_put_({0}, 1.0), GradError);
}

TEST_CASE("index: sums of what meets are the same bits at any number of threads", "[A20]") {
  auto run = [](Device device) {
    Tensor w = random({50, 33}, {.dtype = kFloat32, .device = device, .requires_grad = true});
    Generator generator(3);
    Tensor i = randint(0, 50, {20'000}, {.device = device}, &generator);
    Tensor rows = embedding(w, i);
    rows.backward(random({20'000, 33}, {.dtype = kFloat32, .device = device}, 4));
    return w.grad();
  };
  auto [serial, openmp] = serial_and_openmp();
  CHECK(bitwise_equal(run(serial), run(openmp)));
}

}  // namespace
}  // namespace farro::test
