#pragma once

/// Checkpointing: what a block's operations keep for backward is thrown away, and computed again
/// when backward needs it.

#include <functional>
#include <vector>

#include <farro/autograd/function.hpp>

namespace farro {

namespace autograd {

using Block = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> checkpoint(Block block, std::vector<Tensor> inputs);

}  // namespace autograd

/// block(inputs…), which returns a Tensor, or a std::vector, std::array, std::pair or std::tuple of
/// them. Backward runs the block once more, with the random numbers that it had, so it must do the
/// same again: a GradError says if it saves another number of tensors, or tensors of other shapes
/// or dtypes, or if an input was changed meanwhile. Works with backward and grad, with
/// create_graph, nested, and with tensors that the block captures, such as a module's parameters.
/// (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.)
template <class F, class... Inputs>
auto checkpoint(F block, const Inputs&... inputs) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Inputs&...>>;
  autograd::Block list = [block = std::move(block)](const std::vector<Tensor>& x) mutable {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return autograd::detail::to_list(block(x[I]...));
    }
    (std::make_index_sequence<sizeof...(Inputs)>());
  };
  return autograd::detail::from_list<Result>(autograd::checkpoint(std::move(list), {inputs...}));
}

}  // namespace farro
