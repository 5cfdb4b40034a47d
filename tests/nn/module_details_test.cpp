#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <nn/events.hpp>
#include <nn/no_leaks.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/hooks/module_hooks.hpp>
#include <farro/nn/layers/normalization.hpp>
#include <farro/nn/module_list.hpp>

/// Statements of the specification in the small, where other tests only pass by them.
namespace farro::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using nn::Args;
using nn::Grads;
using nn::Module;
using nn::Parameter;
using nn::Ref;
using nn::Value;
using Names = std::vector<std::string>;

struct Leafy : Module {
  Ref<nn::Linear> fc{{.in_features = 2, .out_features = 2, .dtype = kFloat64}};
  Parameter scale{ones({1}, {.dtype = kFloat64})};
  nn::Buffer count{zeros({1}, {.dtype = kInt64})};
  FARRO_MEMBERS(Leafy, fc, scale, count)
  Tensor forward(const Tensor& x) { return fc(x) * scale; }
};

/// Saves a word beside its parameters.
struct Wordy : Module {
  Tensor word = zeros({1});
  FARRO_MEMBERS(Wordy)
  std::optional<Tensor> get_extra_state() const override { return word; }
  void set_extra_state(const Tensor& state) override { word = state.clone(); }
};

struct ScopedHandles {
  std::vector<RemovableHandle> handles;
  ~ScopedHandles() {
    for (RemovableHandle& handle : handles) handle.remove();
  }
};

}  // namespace

TEST_CASE("registration: parameters that are no leaves can't come in by any way", "[M2]") {
  Leafy module;
  Tensor computed = ones({2}, {.requires_grad = true}) * 2;
  CHECK_THROWS_AS(module.register_parameter("p", Parameter(computed)), ValueError);
  CHECK_THROWS_AS(module.set_attr("p", Parameter(computed)), ValueError);
  CHECK_FALSE(module.has_attr("p"));
  // As an attribute of no registry a tensor with a history may stand.
  module.set_attr("p", computed);
  CHECK(module.parameters().size() == 3);
}

TEST_CASE(
    "registration hooks: every registration, in order, with replacements; null where they see it",
    "[M6]") {
  NoLeaks no_leaks;
  Names events;
  {
    ScopedHandles scope;
    scope.handles.push_back(hooks::register_parameter_registration_hook(
        [&](Module& m, const std::string& name, const Tensor& t) -> Tensor {
          events.push_back("p " + std::string(m.class_name()) + " " + name);
          return name == "doubled" ? Tensor(Parameter(t.detach() * 2)) : Tensor();
        }));
    scope.handles.push_back(hooks::register_parameter_registration_hook(
        [&](Module&, const std::string& name, const Tensor& t) -> Tensor {
          events.push_back(
              "p2 " + name + " " +
              std::to_string(t.numel() > 0 ? t.detach().to_vector()[0] : 0).substr(0, 1));
          return {};
        }));
    scope.handles.push_back(hooks::register_buffer_registration_hook(
        [&](Module&, const std::string& name, const Tensor& t) -> Tensor {
          events.push_back("b " + name + (t.defined() ? "" : " null"));
          return {};
        }));
    scope.handles.push_back(hooks::register_module_registration_hook(
        [&](Module&, const std::string& name,
            const std::shared_ptr<Module>& child) -> std::shared_ptr<Module> {
          events.push_back("m " + name + (child ? "" : " null"));
          return {};
        }));
    Module module;
    module.register_parameter("doubled", Parameter(ones({1})));
    module.register_parameter("none", {});
    module.register_buffer("none_b", {});
    module.register_module("none_m", nullptr);
    module.set_attr("doubled", Parameter(full({1}, 3.0)));
    CHECK(module.get_parameter("doubled").item() == 6);
    CHECK(events == Names{"p Module doubled", "p2 doubled 2", "b none_b null", "m none_m null",
                          "p Module doubled", "p2 doubled 6"});
  }
  events.clear();
  Leafy later;
  CHECK(events.empty());
}

TEST_CASE("buffers: registering again decides anew whether they are saved", "[M7]") {
  Module module;
  module.register_buffer("b", ones({1}), false);
  CHECK(module.state_dict().empty());
  module.set_attr("b", zeros({2}));
  CHECK(module.state_dict().empty());
  CHECK(module.buffers().size() == 1);
  module.register_buffer("b", zeros({2}), true);
  CHECK(module.state_dict().keys() == Names{"b"});
  module.register_buffer("b", zeros({2}), false);
  module.del_attr("b");
  module.register_buffer("b", zeros({2}));
  CHECK(module.state_dict().keys() == Names{"b"});
}

