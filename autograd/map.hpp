#pragma once

/// map: a user's own formula as one kernel each way.
///
///     struct Gaussian {  // at namespace scope: works on device backends too
///       template <class T>
///       FARRO_FUNCTION T operator()(T x, T mean, T sigma) const {
///         T z = (x - mean) / sigma;
///         return math::exp(T(-0.5) * z * z);
///       }
///     };
///     Tensor p = map(Gaussian{}, x, mean, sigma);
///     Tensor q = map([](auto x, auto y) { return x * math::tanh(y); }, x, y);  // host backends
///
/// The call operator is a template over T: a SIMD pack or a number forward, a dual number of those
/// backward, and Tensor where the backward itself is recorded, so that derivatives of any order
/// exist. Conditions are therefore written select(condition, a, b), constants T(0.5), functions
/// math::exp(x). What the functor captures is copied and constant.

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <farro/autograd/dual.hpp>
#include <farro/backends/functor_pack.hpp>
#include <farro/backends/launch.hpp>

namespace farro {

inline constexpr int kMaxMapInputs = 8;
inline constexpr int kMaxMapOutputs = 8;
/// Directions that one backward kernel differentiates along.
inline constexpr int kMapDuals = 4;

namespace autograd {

/// Operands of one element of a map on any backend; in a backward the gradients of the outputs
/// follow the inputs.
struct MapOperands {
  std::array<PointwiseOperand, kMaxMapInputs + kMaxMapOutputs> in;
  std::array<PointwiseOperand, kMaxMapOutputs> out;
};

/// Which inputs a backward kernel differentiates along.
struct MapDirections {
  int count = 0;
  int input[kMapDuals]{};
};

/// A functor's computing functions, by compute type (float, double) where there are two.
struct MapKernels {
  PointwiseEntry entry;  ///< how its inputs promote
  int outputs = 1;
  bool on_devices = true;
  using Forward = void (*)(const void* f, void* const* y, const void* const* x, int64_t n);
  using Backward = void (*)(const void* f, const MapDirections& along, void* const* dx,
                            const void* const* x_and_dy, int64_t n);
  std::array<Forward, 2> forward{};
  std::array<Backward, 2> backward{};
  void (*forward_portable)(const void* f, Device device, DType compute, int64_t n,
                           const MapOperands& operands) = nullptr;
  void (*backward_portable)(const void* f, const MapDirections& along, Device device, DType compute,
                            int64_t n, const MapOperands& operands) = nullptr;
  void (*recorded)(const void* f, const Tensor* x,
                   Tensor* y) = nullptr;  ///< by recorded operations
};

/// Runs and records a map of `kernels.entry.kernels.arity` inputs into `outputs`.
void map(const MapKernels& kernels, std::shared_ptr<const void> f, const Tensor* const* inputs,
         Tensor* outputs);

namespace map_functions {

template <class T>
struct IsArrayOrTuple : std::false_type {};
template <class T, size_t N>
struct IsArrayOrTuple<std::array<T, N>> : std::true_type {};
template <class... T>
struct IsArrayOrTuple<std::tuple<T...>> : std::true_type {};

/// What stands for an element of an input. (As an alias that drops its parameter, CUDA's compiler
/// loses the pack.)
template <class Input>
struct NumberFor {
  using type = double;
};

template <class T>
constexpr size_t outputs_of() {
  if constexpr (IsArrayOrTuple<T>::value)
    return std::tuple_size_v<T>;
  else
    return 1;
}

/// Calls f with the arguments and gives its results as an array of V.
template <class V, class F, size_t... I>
FARRO_FORMULA inline auto call(const F& f, const V* x, std::index_sequence<I...>) {
  auto value = [](const auto& result) {
    if constexpr (std::is_convertible_v<decltype(result), V>)
      return V(result);
    else
      return select(result, V(1), V(0));
  };
  auto result = f(x[I]...);
  using R = decltype(result);
  if constexpr (IsArrayOrTuple<R>::value) {
    return std::apply([&](const auto&... r) { return std::array<V, sizeof...(r)>{value(r)...}; },
                      result);
  } else {
    return std::array<V, 1>{value(result)};
  }
}

/// The inputs as duals, each with a 1 in the direction that is its own: direction k is input k's
/// where they are InOrder.
template <int N, bool InOrder, class P, int Arity>
FARRO_FORMULA inline void seed(const MapDirections& along, const P* x, Dual<P, N> (&duals)[Arity]) {
  using farro::detail::unrolled;
  unrolled<Arity>(FARRO_UNROLLED(i) {
    duals[i].value = x[i];
    unrolled<N>(FARRO_UNROLLED(k) {
      bool moves = InOrder ? k == i : along.input[k] == i;
      duals[i].moves[k] = moves;
      duals[i].partial[k] = moves ? P(1) : P(0);
    });
  });
}

/// The gradients along each direction from the inputs and the outputs' gradients.
template <int N, int Arity, bool InOrder, class P, class F>
FARRO_FORMULA inline void differentiate(const F& f, const MapDirections& along, const P* x,
                                        const P* dy, P* dx) {
  Dual<P, N> duals[Arity];
  seed<N, InOrder, P, Arity>(along, x, duals);
  auto y = call(f, duals, std::make_index_sequence<static_cast<size_t>(Arity)>());
  using farro::detail::unrolled;
  constexpr int outputs = static_cast<int>(std::tuple_size_v<decltype(y)>);
  unrolled<N>(FARRO_UNROLLED(k) {
    dx[k] = P(0);
    unrolled<outputs>(FARRO_UNROLLED(m) {
      if (y[m].moves[k]) dx[k] = m == 0 ? dy[m] * y[m].partial[k] : dx[k] + dy[m] * y[m].partial[k];
    });
  });
}

/// Calls body(i, load, store) for each pack of n elements, the last of which may be a part of one.
template <class T, class Body>
inline void for_packs(int64_t n, const Body& body) {
  int64_t i = 0;
  if constexpr (std::is_same_v<FunctorPack<T>, T>) {
    for (; i < n; ++i)
      body(
          i, [](const T* p) { return *p; }, [](T* p, const T& v) { *p = v; });
  } else {
    for (; i + pack_size<T> <= n; i += pack_size<T>) {
      body(
          i, [](const T* p) { return simd::load(p); },
          [](T* p, const Pack<T>& v) { simd::store(p, v); });
    }
    if (i < n) {
      body(
          i, [&](const T* p) { return simd::load_some(p, n - i); },
          [&](T* p, const Pack<T>& v) { simd::store_some(p, v, n - i); });
    }
  }
}

template <class F, int Arity, class T>
void forward_run(const void* functor, void* const* y, const void* const* x, int64_t n) {
  const F& f = *static_cast<const F*>(functor);
  for_packs<T>(n, [&](int64_t i, const auto& load, const auto& store) {
    FunctorPack<T> packs[Arity];
#pragma GCC unroll 8
    for (int k = 0; k < Arity; ++k) packs[k] = load(static_cast<const T*>(x[k]) + i);
    auto result = call(f, packs, std::make_index_sequence<static_cast<size_t>(Arity)>());
#pragma GCC unroll 8
    for (size_t m = 0; m < result.size(); ++m) store(static_cast<T*>(y[m]) + i, result[m]);
  });
}

/// Flattened, and what it calls not marked to be inlined by itself: GCC then has the duals of one
/// pack in registers, and computes nothing for directions that do not matter where InOrder makes
/// those constants.
template <class F, int Arity, int Outputs, class T, int N, bool InOrder>
[[gnu::flatten]] void backward_run_along(const F& f, const MapDirections& along, void* const* dx,
                                         const void* const* in, int64_t n) {
  const MapDirections directions = along;
  for_packs<T>(n, [&](int64_t i, const auto& load, const auto& store) {
    FunctorPack<T> packs[Arity + Outputs], result[N];
    using farro::detail::unrolled;
    unrolled<Arity + Outputs>(
        FARRO_UNROLLED(k) { packs[k] = load(static_cast<const T*>(in[k]) + i); });
    differentiate<N, Arity, InOrder>(f, directions, packs, packs + Arity, result);
    unrolled<N>(FARRO_UNROLLED(k) { store(static_cast<T*>(dx[k]) + i, result[k]); });
  });
}

/// Calls f with the number of directions as a constant.
template <int Arity, class F>
void with_directions(int count, const F& f) {
  constexpr int most = Arity < kMapDuals ? Arity : kMapDuals;
  [&]<int... N>(std::integer_sequence<int, N...>) {
    ((count == N + 1 ? f(std::integral_constant<int, N + 1>()) : void()), ...);
  }
  (std::make_integer_sequence<int, most>());
}

template <class F, int Arity, int Outputs, class T>
void backward_run(const void* functor, const MapDirections& along, void* const* dx,
                  const void* const* in, int64_t n) {
  const F& f = *static_cast<const F*>(functor);
  with_directions<Arity>(along.count, [&]<int N>(std::integral_constant<int, N>) {
    if constexpr (N == std::min(Arity, kMapDuals)) {
      bool in_order = true;
      for (int k = 0; k < N; ++k) in_order = in_order && along.input[k] == k;
      if (in_order) return backward_run_along<F, Arity, Outputs, T, N, true>(f, along, dx, in, n);
    }
    backward_run_along<F, Arity, Outputs, T, N, false>(f, along, dx, in, n);
  });
}

/// One element, whatever the operands' dtypes and strides.
template <class F, int Arity, int Outputs, class T>
struct ForwardElement {
  F f;
  std::array<PointwiseOperand, Arity> in;
  std::array<PointwiseOperand, Outputs> out;

