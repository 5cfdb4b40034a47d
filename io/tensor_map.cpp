#include <farro/io/tensor_map.hpp>

namespace farro::io {

const Tensor* TensorMap::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const Tensor& TensorMap::at(std::string_view name) const {
  const Tensor* tensor = find(name);
  if (!tensor) fail<KeyError>("TensorMap", "expected an entry '{}', got {} others", name, size());
  return *tensor;
}

void TensorMap::set(std::string_view name, Tensor tensor) {
  if (const Tensor* old = find(name)) {
    const_cast<Tensor&>(*old) = std::move(tensor);
  } else {
    append(std::string(name), std::move(tensor));
  }
}

TensorMap TensorMap::under(std::string_view prefix) const {
  TensorMap result;
  for (const auto& [name, tensor] : entries_) {
    if (name.starts_with(prefix)) result.append(name.substr(prefix.size()), tensor);
  }
  result.metadata = metadata;
  return result;
}

}  // namespace farro::io
