#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>

namespace farro::nn::detail {

/// What a call keeps of an argument of this type while hooks look at it: a copy, or the object that
/// forward may change.
template <class A>
struct KeptArgument {
  using type = std::remove_cvref_t<A>;
};
template <class A>
requires(!std::is_const_v<A>) struct KeptArgument<A&> {
  using type = std::reference_wrapper<A>;
};

template <class F>
struct SignatureOf;
template <class R, class M, class... A>
struct SignatureOf<R (M::*)(A...)> {
  using Arguments = std::tuple<typename KeptArgument<A>::type...>;
};
template <class R, class M, class... A>
struct SignatureOf<R (M::*)(A...) const> : SignatureOf<R (M::*)(A...)> {};
template <class R, class M, class... A>
struct SignatureOf<R (M::*)(A...) noexcept> : SignatureOf<R (M::*)(A...)> {};
template <class R, class M, class... A>
struct SignatureOf<R (M::*)(A...) const noexcept> : SignatureOf<R (M::*)(A...)> {};

/// M has one forward, no template.
template <class M>
concept PlainForward = requires {
  &M::forward;
};

template <PlainForward M>
using ForwardArguments = typename SignatureOf<decltype(&M::forward)>::Arguments;

/// The type of argument I of M's forward: what a list in braces becomes there.
template <class M, size_t I>
using ForwardArgument = std::tuple_element_t<I, ForwardArguments<M>>;

}  // namespace farro::nn::detail
