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

}  // namespace

std::vector<Program> module_programs() {
  return {FARRO_PROGRAM(all_hooks_order),
          FARRO_PROGRAM(prepend),
          FARRO_PROGRAM(hooks_replace_values),
          FARRO_PROGRAM(forward_pre_returns_non_tuple),
          FARRO_PROGRAM(full_backward_input_without_grad),
          FARRO_PROGRAM(full_backward_before_param_grads),
          FARRO_PROGRAM(tuple_in_out),
          FARRO_PROGRAM(tuple_in_out_both),
          FARRO_PROGRAM(inplace_after_full_backward_hook),
          FARRO_PROGRAM(inplace_on_input_inside_forward),
          FARRO_PROGRAM(mixing_full_and_plain_backward_hooks),
          FARRO_PROGRAM(backward_hook_wrong_count),
          FARRO_PROGRAM(always_call),
          FARRO_PROGRAM(always_call_hook_raises_too),
          FARRO_PROGRAM(with_kwargs),
          FARRO_PROGRAM(with_kwargs_bad_return),
          FARRO_PROGRAM(remove_handle),
          FARRO_PROGRAM(hook_removes_itself_and_adds)};
}

}  // namespace farro::test
