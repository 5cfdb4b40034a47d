#include <farro/autograd/accumulate.hpp>

#include <mutex>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/striped_locks.hpp>

namespace farro::autograd {
namespace {

StripedLocks accumulator_locks;  // guard AutogradMeta::accumulator
StripedLocks grad_locks;         // guard AutogradMeta::grad while it is added to

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor variable) : Node(1), variable_(std::move(variable)) {
  accumulates_ = true;
  number();
}

IntrusivePtr<Node> accumulator_of(const Tensor& leaf) {
  AutogradMeta& meta = leaf.impl()->make_meta();
  std::lock_guard lock(accumulator_locks.of(&meta));
  if (meta.accumulator && meta.accumulator->try_retain())
    return IntrusivePtr<Node>::adopt(meta.accumulator);
  IntrusivePtr<Node> node(new AccumulateGrad(leaf));
  meta.accumulator = node.get();
  return node;
}

bool AccumulateGrad::let_go(AccumulateGrad* node) {
  AutogradMeta& meta = *node->variable_.impl()->meta;
  std::lock_guard lock(accumulator_locks.of(&meta));
  // A sole owner did not lower the count (see RefCounted::release), so a count above one means that
  // accumulator_of found the node meanwhile.
  while (node->use_count() > 1) {
    if (!node->release()) return false;
  }
  if (meta.accumulator == node) meta.accumulator = nullptr;
  return true;
}

void AccumulateGrad::apply(Grads& grad_outputs, Grads&) {
  Tensor& grad = grad_outputs[0];
  if (grad.defined()) accumulate_into(variable_, may_take_gradients() ? std::move(grad) : grad);
}

void accumulate_into(const Tensor& tensor, Tensor grad) {
  if (grad.sizes() != tensor.sizes()) {
    fail<GradError>("accumulate", "expected a gradient of shape {}, got {}",
                    to_string(tensor.sizes()), to_string(grad.sizes()));
  }
  AutogradMeta& meta = tensor.impl()->make_meta();
  std::lock_guard lock(grad_locks.of(tensor.impl()));
  if (grad_mode_enabled()) {
    meta.grad = meta.grad.defined() ? meta.grad + grad : std::move(grad);
  } else if (!meta.grad.defined()) {
    meta.grad = is_exclusive(grad) ? std::move(grad) : grad.clone();
  } else {
    meta.grad.add_(grad);
  }
}

}  // namespace farro::autograd
