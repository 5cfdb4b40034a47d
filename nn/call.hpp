#pragma once

/// FARRO_MEMBERS and what it writes: the typed call, and the functions that a module's reflection
/// gives.

#include <boost/hana/concat.hpp>

#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <farro/backends/reflect.hpp>
#include <farro/hooks/convert.hpp>
#include <farro/nn/module.hpp>

namespace farro::nn::detail {

[[noreturn]] FARRO_COLD void wrong_arguments(std::string_view module, size_t args, size_t kwargs);
[[noreturn]] FARRO_COLD void no_copy(std::string_view module);
/// The hooks on registration of a declared member, if there are any.
void run_registration_hooks(Module& owner, const Member& member);

// Members.

template <class M>
inline constexpr ChildAccess kRefAccess = {
    [](void* member) -> Module* { return static_cast<Ref<M>*>(member)->get(); },
    [](void* member) -> std::shared_ptr<Module> { return static_cast<Ref<M>*>(member)->shared(); },
    [](void* member, const std::shared_ptr<Module>& module) {
      auto typed = std::dynamic_pointer_cast<M>(module);
      if (module && !typed) return false;
      *static_cast<Ref<M>*>(member) = Ref<M>(std::move(typed));
      return true;
    }};

template <class M>
inline constexpr ChildAccess kValueAccess = {
    [](void* member) -> Module* { return static_cast<M*>(member); },
    [](void*) -> std::shared_ptr<Module> { return {}; },
    [](void*, const std::shared_ptr<Module>&) { return false; }};

template <class M>
void visit_member(const MemberVisitor& visit, std::string_view name, Ref<M>& member) {
  visit(Member(name, &member, kRefAccess<M>));
}
template <std::derived_from<Module> M>
void visit_member(const MemberVisitor& visit, std::string_view name, M& member) {
  visit(Member(name, &member, kValueAccess<M>));
}
template <std::derived_from<Tensor> T>
void visit_member(const MemberVisitor& visit, std::string_view name, T& member) {
  visit(Member(name, member));
}

template <class M>
void visit_declared(M& module, const MemberVisitor& visit) {
  for_each_field(module,
                 [&](std::string_view name, auto& member) { visit_member(visit, name, member); });
}

template <class M>
std::shared_ptr<Module> copy(const M& module) {
  if constexpr (std::is_copy_constructible_v<M>) {
    return std::make_shared<M>(module);
  } else {
    no_copy(module.class_name());
  }
}

/// The name of a class derived from another module class: as it is written, unless objects know
/// better.
template <class M>
std::string_view derived_class_name([[maybe_unused]] const M& module, std::string_view written) {
  if constexpr (requires { module.current_class_name(written); }) {
    return module.current_class_name(written);
  } else {
    return written;
  }
}

/// The name of a class with members of its own. Instances of one template may have names that are
/// not the template's.
template <class M>
std::string_view class_name(const M& module, std::string_view written) {
  if constexpr (requires { module.current_class_name(written); }) {
    return module.current_class_name(written);
  } else if constexpr (requires { M::kClassName; }) {
    return M::kClassName;
  } else {
    return written;
  }
}

/// A member that takes no room, after the declared ones: its construction is their registration.
template <class M>
struct Declared {
  explicit Declared(M* module) {
    if (FARRO_LIKELY(!hooks::detail::global_registration_hooks_used)) return;
    visit_declared(*module, [&](const Member& member) { run_registration_hooks(*module, member); });
  }
};

// Calls.

/// What the arguments of a call are kept as while hooks look at them: the types that forward takes,
/// as far as they were given, or their own where forward is a template or overloaded.
template <class M, class... A>
struct KeptArguments {
  using type = std::tuple<std::remove_cvref_t<A>...>;
};
template <PlainForward M, class... A>
struct KeptArguments<M, A...> {
  template <size_t... I>
  static std::tuple<ForwardArgument<M, I>...> first(std::index_sequence<I...>);
  using type = decltype(first(std::index_sequence_for<A...>{}));
};

template <class Tuple>
inline constexpr bool kEndsInOptions = false;
template <class... T>
requires(sizeof...(T) > 0) inline constexpr bool kEndsInOptions<std::tuple<T...>> =
    Reflected<std::tuple_element_t<sizeof...(T) - 1, std::tuple<T...>>>;

/// How many arguments are positional: all but a reflected struct at the end, whose fields are the
/// named ones.
template <class Tuple>
inline constexpr size_t kPositional = std::tuple_size_v<Tuple> - (kEndsInOptions<Tuple> ? 1 : 0);

template <class Tuple>
std::pair<Args, Kwargs> to_values(const Tuple& arguments) {
  std::pair<Args, Kwargs> values;
  [&]<size_t... I>(std::index_sequence<I...>) {
    (values.first.push_back(hooks::to_value(std::get<I>(arguments))), ...);
  }
  (std::make_index_sequence<kPositional<Tuple>>{});
  if constexpr (kEndsInOptions<Tuple>)
    values.second = hooks::fields_to_map(std::get<kPositional<Tuple>>(arguments));
  return values;
}

template <class M, class... A>
Value forward_to_value(M& callee, A&&... arguments) {
  using R = decltype(callee.forward(std::forward<A>(arguments)...));
  if constexpr (std::is_void_v<R>) {
    callee.forward(std::forward<A>(arguments)...);
    return {};
  } else {
    return hooks::to_value(callee.forward(std::forward<A>(arguments)...));
  }
}

/// Calls forward with the values as a Tuple.
template <class Tuple, class M>
Value forward_values(M& module, const Args& args, const Kwargs& kwargs) {
  constexpr size_t n = kPositional<Tuple>;
  if (args.size() != n || (!kEndsInOptions<Tuple> && !kwargs.empty())) {
    wrong_arguments(module.class_name(), args.size(), kwargs.size());
  }
  return [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (kEndsInOptions<Tuple>) {
      std::tuple_element_t<n, Tuple> options{};
      hooks::set_fields(options, kwargs);
      return forward_to_value(module, hooks::from_value<std::tuple_element_t<I, Tuple>>(args[I])...,
                              options);
    } else {
      return forward_to_value(module,
                              hooks::from_value<std::tuple_element_t<I, Tuple>>(args[I])...);
    }
  }
  (std::make_index_sequence<n>{});
}

/// The result of calling M's forward with these, as the call operator returns it.
template <class M, class... A>
using CallResult = std::decay_t<decltype(std::declval<M&>().forward(std::declval<A>()...))>;

template <class M, class... A>
FARRO_NOINLINE CallResult<M, A...> call_hooked(M& module, A&&... arguments) {
  using Tuple = typename KeptArguments<M, A...>::type;
  auto [args, kwargs] = to_values(Tuple(std::forward<A>(arguments)...));
  Value result = module.call_with_hooks(
      std::move(args), std::move(kwargs),
      [&](const Args& a, const Kwargs& k) { return forward_values<Tuple>(module, a, k); });
  if constexpr (!std::is_void_v<CallResult<M, A...>>)
    return hooks::from_value<CallResult<M, A...>>(result);
}

/// True if the call left out the options that M's forward ends with.
template <class M, class... A>
constexpr bool leaves_out_options() {
  if constexpr (PlainForward<M>) {
    using All = ForwardArguments<M>;
    return kEndsInOptions<All> && sizeof...(A) + 1 == std::tuple_size_v<All>;
  } else {
    return false;
  }
}

template <class M, class... A>
FARRO_INLINE CallResult<M, A...> call(M& module, A&&... arguments) {
  if (module.may_have_hooks() && module.has_call_hooks()) {
    if constexpr (leaves_out_options<M, A...>()) {
      return call_hooked(module, std::forward<A>(arguments)..., ForwardArgument<M, sizeof...(A)>{});
    } else {
      return call_hooked(module, std::forward<A>(arguments)...);
    }
  }
  return module.forward(std::forward<A>(arguments)...);
}

template <class M, class Tuple>
struct TakesTuple;
template <class M, class... T>
struct TakesTuple<M, std::tuple<T...>> {
  static constexpr bool value = requires(M & callee, T&... arguments) {
    callee.forward(arguments...);
  };
};

/// Calls with values the forward that takes as many as there are, trying fewer where arguments have
/// defaults.
template <class M, size_t N>
Value call_values(M& module, const Args& args, const Kwargs& kwargs) {
  using Tuple =
      decltype([]<size_t... I>(std::index_sequence<I...>)->std::tuple<ForwardArgument<M, I>...> {
        throw 0;
      }(std::make_index_sequence<N>{}));
  if constexpr (TakesTuple<M, Tuple>::value) {
    if (args.size() == kPositional<Tuple> && (kEndsInOptions<Tuple> || kwargs.empty())) {
      auto forward = [&](const Args& a, const Kwargs& k) {
        return forward_values<Tuple>(module, a, k);
      };
      if (!module.may_have_hooks() || !module.has_call_hooks()) return forward(args, kwargs);
      Kwargs named = kwargs;
      if constexpr (kEndsInOptions<Tuple>) {
        std::tuple_element_t<N - 1, Tuple> options{};
        hooks::set_fields(options, kwargs);
        named = hooks::fields_to_map(options);
      }
      return module.call_with_hooks(args, std::move(named), forward);
    }
  }
  if constexpr (N > 0) {
    return call_values<M, N - 1>(module, args, kwargs);
  } else {
    wrong_arguments(module.class_name(), args.size(), kwargs.size());
  }
}

template <class R, class M, class... A>
M declaring_class(R (M::*)(A...));

/// A class that says itself how it is called with values, beside its forward: forward_values(args,
/// kwargs) and current_forward_traits(). A class derived from it that has another forward does not.
template <class M>
concept ForwardsValues = PlainForward<M> && requires {
  requires std::same_as<decltype(declaring_class(&M::forward)),
                        decltype(declaring_class(&M::forward_values))>;
};

template <class M>
Value call_erased(M& module, const Args& args, const Kwargs& kwargs) {
  if constexpr (ForwardsValues<M>) {
    if (!module.may_have_hooks() || !module.has_call_hooks())
      return module.forward_values(args, kwargs);
    return module.call_with_hooks(
        args, kwargs, [&](const Args& a, const Kwargs& k) { return module.forward_values(a, k); });
  } else if constexpr (PlainForward<M>) {
    return call_values<M, std::tuple_size_v<ForwardArguments<M>>>(module, args, kwargs);
  } else if constexpr (requires(const Tensor& x) { module.forward(x); }) {
    if (args.size() != 1 || !kwargs.empty())
      wrong_arguments(module.class_name(), args.size(), kwargs.size());
    return hooks::to_value(call(module, args.tensor(0)));
  } else {
    return module.Module::call(args, kwargs);
  }
}

template <class M>
ForwardTraits forward_traits([[maybe_unused]] M& module) {
  if constexpr (ForwardsValues<M>) {
    return module.current_forward_traits();
  } else {
    ForwardTraits traits;
    if constexpr (PlainForward<M>) traits.positional = kPositional<ForwardArguments<M>>;
    traits.maps_tensor = requires(const Tensor& x) {
      { module.forward(x) } -> std::convertible_to<Tensor>;
    };
    return traits;
  }
}

template <class M>
Tensor call_tensor(M& module, const Tensor& x) {
  if constexpr (requires {
                  { module.forward(x) } -> std::convertible_to<Tensor>;
                }) {
    return call(module, x);
  } else {
    return module.call({x}).tensor();
  }
}

}  // namespace farro::nn::detail

