#pragma once

/// Full backward hooks. Two identity nodes bracket a module in the tape: the tensors that go into
/// forward pass through one, those that come out through the other. The outer one has the gradients
/// of all outputs when its turn comes and runs the backward pre-hooks; the inner one has the
/// gradients of all inputs and runs the full hooks. Both share what was captured at the call: the
/// hooks as they were, and the layout of inputs and outputs.

#include <memory>

#include <farro/hooks/run.hpp>

namespace farro::hooks {

class BracketState;

class Bracket {
 public:
  /// Takes the hooks as they are now.
  explicit Bracket(const HookedModule& module);
  /// False if there are no full backward hooks of any kind: nothing is to be done.
  bool needed() const { return state_ != nullptr; }
  /// Passes the tensors among args through the identity node, if one requires grad. They can't be
  /// changed in place then.
  void enter(Args& args);
  /// Passes all tensors in the output through the other, nested ones too.
  void leave(Value& output);

 private:
  std::shared_ptr<BracketState> state_;
};

}  // namespace farro::hooks
