#pragma once

/// to_value and from_value: between C++ values and hooks::Value. Tensors, numbers, strings,
/// optionals, vectors, arrays, pairs, tuples, maps and reflected structs are taken apart; anything
/// else is carried along as it is.

#include <array>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/backends/reflect.hpp>
#include <farro/hooks/value.hpp>

namespace farro::hooks {

/// How values of type T are shown to hooks. May be specialised for a type of one's own.
template <class T>
struct ValueTraits;

template <class T>
Value to_value(T&& value) {
  return ValueTraits<std::remove_cvref_t<T>>::to(std::forward<T>(value));
}

/// TypeError where the value cannot be a T.
template <class T>
T from_value(const Value& value) {
  return ValueTraits<T>::from(value);
}

/// Sets the fields that a map names; TypeError for a name that is no field.
template <Reflected T>
void set_fields(T& object, const Map& map) {
  size_t found = 0;
  for_each_field(object, [&]<class Field>(std::string_view name, Field& field) {
    if (const Value* value = map.find(name)) {
      field = from_value<Field>(*value);
      ++found;
    }
  });
  if (found == map.size()) return;
  for (const auto& entry : map) {
    bool known = false;
    for_each_field(object,
                   [&](std::string_view name, auto&) { known = known || name == entry.first; });
    if (!known) fail<TypeError>("options", "no option is named \"{}\"", entry.first);
  }
}

template <Reflected T>
Map fields_to_map(const T& object) {
  Map map;
  for_each_field(object, [&](std::string_view name, const auto& field) {
    map.emplace_back(name, to_value(field));
  });
  return map;
}

/// Anything: reflected structs become maps, other types stay what they are.
template <class T>
struct ValueTraits {
  static Value to(const T& value) {
    if constexpr (Reflected<T>) {
      return Value(fields_to_map(value));
    } else if constexpr (std::is_copy_constructible_v<T>) {
      return Value(std::any(value));
    } else {
      static_assert(std::is_copy_constructible_v<T>, "take what can't be copied by reference");
    }
  }
  static T from(const Value& value) {
    if constexpr (Reflected<T>) {
      T result{};
      set_fields(result, value.map());
      return result;
    } else {
      if (const T* held = std::any_cast<T>(&value.other())) return *held;
      fail<TypeError>("Value", "expected the C++ type that forward takes, got another one");
    }
  }
};

template <>
struct ValueTraits<Value> {
  static Value to(Value value) { return value; }
  static Value from(const Value& value) { return value; }
};

template <std::derived_from<Tensor> T>
struct ValueTraits<T> {
  static Value to(const Tensor& value) { return value; }
  static T from(const Value& value) {
    if constexpr (std::is_same_v<T, Tensor>) {
      if (value.is<double>() || value.is<int64_t>()) {
        return value.is<double>() ? Tensor(value.number()) : Tensor(value.integer());
      }
    }
    return T(value.tensor());
  }
};

template <Number T>
struct ValueTraits<T> {
  static Value to(T value) { return value; }
  static T from(const Value& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value.boolean();
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(value.number());
    } else {
      return static_cast<T>(value.integer());
    }
  }
};

template <>
struct ValueTraits<std::string> {
  static Value to(std::string value) { return Value(std::move(value)); }
  static std::string from(const Value& value) { return value.text(); }
};

template <>
struct ValueTraits<const char*> {
  static Value to(const char* value) { return Value(value); }
};

template <>
struct ValueTraits<List> {
  static Value to(List value) { return Value(std::move(value)); }
  static List from(const Value& value) { return value.list(); }
};

template <>
struct ValueTraits<Map> {
  static Value to(Map value) { return Value(std::move(value)); }
  static Map from(const Value& value) { return value.map(); }
};

template <class T>
struct ValueTraits<std::optional<T>> {
  static Value to(const std::optional<T>& value) { return value ? to_value(*value) : Value(); }
  static std::optional<T> from(const Value& value) {
    if (value.is_null()) return {};
    return from_value<T>(value);
  }
};

template <class T>
struct ValueTraits<std::vector<T>> {
  static Value to(const std::vector<T>& value) {
    List list;
    list.reserve(value.size());
    for (const auto& entry : value) list.push_back(to_value(static_cast<T>(entry)));
    return Value(std::move(list));
  }
  static std::vector<T> from(const Value& value) {
    std::vector<T> result;
    result.reserve(value.list().size());
    for (const Value& entry : value.list()) result.push_back(from_value<T>(entry));
    return result;
  }
};

/// Arrays, pairs and tuples.
template <class T>
requires requires { std::tuple_size<T>::value; }
struct ValueTraits<T> {
  static constexpr size_t kSize = std::tuple_size_v<T>;

  static Value to(const T& value) {
    return std::apply([](const auto&... entries) { return Value(List{to_value(entries)...}); },
                      value);
  }
  static T from(const Value& value) {
    const List& list = value.list();
    if (list.size() != kSize)
      fail<TypeError>("Value", "expected {} values, got {}", kSize, list.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return T{from_value<std::tuple_element_t<I, T>>(list[I])...};
    }
    (std::make_index_sequence<kSize>{});
  }
};

template <class T>
struct ValueTraits<std::map<std::string, T>> {
  static Value to(const std::map<std::string, T>& value) {
    Map map;
    for (const auto& [name, entry] : value) map.emplace_back(name, to_value(entry));
    return Value(std::move(map));
  }
  static std::map<std::string, T> from(const Value& value) {
    std::map<std::string, T> result;
    for (const auto& [name, entry] : value.map()) result.emplace(name, from_value<T>(entry));
    return result;
  }
};

/// What forward takes by reference.
template <class T>
struct ValueTraits<std::reference_wrapper<T>> {
  static Value to(std::reference_wrapper<T> value) { return Value(std::any(value)); }
  static std::reference_wrapper<T> from(const Value& value) {
    if (auto* held = std::any_cast<std::reference_wrapper<T>>(&value.other())) return *held;
    fail<TypeError>("Value",
                    "expected the object that forward takes by reference, got another value");
  }
};

}  // namespace farro::hooks
