#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <farro/backends/error.hpp>
#include <farro/nn/signature.hpp>

namespace farro::nn {

class Module;

namespace detail {

template <class M>
struct OptionsOf {
  struct type {};  // no argument has this type
};
template <class M>
requires requires { typename M::Options; }
struct OptionsOf<M> {
  using type = typename M::Options;
};

[[noreturn]] FARRO_COLD void null_module();

}  // namespace detail

/// A shared, nullable handle to a module: copying it shares the module, as in Python. Made from M's
/// options, from M's constructor arguments, or from a module, which moves in:
///
///     nn::Ref<nn::Linear> fc{{.in_features = 784, .out_features = 10}};
///     nn::Ref<nn::ReLU> act{nn::ReLU()};
///     nn::Ref<nn::Linear> none;
template <class M>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const typename detail::OptionsOf<M>::type& options) requires requires {
    typename M::Options;
  } : module_(std::make_shared<M>(options)) {
  }
  template <class... A>
  requires(sizeof...(A) > 0) && std::constructible_from<M, A...> &&
      (sizeof...(A) > 1 ||
       !(std::derived_from<std::remove_cvref_t<A>, Module> || ...)) explicit Ref(A&&... arguments)
      : module_(std::make_shared<M>(std::forward<A>(arguments)...)) {}
  /// Only from a temporary or by std::move: a copy would share its parameters, but not its hooks.
  template <std::derived_from<M> D>
  Ref(D&& module) : module_(std::make_shared<D>(std::move(module))) {}
  template <std::derived_from<M> D>
  Ref(std::shared_ptr<D> module) : module_(std::move(module)) {}
  template <std::derived_from<M> D>
  requires(!std::same_as<D, M>) Ref(const Ref<D>& other) : module_(other.shared()) {}

  M* get() const { return module_.get(); }
  M* operator->() const { return &checked(); }
  M& operator*() const { return checked(); }
  explicit operator bool() const { return module_ != nullptr; }
  const std::shared_ptr<M>& shared() const { return module_; }
  /// The module as another type; null if it is none.
  template <class D>
  Ref<D> as() const {
    return Ref<D>(std::dynamic_pointer_cast<D>(module_));
  }
  /// The same module.
  friend bool operator==(const Ref& a, const Ref& b) { return a.module_ == b.module_; }
  friend bool operator==(const Ref& a, std::nullptr_t) { return a.module_ == nullptr; }

  /// Calls the module with its hooks. ValueError if there is none.
  template <class... A>
  decltype(auto) operator()(A&&... arguments) const {
    return checked()(std::forward<A>(arguments)...);
  }
  // These take arguments in braces: net(x, {.scale = 3}).
  template <class A, class Self = M, class B = detail::ForwardArgument<Self, 1>>
  decltype(auto) operator()(A&& a, B&& b) const {
    return checked()(std::forward<A>(a), std::forward<B>(b));
  }
  template <class A, class B, class Self = M, class C = detail::ForwardArgument<Self, 2>>
  decltype(auto) operator()(A&& a, B&& b, C&& c) const {
    return checked()(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }

 private:
  M& checked() const {
    if (FARRO_UNLIKELY(!module_)) detail::null_module();
    return *module_;
  }

  std::shared_ptr<M> module_;
};

/// A new module behind a Ref.
template <class M, class... A>
Ref<M> make(A&&... arguments) {
  return Ref<M>(std::make_shared<M>(std::forward<A>(arguments)...));
}

}  // namespace farro::nn
