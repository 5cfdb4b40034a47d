#include <catch2/catch_test_macros.hpp>

#include <string>

#include <support/compare.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>

using namespace farro;
using farro::test::leaf;
using Values = std::vector<double>;
using Events = std::vector<std::string>;

TEST_CASE("at a node: tensor hooks, retained gradient, pre-hooks, backward, post-hooks", "[A9]") {
  Tensor x = leaf({1});
  Tensor y = x * x;
  Events events;
  y.register_hook([&](const Tensor& g) {
    events.push_back("first " + std::to_string(int(g.item())));
    return g * 2;
  });
  y.retain_grad();
  y.register_hook([&](const Tensor& g) {
    events.push_back("second " + std::to_string(int(g.item())));
    return g * 5;
  });
  y.grad_fn()->register_prehook([&](autograd::Grads& g) {
    events.push_back("pre " + std::to_string(int(g[0].item())) +
                     (y.grad().defined() ? " retained" : ""));
    g[0] = g[0] * 7;
  });
  y.grad_fn()->register_hook([&](autograd::Grads& in, const autograd::Grads& out) {
    events.push_back("post " + std::to_string(int(in[0].item())) + " " +
                     std::to_string(int(out[0].item())));
    in[0] = in[0] * 10;
  });
  y.backward();
  CHECK(events == Events{"first 1", "second 2", "pre 10 retained", "post 70 70"});
  CHECK(y.grad().to_vector() == Values{10});
  CHECK(x.grad().to_vector() == Values{770});  // 70 · 10 by the first edge, 70 by the second
}

// Compared with PyTorch 1.13.
TEST_CASE("a leaf's node has pre- and post-hooks too, and these see what was accumulated", "[A9]") {
  Tensor x = leaf({1, 2});
  Tensor y = x * 3;
  Events events;
  autograd::Node& node = *y.grad_fn()->next_edges()[0].node;
  node.register_prehook([&](autograd::Grads& g) {
    events.push_back("pre " + std::to_string(int(g[0].to_vector()[1])));
  });
  node.register_hook([&](autograd::Grads& in, const autograd::Grads& out) {
    events.push_back("post " + std::to_string(in.size()) + " " +
                     std::to_string(int(out[0].to_vector()[1])));
  });
  sum(y).backward();
  CHECK(events == Events{"pre 3", "post 0 3"});
  CHECK(x.grad().to_vector() == Values{3, 3});
}

// Compared with PyTorch 1.13.
TEST_CASE("a post-hook that a pre-hook of its node adds runs at once", "[A9]") {
  Tensor y = leaf({2}) * 3;
  autograd::Node& node = *y.grad_fn();
  int runs = 0;
  node.register_prehook([&](autograd::Grads&) {
    node.register_hook([&](autograd::Grads&, const autograd::Grads& out) {
      runs += static_cast<int>(out[0].item());
    });
  });
  y.backward();
  CHECK(runs == 1);
}

TEST_CASE("what post-hooks keep stays as it was", "[A9]") {
  Tensor x = leaf({1, 2}), y = x;
  std::vector<Tensor> in, out;
  for (int i = 0; i < 6; ++i) {
    y = i % 2 == 0 ? y * 2 : y + 1;  // one makes a new gradient, the other passes it on
    y.grad_fn()->register_hook([&](autograd::Grads& inputs, const autograd::Grads& outputs) {
      in.push_back(inputs[0]);
      if (out.size() % 2 == 0)
        out.push_back(outputs[0]);  // some stay with the engine
      else
        out.emplace_back();
    });
  }
  sum(y).backward();
  CHECK(x.grad().to_vector() == Values{8, 8});
  std::vector<double> expected{1, 2, 2, 4, 4, 8};
  for (size_t i = 0; i < 6; ++i) {
    CHECK(in[i].to_vector() == Values(2, expected[i]));
    if (out[i].defined()) CHECK(out[i].to_vector() == Values(2, i == 0 ? 1 : expected[i - 1]));
  }
}

