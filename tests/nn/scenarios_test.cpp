#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <functional>

#include <farro/autograd/engine.hpp>
#include <farro/backends/warning.hpp>

#include <nn/events.hpp>
#include <nn/no_leaks.hpp>
#include <nn/scenario_modules.hpp>
#include <support/golden.hpp>

/// Each program of golden/hooks/scenarios.json, written with Farro; the events must be PyTorch's.
namespace farro::test {
namespace {

using nn::Args;
using nn::Grads;
using nn::Kwargs;
using nn::Module;
using nn::Value;

Tensor x3(Device device, bool requires_grad = true) {
  return leaf(device, {3}, {1, 1}, requires_grad);
}
void note(Json& events, Json::initializer_list_t event) { events.push_back(Json::array(event)); }
nn::Linear weight2(Device device) { return linear_layer(device, 1, 1, {2}); }

/// The kind of what f throws, as Python would name it.
template <class F>
Json raises(F f) {
  try {
    f();
  } catch (const ValueError&) {
    return Json::array({"raises", "ValueError"});
  } catch (const Error&) {
    return Json::array({"raises", "RuntimeError"});
  }
  return Json::array({"raises", nullptr});
}

Json all_hooks_order(Device device) {
  Json events;
  nn::Sequential net({{"a", linear_layer(device, 2, 2, {1, 2, 3, 4})}, {"b", nn::Tanh()}});
  Module *a = net[0].get(), *b = net[1].get();
  auto name = [&](Module& m) { return &m == &net ? "net" : &m == a ? "a" : &m == b ? "b" : "?"; };
  auto pre = [&](std::string kind) {
    return [&, kind](Module& m, const Args& in) { note(events, {kind, name(m), json(in)}); };
  };
  auto post = [&](std::string kind) {
    return [&, kind](Module& m, const Args& in, const Tensor& out) {
      note(events, {kind, name(m), json(in), json(out)});
    };
  };
  auto backward_pre = [&](std::string kind) {
    return [&, kind](Module& m, const Grads& out) { note(events, {kind, name(m), json(out)}); };
  };
  auto backward = [&](std::string kind) {
    return [&, kind](Module& m, const Grads& in, const Grads& out) {
      note(events, {kind, name(m), json(in), json(out)});
    };
  };
  ScopedHandle h1 = hooks::register_global_forward_pre_hook(pre("global forward_pre"));
  ScopedHandle h2 = hooks::register_global_forward_hook(post("global forward"));
  ScopedHandle h3 =
      hooks::register_global_full_backward_pre_hook(backward_pre("global backward_pre"));
  ScopedHandle h4 = hooks::register_global_full_backward_hook(backward("global backward"));
  for (Module* m : {static_cast<Module*>(&net), a, b}) {
    m->register_forward_pre_hook(pre("forward_pre"));
    m->register_forward_hook(post("forward"));
    m->register_full_backward_pre_hook(backward_pre("backward_pre"));
    m->register_full_backward_hook(backward("backward"));
  }
  Tensor x = leaf(device, {0.1, -0.2}, {1, 2});
  net(x).sum().backward();
  note(events, {"x.grad", json(x.grad())});
  note(events, {"a.weight.grad", json(net.get_parameter("a.weight").grad())});
  return events;
}

Json prepend(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  auto hook = [&](const char* kind, const char* which) {
    return [&, kind, which] { note(events, {kind, which}); };
  };
  m.register_forward_pre_hook(hook("forward_pre", "A"));
  m.register_forward_pre_hook(hook("forward_pre", "B"), {.prepend = true});
  m.register_forward_hook(hook("forward", "A"));
  m.register_forward_hook(hook("forward", "B"), {.prepend = true});
  m.register_full_backward_pre_hook(hook("backward_pre", "A"));
  m.register_full_backward_pre_hook(hook("backward_pre", "B"), {.prepend = true});
  m.register_full_backward_hook(hook("backward", "A"));
  m.register_full_backward_hook(hook("backward", "B"), {.prepend = true});
  m(x3(device)).backward();
  return events;
}

Json hooks_replace_values(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  m.register_forward_pre_hook([](Module&, const Args& in) { return in.tensor(0) * 10; });
  m.register_forward_hook([](Module&, const Args&, const Tensor& out) { return out + 1; });
  m.register_full_backward_pre_hook([](Module&, const Grads& out) { return out.tensor(0) * 3; });
  m.register_full_backward_hook([&](Module&, const Grads& in, const Grads& out) -> Grads {
    note(events, {"backward sees", json(in), json(out)});
    return {in.tensor(0) * 5};
  });
  Tensor x = x3(device);
  Tensor y = m(x);
  note(events, {"y", json(y)});
  y.backward();
  note(events, {"x.grad", json(x.grad())});
  note(events, {"weight.grad", json(m.weight.grad())});
  return events;
}

Json forward_pre_returns_non_tuple(Device device) {
  nn::Linear m = weight2(device);
  m.register_forward_pre_hook([](Module&, const Args& in) { return in.tensor(0) + 1; });
  return Json::array({Json::array({"y", json(m(x3(device, false)))})});
}

/// Notes what backward-pre and full backward hooks see.
void note_backward(Module& m, Json& events) {
  m.register_full_backward_pre_hook([&](Module&, const Grads& out) {
    note(events, {"backward_pre", json(out)});
  });
  m.register_full_backward_hook([&](Module&, const Grads& in, const Grads& out) {
    note(events, {"backward", json(in), json(out)});
  });
}

Json full_backward_input_without_grad(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  note_backward(m, events);
  m(x3(device, false)).backward();
  note(events, {"weight.grad", json(m.weight.grad())});
  return events;
}

Json full_backward_before_param_grads(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  m.register_full_backward_hook([&] {
    note(events, {"backward; weight.grad is", json(m.weight.grad())});
  });
  m(x3(device)).backward();
  note(events, {"weight.grad", json(m.weight.grad())});
  return events;
}

Json tuple_in_out(Device device) {
  Json events;
  Pair m;
  note_backward(m, events);
  Tensor a = leaf(device, {2}, {1}), b = leaf(device, {5}, {1}, false);
  auto [p, q] = m(a, b);
  p.backward();
  note(events, {"a.grad", json(a.grad())});
  return events;
}

Json tuple_in_out_both(Device device) {
  Json events;
  Pair m;
  note_backward(m, events);
  Tensor a = leaf(device, {2}, {1}), b = leaf(device, {5}, {1});
  auto [p, q] = m(a, b);
  (p.sum() + 3 * q.sum()).backward();
  note(events, {"a.grad, b.grad", json(a.grad()), json(b.grad())});
  return events;
}

Json inplace_after_full_backward_hook(Device device) {
  nn::Linear m = weight2(device);
  m.register_full_backward_hook([] {});
  Tensor y = m(x3(device));
  return Json::array({raises([&] { y.add_(1); })});
}

Json inplace_on_input_inside_forward(Device device) {
  InPlace m;
  m.register_full_backward_hook([] {});
  Tensor x = x3(device) * 1;
  return Json::array({raises([&] { m(x); })});
}

Json mixing_full_and_plain_backward_hooks(Device device) {
  nn::Linear a = weight2(device), b = weight2(device);
  a.register_full_backward_hook([] {});
  b.register_backward_hook([] {});
  return Json::array({Json::array({raises([&] { a.register_backward_hook([] {}); })[1]}),
                      Json::array({raises([&] { b.register_full_backward_hook([] {}); })[1]})});
}

Json backward_hook_wrong_count(Device device) {
  nn::Linear m = weight2(device);
  m.register_full_backward_hook([](Module&, const Grads& in) -> Grads { return {in[0], in[0]}; });
  Tensor y = m(x3(device));
  return Json::array({raises([&] { y.backward(); })});
}

Json always_call(Device device) {
  Json events;
  Throws m;
  m.register_forward_hook([&] { note(events, {"A"}); });
  m.register_forward_hook(
      [&](Module&, const Args&, const Value& out) {
        note(events, {"B", json(out)});
      },
      {.always_call = true});
  events.push_back(raises([&] { m(x3(device)); }));
  return events;
}

Json always_call_hook_raises_too(Device device) {
  Throws m;
  m.register_forward_hook([] { throw std::runtime_error("hook"); }, {.always_call = true});
  return Json::array({raises([&] { m(x3(device)); })});
}

Json with_kwargs(Device device) {
  Json events;
  Scale m;
  m.register_forward_pre_hook(
      [](Module&, const Args& args, const Kwargs&) {
        return std::pair(args, Kwargs{{"scale", 7}});
      },
      {.with_kwargs = true});
  m.register_forward_hook(
      [&](Module&, const Args& args, const Kwargs& kwargs, const Tensor& out) {
        note(events, {"forward", json(args), json(kwargs), json(out)});
      },
      {.with_kwargs = true});
  note(events, {"y", json(m(leaf(device, {2}, {1}), {.scale = 3}))});
  return events;
}

Json with_kwargs_bad_return(Device device) {
  nn::Linear m = weight2(device);
  m.register_forward_pre_hook([](Module&, const Args& in, const Kwargs&) { return in.tensor(0); },
                              {.with_kwargs = true});
  return Json::array({raises([&] { m(x3(device)); })});
}

Json remove_handle(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  RemovableHandle a = m.register_forward_hook([&] { note(events, {"A"}); });
  {
    ScopedHandle b = m.register_forward_hook([&] { note(events, {"B"}); });
    m(x3(device));
    a.remove();
    note(events, {"removed A"});
    m(x3(device));
    a.remove();
    m(x3(device));
  }
  note(events, {"left with"});
  m(x3(device));
  return events;
}

Json hook_removes_itself_and_adds(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  RemovableHandle a;
  a = m.register_forward_hook([&] {
    note(events, {"A"});
    a.remove();
    m.register_forward_hook([&] { note(events, {"C"}); });
  });
  m.register_forward_hook([&] { note(events, {"B"}); });
  for (int i = 0; i < 2; ++i) {
    m(x3(device));
    note(events, {"call done"});
  }
  return events;
}

Json tensor_hooks_order(Device device) {
  Json events;
  Tensor x = leaf(device, {2}, {1});
  Tensor y = x * 3;
  y.retain_grad();
  y.register_hook([&](const Tensor& g) {
    note(events, {"H1", json(g)});
    return g * 10;
  });
  y.register_hook([&](const Tensor& g) { note(events, {"H2", json(g)}); });
  x.register_hook([&](const Tensor& g) {
    note(events, {"G1", json(g)});
    return g + 1;
  });
  x.register_post_accumulate_grad_hook([&](const Tensor& t) {
    note(events, {"P", json(t.grad())});
  });
  (y * y).backward();
  note(events, {"y.grad", json(y.grad())});
  note(events, {"x.grad", json(x.grad())});
  return events;
}

Json node_hooks(Device device) {
  Json events;
  Tensor x = leaf(device, {2}, {1});
  Tensor y = x * 3;
  y.register_hook([&](const Tensor& g) { note(events, {"tensor hook", json(g)}); });
  auto list = [](const autograd::Grads& grads) { return json(Grads(grads.begin(), grads.end())); };
  y.grad_fn()->register_prehook([&](autograd::Grads& grads) {
    note(events, {"prehook", list(grads)});
    grads[0] = grads[0] * 2;
  });
  y.grad_fn()->register_hook([&](autograd::Grads& in, const autograd::Grads& out) {
    note(events, {"posthook", json(in[0]), list(out)});
  });
  y.backward();
  note(events, {"x.grad", json(x.grad())});
  return events;
}

Json shared_module_called_twice(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  note_backward(m, events);
  m(m(x3(device))).backward();
  note(events, {"weight.grad", json(m.weight.grad())});
  return events;
}

Json autograd_grad_inputs_only(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  note_backward(m, events);
  Tensor x = x3(device);
  note(events, {"grad", Json::array({json(grad({m(x)}, {x})[0])})});
  return events;
}

Json autograd_grad_params_only(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  note_backward(m, events);
  note(events, {"grad", Json::array({json(grad({m(x3(device))}, {m.weight})[0])})});
  return events;
}

Json create_graph_through_full_backward_hook(Device device) {
  nn::Linear m = weight2(device);
  m.register_full_backward_hook(
      [](Module&, const Grads& in) -> Grads { return {in.tensor(0) * 3}; });
  Tensor x = leaf(device, {0.3}, {1, 1});
  Tensor g = grad({tanh(m(x))}, {x}, {.create_graph = true})[0];
  Tensor gg = grad({g}, {x})[0];
  return Json::array({Json::array({"g", json(g)}), Json::array({"gg", json(gg)})});
}

Json no_grad_forward(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  m.register_forward_hook([&](Module&, const Args&, const Tensor& out) {
    note(events, {"forward", out.requires_grad()});
  });
  m.register_full_backward_hook([&] { note(events, {"backward"}); });
  NoGrad guard;
  Tensor y = m(x3(device));
  note(events, {"y.requires_grad", y.requires_grad()});
  return events;
}

Json registration_hooks(Device) {
  Json events;
  auto name = [](Module& m) {
    return m.class_name() == "Registering" ? "M" : std::string(m.class_name());
  };
  ScopedHandle h1 = hooks::register_parameter_registration_hook(
      [&](Module& m, const std::string& n, const Tensor& p) {
        note(events, {"parameter", name(m), n, json(p)});
        return nn::Parameter(p.detach() * 2);
      });
  ScopedHandle h2 = hooks::register_buffer_registration_hook(
      [&](Module& m, const std::string& n, const Tensor& b) {
        note(events, {"buffer", name(m), n, json(b)});
        return Tensor();
      });
  ScopedHandle h3 = hooks::register_module_registration_hook(
      [&](Module& m, const std::string& n, const std::shared_ptr<Module>& child) {
        note(events, {"module", name(m), n, std::string(child->class_name())});
        return std::shared_ptr<Module>();
      });
  Registering m;
  note(events, {"w", json(m.w)});
  return events;
}

Json state_dict_hooks(Device device) {
  Json events;
  nn::Sequential net(weight2(device));
  auto watch = [&events](const char* name, Module& m) {
    m.register_state_dict_pre_hook(
        [&events, name](Module&, const std::string& prefix, bool keep_vars) {
          note(events, {"state_dict_pre", name, prefix, keep_vars});
        });
    m.register_state_dict_post_hook(
        [&events, name](Module&, nn::StateDict& state, const std::string& prefix) {
          note(events, {"state_dict_post", name, prefix, state.keys()});
        });
    m.register_load_state_dict_pre_hook([&events, name](Module&, nn::StateDict&,
                                                        const std::string& prefix,
                                                        const hooks::Versions&, bool strict) {
      note(events, {"load_pre", name, prefix, strict});
    });
    m.register_load_state_dict_post_hook([&events, name](Module&, nn::LoadResult& result) {
      note(events, {"load_post", name, result.missing_keys, result.unexpected_keys});
      result.missing_keys.clear();
    });
  };
  watch("net", net);
  watch("0", *net[0]);
  net.state_dict();
  nn::LoadResult result = net.load_state_dict({});
  note(events, {"result", result.missing_keys, result.unexpected_keys});
  return events;
}

Json global_always_call_and_module_order(Device device) {
  Json events;
  nn::Linear m = weight2(device);
  m.register_forward_hook([&] { note(events, {"M"}); });
  m.register_forward_pre_hook([&] { note(events, {"M pre"}); });
  ScopedHandle h1 = hooks::register_global_forward_hook([&] { note(events, {"G"}); });
  ScopedHandle h2 = hooks::register_global_forward_pre_hook([&] { note(events, {"G pre"}); });
  m(x3(device));
  return events;
}

nn::Sequential two_layers(Device device) {
  return nn::Sequential(
      {{"a", linear_layer(device, 1, 1, {2})}, {"b", linear_layer(device, 1, 1, {3})}});
}

Json hook_on_sequential_children_removed_mid_backward(Device device) {
  Json events;
  nn::Sequential net = two_layers(device);
  RemovableHandle a = net[0]->register_full_backward_hook([&] { note(events, {"a"}); });
  net[1]->register_full_backward_hook([&] {
    note(events, {"b"});
    a.remove();
  });
  net(x3(device)).backward();
  return events;
}

Json hook_raises_in_backward(Device device) {
  Json events;
  nn::Sequential net = two_layers(device);
  RemovableHandle handle =
      net[0]->register_full_backward_hook([] { fail<ValueError>("hook", "stop"); });
  Tensor x = leaf(device, {1}, {1, 1});
  auto note_grads = [&](const char* title) {
    note(events, {title, json(net.get_parameter("a.weight").grad()),
                  json(net.get_parameter("b.weight").grad()), json(x.grad())});
  };
  Json raised = raises([&] { net(x).backward(); });
  note(events, {raised[1], "stop"});
  note_grads("after throw: a.weight.grad, b.weight.grad, x.grad");
  handle.remove();
  net.zero_grad();
  x.set_grad({});
  net(x).backward();
  note_grads("a.weight.grad, b.weight.grad, x.grad");
  return events;
}

#define PROGRAM(name) \
  { #name, name }
const std::vector<std::pair<std::string, Json (*)(Device)>> programs = {
    PROGRAM(all_hooks_order),
    PROGRAM(prepend),
    PROGRAM(hooks_replace_values),
    PROGRAM(forward_pre_returns_non_tuple),
    PROGRAM(full_backward_input_without_grad),
    PROGRAM(full_backward_before_param_grads),
    PROGRAM(tuple_in_out),
    PROGRAM(tuple_in_out_both),
    PROGRAM(inplace_after_full_backward_hook),
    PROGRAM(inplace_on_input_inside_forward),
    PROGRAM(mixing_full_and_plain_backward_hooks),
    PROGRAM(backward_hook_wrong_count),
    PROGRAM(always_call),
    PROGRAM(always_call_hook_raises_too),
    PROGRAM(with_kwargs),
    PROGRAM(with_kwargs_bad_return),
    PROGRAM(remove_handle),
    PROGRAM(hook_removes_itself_and_adds),
    PROGRAM(tensor_hooks_order),
    PROGRAM(node_hooks),
    PROGRAM(shared_module_called_twice),
    PROGRAM(autograd_grad_inputs_only),
    PROGRAM(autograd_grad_params_only),
    PROGRAM(create_graph_through_full_backward_hook),
    PROGRAM(no_grad_forward),
    PROGRAM(registration_hooks),
    PROGRAM(state_dict_hooks),
    PROGRAM(global_always_call_and_module_order),
    PROGRAM(hook_on_sequential_children_removed_mid_backward),
    PROGRAM(hook_raises_in_backward)};
#undef PROGRAM

/// PyTorch's text of an error is not ours.
Json without_texts(Json events) {
  for (Json& event : events) {
    bool raises = event.size() == 3 && event[0] == "raises";
    bool bare = event.size() == 2 && event[0] == "RuntimeError";
    if (raises || bare) event.erase(event.size() - 1);
  }
  return events;
}

}  // namespace

TEST_CASE("scenarios: every program gives PyTorch's events",
          "[M6][M9][M10][M11][M12][M13][M14][M15][M16][M18][M19][M21]"
          "[M22][M23][M24][M27]") {
  Json file = Json::parse(std::ifstream(golden_dir() + "/hooks/scenarios.json"));
  REQUIRE(file["scenarios"].size() >= programs.size());
  auto silent = set_warning_handler([](const std::string&) {});
  for (const Json& scenario : file["scenarios"]) {
    std::string name = scenario["name"];
    auto program =
        std::ranges::find(programs, name, &std::pair<std::string, Json (*)(Device)>::first);
    INFO("scenario " << name);
    REQUIRE(program != programs.end());
    for (Device device : devices()) {
      NoLeaks no_leaks;
      Json events = program->second(device);
      INFO("on " << device.str() << ": " << events.dump());
      CHECK(same(events, without_texts(scenario["events"])));
    }
  }
  set_warning_handler(std::move(silent));
}

}  // namespace farro::test
