#pragma once

/// Checks of gradients against finite differences.
///
///     gradcheck([](const auto& in) { return tanh(in[0]) * in[1]; }, {x, y});

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// A function to check: takes the inputs and returns a tensor, a pair or a vector of tensors.
class CheckedFunction {
 public:
  template <class F>
  requires std::invocable < F&, const std::vector<Tensor>
  & > &&(!std::same_as<std::remove_cvref_t<F>, CheckedFunction>)CheckedFunction(F f)
      : call_([f = std::move(f)](const std::vector<Tensor>& inputs) mutable {
          return to_list(f(inputs));
        }) {}

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const { return call_(inputs); }

 private:
  static std::vector<Tensor> to_list(Tensor output) { return {std::move(output)}; }
  static std::vector<Tensor> to_list(std::pair<Tensor, Tensor> outputs) {
    return {std::move(outputs.first), std::move(outputs.second)};
  }
  template <class List>
  requires requires(const List& list) {
    { *list.begin() } -> std::convertible_to<const Tensor&>;
  }
  static std::vector<Tensor> to_list(const List& outputs) {
    return {outputs.begin(), outputs.end()};
  }

  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> call_;
};

struct GradcheckOptions {
  double eps = 1e-6;  ///< how far an element of an input is moved each way
  double atol =
      1e-5;  ///< gradients agree where |analytical - numerical| <= atol + rtol · |numerical|
  double rtol = 1e-3;
  double nondet_tol = 0;             ///< how much two runs of one backward may differ
  bool check_undefined_grad = true;  ///< also checks that null gradients of outputs count as zeros
  bool raise_exception =
      true;  ///< false: return false where the gradients are wrong, instead of a GradcheckError
};

/// Compares the Jacobian of each output of f with respect to each input that requires grad, as
/// backward gives it, with the one by central differences, and checks that a second backward gives
/// the same, that zero gradients of the outputs give zeros, and that an output without history does
/// not depend on the inputs. The inputs should be float64 (a warning otherwise) and are moved in
/// place while it runs.
///
/// Throws GradcheckError with the numbers of output and input and both Jacobians where they differ,
/// ValueError if no input requires grad, GradError for an input several elements of which share one
/// place in memory.
bool gradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
               const GradcheckOptions& options = {});

/// As gradcheck, of the gradients: they are differentiated once more, with respect to the inputs
/// and to the gradients of the outputs. Those are drawn with a fixed seed if none are given.
bool gradgradcheck(const CheckedFunction& f, const std::vector<Tensor>& inputs,
                   const GradcheckOptions& options = {},
                   const std::vector<Tensor>& grad_outputs = {});

}  // namespace farro
