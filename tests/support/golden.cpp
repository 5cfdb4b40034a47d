#include <support/golden.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include <support/compare.hpp>
#include <farro/io/safetensors.hpp>

namespace farro::test {
namespace {

using Json = nlohmann::ordered_json;
using Tensors = io::TensorMap;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail<FileError>("golden", "cannot read {}", path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Dims dims(const Json& json) { return IntList(json.get<std::vector<int64_t>>()); }

/// Turns JSON into values; a tensor that stands twice in a case is one tensor.
class Reader {
 public:
  Reader(const Tensors& tensors, Device device) : tensors_(tensors), device_(device) {}

  Value read(const Json& json) {
    switch (json.type()) {
      case Json::value_t::null:
        return {};
      case Json::value_t::boolean:
        return json.get<bool>();
      case Json::value_t::number_integer:
      case Json::value_t::number_unsigned:
        return json.get<int64_t>();
      case Json::value_t::number_float:
        return json.get<double>();
      case Json::value_t::string:
        return json.get<std::string>();
      case Json::value_t::array: {
        List list;
        for (const Json& item : json) list.push_back(read(item));
        return list;
      }
      default:
        return read_object(json);
    }
  }

 private:
  Value read_object(const Json& json) {
    if (json.contains("$tensor")) return read_tensor(json);
    if (json.contains("$float")) {
      std::string text = json["$float"];
      double inf = std::numeric_limits<double>::infinity();
      return text == "inf" ? inf : text == "-inf" ? -inf : std::numeric_limits<double>::quiet_NaN();
    }
    if (json.contains("$dtype")) return dtype_from_name(json["$dtype"].get<std::string>());
    if (json.contains("$device")) return device_;
    if (json.contains("$ellipsis")) return Index::EllipsisTag{};
    if (json.contains("$slice")) {
      const Json& parts = json["$slice"];
      auto end = [&](int i) {
        return parts[i].is_null() ? std::optional<int64_t>() : parts[i].get<int64_t>();
      };
      return Slice{end(0), end(1), end(2).value_or(1)};
    }
    Map map;
    for (const auto& [name, item] : json.items()) {
      if (name.starts_with("$")) fail<FileError>("golden", "unknown value {}", json.dump());
      map.emplace_back(name, read(item));
    }
    return map;
  }

  Value read_tensor(const Json& json) {
    std::string key = json["$tensor"];
    auto found = read_.find(key);
    if (found != read_.end()) return found->second;
    const Tensor& stored = tensors_.at(key);
    Tensor tensor = json.contains("strides")
                        ? with_strides(stored, dims(json["strides"])).to(device_)
                        : stored.clone().to(device_);
    if (json.value("requires_grad", false)) tensor.requires_grad_();
    read_.emplace(key, tensor);
    return tensor;
  }

  const Tensors& tensors_;
  Device device_;
  std::map<std::string, Tensor> read_;
};

constexpr const char* kKinds[] = {"null",     "a bool",   "an integer", "a float",
                                  "a string", "a tensor", "dtype",      "a device",
                                  "a slice",  "...",      "a list",     "a map"};

}  // namespace

Value::Value(const std::vector<Tensor>& tensors) : Base(List(tensors.begin(), tensors.end())) {}
Value::Value(std::initializer_list<Tensor> tensors) : Base(List(tensors.begin(), tensors.end())) {}

void Value::wrong_kind() const {
  throw std::runtime_error(fmt::format("unexpected value: {}", kKinds[index()]));
}

double Value::number() const {
  if (is<int64_t>()) return static_cast<double>(integer());
  if (is<bool>()) return boolean() ? 1 : 0;
  return as<double>();
}

Tensor Value::tensor() const {
  if (is_null()) return {};
  if (is<int64_t>()) return Tensor(integer());
  if (is<double>()) return Tensor(as<double>());
  if (is<bool>()) return Tensor(boolean());
  return as<Tensor>();
}

std::vector<int64_t> Value::integers() const {
  if (is<int64_t>()) return {integer()};
  std::vector<int64_t> result;
  for (const Value& item : list()) result.push_back(item.integer());
  return result;
}

std::vector<Tensor> Value::tensors() const {
  std::vector<Tensor> result;
  for (const Value& item : list()) result.push_back(item.tensor());
  return result;
}

std::vector<Tensor> flatten(const Value& value, bool with_nulls) {
  std::vector<Tensor> result;
  auto append = [&](const Value& part) {
    for (Tensor& t : flatten(part, with_nulls)) result.push_back(std::move(t));
  };
  if (value.is<Tensor>()) result.push_back(value.as<Tensor>());
  if (value.is_null() && with_nulls) result.emplace_back();
  if (value.is<List>()) std::for_each(value.list().begin(), value.list().end(), append);
  if (value.is<Map>()) {
    for (const auto& [name, part] : value.map()) append(part);
  }
  return result;
}

std::string difference(const Value& actual, const Value& expected, const Tolerance& tolerance) {
  if (expected.is<Tensor>()) {
    if (!actual.is<Tensor>())
      return fmt::format("expected a tensor, got {}", kKinds[actual.index()]);
    Tensor reference = expected.as<Tensor>();
    return difference(actual.as<Tensor>(), reference, tolerance);
  }
  if (expected.is<List>()) {
    if (!actual.is<List>()) return fmt::format("expected a list, got {}", kKinds[actual.index()]);
    const List &a = actual.list(), &e = expected.list();
    if (a.size() != e.size()) return fmt::format("expected {} values, got {}", e.size(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      std::string text = difference(a[i], e[i], tolerance);
      if (!text.empty()) return fmt::format("value {}: {}", i, text);
    }
    return "";
  }
  if (expected.is_null() && actual.is_null()) return "";
  if (expected.is<std::string>()) return expected.text() == actual.text() ? "" : "another string";
  double a = actual.number(), e = expected.number();
  bool near = a == e || std::abs(a - e) <= tolerance.atol + tolerance.rtol * std::abs(e);
  return near ? "" : fmt::format("expected {:.17g}, got {:.17g}", e, a);
}

bool Case::has(std::string_view part) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const auto& entry) { return entry.first == part; });
}

