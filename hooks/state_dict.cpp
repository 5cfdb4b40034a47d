#include <farro/hooks/state_dict.hpp>

#include <algorithm>

namespace farro::hooks {

const Tensor* StateDict::find(std::string_view name) const {
  auto it = std::ranges::find(entries_, name, &Entry::first);
  return it == entries_.end() ? nullptr : &it->second;
}

const Tensor& StateDict::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  fail<KeyError>("StateDict", "no entry is named \"{}\"", name);
}

void StateDict::set(std::string_view name, Tensor tensor) {
  auto it = std::ranges::find(entries_, name, &Entry::first);
  if (it == entries_.end()) {
    append(std::string(name), std::move(tensor));
  } else {
    it->second = std::move(tensor);
  }
}

bool StateDict::erase(std::string_view name) {
  auto it = std::ranges::find(entries_, name, &Entry::first);
  if (it == entries_.end()) return false;
  entries_.erase(it);
  return true;
}

std::vector<std::string> StateDict::keys() const {
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const Entry& entry : entries_) keys.push_back(entry.first);
  return keys;
}

}  // namespace farro::hooks