TEST_CASE("a gradient lent to a later node fits it or is not used", "[A9]") {
  auto watched = [](Tensor y) {
    y.grad_fn()->register_hook([](autograd::Grads&, const autograd::Grads&) {});
    return y;
  };
  Tensor x = leaf({1, 2, 3, 4});
  Tensor wide = watched(x.to(kFloat32) * 2),
         row = watched(sum(watched(wide * 3).view({2, 2}), {0}));
  Tensor product = watched(row * row);
  watched(sum(product)).backward();
  // The sums of columns are 24 and 36, each of which every element of its column enters 6 times.
  CHECK(x.grad().to_vector() == Values{288, 432, 288, 432});
  int64_t before = memory_stats().allocated;
  sum(watched(watched(x * x) * x)).backward();
  CHECK(memory_stats().allocated == before);
}

TEST_CASE("at a leaf: tensor hooks, accumulation, post-accumulate hooks", "[A9]") {
  Tensor x = leaf({3});
  Events events;
  x.register_hook([&](const Tensor& g) {
    events.push_back(x.grad().defined() ? "late" : "tensor hook");
    return g * 2;
  });
  x.register_post_accumulate_grad_hook([&](const Tensor& t) {
    events.push_back("accumulated " + std::to_string(int(t.grad().item())));
    t.set_grad({});
  });
  (x * x).backward();
  CHECK(events == Events{"tensor hook", "accumulated 12"});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a leaf's hooks run once for the sum of its gradients", "[A9]") {
  Tensor x = leaf({3});
  int calls = 0;
  x.register_hook([&](const Tensor&) { ++calls; });
  (x * x + x * 5 + x).backward();
  CHECK(calls == 1);
  CHECK(x.grad().to_vector() == Values{12});
}

TEST_CASE("grad runs the tensor hooks of its inputs but not their post-accumulate hooks", "[A9]") {
  Tensor x = leaf({3});
  int post = 0;
  x.register_hook([](const Tensor& g) { return g * 2; });
  x.register_post_accumulate_grad_hook([&](const Tensor&) { ++post; });
  CHECK(grad({x * x}, {x})[0].to_vector() == Values{12});
  CHECK(post == 0);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("grad with respect to a tensor within the graph runs that tensor's hooks", "[A9]") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  y.register_hook([](const Tensor& g) { return g * 2; });
  CHECK(grad({y * 4}, {y})[0].to_vector() == Values{8});
}

TEST_CASE("hooks on different outputs see their own gradients", "[A9]") {
  Tensor x = leaf({1, 2, 3, 4});
  auto parts = x.split(2);
  Values seen;
  parts[1].register_hook([&](const Tensor& g) { seen = g.to_vector(); });
  (parts[0] * 2 + parts[1] * 3).sum().backward();
  CHECK(seen == Values{3, 3});
}

TEST_CASE("a hook registered before an in-place change belongs to the old value", "[A10]") {
  Tensor x = leaf({1});
  Tensor a = x * 1;
  Values seen;
  a.register_hook([&](const Tensor& g) { seen = g.to_vector(); });
  a.retain_grad();
  a.mul_(2);
  a.backward();
  CHECK(seen == Values{2});
  CHECK(a.grad().to_vector() == Values{1});
  CHECK(x.grad().to_vector() == Values{2});
}

TEST_CASE("a hook that returns another shape or dtype is an error", "[A10]") {
  Tensor x = leaf({1, 2});
  SECTION("shape, at a leaf") {
    x.register_hook([](const Tensor&) { return test::from_values({1}); });
    CHECK_THROWS_AS((x * x).sum().backward(), GradError);
  }
  SECTION("dtype, at a node") {
    Tensor y = x * x;
    y.register_hook([](const Tensor& g) { return g.to(kFloat32); });
    CHECK_THROWS_AS(y.sum().backward(), GradError);
  }
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a removed hook runs no more, and handles outlive tensors", "[A9]") {
  RemovableHandle handle;
  {
    Tensor x = leaf({1});
    int calls = 0;
    handle = x.register_hook([&](const Tensor&) { ++calls; });
    (x * x).backward();
    handle.remove();
    handle.remove();
    (x * x).backward();
    CHECK(calls == 1);
    {
      ScopedHandle scoped = x.register_hook([&](const Tensor&) { ++calls; });
      (x * x).backward();
    }
    (x * x).backward();
    CHECK(calls == 2);
    handle = x.register_hook([&](const Tensor&) { ++calls; });
  }
  handle.remove();
}