const Value& Case::operator[](std::string_view part) const {
  static const Value null;
  for (const auto& [name, value] : parts) {
    if (name == part) return value;
  }
  return null;
}

struct GoldenFile::Impl {
  Json json;
  Tensors tensors;
};

GoldenFile::GoldenFile(const std::string& path) : impl_(std::make_unique<Impl>()) {
  impl_->json = Json::parse(read_file(path + ".json"));
  if (std::filesystem::exists(path + ".safetensors"))
    impl_->tensors = io::load_safetensors(path + ".safetensors", Device());
}
GoldenFile::~GoldenFile() = default;
GoldenFile::GoldenFile(GoldenFile&&) noexcept = default;

size_t GoldenFile::size() const { return impl_->json["cases"].size(); }
std::string GoldenFile::case_name(size_t i) const { return text(i, "case"); }
std::string GoldenFile::text(size_t i, const std::string& part) const {
  return impl_->json["cases"][i][part];
}

Case GoldenFile::read(size_t i, Device device) const {
  Reader reader(impl_->tensors, device);
  return {case_name(i), device, reader.read(impl_->json["cases"][i]).map()};
}

Tensor GoldenFile::tensor(const std::string& key, Device device) const {
  return impl_->tensors.at(key).clone().to(device);
}

std::string golden_dir() {
  const char* from_environment = std::getenv("FARRO_GOLDEN_DIR");
  return from_environment && *from_environment ? from_environment : FARRO_GOLDEN_DIR;
}

std::vector<std::string> golden_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(golden_dir() + "/" + folder)) {
    if (entry.path().extension() == ".json")
      files.push_back((entry.path().parent_path() / entry.path().stem()).string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace farro::test
