#pragma once

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// The end of the tape at a leaf: adds the gradient into the leaf's grad().
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor variable);
  std::string name() const override { return "AccumulateGrad"; }
  /// Adds in place, unless grad mode is on: then the sum is recorded.
  void apply(Grads& grad_outputs, Grads& grad_inputs) override;
  const Tensor& variable() const { return variable_; }

  /// Part of Node::destroy: false if another thread took the node up again.
  static bool let_go(AccumulateGrad* node);

 private:
  Tensor variable_;
};

/// The one accumulator of a leaf while some graph holds it.
IntrusivePtr<Node> accumulator_of(const Tensor& leaf);

/// True if nobody else can see the gradient, so that its memory may be overwritten or taken over.
inline bool is_exclusive(const Tensor& grad) {
  const TensorImpl& t = *grad.impl();
  return t.use_count() == 1 && t.storage->use_count() == 1 && t.contiguous && !t.requires_grad &&
         !t.grad_fn && !t.wrapped_number;
}

/// Adds a gradient into tensor.grad(), as AccumulateGrad does. Takes `grad` over if nobody else
/// holds it.
void accumulate_into(const Tensor& tensor, Tensor grad);

}  // namespace farro::autograd