TEST_CASE("hooks: globals before the module's, prepended within their own list", "[M9]") {
  NoLeaks no_leaks;
  ScopedHandles scope;
  nn::Tanh act;
  Names events;
  auto note = [&](const char* text) { return [&events, text] { events.emplace_back(text); }; };
  scope.handles.push_back(hooks::register_global_forward_pre_hook(note("global pre 1")));
  scope.handles.push_back(
      hooks::register_global_forward_pre_hook(note("global pre 0"), {.prepend = true}));
  scope.handles.push_back(hooks::register_global_forward_hook(note("global post")));
  act.register_forward_pre_hook(note("pre 1"));
  act.register_forward_pre_hook(note("pre 0"), {.prepend = true});
  act.register_forward_hook(note("post"));
  act(leaf({1}));
  CHECK(events == Names{"global pre 0", "global pre 1", "pre 0", "pre 1", "global post", "post"});
}

TEST_CASE("hooks: what a pre-hook returns becomes the arguments", "[M10]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  Tensor x = leaf({0}), other = leaf({2});
  double seen = -1;
  act.register_forward_pre_hook([&](Module&, const Args&) { return other; });
  act.register_forward_pre_hook([&](Module&, const Args& args) {
    seen = args.tensor(0).item();
    return Value(hooks::List{x});
  });
  act.register_forward_hook([](Module&, const Args&, const Tensor& y) { return y + 1; });
  act.register_forward_hook([](Module&, const Args&, const Tensor& y) { return y * 10; });
  CHECK(act(x).item() == 10);
  CHECK(seen == 2);
}

TEST_CASE("hooks: the lists are those at the start of the call", "[M12]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  Names events;
  RemovableHandle second, added;
  act.register_forward_hook([&] {
    events.emplace_back("first");
    second.remove();
    added.remove();
    added = act.register_forward_hook([&] { events.emplace_back("added"); });
  });
  second = act.register_forward_hook([&] { events.emplace_back("second"); });
  act(leaf({1}));
  CHECK(events == Names{"first", "second"});
  events.clear();
  act(leaf({1}));
  CHECK(events == Names{"first", "added"});
}

TEST_CASE("handles: ids rise, removal is idempotent, copies and moves remove nothing", "[M13]") {
  NoLeaks no_leaks;
  nn::Tanh act;
  int calls = 0;
  RemovableHandle a = act.register_forward_hook([&] { ++calls; });
  RemovableHandle b = leaf({1}).register_hook([](const Tensor&) {});
  CHECK(b.id() > a.id());
  {
    RemovableHandle copy = a;
    RemovableHandle moved = std::move(copy);
  }
  act(leaf({1}));
  CHECK(calls == 1);
  {
    ScopedHandle scoped = act.register_forward_hook([&] { calls += 10; });
    ScopedHandle taken = std::move(scoped);
    act(leaf({1}));
  }
  CHECK(calls == 12);
  act(leaf({1}));
  CHECK(calls == 13);
  a.remove();
  a.remove();
  act(leaf({1}));
  CHECK(calls == 13);
  // In a clone the ids are the same, and removal by id concerns one of both.
  uint64_t id = act.register_forward_hook([&] { ++calls; }).id();
  Ref<nn::Tanh> copy = nn::clone(act);
  copy->remove_hook(id);
  copy(leaf({1}));
  CHECK(calls == 13);
  act(leaf({1}));
  CHECK(calls == 14);
}

TEST_CASE("backward hooks: chain, with the number of gradients checked", "[M16]") {
  NoLeaks no_leaks;
  Ref<nn::Linear> fc{linear_layer(Device(), 1, 1, {3})};
  Tensor x = leaf({2}, {1, 1});
  fc->register_full_backward_pre_hook([](Module&, const Grads& out) { return out.tensor(0) * 2; });
  fc->register_full_backward_pre_hook([](Module&, const Grads& out) { return out.tensor(0) + 1; });
  fc->register_full_backward_hook([](Module&, const Grads& in) { return in.tensor(0) * 10; });
  RemovableHandle last =
      fc->register_full_backward_hook([](Module&, const Grads& in, const Grads& out) {
        CHECK(in.tensor(0).item() == 90);
        CHECK(out.tensor(0).item() == 3);
        return in.tensor(0) + 1;
      });
  fc(x).backward();
  CHECK(x.grad().item() == 91);
  CHECK(fc->weight.grad().item() == 6);  // 3 · x: what full hooks return goes upstream only
  last.remove();
  fc->register_full_backward_hook([](Module&, const Grads& in) -> Grads {
    return {in.tensor(0), in.tensor(0)};
  });
  CHECK_THROWS_MATCHES(fc(x).backward(), GradError,
                       MessageMatches(ContainsSubstring("2") && ContainsSubstring("expected 1")));
  nn::Tanh act;
  act.register_full_backward_pre_hook([](Module&, const Grads& out) -> Grads {
    return {out.tensor(0), out.tensor(0)};
  });
  CHECK_THROWS_AS(act(x).backward(), GradError);
}

