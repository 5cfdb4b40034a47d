#pragma once

/// What a Module can be hooked with. Each kind is an ordered list; a module has its own lists, and
/// the process has one set for all modules, which runs first. How a call runs them is in run.hpp,
/// what brackets a module in the tape in bracket.hpp.
///
/// Hooks are any callables that take the beginning of the arguments named at each kind. They may
/// return nothing (or null, an undefined tensor, an empty list), which leaves things as they are, a
/// tensor, or a whole value.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <farro/autograd/hook_list.hpp>
#include <farro/hooks/adapt.hpp>
#include <farro/hooks/state_dict.hpp>
#include <farro/hooks/value.hpp>

namespace farro::nn {
class Module;
}

namespace farro::hooks {

using nn::Module;

struct HookOptions {
  bool prepend = false;  ///< run before those that are in the list
  bool with_kwargs =
      false;  ///< forward hooks and pre-hooks: see the named arguments, after the positional ones
  bool always_call =
      false;  ///< forward hooks: run also when the call throws, with the result so far
};

struct PreHookResult {
  std::optional<Value> args;  ///< a list replaces the arguments, anything else becomes the only one
  std::optional<Kwargs> kwargs;
};
/// (module, args) or with_kwargs (module, args, kwargs). With kwargs it returns nothing or
/// pair<Args, Kwargs>.
struct ForwardPreHook {
  std::function<PreHookResult(Module&, const Args&, const Kwargs&)> call;
};
/// (module, args, output) or with_kwargs (module, args, kwargs, output). What it returns replaces
/// the output.
struct ForwardHook {
  std::function<std::optional<Value>(Module&, const Args&, const Kwargs&, const Value&)> call;
  bool always_call = false;
};
/// (module, grad_output). May return new grad_outputs.
using BackwardPreHook = std::function<std::optional<Value>(Module&, const Grads&)>;
/// (module, grad_input, grad_output). May return new grad_inputs.
using BackwardHook = std::function<std::optional<Value>(Module&, const Grads&, const Grads&)>;

/// (module, prefix, keep_vars)
using StateDictPreHook = std::function<void(Module&, const std::string&, bool)>;
/// (module, state, prefix, versions)
using StateDictHook = std::function<void(Module&, StateDict&, const std::string&, Versions&)>;
using Names = std::vector<std::string>;
/// (module, state, prefix, versions, strict, missing, unexpected, errors)
using LoadPreHook = std::function<void(Module&, StateDict&, const std::string&, const Versions&,
                                       bool, Names&, Names&, Names&)>;
/// (module, result)
using LoadHook = std::function<void(Module&, LoadResult&)>;

/// (module, name, tensor). May return a tensor to register instead.
using TensorRegistrationHook = std::function<Tensor(Module&, const std::string&, const Tensor&)>;
/// (module, name, child). May return a module to register instead. The child may be null.
using ModuleRegistrationHook = std::function<std::shared_ptr<Module>(
    Module&, const std::string&, const std::shared_ptr<Module>&)>;

/// The lists of one module, or of all modules.
struct ModuleHooks {
  HookList<ForwardPreHook> forward_pre;
  HookList<ForwardHook> forward;
  HookList<BackwardPreHook> full_backward_pre;
  HookList<BackwardHook> full_backward;
  HookList<BackwardHook> backward;  ///< the legacy kind
  HookList<StateDictPreHook> state_dict_pre;
  HookList<StateDictHook> state_dict;
  HookList<LoadPreHook> load_pre;
  HookList<LoadHook> load;

