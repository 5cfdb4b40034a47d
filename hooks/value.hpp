#pragma once

/// Values without a static type, in which hooks see what goes in and out of a module whatever its
/// forward takes and returns. convert.hpp turns C++ values into them and back.

#include <any>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::hooks {

class Value;

/// Values in order: the positional arguments of a call, a tuple or list, gradients.
class List : public std::vector<Value> {
 public:
  using std::vector<Value>::vector;
  /// The tensor at position i; undefined for a null. IndexError outside, TypeError for another kind
  /// of value.
  const Tensor& tensor(size_t i) const;
};

/// Named values in order: keyword arguments, a map.
class Map : public std::vector<std::pair<std::string, Value>> {
 public:
  using std::vector<std::pair<std::string, Value>>::vector;
  /// Null if there is none.
  const Value* find(std::string_view name) const;
  /// KeyError if there is none.
  const Value& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Replaces the value of this name, or appends it.
  void set(std::string_view name, Value value);
};

using Args = List;
using Kwargs = Map;
/// Gradients of a module's inputs or outputs: a tensor or null each, or a nested list or map where
/// the output is one.
using Grads = List;

/// A tensor, list, map, bool, integer, float, string, any other C++ value, or null.
class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  /// Undefined gives null.
  Value(Tensor tensor) {
    if (tensor.defined()) data_ = std::move(tensor);
  }
  template <Number T>
  Value(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      data_ = number;
    } else if constexpr (std::is_floating_point_v<T>) {
      data_ = static_cast<double>(number);
    } else {
      data_ = static_cast<int64_t>(number);
    }
  }
  Value(std::string text) : data_(std::move(text)) {}
  Value(const char* text) : data_(std::string(text)) {}
  explicit Value(List list) : data_(std::move(list)) {}
  explicit Value(Map map) : data_(std::move(map)) {}
  template <std::same_as<std::any> T>  // a template, so that nothing is turned into an any to get
                                       // here
                                       explicit Value(T other) : data_(std::move(other)) {}

  bool is_null() const { return is<std::monostate>(); }
  bool is_tensor() const { return is<Tensor>(); }
  bool is_list() const { return is<List>(); }
  bool is_map() const { return is<Map>(); }
  /// T: Tensor, List, Map, bool, int64_t, double, std::string, std::any.
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&data_);
  }
  template <class T>
  T* get_if() {
    return std::get_if<T>(&data_);
  }

  // TypeError where the value is of another kind.
  /// Undefined for null.
  const Tensor& tensor() const;
  const List& list() const;
  const Map& map() const;
  bool boolean() const;
  int64_t integer() const;
  /// Of an integer or a float.
  double number() const;
  const std::string& text() const;
  const std::any& other() const;

  operator const Tensor&() const { return tensor(); }
  const Tensor* operator->() const { return &tensor(); }
  /// An entry of a list.
  const Value& operator[](size_t i) const;
  /// An entry of a map.
  const Value& operator[](std::string_view name) const { return map().at(name); }
  const Value& operator[](const char* name) const { return map().at(name); }

  /// "tensor of shape [2, 3]", "[1, null]", for messages.
  std::string str() const;

 private:
  [[noreturn]] FARRO_COLD void wrong_kind(const char* wanted) const;

  std::variant<std::monostate, Tensor, List, Map, bool, int64_t, double, std::string, std::any>
      data_;
};

inline const Tensor& List::tensor(size_t i) const {
  if (i >= size()) fail<IndexError>("List", "expected a position below {}, got {}", size(), i);
  return (*this)[i].tensor();
}

/// Calls f(tensor) for every tensor in a value, depth first; f may replace it.
template <class F>
void for_each_tensor(Value& value, F&& f) {
  if (Tensor* tensor = value.get_if<Tensor>()) {
    f(*tensor);
  } else if (List* list = value.get_if<List>()) {
    for (Value& entry : *list) for_each_tensor(entry, f);
  } else if (Map* map = value.get_if<Map>()) {
    for (auto& entry : *map) for_each_tensor(entry.second, f);
  }
}

}  // namespace farro::hooks