TEST_CASE("a post-hook of a module's last node sees the gradient before the module's hooks",
          "[M15][A9]") {
  nn::ReLU act;
  act.register_full_backward_pre_hook([](Module&, const Grads& out) { return out.tensor(0) * 2; });
  Tensor x = leaf({3}), y = act(x);
  bool ran = false;
  y.grad_fn()->register_hook([&](autograd::Grads& in, const autograd::Grads& out) {
    ran = true;
    CHECK(in[0].item() == 2);
    CHECK(out[0].item() == 1);
  });
  y.backward();
  CHECK(ran);
  CHECK(x.grad().item() == 2);
}

TEST_CASE("backward hooks: one that throws leaves graph and module usable", "[M24]") {
  NoLeaks no_leaks;
  Ref<nn::Linear> fc{linear_layer(Device(), 1, 1, {3})};
  Tensor x = leaf({2}, {1, 1});
  bool throws = true;
  fc->register_full_backward_hook([&](Module&, const Grads&) {
    if (throws) fail<IndexError>("hook", "no");
  });
  Tensor y = fc(x);
  CHECK_THROWS_AS(y.backward({.retain_graph = true}), IndexError);
  throws = false;
  fc->zero_grad();
  x.set_grad({});
  y.backward({.retain_graph = true});
  CHECK(x.grad().item() == 3);
  fc(x).backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("traversal: modes, functions and flags return the module; children come first", "[M38]") {
  Leafy module;
  Names order;
  Module& same = module.train().eval().requires_grad_(false).apply(
      [&](Module& m) { order.emplace_back(m.class_name()); });
  CHECK(&same == &module);
  CHECK(order == Names{"Linear", "Leafy"});
  CHECK_FALSE(module.fc->training());
  CHECK_FALSE(module.fc->weight.requires_grad());
  module.train();
  CHECK(module.fc->training());
}

TEST_CASE("conversion: every way, and what it leaves alone", "[M40]") {
  Leafy module;
  Tensor scale = module.scale;
  CHECK(&module.float_() == &module);
  CHECK(module.scale.dtype() == kFloat32);
  module.half().bfloat16();
  CHECK(module.scale.dtype() == kBFloat16);
  CHECK(module.count.dtype() == kInt64);
  module.to(ones({1}, {.dtype = kFloat64}));
  CHECK(module.fc->weight.dtype() == kFloat64);
  for (Device device : devices()) {
    module.to(device, kFloat32);
    CHECK(module.count.device() == device);
    CHECK(module.count.dtype() == kInt64);
    CHECK(module.scale.device() == device);
  }
  module.cpu();
  CHECK(module.scale.device() == Device());
  CHECK(module.scale.is_same(scale));
  CHECK_THROWS_AS(module.to(kBool), TypeError);
  CHECK_THROWS_AS(module.to(Device(), kInt32), TypeError);
  // A backend that is not built: the message names those that are.
  CHECK_THROWS_MATCHES(module.xpu(), BackendError,
                       MessageMatches(ContainsSubstring(devices()[0].str())));
  CHECK(module.scale.dtype() == kFloat32);
  module.type(kFloat64);
  CHECK(module.count.dtype() == kFloat64);
}

TEST_CASE("zero_grad: detaches what carries a graph", "[M41]") {
  nn::Linear layer({.in_features = 1, .out_features = 1, .bias = false, .dtype = kFloat64});
  Tensor x = leaf(Device(), {2}, {1, 1}, false);
  (layer(x) * layer(x)).sum().backward({.create_graph = true});
  Tensor grad = layer.weight.grad();
  CHECK(grad.requires_grad());
  layer.zero_grad(false);
  CHECK(layer.weight.grad().is_same(grad));
  CHECK_FALSE(grad.requires_grad());
  CHECK(grad.item() == 0);
}

TEST_CASE("load_state_dict: no broadcasting, one element into a scalar, across dtypes and devices",
          "[M31]") {
  for (Device device : devices()) {
    Module module;
    module.register_parameter("w", Parameter(zeros({2, 3}, {.device = device}), false));
    module.register_buffer("s", zeros({}, {.dtype = kInt64, .device = device}));
    Tensor w = module.get_parameter("w");
    uint32_t version = w.version();
    module.load_state_dict({{"w", full({2, 3}, 2.5, {.dtype = kFloat64})}, {"s", full({1}, 7)}});
    CHECK(module.get_parameter("w").is_same(w));
    CHECK(w.version() > version);
    CHECK(w.dtype() == kFloat32);
    CHECK_FALSE(w.requires_grad());
    CHECK(w.to_vector() == std::vector<double>(6, 2.5));
    CHECK(module.get_buffer("s").item_int() == 7);
    for (Dims wrong : {Dims{1, 3}, Dims{3}, Dims{6}, Dims{}}) {
      CHECK_THROWS_AS(module.load_state_dict({{"w", ones(wrong)}, {"s", full({1}, 7)}}),
                      ShapeError);
    }
    CHECK_THROWS_AS(module.load_state_dict({{"w", ones({2, 3})}, {"s", ones({1, 1})}}), ShapeError);
    CHECK_THROWS_AS(module.load_state_dict({{"w", ones({2, 3})}, {"s", ones({2})}}), ShapeError);
  }
}

TEST_CASE("load_state_dict: strict or not, the result names what did not match", "[M28][M30]") {
  nn::Sequential net({{"a", nn::Linear({1, 1, false})}, {"none", nullptr}});
  nn::StateDict state{{"a.weight", ones({1, 1})}, {"a.weight.x", ones({1})},  {"a.foo", ones({1})},
                      {"zzz", ones({1})},         {"none.weight", ones({1})}, {"5.x", ones({1})}};
  nn::LoadResult result = net.load_state_dict(state, {.strict = false});
  std::ranges::sort(result.unexpected_keys);
  CHECK(result.unexpected_keys == Names{"5.x", "a.foo", "a.weight.x", "none.weight", "zzz"});
  CHECK(result.missing_keys.empty());
  CHECK_THROWS_MATCHES(net.load_state_dict({{"b", ones({1})}}), KeyError,
                       MessageMatches(ContainsSubstring("Sequential") &&
                                      ContainsSubstring("missing keys: a.weight") &&
                                      ContainsSubstring("unexpected keys: b")));
  CHECK_THROWS_AS(net.load_state_dict({{"a.weight", ones({2})}}, {.strict = false}), ShapeError);
  CHECK(net.load_state_dict({{"a.weight", ones({1, 1})}}).missing_keys.empty());
}

TEST_CASE("extra state: saved, loaded, missing and unexpected", "[M34]") {
  Wordy wordy;
  wordy.word = full({1}, 5.0);
  nn::StateDict state = wordy.state_dict();
  CHECK(state.keys() == Names{"_extra_state"});
  Wordy other;
  other.load_state_dict(state);
  CHECK(other.word.item() == 5);
  CHECK_THROWS_AS(other.load_state_dict(nn::StateDict()), KeyError);
  CHECK_THROWS_AS(Module().load_state_dict(state), KeyError);
}

TEST_CASE("state_dict hooks: before and after each module", "[M27]") {
  NoLeaks no_leaks;
  nn::Sequential net({{"a", nn::Linear({1, 1, false})}});
  Names events;
  for (Module* module : net.modules()) {
    module->register_state_dict_pre_hook([&](Module& m, const std::string& prefix, bool keep_vars) {
      events.push_back("pre " + std::string(m.class_name()) + " " + prefix +
                       (keep_vars ? " vars" : ""));
    });
    module->register_state_dict_post_hook(
        [&](Module& m, nn::StateDict& state, const std::string& prefix) {
          events.push_back("post " + std::string(m.class_name()) + " " + prefix + " " +
                           std::to_string(state.size()));
        });
    module->register_load_state_dict_pre_hook(
        [&](Module& m, nn::StateDict& state, const std::string& prefix) {
          events.push_back("load " + std::string(m.class_name()) + " " + prefix + " " +
                           std::to_string(state.size()));
        });
    module->register_load_state_dict_post_hook(
        [&](Module& m) { events.push_back("loaded " + std::string(m.class_name())); });
  }
  nn::StateDict state = net.state_dict({.keep_vars = true});
  CHECK(state["a.weight"].requires_grad());
  net.load_state_dict(state);
  CHECK(events == Names{"pre Sequential  vars", "pre Linear a. vars", "post Linear a. 1",
                        "post Sequential  1", "load Sequential  1", "load Linear a. 1",
                        "loaded Linear", "loaded Sequential"});
}

}  // namespace farro::test