  FARRO_FUNCTION void operator()(int64_t i) const {
    T x[Arity];
#pragma GCC unroll 8
    for (size_t k = 0; k < Arity; ++k) x[k] = in[k].template load<T>(i);
    auto y = call(f, x, std::make_index_sequence<static_cast<size_t>(Arity)>());
#pragma GCC unroll 8
    for (size_t m = 0; m < Outputs; ++m)
      kernels::store_as(out[m].data, out[m].dtype, out[m].walk.offset(i), y[m]);
  }
};

template <class F, int Arity, int Outputs, class T, int N>
struct BackwardElement {
  F f;
  MapDirections along;
  std::array<PointwiseOperand, Arity + Outputs> in;
  std::array<PointwiseOperand, N> out;

  FARRO_FUNCTION void operator()(int64_t i) const {
    T x[Arity + Outputs], dx[N];
#pragma GCC unroll 8
    for (size_t k = 0; k < Arity + Outputs; ++k) x[k] = in[k].template load<T>(i);
    differentiate<N, Arity, false>(f, along, x, x + Arity, dx);
#pragma GCC unroll 8
    for (size_t k = 0; k < N; ++k)
      kernels::store_as(out[k].data, out[k].dtype, out[k].walk.offset(i), dx[k]);
  }
};

template <size_t N>
std::array<PointwiseOperand, N> first(const PointwiseOperand* from) {
  std::array<PointwiseOperand, N> result;
  std::copy_n(from, N, result.begin());
  return result;
}

/// A lambda's call operator can't run on a device: CUDA's compiler takes named functors only.
template <class F>
constexpr bool is_lambda() {
  std::string_view name = __PRETTY_FUNCTION__;
  for (std::string_view mark : {"<lambda", "(lambda", "{lambda", "=lambda ", "= lambda "}) {
    if (name.find(mark) != name.npos) return true;
  }
  return false;
}

/// for_each; of a lambda's elements on the host only, as CUDA's compiler can't even name such a
/// kernel.
template <class F, class Element>
void for_each_element(Device device, const char* label, int64_t n, const Element& element,
                      double cost = 8) {
  if constexpr (is_lambda<F>()) {
    parallel_blocks(device, label, {n, 512, cost}, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) element(i);
    });
  } else {
    for_each(device, label, n, element, cost);
  }
}

template <class F, int Arity, int Outputs>
void forward_portable(const void* functor, Device device, DType compute, int64_t n,
                      const MapOperands& operands) {
  const F& f = *static_cast<const F*>(functor);
  auto run = [&]<class T>() {
    for_each_element<F>(device, "farro::map", n,
                        ForwardElement<F, Arity, Outputs, T>{f, first<Arity>(operands.in.data()),
                                                             first<Outputs>(operands.out.data())});
  };
  compute == kFloat32 ? run.template operator()<float>() : run.template operator()<double>();
}

template <class F, int Arity, int Outputs>
void backward_portable(const void* functor, const MapDirections& along, Device device,
                       DType compute, int64_t n, const MapOperands& operands) {
  const F& f = *static_cast<const F*>(functor);
  with_directions<Arity>(along.count, [&]<int N>(std::integral_constant<int, N>) {
    auto run = [&]<class T>() {
      for_each_element<F>(
          device, "farro::map_backward", n,
          BackwardElement<F, Arity, Outputs, T, N>{
              f, along, first<Arity + Outputs>(operands.in.data()), first<N>(operands.out.data())});
    };
    compute == kFloat32 ? run.template operator()<float>() : run.template operator()<double>();
  });
}

template <class F, int Arity>
void recorded(const void* functor, const Tensor* x, Tensor* y) {
  auto result = call(*static_cast<const F*>(functor), x,
                     std::make_index_sequence<static_cast<size_t>(Arity)>());
  for (size_t m = 0; m < result.size(); ++m) y[m] = result[m];
}

template <class F, int Arity, int Outputs>
constexpr MapKernels make_kernels(const char* name) {
  MapKernels k;
  k.entry.kernels.name = name;
  k.entry.kernels.arity = Arity;
  k.entry.integers_to_float = true;
  k.outputs = Outputs;
  k.on_devices = !is_lambda<F>();
  k.forward = {forward_run<F, Arity, float>, forward_run<F, Arity, double>};
  k.backward = {backward_run<F, Arity, Outputs, float>, backward_run<F, Arity, Outputs, double>};
  k.forward_portable = forward_portable<F, Arity, Outputs>;
  k.backward_portable = backward_portable<F, Arity, Outputs>;
  k.recorded = recorded<F, Arity>;
  return k;
}

}  // namespace map_functions
}  // namespace autograd

