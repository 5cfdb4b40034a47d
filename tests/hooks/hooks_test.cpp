#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/events.hpp>
#include <nn/no_leaks.hpp>
#include <farro/autograd/engine.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/backends/warning.hpp>

namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Args;
using nn::Grads;
using nn::Kwargs;
using nn::Module;
using nn::Value;

int live_objects = 0;
/// A module whose live objects are counted.
struct Counted : Module {
  Counted() { ++live_objects; }
  Counted(const Counted& other) : Module(other), layer(other.layer) { ++live_objects; }
  ~Counted() override { --live_objects; }
  nn::Ref<nn::Linear> layer{{.in_features = 1, .out_features = 1, .dtype = kFloat64}};
  FARRO_MEMBERS(Counted, layer)
  Tensor forward(const Tensor& x) { return tanh(layer(x)); }
};

struct Nested : Module {
  FARRO_MEMBERS(Nested)
  std::map<std::string, std::vector<Tensor>> forward(const Tensor& x) {
    return {{"a", {x * 2, x * 3}}, {"b", {x * 5}}};
  }
};

/// The second input is not on the way to the output.
struct First : Module {
  FARRO_MEMBERS(First)
  Tensor forward(const Tensor&, const Tensor& b) { return b * 2; }
};

Tensor one(bool requires_grad = true) { return leaf(Device(), {1}, {1}, requires_grad); }

}  // namespace

TEST_CASE("values: C++ values there and back") {
  using Tuple = std::tuple<int, Tensor, std::string, std::optional<double>, std::array<bool, 2>>;
  Tensor x = ones({2});
  Value value = hooks::to_value(Tuple(3, x, "text", std::nullopt, {true, false}));
  CHECK(value.str() == "[3, tensor of shape [2], \"text\", null, [true, false]]");
  Tuple back = hooks::from_value<Tuple>(value);
  CHECK(std::get<1>(back).is_same(x));
  CHECK(std::get<4>(back)[0]);
  CHECK_THROWS_AS(value.tensor(), TypeError);
  CHECK_THROWS_AS(value[9], IndexError);
  CHECK_THROWS_AS(hooks::from_value<nn::Linear::Options>(Value(hooks::Map{{"in", 3}})), TypeError);
}

TEST_CASE("hooks: forward called directly passes them by", "[M8]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  int calls = 0;
  act.register_forward_hook([&] { ++calls; });
  act.forward(one());
  CHECK(calls == 0);
  act(one());
  CHECK(calls == 1);
}

TEST_CASE("hooks: an always_call hook that throws becomes a warning and is not run again",
          "[M11]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  int calls = 0, warnings = 0;
  auto previous = set_warning_handler([&](const std::string&) { ++warnings; });
  act.register_forward_hook([&] { fail<ValueError>("first", "first"); }, {.always_call = true});
  act.register_forward_hook(
      [&] {
        ++calls;
        throw std::runtime_error("second");
      },
      {.always_call = true});
  CHECK_THROWS_AS(act(one()), ValueError);
  set_warning_handler(previous);
  CHECK(calls == 1);
  CHECK(warnings == 1);
}

TEST_CASE("hooks: always called, also when forward, a pre-hook or another hook throws", "[M11]") {
  NoLeaks no_leaks;
  for (int where : {0, 1, 2}) {
    nn::Tanh act;
    std::vector<std::string> events;
    // Better than PyTorch: a global one with kwargs too.
    ScopedHandle global = hooks::register_global_forward_hook(
        [&](Module&, const Args& args, const Kwargs&, const Value& result) {
          events.push_back("global " + std::to_string(args.size()) +
                           (result.is_null() ? " null" : ""));
        },
        {.with_kwargs = true, .always_call = true});
    if (where == 0) act.register_forward_pre_hook([] { fail<IndexError>("pre", "no"); });
    if (where == 1)
      act.register_forward_pre_hook([](Module&, const Args&) { return Value("no tensor"); });
    if (where == 2) act.register_forward_hook([] { fail<KeyError>("post", "no"); });
    act.register_forward_hook([&] { events.emplace_back("plain"); });
    act.register_forward_hook(
        [&](Module&, const Args&, const Value& result) {
          events.push_back(result.is_null() ? "always null" : "always");
        },
        {.always_call = true});
    act.train(where != 2);  // the mode has nothing to do with it
    if (where == 0) CHECK_THROWS_AS(act(one()), IndexError);
    if (where == 1) CHECK_THROWS_AS(act(one()), TypeError);
    if (where == 2) CHECK_THROWS_AS(act(one()), KeyError);
    std::vector<std::string> expected{"global 1 null", "always null"};
    if (where == 2) expected = {"global 1", "always"};
    CHECK(events == expected);
  }
}

TEST_CASE("hooks: handles outlive their module", "[M13]") {
  NoLeaks no_leaks;
  RemovableHandle handle;
  {
    nn::Tanh act;
    handle = act.register_forward_hook([] {});
  }
  handle.remove();
  handle.remove();
  CHECK(handle.id() > 0);
}

