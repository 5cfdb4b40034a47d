#pragma once

/// Makes hooks of one signature from callables that take fewer arguments and return nothing, a
/// tensor or more.

#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <farro/hooks/convert.hpp>

namespace farro::hooks::detail {

template <class F, class Tuple, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F, std::tuple_element_t<I, Tuple>...>;
}

/// The length of the longest beginning of A... that F can be called with; -1 for none.
template <class F, class... A>
constexpr int accepted_arguments() {
  int accepted = -1;
  [&]<size_t... N>(std::index_sequence<N...>) {
    ((takes<F, std::tuple<A...>>(std::make_index_sequence<N>{}) ? accepted = static_cast<int>(N)
                                                                : 0),
     ...);
  }
  (std::make_index_sequence<sizeof...(A) + 1>{});
  return accepted;
}

template <class F, class... A>
decltype(auto) call_accepted(const F& f, A&&... arguments) {
  constexpr int n = accepted_arguments<const F&, A&&...>();
  auto all = std::forward_as_tuple(std::forward<A>(arguments)...);
  return [&]<size_t... I>(std::index_sequence<I...>)->decltype(auto) {
    return f(std::get<I>(std::move(all))...);
  }
  (std::make_index_sequence<n>{});
}

/// What a hook returned: nothing (nothing at all, null, an undefined tensor, an empty list), or a
/// value.
template <class R>
std::optional<Value> returned_value(R&& result) {
  Value value = to_value(std::forward<R>(result));
  if (value.is_null() || (value.is_list() && value.list().empty())) return {};
  return value;
}

template <class F, class... A>
std::optional<Value> call_for_value(const F& f, A&&... arguments) {
  using R = decltype(call_accepted(f, std::forward<A>(arguments)...));
  if constexpr (std::is_void_v<R>) {
    call_accepted(f, std::forward<A>(arguments)...);
    return {};
  } else {
    return returned_value(call_accepted(f, std::forward<A>(arguments)...));
  }
}

}  // namespace farro::hooks::detail
