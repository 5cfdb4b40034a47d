#include <farro/nn/module_dict.hpp>

#include <farro/nn/registered.hpp>

namespace farro::nn {

ModuleDict::ModuleDict(std::initializer_list<Item> items) { update(std::vector<Item>(items)); }

Module::Children::iterator ModuleDict::find(const char* operation, std::string_view key) {
  auto it = detail::find_entry(registered_children(), key);
  if (it == registered_children().end()) {
    fail<KeyError>(operation, "{} has no module \"{}\"", class_name(), key);
  }
  return it;
}

bool ModuleDict::contains(std::string_view key) {
  return detail::find_entry(registered_children(), key) != registered_children().end();
}

Ref<Module> ModuleDict::operator[](std::string_view key) { return find("operator[]", key)->second; }

Ref<Module> ModuleDict::pop(std::string_view key) {
  auto it = find("pop", key);
  Ref<Module> module = it->second;
  registered_children().erase(it);
  return module;
}

ModuleDict& ModuleDict::update(const std::vector<Item>& items) {
  for (const Item& item : items) detail::check_spelling("update", item.first);
  for (const auto& [key, module] : items) set(key, module);
  return *this;
}

std::vector<std::string> ModuleDict::keys() {
  std::vector<std::string> result;
  for (const auto& entry : registered_children()) result.push_back(entry.first);
  return result;
}

std::vector<Ref<Module>> ModuleDict::values() {
  std::vector<Ref<Module>> result;
  for (const auto& entry : registered_children()) result.emplace_back(entry.second);
  return result;
}

std::vector<ModuleDict::Item> ModuleDict::items() {
  std::vector<Item> result;
  for (const auto& [key, module] : registered_children())
    result.emplace_back(key, Ref<Module>(module));
  return result;
}

void ModuleDict::wrong_class(std::string_view key, const Module& module) const {
  fail<TypeError>("get", "the module \"{}\" of {} is a {}, not of the class asked for", key,
                  class_name(), module.class_name());
}

}  // namespace farro::nn