TEST_CASE("a hook may add and remove hooks while they run", "[A9]") {
  Tensor x = leaf({1});
  Events events;
  RemovableHandle second;
  x.register_hook([&](const Tensor&) {
    events.push_back("first");
    second.remove();
    x.register_hook([&](const Tensor&) { events.push_back("new"); });
  });
  second = x.register_hook([&](const Tensor&) { events.push_back("second"); });
  (x * x).backward();
  CHECK(events == Events{"first", "second"});
  (x * x).backward();
  CHECK(events == Events{"first", "second", "first", "new"});
}

TEST_CASE("hooks see that backward records nothing unless create_graph asks for it", "[A11]") {
  Tensor x = leaf({3});
  std::vector<bool> recording;
  x.register_hook([&](const Tensor&) { recording.push_back(grad_mode_enabled()); });
  Tensor y = x * x;
  y.grad_fn()->register_prehook(
      [&](autograd::Grads&) { recording.push_back(grad_mode_enabled()); });
  y.backward({.retain_graph = true});
  CHECK(recording == std::vector<bool>{false, false});
  recording.clear();
  y.backward({.create_graph = true});
  CHECK(recording == std::vector<bool>{true, true});
  CHECK(grad_mode_enabled());
  x.set_grad({});
}

TEST_CASE("backward records under NoGrad where create_graph asks for it", "[A11]") {
  Tensor x = leaf({3});
  Tensor y = x * x * x;
  Tensor first;
  {
    NoGrad guard;
    first = grad({y}, {x}, {.create_graph = true})[0];
    CHECK_FALSE(grad_mode_enabled());
  }
  CHECK(grad({first}, {x})[0].to_vector() == Values{18});
}

TEST_CASE("what a hook computes is differentiated under create_graph", "[A8]") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  y.register_hook([](const Tensor& g) { return g * g; });
  Tensor weight = leaf({2});
  Tensor first = grad({y * weight}, {x}, {.create_graph = true})[0];  // w² · 2x
  CHECK(first.to_vector() == Values{24});
  auto second = grad({first}, {x, weight});
  CHECK(second[0].to_vector() == Values{8});
  CHECK(second[1].to_vector() == Values{24});
}

TEST_CASE("a hook that throws leaves tape, leaves and modes usable", "[A9]") {
  struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  Tensor x = leaf({3});
  Tensor y = x * x, z = y * y;
  ScopedHandle handle = y.register_hook([](const Tensor&) { throw Stop("enough"); });
  CHECK_THROWS_AS(z.backward({.retain_graph = true}), Stop);
  CHECK(grad_mode_enabled());
  CHECK_FALSE(x.grad().defined());
  handle = {};
  z.backward();
  CHECK(x.grad().to_vector() == Values{108});
}

TEST_CASE("a post-accumulate hook may step the leaf", "[A9]") {
  Tensor x = leaf({3});
  x.register_post_accumulate_grad_hook([](const Tensor& t) {
    t.sub_(t.grad(), 0.5);
    t.set_grad({});
  });
  (x * x).backward();
  CHECK(x.to_vector() == Values{0});
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("hooks need a tensor that requires grad", "[A9]") {
  Tensor plain = test::from_values({1}), x = leaf({1});
  CHECK_THROWS_AS(plain.register_hook([](const Tensor&) {}), GradError);
  CHECK_THROWS_AS(plain.retain_grad(), GradError);
  CHECK_THROWS_AS((x * x).register_post_accumulate_grad_hook([](const Tensor&) {}), GradError);
}

TEST_CASE("retain_grad accumulates over backwards and forgets tensors that are gone", "[A9]") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  y.retain_grad();
  CHECK(y.retains_grad());
  y.backward({.retain_graph = true});
  y.backward({.retain_graph = true});
  CHECK(y.grad().to_vector() == Values{2});
  Tensor z = y * y;
  y = {};
  CHECK_NOTHROW(z.backward());
}
