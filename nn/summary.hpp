#pragma once

#include <string>

#include <farro/nn/module.hpp>

namespace farro::nn {

/// A table of the modules in the order of their calls on example inputs: shape of the output, parameters, multiply-adds
/// of linear and convolution layers, and totals with bytes. Calls the module once, in eval mode and unrecorded; modes are
/// restored. The text ends without a line break.
std::string summary(Module& module, const Args& example_inputs);
template <class M>
std::string summary(const Ref<M>& module, const Args& example_inputs) {
  return summary(static_cast<Module&>(*module), example_inputs);
}

}  // namespace farro::nn
