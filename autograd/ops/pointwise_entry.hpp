#pragma once

/// Makes the entries of operations; included by the sources of the families only.

#include <boost/hana/unpack.hpp>

#include <array>
#include <string>

#include <farro/autograd/ops/pointwise_list.hpp>
#include <farro/backends/kernels/pointwise_functions.hpp>

namespace farro::autograd {

/// "LeakyReluBackward" of "leaky_relu", kept for the whole run.
template <class Op>
struct NodeName {
  static constexpr auto text = [] {
    std::array<char, std::char_traits<char>::length(Op::name) + 9> result{};
    size_t n = 0;
    bool upper = true;
    for (const char* c = Op::name; *c != 0; ++c) {
      if (*c != '_')
        result[n++] = upper && *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
      upper = *c == '_';
    }
    for (const char* c = "Backward"; *c != 0; ++c) result[n++] = *c;
    return result;
  }();
};

/// The gradient of an input by recorded operations: the formula with T = Tensor.
template <class Op>
FARRO_COLD Tensor recorded_backward(const void* parameters, int input, const Tensor& dy,
                                    const Tensor* x, const Tensor& y) {
  const Op op = pointwise_functions::operation<Op>(parameters);
  Tensor result;
  auto run = [&]<size_t Input, size_t... K>(std::index_sequence<K...>) {
    result = op.template backward<static_cast<int>(Input), Tensor>(dy, x[K]..., y);
  };
  using Inputs = std::make_index_sequence<static_cast<size_t>(Op::arity)>;
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((static_cast<size_t>(input) == I ? run.template operator()<I>(Inputs()) : void()), ...);
  }
  (Inputs());
  return result;
}

template <class Op>
inline constexpr Op
    kExample{};  // without inline, gcc 12 with AddressSanitizer makes objects that do not link

template <class Op>
constexpr PointwiseEntry make_entry() {
  PointwiseEntry e;
  e.kernels = pointwise_functions::make_kernels<Op>();
  e.node_name = NodeName<Op>::text.data();
  e.uses = {Op::uses.mask[0], Op::uses.mask[1], Op::uses.mask[2]};
  e.passes_gradient = Op::passes_gradient;
  e.differentiable = Op::differentiable;
  e.integers_to_float = Op::integers_to_float;
  e.returns_bool = Op::returns_bool;
  e.floats_only = Op::floats_only;
  e.integers_only = Op::integers_only;
  e.first_is_condition = Op::first_is_condition;
  e.divides_integers = Op::divides_integers;
  e.bools = Op::bools;
  if constexpr (Op::differentiable) e.backward = recorded_backward<Op>;
  e.domain = {Op::domain, Op::domain1, Op::domain2};
  e.example = &kExample<Op>;
  e.bytes = sizeof(Op);
  return e;
}

template <class Op>
const PointwiseEntry& pointwise_entry() {
  static constexpr PointwiseEntry entry = make_entry<Op>();
  return entry;
}

/// The entries of a family's list; instantiates them.
template <class List>
std::span<const PointwiseEntry* const> entries_of(const List& list) {
  static const auto entries = boost::hana::unpack(list, [](auto... types) {
    return std::array<const PointwiseEntry*, sizeof...(types)>{
        &pointwise_entry<typename decltype(types)::type>()...};
  });
  return entries;
}

}  // namespace farro::autograd