/// Inside a module at namespace scope, after its members: FARRO_MEMBERS(Net, conv, fc, scale).
/// Members that hold parameters, buffers, modules or tensors are named; other data is not. A module
/// without such members names itself only.
#define FARRO_MEMBERS(Class, ...)                          \
  FARRO_FIELDS(Class __VA_OPT__(, ) __VA_ARGS__)           \
  std::string_view class_name() const override {           \
    return ::farro::nn::detail::class_name(*this, #Class); \
  }                                                        \
  FARRO_MODULE_FUNCTIONS(Class)

/// The same for a class derived from another module class: its members come after those of Base.
#define FARRO_DERIVED_MEMBERS(Class, Base, ...)                                        \
  struct hana_accessors_impl {                                                         \
    static constexpr auto apply() {                                                    \
      return ::boost::hana::concat(                                                    \
          ::boost::hana::accessors<Base>(),                                            \
          ::boost::hana::make_tuple(FARRO_FOR_EACH(FARRO_FIELD, Class, __VA_ARGS__))); \
    }                                                                                  \
  };                                                                                   \
  std::string_view class_name() const override {                                       \
    return ::farro::nn::detail::derived_class_name(*this, #Class);                     \
  }                                                                                    \
  FARRO_MODULE_FUNCTIONS(Class)

#define FARRO_MODULE_FUNCTIONS(Class)                                                              \
  [[no_unique_address]] ::farro::nn::detail::Declared<Class> farro_declared_{this};                \
  void visit_declared(const ::farro::nn::MemberVisitor& visit) override {                          \
    ::farro::nn::detail::visit_declared<Class>(*this, visit);                                      \
  }                                                                                                \
  std::shared_ptr<::farro::nn::Module> copy() const override {                                     \
    return ::farro::nn::detail::copy<Class>(*this);                                                \
  }                                                                                                \
  ::farro::nn::Value call(const ::farro::nn::Args& args, const ::farro::nn::Kwargs& kwargs = {})   \
      override {                                                                                   \
    return ::farro::nn::detail::call_erased<Class>(*this, args, kwargs);                           \
  }                                                                                                \
  ::farro::Tensor call_tensor(const ::farro::Tensor& x) override {                                 \
    return ::farro::nn::detail::call_tensor<Class>(*this, x);                                      \
  }                                                                                                \
  ::farro::nn::ForwardTraits forward_traits() override {                                           \
    return ::farro::nn::detail::forward_traits<Class>(*this);                                      \
  }                                                                                                \
  template <class FarroSelf = Class, class... FarroArgs>                                           \
  auto operator()(FarroArgs&&... arguments) {                                                      \
    return ::farro::nn::detail::call<FarroSelf>(*this, std::forward<FarroArgs>(arguments)...);     \
  }                                                                                                \
  template <class FarroSelf = Class, class FarroA,                                                 \
            class FarroB = ::farro::nn::detail::ForwardArgument<FarroSelf, 1>>                     \
  auto operator()(FarroA&& a, FarroB&& b) {                                                        \
    return ::farro::nn::detail::call<FarroSelf>(*this, std::forward<FarroA>(a),                    \
                                                std::forward<FarroB>(b));                          \
  }                                                                                                \
  template <class FarroSelf = Class, class FarroA, class FarroB,                                   \
            class FarroC = ::farro::nn::detail::ForwardArgument<FarroSelf, 2>>                     \
  auto operator()(FarroA&& a, FarroB&& b, FarroC&& c) {                                            \
    return ::farro::nn::detail::call<FarroSelf>(*this, std::forward<FarroA>(a),                    \
                                                std::forward<FarroB>(b), std::forward<FarroC>(c)); \
  }
