#include <farro/nn/sequential.hpp>

#include <algorithm>

namespace farro::nn {

Sequential::Sequential(std::initializer_list<NamedModule> modules) {
  for (const auto& [name, module] : modules) register_module(name, module);
}

Tensor Sequential::forward(const Tensor& x) {
  auto& modules = registered_children();
  if (modules.empty()) return x;
  Tensor y = x;
  for (auto& entry : modules) {
    if (FARRO_UNLIKELY(!entry.second)) fail<ValueError>("Sequential", "module \"{}\" is null", entry.first);
    y = entry.second->call_tensor(y);
  }
  return y;
}

size_t Sequential::size() { return registered_children().size(); }

size_t Sequential::wrapped(const char* operation, int64_t position, size_t count) {
  auto n = static_cast<int64_t>(count);
  if (position < -n || position >= n) {
    fail<IndexError>(operation, "expected a position from {} to {}, got {}", -n, n - 1, position);
  }
  return static_cast<size_t>(position < 0 ? position + n : position);
}

Ref<Module> Sequential::operator[](int64_t position) {
  auto& modules = registered_children();
  return modules[wrapped("Sequential", position, modules.size())].second;
}

Sequential Sequential::slice(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  if (step < 1) fail<ValueError>("slice", "expected a step of at least 1, got {}", step);
  auto& modules = registered_children();
  auto n = static_cast<int64_t>(modules.size());
  auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  Sequential result;
  for (int64_t i = bound(start.value_or(0)); i < bound(stop.value_or(n)); i += step) {
    const auto& [name, module] = modules[static_cast<size_t>(i)];
    result.append_child(name, module);
  }
  return result;
}

Sequential& Sequential::append(Ref<Module> module) {
  auto& modules = registered_children();
  // A slice keeps its names: the next number need not be free.
  size_t number = modules.size();
  std::string name = std::to_string(number);
  while (std::ranges::count(modules, name, &Children::value_type::first) > 0) name = std::to_string(++number);
  append_child(std::move(name), module.shared());
  return *this;
}

Sequential& Sequential::extend(Sequential& other) {
  Children modules = other.registered_children();
  for (auto& entry : modules) append(entry.second);
  return *this;
}

Sequential& Sequential::insert(int64_t position, Ref<Module> module) {
  auto& modules = registered_children();
  size_t at = wrapped("insert", position, modules.size() + 1);
  if (position < 0) at = wrapped("insert", position, modules.size());
  append_child("", module.shared());
  std::rotate(modules.begin() + static_cast<int64_t>(at), modules.end() - 1, modules.end());
  renumber();
  return *this;
}

Ref<Module> Sequential::pop(int64_t position) {
  auto& modules = registered_children();
  size_t at = wrapped("pop", position, modules.size());
  Ref<Module> module = modules[at].second;
  modules.erase(modules.begin() + static_cast<int64_t>(at));
  renumber();
  return module;
}

void Sequential::set(int64_t position, Ref<Module> module) {
  auto& modules = registered_children();
  set_attr(std::string(modules[wrapped("set", position, modules.size())].first), module);
}

void Sequential::renumber() {
  auto& modules = registered_children();
  for (size_t i = 0; i < modules.size(); ++i) modules[i].first = std::to_string(i);
}

Sequential operator+(Sequential& a, Sequential& b) {
  Sequential result;
  result.extend(a);
  result.extend(b);
  return result;
}

}  // namespace farro::nn
