#pragma once

#include <functional>
#include <span>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro {

struct GradOptions {
  bool retain_graph = false;
  bool create_graph = false;  ///< records the backward itself; implies retain_graph
  bool allow_unused =
      false;  ///< an input that no output depends on gives an undefined gradient, not a GradError
  bool materialize_grads = false;  ///< … gives zeros instead; implies allow_unused
};

/// Gradients of the outputs with respect to the inputs, without touching any grad(). `grad_outputs`
/// may be empty for scalar outputs. Throws GradError (see spec A6).
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         GradOptions options = {}, const std::vector<Tensor>& grad_outputs = {});

/// Accumulates gradients of the outputs into the leaves' grad(); only into `inputs` where some are
/// given (ValueError for an empty list: pass nullopt for all).
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& grad_outputs = {},
              BackwardOptions options = {}, const std::optional<std::vector<Tensor>>& inputs = {});

namespace autograd {

/// Every node that the edges lead to, by rising sequence number: each comes after all that it leads
/// to.
std::vector<Node*> reachable(const std::vector<Edge>& edges);

/// Calls f when the backward that is running on this thread ends, also if it throws; at once if
/// none is running.
void after_backward(std::function<void()> f);

}  // namespace autograd

}  // namespace farro
