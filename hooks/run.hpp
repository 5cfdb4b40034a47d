#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <farro/hooks/module_hooks.hpp>

namespace farro::hooks {

/// What running hooks needs to know of a module.
struct HookedModule {
  Module& module;
  const ModuleHooks* own;          ///< null if it has none
  std::string_view name;           ///< of its class
  std::shared_ptr<Module*> alive;  ///< holds null once the module is gone
};

/// Calls forward with every hook around it: global pre, own pre, bracket of the inputs, forward,
/// global post, own post, bracket of the outputs. The lists are taken as they are when the call
/// begins. Where something throws, the always_call hooks that have not been started yet run, and
/// the exception goes on.
Value run_hooked(const HookedModule& module, Args args, Kwargs kwargs,
                 const std::function<Value(const Args&, const Kwargs&)>& forward);

}  // namespace farro::hooks
