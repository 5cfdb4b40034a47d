#pragma once

/// Derivatives of functions of tensors, in both modes and of any order.
///
///     auto [y, dy] = jvp(f, {x}, {v});      // forward mode: J v
///     auto [z, dx] = vjp(f, {x}, {u});      // reverse mode: Jᵀ u
///     Tensor h = hessian(f, x);             // f returns one element
///
/// A function takes a list of tensors, or a single one, and returns a tensor or a list. It may
/// capture other tensors, which count as constants. With create_graph, results can be
/// differentiated again with respect to the inputs that require grad and to v or u; functions may
/// themselves use these functions.

#include <type_traits>
#include <utility>
#include <vector>

#include <farro/autograd/tensor_function.hpp>

namespace farro {

struct DerivativeOptions {
  bool create_graph = false;  ///< the results have a history
};

struct JacobianOptions {
  bool create_graph = false;
  bool forward_mode =
      false;  ///< a column at a time by jvp, not a row by vjp: for more outputs than inputs
};

namespace detail {

using TensorLists = std::pair<std::vector<Tensor>, std::vector<Tensor>>;

TensorLists jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& tangents, DerivativeOptions options);
TensorLists vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& grad_outputs, DerivativeOptions options);

/// What a function gives: a tensor, or a list.
template <class F>
constexpr bool returns_tensor() {
  if constexpr (std::is_invocable_v<const F&, const std::vector<Tensor>&>) {
    return std::is_convertible_v<std::invoke_result_t<const F&, const std::vector<Tensor>&>,
                                 Tensor>;
  } else {
    return std::is_convertible_v<std::invoke_result_t<const F&, const Tensor&>, Tensor>;
  }
}

}  // namespace detail

/// The outputs and their change as the inputs move along the tangents, by going forward through
/// what f recorded, so that the cost does not grow with the number of outputs. A tangent has its
/// input's shape; an undefined one is zero. Returns a pair of tensors, or of lists where f returns
/// one. Throws ShapeError, ValueError (numbers of inputs and tangents), GradError where a custom
/// function is once differentiable.
template <class F>
auto jvp(const F& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& tangents,
         DerivativeOptions options = {}) {
  auto [y, dy] = detail::jvp(f, inputs, tangents, options);
  if constexpr (detail::returns_tensor<F>())
    return std::pair(std::move(y[0]), std::move(dy[0]));
  else
    return std::pair(std::move(y), std::move(dy));
}

/// The outputs, and the gradients of the inputs for gradients of the outputs (which may be left out
/// for outputs of one element). An input that no output depends on has zeros.
template <class F>
auto vjp(const F& f, const std::vector<Tensor>& inputs,
         const std::vector<Tensor>& grad_outputs = {}, DerivativeOptions options = {}) {
  auto [y, dx] = detail::vjp(f, inputs, grad_outputs, options);
  if constexpr (detail::returns_tensor<F>())
    return std::pair(std::move(y[0]), std::move(dx));
  else
    return std::pair(std::move(y), std::move(dx));
}

/// The Jacobians of each output with respect to each input, [output][input], of shape output +
/// input.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          JacobianOptions options = {});
/// Of a function of one tensor that returns one tensor.
Tensor jacobian(const TensorFunction& f, const Tensor& input, JacobianOptions options = {});

/// The second derivatives of a function that returns one element, [input][input], of shape input +
/// input, by forward over reverse mode. ValueError for another number of elements.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         DerivativeOptions options = {});
Tensor hessian(const TensorFunction& f, const Tensor& input, DerivativeOptions options = {});

/// The value of a function that returns one element, and its Hessian times v, at the cost of a few
/// evaluations.
std::pair<Tensor, std::vector<Tensor>> hvp(const TensorFunction& f,
                                           const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& v,
                                           DerivativeOptions options = {});

}  // namespace farro
