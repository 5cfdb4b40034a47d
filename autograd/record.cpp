#include <farro/autograd/record.hpp>

#include <algorithm>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/inplace.hpp>

namespace farro::autograd {

SavedTensor::SavedTensor(const Tensor& tensor, int input_nr, int output_nr)
    : place_(static_cast<int16_t>(output_nr >= 0 ? -1 - output_nr : input_nr + 1)) {
  if (!tensor.defined()) return;
  if (FARRO_UNLIKELY(tensor.impl()->inference)) throw_inference();
  Tensor kept = output_nr >= 0 ? tensor.detach() : tensor;
  if (FARRO_UNLIKELY(packs_saved_tensors)) {
    pack(kept);
    return;
  }
  data_ = std::move(kept);
  version_ = tensor.version();
}

Tensor SavedTensor::with_history(const Node& node, const Tensor& tensor) const {
  if (!farro::is_floating_point(tensor.dtype())) return tensor;
  Edge history;
  if (place_ < 0) {
    history = {IntrusivePtr<Node>(const_cast<Node*>(&node)), static_cast<uint32_t>(-1 - place_)};
  } else if (place_ > 0) {
    history = node.next_edges()[static_cast<size_t>(place_ - 1)];
    if (!history || (history.node->is_accumulate() && data_.defined())) return tensor;
    if (tensor.grad_fn() == history.node && tensor.impl()->output_nr == history.input_nr)
      return tensor;
  } else {
    return tensor;
  }
  Tensor result = tensor.detach();
  result.impl()->grad_fn = std::move(history.node);
  result.impl()->output_nr = history.input_nr;
  return result;
}

void SavedTensor::throw_inference() {
  fail<GradError>("save_for_backward",
                  "a tensor made in inference mode can't be saved for backward; clone it first");
}

void SavedTensor::throw_freed(const Node& node) const {
  fail<GradError>(
      node.name(),
      "a saved tensor was already freed by an earlier backward; pass retain_graph = true to that "
      "one to go through the graph again");
}

void SavedTensor::throw_changed(const Node& node) const {
  fail<GradError>(
      node.name(),
      "a tensor of shape {} that backward needs was changed in place: expected version {}, got {}",
      to_string(data_.sizes()), version_, data_.version());
}

bool any_requires_grad(std::initializer_list<Tensor> tensors) {
  if (!grad_mode_enabled()) return false;
  return std::ranges::any_of(tensors,
                             [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

Edge leaf_edge(const Tensor& tensor) {
  if (!tensor.defined() || !tensor.impl()->requires_grad) return {};
  return {accumulator_of(tensor), 0};
}

namespace detail {

void attach(const IntrusivePtr<Node>& node, std::span<const Tensor> inputs,
            std::span<const Tensor> outputs) {
  for (const Tensor& input : inputs) node->add_edge(gradient_edge(input));
  node->number();
  uint32_t output_nr = 0;
  for (const Tensor& output : outputs) {
    if (output.defined() && output.is_floating_point()) {
      size_t i = 0;
      for (const Tensor& input : inputs) {
        if (FARRO_UNLIKELY(input.is_same(output))) break;
        ++i;
      }
      if (FARRO_UNLIKELY(i < inputs.size())) {
        rewrite_history(output, node, output_nr, i);
      } else {
        set_history(output, node, output_nr);
      }
    }
    ++output_nr;
  }
}

SavedList save(std::span<const Tensor> inputs, std::span<const Tensor> saved,
               std::span<const Tensor> outputs) {
  SavedList list;
  for (const Tensor& tensor : saved) {
    int input_nr = -1, output_nr = -1;
    for (size_t i = 0; i < outputs.size() && tensor.defined(); ++i) {
      if (outputs[i].is_same(tensor)) output_nr = static_cast<int>(i);
    }
    int i = 0;
    for (const Tensor& input : inputs) {
      if (tensor.defined() && output_nr < 0 && input.is_same(tensor)) input_nr = i;
      ++i;
    }
    list.emplace_back(tensor, input_nr, output_nr);
  }
  return list;
}

void check_grad_count(const Node& node, Grads& grads) {
  size_t expected = node.next_edges().size();
  if (grads.size() > expected) {
    fail<GradError>(node.name(), "expected {} gradients, got {}", expected, grads.size());
  }
  grads.grow_to(expected);
}

}  // namespace detail

}  // namespace farro::autograd
