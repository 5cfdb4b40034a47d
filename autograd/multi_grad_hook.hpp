#pragma once

#include <functional>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// Calls f once in each backward, when the gradients of all of these tensors are known, with the
/// gradients in the order of the tensors; those that a backward does not reach are undefined, and f
/// is then called when it ends. Not called in a backward that reaches none. Runs after the hooks
/// that each tensor has already. Throws ValueError for no tensors, GradError for one that doesn't
/// require grad.
RemovableHandle register_multi_grad_hook(const std::vector<Tensor>& tensors,
                                         std::function<void(const std::vector<Tensor>&)> f);

/// Calls f once in each backward, with the first gradient of one of these tensors.
RemovableHandle register_any_grad_hook(const std::vector<Tensor>& tensors,
                                       std::function<void(const Tensor&)> f);

}  // namespace farro
