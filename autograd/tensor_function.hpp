#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// Any callable that takes a list of tensors, or a single one, and returns a tensor, a pair or a
/// list of tensors.
class TensorFunction {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, TensorFunction>) &&
      (std::invocable<F&, const std::vector<Tensor>&> ||
       std::invocable<F&, const Tensor&>)TensorFunction(F f)
      : call_([f = std::move(f)](const std::vector<Tensor>& inputs) mutable {
          if constexpr (std::invocable<F&, const std::vector<Tensor>&>) {
            return to_list(f(inputs));
          } else {
            if (inputs.size() != 1)
              fail<ValueError>("function",
                               "expected one input for a function of one tensor, got {}",
                               inputs.size());
            return to_list(f(inputs[0]));
          }
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

}  // namespace farro
