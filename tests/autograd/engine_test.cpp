#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <support/compare.hpp>
#include <support/threads.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>

using namespace farro;
using farro::test::leaf;
using Values = std::vector<double>;

TEST_CASE("a tensor made by the user is a leaf and has no grad_fn", "[A1]") {
  Tensor x = leaf({1, 2}), plain = test::from_values({1, 2});
  CHECK(x.is_leaf());
  CHECK(plain.is_leaf());
  CHECK(x.grad_fn() == nullptr);
  CHECK_FALSE(plain.requires_grad());
}

TEST_CASE("the output of a recorded operation names its node", "[A1]") {
  Tensor x = leaf({1, 2});
  CHECK((x + x).grad_fn()->name() == "AddBackward");
  CHECK((x * x).grad_fn()->name() == "MulBackward");
  CHECK_FALSE((x + x).is_leaf());
  CHECK((x + x).requires_grad());
  Tensor plain = test::from_values({1, 2});
  CHECK((plain + plain).is_leaf());
}

TEST_CASE("only floating-point tensors may require grad", "[A1]") {
  Tensor integers = test::from_values({1, 2}, {.dtype = kInt64});
  CHECK_THROWS_AS(integers.requires_grad_(), GradError);
  CHECK_THROWS_AS(leaf({1}).to(kInt64).requires_grad_(), GradError);
  CHECK_FALSE(integers.requires_grad());
}

TEST_CASE("a conversion to integers cuts the tape", "[A1]") {
  Tensor n = leaf({1.5, 2.5}).to(kInt64);
  CHECK(n.is_leaf());
  CHECK_FALSE(n.requires_grad());
}

TEST_CASE("a root of several elements needs a gradient of its shape", "[A6]") {
  Tensor x = leaf({1, 2, 3});
  Tensor y = x * x;
  CHECK_THROWS_AS(y.backward(), GradError);
  CHECK_THROWS_AS(y.backward(test::from_values({1, 2})), GradError);
  CHECK_FALSE(x.grad().defined());
  y.backward(test::from_values({1, 10, 100}));
  CHECK(x.grad().to_vector() == Values{2, 40, 600});
}

TEST_CASE("a root without history can't be differentiated", "[A6]") {
  Tensor plain = test::from_values({1});
  CHECK_THROWS_AS(plain.backward(), GradError);
}

TEST_CASE("a leaf as root gets its own gradient", "[A6]") {
  Tensor x = leaf({3});
  x.backward();
  CHECK(x.grad().to_vector() == Values{1});
}

TEST_CASE("a second backward is an error only where saved tensors were freed", "[A6]") {
  Tensor x = leaf({1, 2});
  Tensor nothing_saved = (x + x).sum();
  nothing_saved.backward();
  CHECK_NOTHROW(nothing_saved.backward());
  CHECK(x.grad().to_vector() == Values{4, 4});

  Tensor saved = (x * x).sum();
  saved.backward();
  CHECK_THROWS_AS(saved.backward(), GradError);
  CHECK_THROWS_AS(saved.backward(), GradError);
}

TEST_CASE("retain_graph keeps what backward needs", "[A6]") {
  Tensor x = leaf({1, 2});
  Tensor y = (x * x).sum();
  y.backward({.retain_graph = true});
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(x.grad().to_vector() == Values{6, 12});
  CHECK_THROWS_AS(y.backward(), GradError);
}

TEST_CASE("grad leaves every grad() alone", "[A6]") {
  Tensor x = leaf({2}), w = leaf({5});
  Tensor y = (x * w).sum();
  auto g = grad({y}, {x});
  CHECK(g[0].to_vector() == Values{5});
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(w.grad().defined());
}

TEST_CASE("grad reaches tensors within the graph", "[A6]") {
  Tensor x = leaf({2});
  Tensor middle = x * x;
  Tensor y = (middle * middle).sum();
  auto g = grad({y}, {middle, x});
  CHECK(g[0].to_vector() == Values{8});
  CHECK(g[1].to_vector() == Values{32});
}

TEST_CASE("grad of a tensor with respect to itself is its gradient", "[A6]") {
  Tensor x = leaf({2});
  Tensor y = x * x;
  CHECK(grad({y}, {y})[0].to_vector() == Values{1});
}

