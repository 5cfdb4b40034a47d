#include <farro/autograd/accumulate.hpp>

#include <array>
#include <mutex>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise.hpp>

namespace farro::autograd {
namespace {

/// Leaves share a few locks: they are held for the length of an addition, and only by threads that meet at one leaf.
std::mutex& lock_of(std::array<std::mutex, 64>& locks, const void* address) {
  auto bits = reinterpret_cast<uintptr_t>(address) >> 6;
  return locks[(bits ^ (bits >> 6)) % locks.size()];
}

std::array<std::mutex, 64> accumulator_locks;  // guard AutogradMeta::accumulator
std::array<std::mutex, 64> grad_locks;         // guard AutogradMeta::grad while it is added to

bool sole_owner(const Tensor& grad) {
  return grad.impl()->use_count() == 1 && grad.storage()->use_count() == 1 && grad.is_contiguous() &&
         !grad.impl()->wrapped_number;
}

}  // namespace

AccumulateGrad::AccumulateGrad(Tensor variable) : Node(1), variable_(std::move(variable)) {
  accumulates_ = true;
  number();
}

IntrusivePtr<Node> accumulator_of(const Tensor& leaf) {
  AutogradMeta& meta = leaf.impl()->make_meta();
  std::lock_guard lock(lock_of(accumulator_locks, &meta));
  if (meta.accumulator && meta.accumulator->try_retain()) return IntrusivePtr<Node>::adopt(meta.accumulator);
  IntrusivePtr<Node> node(new AccumulateGrad(leaf));
  meta.accumulator = node.get();
  return node;
}

bool AccumulateGrad::let_go(AccumulateGrad* node) {
  AutogradMeta& meta = *node->variable_.impl()->meta;
  std::lock_guard lock(lock_of(accumulator_locks, &meta));
  // A sole owner did not lower the count (see RefCounted::release), so a count above one means that accumulator_of
  // found the node meanwhile.
  while (node->use_count() > 1) {
    if (!node->release()) return false;
  }
  if (meta.accumulator == node) meta.accumulator = nullptr;
  return true;
}

void AccumulateGrad::apply(Grads& grad_outputs, Grads&) {
  if (grad_outputs[0].defined()) accumulate_into(variable_, std::move(grad_outputs[0]));
}

void accumulate_into(const Tensor& tensor, Tensor grad) {
  if (grad.sizes() != tensor.sizes()) {
    fail<GradError>("accumulate", "expected a gradient of shape {}, got {}", to_string(tensor.sizes()),
                    to_string(grad.sizes()));
  }
  AutogradMeta& meta = tensor.impl()->make_meta();
  std::lock_guard lock(lock_of(grad_locks, tensor.impl()));
  if (grad_mode_enabled()) {
    meta.grad = meta.grad.defined() ? meta.grad + grad : std::move(grad);
  } else if (!meta.grad.defined()) {
    meta.grad = sole_owner(grad) ? std::move(grad) : grad.clone();
  } else {
    meta.grad.add_(grad);
  }
}

}  // namespace farro::autograd
