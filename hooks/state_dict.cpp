#include <farro/hooks/state_dict.hpp>

#include <algorithm>
#include <charconv>

namespace farro::hooks {
namespace {

constexpr std::string_view kVersionOf = "version:";

}  // namespace

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

std::map<std::string, std::string, std::less<>> StateDict::metadata() const {
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [path, version] : versions)
    texts.emplace(std::string(kVersionOf) + path, std::to_string(version));
  return texts;
}

void StateDict::set_metadata(const std::map<std::string, std::string, std::less<>>& texts) {
  for (auto it = texts.lower_bound(kVersionOf);
       it != texts.end() && it->first.starts_with(kVersionOf); ++it) {
    const std::string& text = it->second;
    int64_t version = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (error == std::errc() && end == text.data() + text.size())
      versions[it->first.substr(kVersionOf.size())] = version;
  }
}

}  // namespace farro::hooks