TEST_CASE("an unused input is an error, null or zeros, as asked", "[A6]") {
  Tensor x = leaf({1, 2}), unused = leaf({1, 2, 3});
  auto y = [&] { return (x * x).sum(); };
  CHECK_THROWS_AS(grad({y()}, {x, unused}), GradError);
  auto allowed = grad({y()}, {x, unused}, {.allow_unused = true});
  CHECK(allowed[0].to_vector() == Values{2, 4});
  CHECK_FALSE(allowed[1].defined());
  auto zero = grad({y()}, {x, unused}, {.materialize_grads = true});
  CHECK(zero[1].to_vector() == Values{0, 0, 0});
}

TEST_CASE("grad checks its lists", "[A6]") {
  Tensor x = leaf({1, 2}), plain = test::from_values({1, 2});
  CHECK_THROWS_AS(grad({(x * x).sum()}, {}), ValueError);
  CHECK_THROWS_AS(grad({(x * x).sum()}, {plain}), GradError);
  CHECK_THROWS_AS(grad({(x * x).sum()}, {x}, {}, {test::from_values({1}), test::from_values({1})}),
                  GradError);
}

TEST_CASE("several outputs add up", "[A6]") {
  Tensor x = leaf({1, 2});
  Tensor y = x * x, z = x + x;
  backward({y, z}, {test::from_values({1, 1}), test::from_values({10, 100})});
  CHECK(x.grad().to_vector() == Values{22, 204});
}

TEST_CASE("backward with inputs accumulates only there", "[A6]") {
  Tensor x = leaf({2}), w = leaf({5});
  Tensor middle = x * w;
  Tensor y = (middle * middle).sum();
  backward({y}, {}, {.retain_graph = true}, std::vector{w});
  CHECK_FALSE(x.grad().defined());
  CHECK(w.grad().to_vector() == Values{40});
  backward({y}, {}, {.retain_graph = true}, std::vector{middle});
  CHECK(middle.grad().to_vector() == Values{20});
  CHECK(w.grad().to_vector() == Values{40});
  CHECK_THROWS_AS(backward({y}, {}, {}, std::vector<Tensor>{}), ValueError);
}

TEST_CASE("gradients accumulate in place without create_graph", "[A7]") {
  Tensor x = leaf({1, 2});
  (x * x).sum().backward();
  Tensor first = x.grad();
  (x * x).sum().backward();
  CHECK(x.grad().is_same(first));
  CHECK(first.to_vector() == Values{4, 8});
}

TEST_CASE("gradients accumulate out of place with create_graph", "[A7]") {
  Tensor x = leaf({1, 2});
  (x * x).sum().backward({.create_graph = true});
  Tensor first = x.grad();
  CHECK(first.requires_grad());
  (x * x).sum().backward({.create_graph = true});
  CHECK_FALSE(x.grad().is_same(first));
  CHECK(first.to_vector() == Values{2, 4});
  CHECK(x.grad().to_vector() == Values{4, 8});
  x.set_grad({});  // with its history it would keep its leaf alive, and that it
}

TEST_CASE("leaves do not share the memory of their gradients", "[A7]") {
  Tensor a = leaf({1, 2}), b = leaf({3, 4}), gradient = test::from_values({5, 6});
  (a + b).backward(gradient);
  CHECK(a.grad().data_ptr() != b.grad().data_ptr());
  CHECK(a.grad().data_ptr() != gradient.data_ptr());
  CHECK(b.grad().data_ptr() != gradient.data_ptr());
  (a + b).backward(gradient);
  CHECK(gradient.to_vector() == Values{5, 6});
  CHECK(a.grad().to_vector() == Values{10, 12});
  CHECK(b.grad().to_vector() == Values{10, 12});
}

TEST_CASE("gradients that meet in the graph leave the user's gradient alone", "[A7]") {
  Tensor x = leaf({1, 2}), gradient = test::from_values({1, 1});
  Tensor y = x + x;
  (y + y).backward(gradient);
  CHECK(gradient.to_vector() == Values{1, 1});
  CHECK(x.grad().to_vector() == Values{4, 4});
}