/// f of each element of the inputs (at most 8), which broadcast and promote as those of an
/// operation; integers are computed in the default dtype. Where f returns a std::array or
/// std::tuple, an array of as many tensors. Differentiable to any order with respect to every
/// floating-point input. Throws ShapeError, TypeError, BackendError.
template <class F, class... Inputs>
requires(std::is_convertible_v<const Inputs&, const Tensor&>&&...) auto map(
    F f, const Inputs&... inputs) {
  constexpr int arity = static_cast<int>(sizeof...(Inputs));
  static_assert(arity >= 1 && arity <= kMaxMapInputs, "map takes from 1 to 8 tensors");
  using Result =
      std::invoke_result_t<const F&, typename autograd::map_functions::NumberFor<Inputs>::type...>;
  constexpr size_t outputs = autograd::map_functions::outputs_of<Result>();
  static_assert(outputs >= 1 && outputs <= static_cast<size_t>(kMaxMapOutputs),
                "map gives from 1 to 8 tensors");
  static constexpr auto kernels =
      autograd::map_functions::make_kernels<F, arity, static_cast<int>(outputs)>("map");
  std::array<Tensor, outputs> results;
  [&](const auto&... x) {
    const Tensor* list[] = {&x...};
    autograd::map(kernels, std::make_shared<const F>(std::move(f)), list, results.data());
  }(static_cast<const Tensor&>(inputs)...);  // what is made of a number lives until here
  if constexpr (autograd::map_functions::IsArrayOrTuple<Result>::value)
    return results;
  else
    return std::move(results[0]);
}

}  // namespace farro
