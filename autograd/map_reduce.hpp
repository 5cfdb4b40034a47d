#pragma once

/// map_reduce: a user's own formula and a reduction behind it, in one pass over the inputs; nothing
/// of the formula's size is kept.
///
///     Tensor loss = map_reduce([](auto x, auto y) { return (x - y) * (x - y); },
///                              Reduce::Mean, {}, x, y);
///     Tensor top = map_reduce(Gaussian{}, Reduce::Max, {-1}, x, mean, sigma);

#include <farro/autograd/map.hpp>
#include <farro/autograd/tensor.hpp>

namespace farro {

/// What map_reduce does with the elements that a formula gives.
enum class Reduce { Sum, Mean, Max };

namespace autograd {

/// What map_reduce needs of a functor.
struct MapReduceKernels {
  const MapKernels* map = nullptr;
  /// The plain Kokkos kernel. Reduces block `b` of output `o` into values[o * blocks + b], and the
  /// place of the largest into places likewise where that is not null.
  struct Blocks {
    int64_t outputs = 0, length = 0, blocks = 0;
    void* values = nullptr;
    int64_t* places = nullptr;
  };
  void (*portable)(const void* f, Device device, DType compute, const MapOperands& operands,
                   const Blocks& to) = nullptr;
};

Tensor map_reduce(const MapReduceKernels& kernels, std::shared_ptr<const void> f, Reduce op,
                  IntList dims, const Tensor* const* inputs);

namespace map_functions {

template <class F, int Arity, class T>
struct ReduceBlock {
  F f;
  std::array<PointwiseOperand, Arity> in;
  MapReduceKernels::Blocks to;
  int64_t longest;  ///< of a block

  FARRO_FUNCTION void operator()(int64_t item) const {
    int64_t output = item / to.blocks, first = item % to.blocks * longest;
    int64_t last = first + longest < to.length ? first + longest : to.length;
    T value = T(0);
    int64_t place = first;
    for (int64_t i = first; i < last; ++i) {
      T x[Arity];
#pragma GCC unroll 8
      for (size_t k = 0; k < Arity; ++k) x[k] = in[k].template load<T>(output * to.length + i);
      T y = call(f, x, std::make_index_sequence<static_cast<size_t>(Arity)>())[0];
      if (!to.places) {
        value = value + y;
      } else if (i == first || y > value || (y != y && value == value)) {
        value = y;
        place = i;
      }
    }
    static_cast<T*>(to.values)[item] = value;
    if (to.places) to.places[item] = place;
  }
};

template <class F, int Arity>
void reduce_portable(const void* functor, Device device, DType compute, const MapOperands& operands,
                     const MapReduceKernels::Blocks& to) {
  const F& f = *static_cast<const F*>(functor);
  int64_t longest = (to.length + to.blocks - 1) / to.blocks;
  auto run = [&]<class T>() {
    for_each_element<F>(device, "farro::map_reduce", to.outputs * to.blocks,
                        ReduceBlock<F, Arity, T>{f, first<Arity>(operands.in.data()), to, longest},
                        static_cast<double>(longest) * 8);
  };
  compute == kFloat32 ? run.template operator()<float>() : run.template operator()<double>();
}

}  // namespace map_functions
}  // namespace autograd

/// f of each element of the inputs (at most 8), as in map, summed, averaged or the largest taken
/// over `dims` of the shape to which the inputs broadcast (an empty list: all of them), which the
/// result lacks. Differentiable to any order. A sum has the bits of sum(map(f, x…), dims) on the
/// host backends. Of equal largest elements the first takes the gradient; a NaN wins. Throws what
/// map throws, IndexError for a dimension outside, ValueError for one that comes twice, and for the
/// largest of no elements.
template <class F, class... Inputs>
requires(std::is_convertible_v<const Inputs&, const Tensor&>&&...) Tensor
    map_reduce(F f, Reduce op, IntList dims, const Inputs&... inputs) {
  constexpr int arity = static_cast<int>(sizeof...(Inputs));
  static_assert(arity >= 1 && arity <= kMaxMapInputs, "map_reduce takes from 1 to 8 tensors");
  using Result =
      std::invoke_result_t<const F&, typename autograd::map_functions::NumberFor<Inputs>::type...>;
  static_assert(!autograd::map_functions::IsArrayOrTuple<Result>::value,
                "map_reduce takes a function with one result");
  static constexpr auto map_kernels =
      autograd::map_functions::make_kernels<F, arity, 1>("map_reduce");
  static constexpr autograd::MapReduceKernels kernels{
      &map_kernels, autograd::map_functions::reduce_portable<F, arity>};
  return [&](const auto&... x) {
    const Tensor* list[] = {&x...};
    return autograd::map_reduce(kernels, std::make_shared<const F>(std::move(f)), op, dims, list);
  }(static_cast<const Tensor&>(inputs)...);  // what is made of a number lives until here
}

}  // namespace farro
