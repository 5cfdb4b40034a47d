#pragma once

#include <string>
#include <utility>
#include <vector>

#include <farro/nn/module.hpp>

namespace farro::nn {

/// What was registered in a module by name. For the sources of Module.
struct Module::Registered {
  Named<Parameter> parameters;
  Named<Buffer> buffers;
  Children children;
  Named<Tensor> tensors;  ///< attributes of no registry
};

namespace detail {

template <class Entries>
auto find_entry(Entries& entries, std::string_view name) {
  auto it = entries.begin();
  while (it != entries.end() && it->first != name) ++it;
  return it;
}

/// Replaces the entry of this name, or appends one.
template <class T>
void put_entry(Named<T>& entries, const std::string& name, T value) {
  auto it = find_entry(entries, name);
  if (it == entries.end()) {
    entries.emplace_back(name, std::move(value));
  } else {
    it->second = std::move(value);
  }
}

template <class Entries>
bool erase_entry(Entries& entries, std::string_view name) {
  auto it = find_entry(entries, name);
  if (it == entries.end()) return false;
  entries.erase(it);
  return true;
}

/// KeyError for a name that is empty or has a ".".
void check_spelling(const char* operation, std::string_view name);

/// Puts other's elements behind the same tensor: its identity, hooks and gradient stay.
void take_data(const Tensor& tensor, const Tensor& other);
/// A tensor without a shape.
Tensor uninitialized(std::optional<Device> device, std::optional<DType> dtype);

/// What the registration hooks, if any, make of a member that is to be registered.
Parameter registered_parameter(Module& owner, const std::string& name, Parameter parameter);
Tensor registered_buffer(Module& owner, const std::string& name, Tensor buffer);
std::shared_ptr<Module> registered_module(Module& owner, const std::string& name,
                                          std::shared_ptr<Module> module);

}  // namespace detail
}  // namespace farro::nn
