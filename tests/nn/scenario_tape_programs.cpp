#include <nn/scenario_programs.hpp>

#include <functional>

#include <farro/autograd/engine.hpp>

namespace farro::test {
namespace {

using nn::Args;
using nn::Grads;
using nn::Kwargs;
using nn::Module;
using nn::Value;

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

}  // namespace

std::vector<Program> tape_programs() {
  return {FARRO_PROGRAM(tensor_hooks_order),
          FARRO_PROGRAM(node_hooks),
          FARRO_PROGRAM(shared_module_called_twice),
          FARRO_PROGRAM(autograd_grad_inputs_only),
          FARRO_PROGRAM(autograd_grad_params_only),
          FARRO_PROGRAM(create_graph_through_full_backward_hook),
          FARRO_PROGRAM(no_grad_forward),
          FARRO_PROGRAM(registration_hooks),
          FARRO_PROGRAM(state_dict_hooks),
          FARRO_PROGRAM(global_always_call_and_module_order),
          FARRO_PROGRAM(hook_on_sequential_children_removed_mid_backward),
          FARRO_PROGRAM(hook_raises_in_backward)};
}

}  // namespace farro::test
