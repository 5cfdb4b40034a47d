#include <farro/hooks/value.hpp>

namespace farro::hooks {
namespace {

const char* kind_name(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_tensor()) return "a tensor";
  if (value.is_list()) return "a list";
  if (value.is_map()) return "a map";
  if (value.is<bool>()) return "a bool";
  if (value.is<int64_t>()) return "an integer";
  if (value.is<double>()) return "a float";
  if (value.is<std::string>()) return "a string";
  return "another C++ value";
}

}  // namespace

const Value* Map::find(std::string_view name) const {
  for (const auto& entry : *this) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const Value& Map::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  fail<KeyError>("Map", "no entry is named \"{}\"", name);
}

void Map::set(std::string_view name, Value value) {
  for (auto& entry : *this) {
    if (entry.first == name) {
      entry.second = std::move(value);
      return;
    }
  }
  emplace_back(std::string(name), std::move(value));
}

const Tensor& Value::tensor() const {
  static const Tensor undefined;
  if (const Tensor* tensor = get_if<Tensor>()) return *tensor;
  if (!is_null()) wrong_kind("a tensor");
  return undefined;
}

const List& Value::list() const {
  if (const List* list = get_if<List>()) return *list;
  wrong_kind("a list");
}

const Map& Value::map() const {
  if (const Map* map = get_if<Map>()) return *map;
  wrong_kind("a map");
}

bool Value::boolean() const {
  if (const bool* flag = get_if<bool>()) return *flag;
  wrong_kind("a bool");
}

int64_t Value::integer() const {
  if (const int64_t* integer = get_if<int64_t>()) return *integer;
  if (const bool* flag = get_if<bool>()) return *flag;
  wrong_kind("an integer");
}

double Value::number() const {
  if (const double* number = get_if<double>()) return *number;
  if (const int64_t* integer = get_if<int64_t>()) return static_cast<double>(*integer);
  wrong_kind("a number");
}

const std::string& Value::text() const {
  if (const std::string* text = get_if<std::string>()) return *text;
  wrong_kind("a string");
}

const std::any& Value::other() const {
  if (const std::any* other = get_if<std::any>()) return *other;
  wrong_kind("another C++ value");
}

const Value& Value::operator[](size_t i) const {
  const List& entries = list();
  if (i >= entries.size())
    fail<IndexError>("Value", "expected a position below {}, got {}", entries.size(), i);
  return entries[i];
}

std::string Value::str() const {
  if (const Tensor* tensor = get_if<Tensor>())
    return "tensor of shape " + to_string(tensor->sizes());
  if (const bool* flag = get_if<bool>()) return *flag ? "true" : "false";
  if (const int64_t* integer = get_if<int64_t>()) return fmt::format("{}", *integer);
  if (const double* number = get_if<double>()) return fmt::format("{}", *number);
  if (const std::string* text = get_if<std::string>()) return '"' + *text + '"';
  std::string result;
  if (const List* list = get_if<List>()) {
    for (const Value& entry : *list) result += (result.empty() ? "" : ", ") + entry.str();
    return "[" + result + "]";
  }
  if (const Map* map = get_if<Map>()) {
    for (const auto& [name, entry] : *map)
      result += (result.empty() ? "" : ", ") + name + ": " + entry.str();
    return "{" + result + "}";
  }
  return kind_name(*this);
}

void Value::wrong_kind(const char* wanted) const {
  fail<TypeError>("Value", "expected {}, got {}", wanted, kind_name(*this));
}

}  // namespace farro::hooks
