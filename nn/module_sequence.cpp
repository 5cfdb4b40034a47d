#include <farro/nn/module_sequence.hpp>

#include <algorithm>

#include <farro/nn/positions.hpp>

namespace farro::nn {

Ref<Module> ModuleSequence::operator[](int64_t position) {
  return registered_children()[detail::wrap_position("operator[]", position, size())].second;
}

void ModuleSequence::set(int64_t position, Ref<Module> module) {
  size_t at = detail::wrap_position("set", position, size());
  set_attr(std::string(registered_children()[at].first), module);
}

Ref<Module> ModuleSequence::pop(int64_t position) {
  auto& modules = registered_children();
  size_t at = detail::wrap_position("pop", position, modules.size());
  Ref<Module> module = modules[at].second;
  modules.erase(modules.begin() + static_cast<std::ptrdiff_t>(at));
  renumber();
  return module;
}

void ModuleSequence::erase(std::optional<int64_t> start, std::optional<int64_t> stop,
                           int64_t step) {
  auto& modules = registered_children();
  std::vector<size_t> gone = detail::sliced_positions(start, stop, step, modules.size());
  if (gone.empty()) return;
  for (auto it = gone.rbegin(); it != gone.rend(); ++it) {
    modules.erase(modules.begin() + static_cast<std::ptrdiff_t>(*it));
  }
  renumber();
}

void ModuleSequence::append_last(const Ref<Module>& module) {
  auto& modules = registered_children();
  // A slice keeps its names: the next number need not be free.
  size_t number = modules.size();
  std::string name = std::to_string(number);
  while (std::ranges::count(modules, name, &Children::value_type::first) > 0) {
    name = std::to_string(++number);
  }
  append_child(std::move(name), module.shared());
}

void ModuleSequence::append_all(std::vector<Ref<Module>> modules) {
  for (const Ref<Module>& module : modules) append_last(module);
}

void ModuleSequence::insert_at(int64_t position, const Ref<Module>& module) {
  auto at = static_cast<std::ptrdiff_t>(detail::wrap_insertion("insert", position, size()));
  append_child(std::to_string(at), module.shared());
  auto& modules = registered_children();
  std::rotate(modules.begin() + at, modules.end() - 1, modules.end());
  renumber();
}

void ModuleSequence::renumber() {
  auto& modules = registered_children();
  for (size_t i = 0; i < modules.size(); ++i) modules[i].first = std::to_string(i);
}

void ModuleSequence::wrong_class(int64_t position, const Module& module) const {
  fail<TypeError>("get", "the module at position {} of {} is a {}, not of the class asked for",
                  position, class_name(), module.class_name());
}

}  // namespace farro::nn
