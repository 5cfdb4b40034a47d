#pragma once

#include <string>

#include <farro/nn/module.hpp>

namespace farro::nn {

/// A table of the modules, in their order, called on example inputs: shape and bytes of what each
/// returned, its own parameters, multiply-adds of linear and convolution layers, and totals. Calls
/// the module once, through its hooks, in eval mode and unrecorded; modes are restored. Lazy layers
/// learn their sizes by it. The text ends without a line break.
std::string summary(Module& module, const Args& example_inputs);
template <class M>
std::string summary(const Ref<M>& module, const Args& example_inputs) {
  return summary(static_cast<Module&>(*module), example_inputs);
}

}  // namespace farro::nn
