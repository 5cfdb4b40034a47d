#pragma once

/// Custom functions: a user's own forward and backward, e.g. around Kokkos kernels.
///
///     struct Scale : autograd::Function<Scale> {
///       static Tensor forward(autograd::Context& ctx, const Tensor& x, double factor) {
///         ctx.keep("factor", factor);
///         return x * factor;
///       }
///       static autograd::Grads backward(autograd::Context& ctx, const Tensor& dy) {
///         return {dy * ctx.kept<double>("factor"), {}};  // one for each argument of forward
///       }
///     };
///     Tensor y = Scale::apply(x, 2.0);
///
/// backward takes the gradient of each result, or all of them as autograd::Grads. forward runs
/// without recording and returns a Tensor, a std::vector, std::array, std::pair or std::tuple of
/// them. backward runs as any backward: what it computes by recorded operations can be
/// differentiated again, unless the struct says `static constexpr bool once_differentiable = true`.
/// Typed views: ctx.view, in view_bridge.hpp.

#include <any>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/autograd/record.hpp>

namespace farro::autograd {

class FunctionNode;

/// What forward tells and backward reads.
class Context {
 public:
  /// Keeps arguments and results for backward; whoever changes one in place meanwhile makes
  /// backward a GradError. Called again, it replaces what was kept. Undefined tensors keep their
  /// place.
  void save_for_backward(std::vector<Tensor> tensors) { to_save_ = std::move(tensors); }
  /// In backward: the tensors that were saved, in their order. GradError if one was changed or
  /// freed.
  std::vector<Tensor> saved_tensors() const;
  Tensor saved(size_t i) const;

  /// Keeps a value of any type that isn't a tensor, which could not be watched.
  template <class T>
  void keep(std::string name, T value) {
    static_assert(!std::is_same_v<T, Tensor>, "tensors go through save_for_backward");
    kept_[std::move(name)] = std::move(value);
  }
  /// KeyError for a name that was not kept, TypeError for another type.
  template <class T>
  const T& kept(const std::string& name) const {
    const T* value = std::any_cast<T>(&find_kept(name));
    if (!value)
      fail<TypeError>("kept", "'{}' was kept as another type than what is asked for", name);
    return *value;
  }

  /// These arguments were changed in place; forward returns them.
  void mark_dirty(std::vector<Tensor> tensors) { dirty_ = std::move(tensors); }
  /// These results have no gradient.
  void mark_non_differentiable(std::vector<Tensor> tensors) {
    non_differentiable_ = std::move(tensors);
  }
  /// Whether backward sees zeros (as it does unless told otherwise) or undefined tensors for
  /// results without gradient.
  void set_materialize_grads(bool on) { materialize_ = on; }
  /// Whether backward's gradient for an argument of forward is wanted. False for arguments that
  /// aren't tensors.
  bool needs_input_grad(size_t argument) const { return needs_[argument]; }

  /// A typed strided Kokkos view of a tensor with `Rank` dimensions, without a copy; include
  /// view_bridge.hpp. Backend is what dispatch gives, or left out for any tensor on the host.
  /// TypeError, ShapeError, BackendError if the tensor is not of that kind.
  template <class T, int Rank, class Backend = void>
  auto view(const Tensor& tensor) const;

 private:
  friend class FunctionNode;
  const std::any& find_kept(const std::string& name) const;

  const FunctionNode* node_ = nullptr;
  std::vector<bool> needs_;
  std::vector<Tensor> to_save_, dirty_, non_differentiable_;
  SavedList saved_;
  std::map<std::string, std::any> kept_;
  bool materialize_ = true;
};

namespace detail {

struct FunctionInfo {
  std::string_view name;
  Grads (*backward)(Context&, const Grads&);
  bool once_differentiable;
};

/// Runs and records a custom function; `arguments` has an undefined tensor for each argument that
/// isn't one.
std::vector<Tensor> apply_function(const FunctionInfo& info, std::vector<Tensor> arguments,
                                   const std::function<std::vector<Tensor>(Context&)>& forward);

template <class T>
Tensor as_argument(const T& argument) {
  if constexpr (std::is_convertible_v<const T&, const Tensor&>)
    return argument;
  else
    return {};
}

template <class R>
std::vector<Tensor> to_list(R&& result) {
  using Plain = std::remove_cvref_t<R>;
  if constexpr (std::is_convertible_v<Plain, Tensor>)
    return {std::forward<R>(result)};
  else if constexpr (std::is_same_v<Plain, std::vector<Tensor>>)
    return std::forward<R>(result);
  else
    return std::apply([](auto&&... tensors) { return std::vector<Tensor>{tensors...}; },
                      std::forward<R>(result));
}

template <class R>
R from_list(std::vector<Tensor> list) {
  if constexpr (std::is_convertible_v<R, Tensor>)
    return std::move(list[0]);
  else if constexpr (std::is_same_v<R, std::vector<Tensor>>)
    return list;
  else {
    return [&]<size_t... I>(std::index_sequence<I...>) { return R{std::move(list[I])...}; }
    (std::make_index_sequence<std::tuple_size_v<R>>());
  }
}

/// "Stencil" of Stencil, without namespaces.
template <class T>
constexpr std::string_view short_name() {
  std::string_view name = __PRETTY_FUNCTION__;
  size_t begin = name.find("T = ") + 4, end = name.find_first_of(";]", begin);
  name = name.substr(begin, end - begin);
  size_t colon = name.substr(0, name.find('<')).rfind("::");
  return colon == name.npos ? name : name.substr(colon + 2);
}

/// The number of tensors that Derived's backward takes.
template <class Derived, size_t N = 1>
constexpr size_t backward_arity() {
  constexpr bool takes = []<size_t... I>(std::index_sequence<I...>) {
    return requires(Context & c, const Grads& g) { Derived::backward(c, g[I]...); };
  }
  (std::make_index_sequence<N>());
  static_assert(takes || N < 16, "backward takes a Context and a gradient for each result");
  if constexpr (takes || N >= 16)
    return N;
  else
    return backward_arity<Derived, N + 1>();
}

/// Derived's backward on a list of gradients: it takes that, or as many tensors.
template <class Derived>
Grads call_backward(Context& context, const Grads& grads) {
  if constexpr (requires { Derived::backward(context, grads); }) {
    return Derived::backward(context, grads);
  } else {
    return []<size_t... I>(Context & c, const Grads& g, std::index_sequence<I...>) {
      return Derived::backward(c, g[I]...);
    }
    (context, grads, std::make_index_sequence<backward_arity<Derived>()>());
  }
}

template <class Derived>
constexpr bool once_differentiable() {
  if constexpr (requires { Derived::once_differentiable; })
    return Derived::once_differentiable;
  else
    return false;
}

}  // namespace detail

/// Base of a custom function; see the top of this file.
template <class Derived>
struct Function {
  /// Runs forward and records it. Throws what forward throws; GradError where it breaks the rules
  /// of Context.
  template <class... Args>
  static auto apply(const Args&... args) {
    using Result =
        std::remove_cvref_t<decltype(Derived::forward(std::declval<Context&>(), args...))>;
    static constexpr detail::FunctionInfo info{detail::short_name<Derived>(),
                                               &detail::call_backward<Derived>,
                                               detail::once_differentiable<Derived>()};
    return detail::from_list<Result>(detail::apply_function(
        info, {detail::as_argument(args)...},
        [&](Context& context) { return detail::to_list(Derived::forward(context, args...)); }));
  }
};

}  // namespace farro::autograd
