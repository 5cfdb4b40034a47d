#pragma once

/// Internal to forward mode.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// What a tangent of an operation's output looks like.
struct OutputForm {
  Dims sizes;
  DType dtype = kFloat32;
  Device device;
};

/// A node that knows a shorter way forward than through its backward.
class ForwardFormula {
 public:
  /// The outputs' tangents from those of the inputs, where undefined ones are zero.
  virtual Grads forward(const Grads& tangents, std::span<const OutputForm> outputs) = 0;

 protected:
  ~ForwardFormula() = default;
};

/// While one lives, the operations that this thread records leave the forms of their outputs with
/// the innermost one: a node knows how to go backward, and going forward through it needs no more
/// than that and these (see derivatives.cpp).
class ForwardTape {
 public:
  ForwardTape() : outer_(innermost) { innermost = this; }
  ~ForwardTape() { innermost = outer_; }
  ForwardTape(const ForwardTape&) = delete;
  ForwardTape& operator=(const ForwardTape&) = delete;

  /// Called where a tensor gets its history.
  static void note(const Node& node, uint32_t output_nr, const TensorImpl& output) {
    for (ForwardTape* tape = innermost; FARRO_UNLIKELY(tape != nullptr); tape = tape->outer_)
      tape->add(node, output_nr, output);
  }
  /// Null if the node was not recorded while the tape lived.
  const std::vector<OutputForm>* find(const Node& node) const;

 private:
  void add(const Node& node, uint32_t output_nr, const TensorImpl& output);

  FARRO_FAST_TLS static constinit thread_local ForwardTape* innermost;
  ForwardTape* outer_;
  std::unordered_map<const Node*, std::vector<OutputForm>> forms_;
};

}  // namespace farro::autograd
