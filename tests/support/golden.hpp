#pragma once

/// Reading tests/golden: PyTorch's numbers for the sample inputs of its own test suite (see the
/// README there).

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::test {

struct Value;
using List = std::vector<Value>;
/// In the order of the file.
using Map = std::vector<std::pair<std::string, Value>>;

/// What a case cannot be run for, e.g. an argument that Farro does not have. Thrown by the function
/// of an operation.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A value of a golden file, or the result of an operation. Reading it as another kind than it is
/// throws.
struct Value : std::variant<std::monostate, bool, int64_t, double, std::string, Tensor, DType,
                            Device, Slice, Index::EllipsisTag, List, Map> {
  using Base = variant;
  using Base::Base;
  Value(const char* text) : Base(std::string(text)) {}
  Value(std::initializer_list<Tensor> tensors);
  Value(const std::vector<Tensor>& tensors);
  Value(const std::pair<Tensor, Tensor>& tensors) : Value({tensors.first, tensors.second}) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(*this); }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(*this);
  }
  template <class T>
  const T& as() const {
    if (const T* value = std::get_if<T>(this)) return *value;
    wrong_kind();
  }
  bool boolean() const { return as<bool>(); }
  int64_t integer() const { return as<int64_t>(); }
  /// Of an integer, a float or a bool.
  double number() const;
  const std::string& text() const { return as<std::string>(); }
  /// A null is an undefined tensor, a number a 0-d wrapped one.
  Tensor tensor() const;
  const List& list() const { return as<List>(); }
  const Map& map() const { return as<Map>(); }
  /// Of a list of integers, or of one integer.
  std::vector<int64_t> integers() const;
  std::vector<Tensor> tensors() const;

 private:
  [[noreturn]] void wrong_kind() const;
};

/// Tensors in a value, depth first; nulls where `with_nulls`.
std::vector<Tensor> flatten(const Value& value, bool with_nulls = false);
/// What two values differ in; empty for nothing. See difference() in compare.hpp.
struct Tolerance;
std::string difference(const Value& actual, const Value& expected, const Tolerance& tolerance);

/// One case: its parts by name ("args", "kwargs", "output", …), tensors on `device`.
struct Case {
  std::string name;
  Device device;
  Map parts;
  bool has(std::string_view part) const;
  /// Null if the case has no such part.
  const Value& operator[](std::string_view part) const;
};

/// A NAME.json with its NAME.safetensors.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path_without_suffix);
  ~GoldenFile();
  GoldenFile(GoldenFile&&) noexcept;

  size_t size() const;
  std::string case_name(size_t i) const;
  /// A text of a case, e.g. its "op".
  std::string text(size_t i, const std::string& part) const;
  /// Tensors are fresh on each call.
  Case read(size_t i, Device device) const;
  /// A tensor by its key in the safetensors file.
  Tensor tensor(const std::string& key, Device device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The folder that FARRO_GOLDEN_DIR names, else tests/golden.
std::string golden_dir();
/// Paths without suffix of the files of a folder ("ops", "modules"), sorted.
std::vector<std::string> golden_files(const std::string& folder);

}  // namespace farro::test
