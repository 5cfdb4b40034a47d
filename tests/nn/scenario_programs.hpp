#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nn/events.hpp>
#include <nn/scenario_modules.hpp>

/// Programs of golden/hooks/scenarios.json, written with Farro: what they have in common.
namespace farro::test {

/// A program's name in the file, and what gives its events.
using Program = std::pair<std::string, Json (*)(Device)>;
#define FARRO_PROGRAM(name) \
  Program { #name, name }
/// Those about modules, their hooks and calls.
std::vector<Program> module_programs();
/// Those about hooks of tensors and nodes, gradients and states.
std::vector<Program> tape_programs();

inline Tensor x3(Device device, bool requires_grad = true) {
  return leaf(device, {3}, {1, 1}, requires_grad);
}
inline void note(Json& events, Json::initializer_list_t event) {
  events.push_back(Json::array(event));
}
inline nn::Linear weight2(Device device) { return linear_layer(device, 1, 1, {2}); }

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

/// Notes what backward-pre and full backward hooks see.
inline void note_backward(nn::Module& m, Json& events) {
  m.register_full_backward_pre_hook([&](nn::Module&, const nn::Grads& out) {
    note(events, {"backward_pre", json(out)});
  });
  m.register_full_backward_hook([&](nn::Module&, const nn::Grads& in, const nn::Grads& out) {
    note(events, {"backward", json(in), json(out)});
  });
}

}  // namespace farro::test
