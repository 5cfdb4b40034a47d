#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include <farro/nn/call.hpp>
#include <farro/nn/entry_iterator.hpp>

namespace farro::nn {

/// Parameters in order, under their numbers:
///
///     nn::ParameterList weights(randn({3, 4}), randn({3, 4}));
///     for (const nn::Parameter& w : weights) x = x.matmul(w);
///
/// A tensor becomes a parameter that shares its memory: one with a history is detached, the same
/// tensor twice gives two parameters, an integer one is a TypeError. A parameter stays the one that
/// it is; null is allowed. Positions may be negative (IndexError outside). Calling the list is a
/// TypeError.
struct ParameterList : Module {
  FARRO_MEMBERS(ParameterList)

  ParameterList() = default;
  template <std::convertible_to<Tensor>... T>
  requires(sizeof...(T) > 0) explicit ParameterList(const T&... tensors) { (append(tensors), ...); }
  explicit ParameterList(const std::vector<Tensor>& tensors) { extend(tensors); }

  using Iterator = EntryIterator<Named<Parameter>::const_iterator, const Parameter&>;

  size_t size() { return registered_parameters().size(); }
  bool empty() { return size() == 0; }
  Iterator begin() { return Iterator(registered_parameters().begin()); }
  Iterator end() { return Iterator(registered_parameters().end()); }

  const Parameter& operator[](int64_t position);
  const Parameter& operator[](int position) { return (*this)[int64_t{position}]; }
  void set(int64_t position, const Tensor& tensor);
  ParameterList& append(const Tensor& tensor);
  /// Nothing is changed if one of them can't be a parameter.
  ParameterList& extend(const std::vector<Tensor>& tensors);
  ParameterList& extend(ParameterList& other) { return extend({other.begin(), other.end()}); }
  ParameterList& operator+=(const std::vector<Tensor>& tensors) { return extend(tensors); }
  ParameterList& operator+=(ParameterList& other) { return extend(other); }
  /// Those of start:stop:step, renumbered; shares them.
  ParameterList slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
                      int64_t step = 1);

  std::string extra_repr() const override;
};

namespace detail {

/// A tensor as a parameter, as the containers take it.
Parameter as_parameter(const Tensor& tensor);
/// A line for each parameter, as PyTorch prints containers of parameters.
std::string repr_parameters(const Named<Parameter>& parameters);

}  // namespace detail
}  // namespace farro::nn
