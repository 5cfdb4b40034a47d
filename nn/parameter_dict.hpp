#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/nn/call.hpp>

namespace farro::nn {

/// Parameters by name, in the order in which they came:
///
///     nn::ParameterDict scales{{"left", ones({3})}, {"right", ones({3})}};
///     y = x * scales["left"];
///
/// Tensors become parameters as in ParameterList. A name may be any text that is not empty and has
/// no "." (KeyError). A copy of the dictionary shares the parameters. Calling the dictionary is a
/// TypeError.
struct ParameterDict : Module {
  using Item = std::pair<std::string, Tensor>;
  FARRO_MEMBERS(ParameterDict)

  ParameterDict() = default;
  ParameterDict(std::initializer_list<Item> items) { update(std::vector<Item>(items)); }
  explicit ParameterDict(const std::vector<Item>& items) { update(items); }
  /// The same value under every key: parameters that share its memory, each its own; null without a
  /// value.
  static ParameterDict fromkeys(const std::vector<std::string>& keys, const Tensor& value = {});

  size_t size() { return registered_parameters().size(); }
  bool empty() { return size() == 0; }
  bool contains(std::string_view key);
  /// KeyError if there is none.
  const Parameter& operator[](std::string_view key);
  /// The parameter, or the default, as it is, if there is none.
  Tensor get(std::string_view key, const Tensor& otherwise = {});
  /// The parameter; if there is none, the default becomes one.
  const Parameter& setdefault(const std::string& key, const Tensor& otherwise = {});
  /// Replaces the parameter of this name, in its place, or appends one.
  void set(const std::string& key, const Tensor& tensor);
  /// Takes it out. KeyError if there is none.
  Parameter pop(std::string_view key);
  /// Takes out the last. KeyError if there is none.
  std::pair<std::string, Parameter> popitem();
  void erase(std::string_view key) { pop(key); }
  void clear() { registered_parameters().clear(); }
  /// Sets every one of the others. Nothing is changed if one of them can't be a parameter, or a
  /// name is wrong.
  ParameterDict& update(const std::vector<Item>& items);
  ParameterDict& update(ParameterDict& other);
  ParameterDict& operator|=(ParameterDict& other) { return update(other); }

  std::vector<std::string> keys();
  std::vector<Parameter> values();
  std::vector<std::pair<std::string, Parameter>> items() { return registered_parameters(); }

  std::string extra_repr() const override;

 private:
  Named<Parameter>::iterator find(const char* operation, std::string_view key);
};

/// A new dictionary with what is in either; where both have a name, that of b.
ParameterDict operator|(ParameterDict& a, ParameterDict& b);

}  // namespace farro::nn
