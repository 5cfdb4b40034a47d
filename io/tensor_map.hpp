#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::io {

/// Text that a file carries beside its tensors.
using Metadata = std::map<std::string, std::string, std::less<>>;

/// Named tensors in the order in which they were added, with metadata: what a file of tensors
/// holds.
class TensorMap {
 public:
  using Entry = std::pair<std::string, Tensor>;
  TensorMap() = default;
  TensorMap(std::initializer_list<Entry> entries) : entries_(entries) {}

  /// Appends an entry, or replaces the tensor of one that has this name. Looks the name up in a
  /// straight line; `append` does not look.
  void set(std::string_view name, Tensor tensor);
  void append(std::string name, Tensor tensor) {
    entries_.emplace_back(std::move(name), std::move(tensor));
  }
  /// The tensor of this name; null if there is none.
  const Tensor* find(std::string_view name) const;
  /// As find; KeyError if there is none.
  const Tensor& at(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// The entries whose names begin with `prefix`, without it.
  TensorMap under(std::string_view prefix) const;

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  const std::vector<Entry>& entries() const { return entries_; }

  Metadata metadata;

 private:
  std::vector<Entry> entries_;
};

}  // namespace farro::io
