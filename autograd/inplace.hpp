#pragma once

#include <farro/autograd/tensor.hpp>

namespace farro::autograd {

/// Makes output `output_nr` of `node` the tensor's history. A retained gradient moves along.
void set_history(const Tensor& tensor, const IntrusivePtr<Node>& node, uint32_t output_nr);

/// As set_history, for a tensor that the operation changed in place; its old value was the
/// operation's input `input_nr`. A change of a view becomes part of its base's history, and all
/// views of the base get theirs anew (spec A4).
void rewrite_history(const Tensor& tensor, const IntrusivePtr<Node>& node, uint32_t output_nr,
                     size_t input_nr);

/// Takes a tensor that retains its gradient off its node, which it has; called before the node
/// changes or the tensor goes.
void forget_retained(TensorImpl* tensor);

/// Takes a view out of its base's list; called as it goes.
void forget_view(TensorImpl* view);

}  // namespace farro::autograd
