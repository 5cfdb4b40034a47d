#include <farro/nn/parameter_dict.hpp>

#include <farro/nn/parameter_list.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {

ParameterDict ParameterDict::fromkeys(const std::vector<std::string>& keys, const Tensor& value) {
  std::vector<Item> items;
  for (const std::string& key : keys) items.emplace_back(key, value);
  return ParameterDict(items);
}

Named<Parameter>::iterator ParameterDict::find(const char* operation, std::string_view key) {
  auto it = detail::find_entry(registered_parameters(), key);
  if (it == registered_parameters().end()) {
    fail<KeyError>(operation, "{} has no parameter \"{}\"", class_name(), key);
  }
  return it;
}

bool ParameterDict::contains(std::string_view key) {
  return detail::find_entry(registered_parameters(), key) != registered_parameters().end();
}

const Parameter& ParameterDict::operator[](std::string_view key) {
  return find("operator[]", key)->second;
}

Tensor ParameterDict::get(std::string_view key, const Tensor& otherwise) {
  return contains(key) ? (*this)[key] : otherwise;
}

const Parameter& ParameterDict::setdefault(const std::string& key, const Tensor& otherwise) {
  if (!contains(key)) set(key, otherwise);
  return (*this)[key];
}

void ParameterDict::set(const std::string& key, const Tensor& tensor) {
  register_parameter(key, detail::as_parameter(tensor));
}

Parameter ParameterDict::pop(std::string_view key) {
  auto it = find("pop", key);
  Parameter parameter = it->second;
  registered_parameters().erase(it);
  return parameter;
}

std::pair<std::string, Parameter> ParameterDict::popitem() {
  if (empty()) fail<KeyError>("popitem", "there is nothing in the {}", class_name());
  std::pair<std::string, Parameter> last = registered_parameters().back();
  registered_parameters().pop_back();
  return last;
}

ParameterDict& ParameterDict::update(const std::vector<Item>& items) {
  std::vector<Parameter> parameters;
  for (const auto& [key, tensor] : items) {
    detail::check_spelling("update", key);
    parameters.push_back(detail::as_parameter(tensor));
  }
  for (size_t i = 0; i < items.size(); ++i) register_parameter(items[i].first, parameters[i]);
  return *this;
}

ParameterDict& ParameterDict::update(ParameterDict& other) {
  auto items = other.items();
  return update(std::vector<Item>(items.begin(), items.end()));
}

std::vector<std::string> ParameterDict::keys() {
  std::vector<std::string> result;
  for (const auto& entry : registered_parameters()) result.push_back(entry.first);
  return result;
}

std::vector<Parameter> ParameterDict::values() {
  std::vector<Parameter> result;
  for (const auto& entry : registered_parameters()) result.push_back(entry.second);
  return result;
}

std::string ParameterDict::extra_repr() const {
  return detail::repr_parameters(const_cast<ParameterDict&>(*this).registered_parameters());
}

ParameterDict operator|(ParameterDict& a, ParameterDict& b) {
  ParameterDict result = a;
  result.update(b);
  return result;
}

}  // namespace farro::nn
