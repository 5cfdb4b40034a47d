#pragma once

/// Compile-time reflection of a struct's members by Boost.Hana. FARRO_FIELDS(Options, a, b) inside
/// a struct makes it a Hana Struct, so that hana::members, hana::keys, hana::for_each, … work on
/// it. An aggregate stays one.

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace farro {

/// True of types that FARRO_FIELDS (or Hana's own macros) describe.
template <class T>
concept Reflected = boost::hana::Struct<T>::value;

namespace detail {

template <auto Pointer>
struct FieldAccess {
  template <class Object>
  constexpr auto& operator()(Object& object) const {
    return object.*Pointer;
  }
};

/// A string literal as a template argument.
template <size_t N>
struct Literal {
  char text[N];
  constexpr Literal(const char (&literal)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
};

template <Literal Name, auto Pointer>
constexpr auto field() {
  return []<size_t... I>(std::index_sequence<I...>) {
    return boost::hana::make_pair(boost::hana::string<Name.text[I]...>{}, FieldAccess<Pointer>{});
  }
  (std::make_index_sequence<sizeof(Name.text) - 1>{});
}

}  // namespace detail

/// Calls f(name, member) for each member in the order of declaration.
template <class Object, class F>
constexpr void for_each_field(Object& object, F&& f) {
  boost::hana::unpack(boost::hana::accessors<std::remove_const_t<Object>>(), [&](auto... field) {
    (f(std::string_view(boost::hana::first(field).c_str()), boost::hana::second(field)(object)),
     ...);
  });
}

}  // namespace farro

// FARRO_FOR_EACH(M, context, a, b, c) expands to M(context, a), M(context, b), M(context, c); up to
// 256 of them.
#define FARRO_PARENS ()
#define FARRO_EXPAND(...) FARRO_EXPAND3(FARRO_EXPAND3(FARRO_EXPAND3(FARRO_EXPAND3(__VA_ARGS__))))
#define FARRO_EXPAND3(...) FARRO_EXPAND2(FARRO_EXPAND2(FARRO_EXPAND2(FARRO_EXPAND2(__VA_ARGS__))))
#define FARRO_EXPAND2(...) FARRO_EXPAND1(FARRO_EXPAND1(FARRO_EXPAND1(FARRO_EXPAND1(__VA_ARGS__))))
#define FARRO_EXPAND1(...) __VA_ARGS__
#define FARRO_FOR_EACH(M, context, ...) \
  __VA_OPT__(FARRO_EXPAND(FARRO_FOR_EACH_STEP(M, context, __VA_ARGS__)))
#define FARRO_FOR_EACH_STEP(M, context, first, ...) \
  M(context, first) __VA_OPT__(, FARRO_FOR_EACH_AGAIN FARRO_PARENS(M, context, __VA_ARGS__))
#define FARRO_FOR_EACH_AGAIN() FARRO_FOR_EACH_STEP

#define FARRO_FIELD(Class, member) ::farro::detail::field<#member, &Class::member>()

/// Inside a struct, after the members that it names: makes them its reflected fields.
#define FARRO_FIELDS(Class, ...)                                                         \
  struct hana_accessors_impl {                                                           \
    static constexpr auto apply() {                                                      \
      return ::boost::hana::make_tuple(FARRO_FOR_EACH(FARRO_FIELD, Class, __VA_ARGS__)); \
    }                                                                                    \
  };
