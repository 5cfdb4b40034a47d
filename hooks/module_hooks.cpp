#include <farro/hooks/module_hooks.hpp>

namespace farro::hooks {

ModuleHooks ModuleHooks::clone() const {
  return {forward_pre.clone(),   forward.clone(),  full_backward_pre.clone(),
          full_backward.clone(), backward.clone(), state_dict_pre.clone(),
          state_dict.clone(),    load_pre.clone(), load.clone()};
}

GlobalHooks& global_hooks() {
  static GlobalHooks hooks;
  return hooks;
}

namespace detail {

constinit uintptr_t global_call_hooks_used = 0;
constinit bool global_registration_hooks_used = false;

void wrong_kwargs_result(const Value& value) {
  fail<TypeError>(
      "forward pre-hook",
      "expected a hook with_kwargs to return nothing or a pair of args and kwargs, got {}",
      value.str());
}

void wrong_hook_signature(const char* kind, bool with_kwargs) {
  fail<TypeError>("register_hook",
                  "a {} {} can't be called with the arguments that it would be given", kind,
                  with_kwargs ? "with_kwargs" : "without with_kwargs");
}

}  // namespace detail

RemovableHandle register_parameter_registration_hook(TensorRegistrationHook hook) {
  detail::global_registration_hooks_used = true;
  return global_hooks().parameter_registration.add(std::move(hook));
}

RemovableHandle register_buffer_registration_hook(TensorRegistrationHook hook) {
  detail::global_registration_hooks_used = true;
  return global_hooks().buffer_registration.add(std::move(hook));
}

RemovableHandle register_module_registration_hook(ModuleRegistrationHook hook) {
  detail::global_registration_hooks_used = true;
  return global_hooks().module_registration.add(std::move(hook));
}

}  // namespace farro::hooks