TEST_CASE("setting grad checks shape, dtype and device", "[A7]") {
  Tensor x = leaf({1, 2});
  CHECK_THROWS_AS(x.set_grad(test::from_values({1, 2, 3})), GradError);
  CHECK_THROWS_AS(x.set_grad(test::from_values({1, 2}, {.dtype = kFloat32})), GradError);
  for (Device device : test::devices()) {
    if (device == x.device()) continue;
    CHECK_THROWS_AS(x.set_grad(test::from_values({1, 2}, {.device = device})), GradError);
  }
  CHECK_FALSE(x.grad().defined());
  x.set_grad(test::from_values({1, 2}));
  CHECK(x.grad().to_vector() == Values{1, 2});
  x.set_grad({});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("gradients of gradients are gradients of any order", "[A8]") {
  Tensor x = leaf({2});
  Tensor y = x * x * x * x;
  Tensor first = grad({y}, {x}, {.create_graph = true})[0];
  Tensor second = grad({first}, {x}, {.create_graph = true})[0];
  Tensor third = grad({second}, {x}, {.create_graph = true})[0];
  Tensor fourth = grad({third}, {x}, {.create_graph = true})[0];
  CHECK(first.to_vector() == Values{32});
  CHECK(second.to_vector() == Values{48});
  CHECK(third.to_vector() == Values{48});
  CHECK(fourth.to_vector() == Values{24});
}

TEST_CASE("the third derivative of tanh", "[A8]") {
  Tensor x = leaf({0.5});
  Tensor d = tanh(x);
  for (int i = 0; i < 3; ++i) d = grad({d}, {x}, {.create_graph = true})[0];
  double t = std::tanh(0.5);
  double expected = (1 - t * t) * (6 * t * t - 2);
  CHECK(test::allclose(d.detach(), test::from_values({expected}), {1e-12}));
}

TEST_CASE("without create_graph gradients have no history", "[A8]") {
  Tensor x = leaf({2});
  CHECK_FALSE(grad({x * x * x}, {x})[0].requires_grad());
}

TEST_CASE("a backward that gives more gradients than there are inputs is an error", "[A6]") {
  Tensor x = leaf({2});
  Tensor y = autograd::record("TwiceBackward", test::from_values({4}), {x}, {},
                              [](const autograd::BackwardContext& c) -> autograd::Grads {
                                return {c.grad(), c.grad()};
                              });
  CHECK_THROWS_AS(y.backward(), GradError);
}

TEST_CASE("a null gradient ends its way quietly", "[A6]") {
  Tensor x = leaf({2}), w = leaf({3});
  Tensor cut =
      autograd::record("CutBackward", test::from_values({2}), {x * x}, {},
                       [](const autograd::BackwardContext&) -> autograd::Grads { return {}; });
  (cut * w).sum().backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(w.grad().to_vector() == Values{2});
}

TEST_CASE("an operation with several outputs gets null gradients for those that were not used",
          "[A6]") {
  Tensor x = leaf({2});
  std::vector<Tensor> outputs = {test::from_values({4}), test::from_values({6})};
  bool second_is_null = false;
  autograd::record("PairBackward", outputs, {x}, {},
                   [&](const autograd::BackwardContext& c) -> autograd::Grads {
                     second_is_null = !c.grad(1).defined();
                     return {c.grad(0) + c.grad(0)};
                   });
  CHECK(outputs[0].grad_fn() == outputs[1].grad_fn());
  outputs[0].backward();
  CHECK(second_is_null);
  CHECK(x.grad().to_vector() == Values{2});
}

TEST_CASE("a chain of a million nodes is built, differentiated and destroyed on a small stack",
          "[A13]") {
  Tensor x = leaf({1});
  test::on_thread_with_stack(256 * 1024, [&] {
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y + x;
    y.backward();
  });
  CHECK(x.grad().to_vector() == Values{1'000'001});
}

TEST_CASE("a chain of a million nodes that keep tensors is destroyed on a small stack", "[A13]") {
  Tensor x = leaf({1}), one = test::from_values({1});
  test::on_thread_with_stack(256 * 1024, [&] {
    Tensor y = x;
    for (int i = 0; i < 1'000'000; ++i) y = y * one;
    grad({y}, {x}, {.retain_graph = true});
  });
  CHECK(x.is_leaf());
}

TEST_CASE("a hundred thousand gradients meet at one node", "[A13]") {
  Tensor x = leaf({1});
  test::on_thread_with_stack(256 * 1024, [&] {
    Tensor middle = x + x;
    std::vector<Tensor> outputs;
    for (int i = 0; i < 100'000; ++i) outputs.push_back(middle + middle);
    backward(outputs);
  });
  CHECK(x.grad().to_vector() == Values{400'000});
}

TEST_CASE("backward works inside backward, 150 deep", "[A13]") {
  std::function<double(int)> nested = [&](int depth) {
    EnableGrad guard;  // hooks run with recording off
    Tensor x = leaf({1});
    Tensor y = x + x;
    double inner = 0;
    y.register_hook([&](const Tensor&) {
      if (depth > 1) inner = nested(depth - 1);
    });
    y.backward();
    return x.grad().item() + inner;
  };
  CHECK(nested(150) == 300);
}

TEST_CASE("gradients equal those of the contiguous copy for every layout", "[A19]") {
  Tensor values = test::random({3, 4});
  Tensor weights = test::random({4, 3}, {}, 7);
  auto gradient_of = [&](const Tensor& x) {
    x.requires_grad_();
    (x.transpose(0, 1) * x.transpose(0, 1) * weights).sum().backward();
    return x.grad();
  };
  Tensor expected = gradient_of(values.clone());
  CHECK(test::bitwise_equal(gradient_of(test::with_strides(values, {1, 3})), expected));
  CHECK(test::bitwise_equal(gradient_of(test::with_strides(values, {8, 2})), expected));
}

TEST_CASE("backward takes expanded and transposed gradients", "[A19]") {
  Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  (x * x).backward(test::from_values({2}).expand({2, 2}));
  CHECK(x.grad().to_vector() == Values{4, 8, 12, 16});
  x.set_grad({});
  (x * x).backward(test::from_values({1, 2, 3, 4}, {2, 2}).transpose(0, 1));
  CHECK(x.grad().to_vector() == Values{2, 12, 12, 32});
}

TEST_CASE("tensors of size zero have gradients of size zero", "[A19]") {
  Tensor x = test::from_values({}, {0, 3}, {.requires_grad = true});
  (x * x).sum().backward();
  CHECK(x.grad().sizes() == Dims{0, 3});
}

TEST_CASE("gradients have their tensors' dtypes", "[A7]") {
  Tensor x = test::from_values({1, 2}, {.dtype = kFloat32, .requires_grad = true});
  Tensor h = test::from_values({1, 2}, {.dtype = kBFloat16, .requires_grad = true});
  Tensor w = leaf({3, 4});
  (x * w + h * x).sum().backward();
  CHECK(x.grad().dtype() == kFloat32);
  CHECK(h.grad().dtype() == kBFloat16);
  CHECK(w.grad().dtype() == kFloat64);
  CHECK(x.grad().to_vector() == Values{4, 6});
}

TEST_CASE("gradients have their tensors' shapes where those were broadcast", "[A7]") {
  Tensor row = leaf({1, 2, 3}), column = leaf({1, 2}, {2, 1}), number = leaf({5}, Dims{});
  (row * column * number).sum().backward();
  CHECK(row.grad().to_vector() == Values{15, 15, 15});
  CHECK(column.grad().sizes() == Dims{2, 1});
  CHECK(column.grad().to_vector() == Values{30, 30});
  CHECK(number.grad().dim() == 0);
  CHECK(number.grad().item() == 18);
}

TEST_CASE("inputs and outputs may be named twice", "[A6]") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  auto g = grad({y, y}, {x, x, y}, {}, {test::from_values({1}), test::from_values({10})});
  CHECK(g[0].to_vector() == Values{66});
  CHECK(g[1].to_vector() == Values{66});
  CHECK(g[2].to_vector() == Values{11});
}

TEST_CASE("gradients that grad gives are the caller's own", "[A6]") {
  Tensor x = leaf({3}), one = test::from_values({1});
  auto g = grad({x + x}, {x}, {}, {one});
  g[0].zero_();
  Tensor y = x + 0;
  Tensor passed = grad({y}, {x}, {.retain_graph = true}, {one})[0];
  CHECK(one.to_vector() == Values{1});
  CHECK(passed.to_vector() == Values{1});
}

TEST_CASE("an exception in backward leaves leaves and modes as they were", "[A6]") {
  Tensor x = leaf({2});
  bool throws = true;
  Tensor y = autograd::record("ThrowBackward", test::from_values({2}), {x}, {},
                              [&](const autograd::BackwardContext& c) -> autograd::Grads {
                                if (throws) throw ValueError("not today");
                                return {c.grad()};
                              });
  CHECK_THROWS_AS(y.backward(), ValueError);
  CHECK(grad_mode_enabled());
  CHECK_FALSE(x.grad().defined());
  throws = false;
  y.backward();
  CHECK(x.grad().to_vector() == Values{1});
}