TEST_CASE("hooks: the bracket lies inside pre-hooks and outside forward hooks", "[M17]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  Json seen;
  act.register_forward_pre_hook([](Module&, const Args& in) { return in.tensor(0) * 2; });
  act.register_forward_hook([](Module&, const Args&, const Tensor& out) { return out * 10; });
  act.register_full_backward_hook([&](Module&, const Grads& in, const Grads& out) {
    seen = {json(in), json(out)};
  });
  Tensor x = one();
  act(x).backward();
  double slope = 1 - std::tanh(2.0) * std::tanh(2.0);
  CHECK(same(seen, Json::array({Json::array({{10 * slope}}), Json::array({{1.0}})})));
  CHECK(std::abs(x.grad().item() - 20 * slope) < 1e-12);
}

TEST_CASE("hooks: an input off the way to the output", "[M18][M19]") {
  NoLeaks no_leaks;
  First first;
  Json seen = Json::array();
  int pre = 0;
  first.register_full_backward_pre_hook([&] { ++pre; });
  first.register_full_backward_hook([&](Module&, const Grads& in) { seen.push_back(json(in)); });
  Tensor a = one(), b = one();
  first(a, b).backward();
  CHECK(same(seen, Json::array({Json::array({{0.0}, {2.0}})})));
  seen.clear();
  first(a, one(false));  // nothing requires grad on the way
  Tensor y = first(a, one(false));
  CHECK_FALSE(y.requires_grad());
  CHECK(pre == 1);
}

TEST_CASE("hooks: without an input that requires grad, a full hook can't return gradients",
          "[M19]") {
  NoLeaks no_leaks;
  nn::Linear layer = linear_layer(Device(), 1, 1, {2});
  layer.register_full_backward_hook(
      [](Module&, const Grads&, const Grads& out) -> Grads { return {out[0]}; });
  Tensor y = layer(leaf(Device(), {1}, {1, 1}, false));
  CHECK_THROWS_AS(y.backward(), GradError);
}

TEST_CASE("hooks: outputs nested in maps and lists are bracketed", "[M20]") {
  NoLeaks no_leaks;
  Nested nested;
  Json seen;
  nested.register_full_backward_pre_hook([&](Module&, const Grads& out) { seen = json(out); });
  Tensor x = one();
  auto out = nested(x);
  (out["a"][1] * 7 + out["b"][0]).backward();
  CHECK(same(seen[0]["a"], Json::array({nullptr, Json::array({7.0})})));
  CHECK(same(seen[0]["b"], Json::array({Json::array({1.0})})));
  CHECK(x.grad().item() == 26);
}

TEST_CASE("hooks: what is bracketed can't be changed in place", "[M21]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  act.register_full_backward_pre_hook([] {});
  Tensor y = act(one());
  CHECK_THROWS_MATCHES(
      y.mul_(2), GradError,
      MessageMatches(ContainsSubstring("Tanh") && ContainsSubstring("full backward pre-hook")));
  CHECK_THROWS_AS(y.view({1, 1}).add_(1), GradError);
}

TEST_CASE("hooks: again for each backward, and after the handle is removed", "[M22]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  int calls = 0;
  RemovableHandle handle = act.register_full_backward_hook([&] { ++calls; });
  Tensor y = act(one());
  handle.remove();
  y.backward({.retain_graph = true});
  y.backward();
  CHECK(calls == 2);
}

TEST_CASE("hooks: the other kind of backward hook is possible after removal", "[M23]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  RemovableHandle full = act.register_full_backward_hook([] {});
  CHECK_THROWS_AS(act.register_backward_hook([] {}), GradError);
  full.remove();
  int calls = 0;
  act.register_backward_hook([&](Module&, const Grads& in, const Grads& out) {
    ++calls;
    CHECK(in.size() == 1);
    CHECK(out.tensor(0).item() == 1);
  });
  act(one()).backward();
  CHECK(calls == 1);
}

TEST_CASE("hooks: no cycle keeps a module live_objects", "[M25]") {
  NoLeaks no_leaks;
  REQUIRE(live_objects == 0);
  {
    auto module = nn::make<Counted>();
    module->register_forward_pre_hook([](Module&) {});
    module->register_forward_hook([](Module&, const Args&, const Tensor& out) { return out * 1; });
    module->register_full_backward_pre_hook(
        [](Module&, const Grads& out) -> Grads { return {out.tensor(0) * 1}; });
    module->register_full_backward_hook(
        [](Module&, const Grads& in) -> Grads { return {in.tensor(0) * 1}; });
    module->register_state_dict_pre_hook([] {});
    Tensor x = leaf(Device(), {0.3}, {1, 1});
    Tensor y = module(x);
    y.backward({.create_graph = true});
    Tensor g = grad({(y * y).sum()}, {module->layer->weight}, {.create_graph = true})[0];
    CHECK(g.requires_grad());
    CHECK(live_objects == 1);
    module->layer->weight.set_grad({});  // a gradient with a graph leads back to its own leaf
    module->layer->bias.set_grad({});
    x.set_grad({});
  }
  CHECK(live_objects == 0);
}

TEST_CASE("hooks: gradients pass a module that is gone") {
  NoLeaks no_leaks;
  int calls = 0;
  Tensor x = one(), y;
  {
    nn::Tanh act;
    act.register_full_backward_hook([&] { ++calls; });
    y = act(x);
  }
  y.backward();
  CHECK(calls == 0);
  CHECK(x.grad().defined());
}

}  // namespace farro::test
