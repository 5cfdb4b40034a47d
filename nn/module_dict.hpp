#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/nn/call.hpp>

namespace farro::nn {

/// Modules by name, in the order in which they came:
///
///     nn::ModuleDict heads{{"digits", nn::Linear({64, 10})}, {"letters", nn::Linear({64, 26})}};
///     y = heads["digits"](x);
///
/// A name may be any text that is not empty and has no "." (KeyError): "type" and "keys" as well.
/// Null is allowed. Calling the dictionary itself is a TypeError.
struct ModuleDict : Module {
  using Item = std::pair<std::string, Ref<Module>>;
  FARRO_MEMBERS(ModuleDict)

  ModuleDict() = default;
  ModuleDict(std::initializer_list<Item> items);
  explicit ModuleDict(const std::vector<Item>& items) { update(items); }

  size_t size() { return registered_children().size(); }
  bool empty() { return size() == 0; }
  bool contains(std::string_view key);
  /// KeyError if there is none.
  Ref<Module> operator[](std::string_view key);
  /// The module as what it is. KeyError if there is none, TypeError if it is of another class.
  template <std::derived_from<Module> M>
  Ref<M> get(std::string_view key) {
    Ref<Module> module = (*this)[key];
    Ref<M> typed = module.as<M>();
    if (module && !typed) wrong_class(key, *module);
    return typed;
  }
  /// Replaces the module of this name, in its place, or appends it.
  void set(const std::string& key, Ref<Module> module) { register_module(key, std::move(module)); }
  /// Takes it out. KeyError if there is none.
  Ref<Module> pop(std::string_view key);
  void erase(std::string_view key) { pop(key); }
  void clear() { registered_children().clear(); }
  /// Sets every one of the others. Nothing is changed if a name is wrong.
  ModuleDict& update(const std::vector<Item>& items);
  ModuleDict& update(ModuleDict& other) { return update(other.items()); }

  std::vector<std::string> keys();
  std::vector<Ref<Module>> values();
  std::vector<Item> items();

 private:
  Children::iterator find(const char* operation, std::string_view key);
  [[noreturn]] void wrong_class(std::string_view key, const Module& module) const;
};

}  // namespace farro::nn
