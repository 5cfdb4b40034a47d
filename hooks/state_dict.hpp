#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::hooks {

/// Path of a module ("" for the root, "layers.0") to its class' version of what it saves.
using Versions = std::map<std::string, int64_t, std::less<>>;

/// Tensors by their full names, in order, with the versions of the classes that saved them.
/// Converts to and from other lists of named tensors, such as io::TensorMap.
class StateDict {
 public:
  using Entry = std::pair<std::string, Tensor>;

  StateDict() = default;
  StateDict(std::initializer_list<Entry> entries) : entries_(entries) {}
  template <class Map>
  requires(!std::same_as<Map, StateDict>) && requires(const Map& map) {
    { map.entries() } -> std::convertible_to<const std::vector<Entry>&>;
  }
  StateDict(const Map& map) : entries_(map.entries()) {
    if constexpr (requires { map.metadata; }) set_metadata(map.metadata);
  }
  template <class Map>
  requires(!std::same_as<Map, StateDict>) && requires(Map& map) {
    map.append(std::string(), Tensor());
  }
  operator Map() const {
    Map map;
    for (const Entry& entry : entries_) map.append(entry.first, entry.second);
    if constexpr (requires { map.metadata = metadata(); }) map.metadata = metadata();
    return map;
  }

  /// Null if there is none.
  const Tensor* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// KeyError if there is none.
  const Tensor& at(std::string_view name) const;
  const Tensor& operator[](std::string_view name) const { return at(name); }
  /// Replaces the tensor of this name, or appends it.
  void set(std::string_view name, Tensor tensor);
  void append(std::string name, Tensor tensor) {
    entries_.emplace_back(std::move(name), std::move(tensor));
  }
  /// False if there was none.
  bool erase(std::string_view name);
  std::vector<std::string> keys() const;

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  const std::vector<Entry>& entries() const { return entries_; }

  Versions versions;
  /// The versions as texts, with which files carry them: "version:layers.0" is "2".
  std::map<std::string, std::string, std::less<>> metadata() const;

 private:
  /// Takes the versions among texts from a file; leaves out what is none.
  void set_metadata(const std::map<std::string, std::string, std::less<>>& texts);

  std::vector<Entry> entries_;
};

/// What load_state_dict did not match.
struct LoadResult {
  std::vector<std::string> missing_keys;     ///< the module has them, the state does not
  std::vector<std::string> unexpected_keys;  ///< the state has them, the module does not
};

}  // namespace farro::hooks