  /// True if a call has any of these to run.
  bool hook_calls() const {
    return !forward_pre.empty() || !forward.empty() || !full_backward_pre.empty() ||
           !full_backward.empty() || !backward.empty();
  }
  /// Independent lists with the same hooks.
  ModuleHooks clone() const;
};

/// Hooks for every module.
struct GlobalHooks : ModuleHooks {
  HookList<TensorRegistrationHook> parameter_registration;
  HookList<TensorRegistrationHook> buffer_registration;
  HookList<ModuleRegistrationHook> module_registration;
};
GlobalHooks& global_hooks();

namespace detail {

/// Not 0 once a global hook of these kinds was registered: what a call, or a registration, tests
/// first.
extern constinit uintptr_t global_call_hooks_used;
extern constinit bool global_registration_hooks_used;

[[noreturn]] FARRO_COLD void wrong_kwargs_result(const Value& value);
[[noreturn]] FARRO_COLD void wrong_hook_signature(const char* kind, bool with_kwargs);

inline PreHookResult kwargs_result(std::pair<Args, Kwargs> result) {
  return {Value(std::move(result.first)), std::move(result.second)};
}
inline PreHookResult kwargs_result(std::optional<std::pair<Args, Kwargs>> result) {
  return result ? kwargs_result(std::move(*result)) : PreHookResult{};
}
template <class R>
PreHookResult kwargs_result(R result) {
  if (auto value = returned_value(std::move(result))) wrong_kwargs_result(*value);
  return {};
}

}  // namespace detail

template <class F>
ForwardPreHook make_forward_pre_hook(F f, const HookOptions& options) {
  if (options.with_kwargs) {
    if constexpr (detail::accepted_arguments<const F&, Module&, const Args&, const Kwargs&>() >=
                  0) {
      return {
          [f = std::move(f)](Module& m, const Args& args, const Kwargs& kwargs) -> PreHookResult {
            if constexpr (std::is_void_v<decltype(detail::call_accepted(f, m, args, kwargs))>) {
              detail::call_accepted(f, m, args, kwargs);
              return {};
            } else {
              return detail::kwargs_result(detail::call_accepted(f, m, args, kwargs));
            }
          }};
    }
  } else if constexpr (detail::accepted_arguments<const F&, Module&, const Args&>() >= 0) {
    return {[f = std::move(f)](Module& m, const Args& args, const Kwargs&) -> PreHookResult {
      return {detail::call_for_value(f, m, args), {}};
    }};
  }
  detail::wrong_hook_signature("forward pre-hook", options.with_kwargs);
}

template <class F>
ForwardHook make_forward_hook(F f, const HookOptions& options) {
  if (options.with_kwargs) {
    if constexpr (detail::accepted_arguments<const F&, Module&, const Args&, const Kwargs&,
                                             const Value&>() >= 0) {
      return {[f = std::move(f)](Module& m, const Args& args, const Kwargs& kwargs,
                                 const Value& output) {
                return detail::call_for_value(f, m, args, kwargs, output);
              },
              options.always_call};
    }
  } else if constexpr (detail::accepted_arguments<const F&, Module&, const Args&, const Value&>() >=
                       0) {
    return {[f = std::move(f)](Module& m, const Args& args, const Kwargs&, const Value& output) {
              return detail::call_for_value(f, m, args, output);
            },
            options.always_call};
  }
  detail::wrong_hook_signature("forward hook", options.with_kwargs);
}

template <class F>
BackwardPreHook make_backward_pre_hook(F f) {
  return [f = std::move(f)](Module& m, const Grads& outputs) {
    return detail::call_for_value(f, m, outputs);
  };
}

template <class F>
BackwardHook make_backward_hook(F f) {
  return [f = std::move(f)](Module& m, const Grads& inputs, const Grads& outputs) {
    return detail::call_for_value(f, m, inputs, outputs);
  };
}

/// A hook that returns nothing.
template <class... A, class F>
std::function<void(A...)> make_plain_hook(F f) {
  return [f = std::move(f)](A... arguments) {
    detail::call_accepted(f, std::forward<A>(arguments)...);
  };
}

// Hooks for every module's calls; they run before the module's own.

template <class F>
RemovableHandle register_global_forward_pre_hook(F hook, HookOptions options = {}) {
  detail::global_call_hooks_used = 1;
  return global_hooks().forward_pre.add(make_forward_pre_hook(std::move(hook), options),
                                        options.prepend);
}
template <class F>
RemovableHandle register_global_forward_hook(F hook, HookOptions options = {}) {
  detail::global_call_hooks_used = 1;
  return global_hooks().forward.add(make_forward_hook(std::move(hook), options), options.prepend);
}
template <class F>
RemovableHandle register_global_full_backward_pre_hook(F hook, HookOptions options = {}) {
  detail::global_call_hooks_used = 1;
  return global_hooks().full_backward_pre.add(make_backward_pre_hook(std::move(hook)),
                                              options.prepend);
}
template <class F>
RemovableHandle register_global_full_backward_hook(F hook, HookOptions options = {}) {
  detail::global_call_hooks_used = 1;
  return global_hooks().full_backward.add(make_backward_hook(std::move(hook)), options.prepend);
}

// Hooks for every registration of a parameter, buffer or child, declared or by name: (module, name,
// what is registered). They may return what is to be registered instead. Null parameters are
// skipped; null buffers and children are seen.

RemovableHandle register_parameter_registration_hook(TensorRegistrationHook hook);
RemovableHandle register_buffer_registration_hook(TensorRegistrationHook hook);
RemovableHandle register_module_registration_hook(ModuleRegistrationHook hook);

}  // namespace farro::hooks
