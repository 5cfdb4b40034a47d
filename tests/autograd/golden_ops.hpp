#pragma once

/// The table from PyTorch's names of operations to Farro's functions, for running the golden cases.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <support/compare.hpp>
#include <support/golden.hpp>

namespace farro::test {

/// The arguments of a case, by position or by name. Notes which were looked at: one that was not
/// means that the table's function forgets an argument, which fails the case.
class Call {
 public:
  explicit Call(const Case& c)
      : args_(c["args"].list()), kwargs_(c["kwargs"].map()), device_(c.device) {}

  size_t size() const { return args_.size(); }
  /// The argument, null or absent ones too (as a null value). An empty name is for arguments by
  /// position only; a position of kNamed for arguments by name only.
  static constexpr size_t kNamed = ~size_t{0};
  const Value& value(size_t position, std::string_view name = "") const;
  bool has(size_t position, std::string_view name = "") const {
    return !value(position, name).is_null();
  }

  Tensor tensor(size_t position, std::string_view name = "") const {
    return value(position, name).tensor();
  }
  std::vector<Tensor> tensors(size_t position, std::string_view name = "") const {
    return value(position, name).tensors();
  }
  int64_t integer(size_t position, std::string_view name = "",
                  std::optional<int64_t> fallback = {}) const;
  double number(size_t position, std::string_view name = "",
                std::optional<double> fallback = {}) const;
  bool flag(size_t position, std::string_view name, bool fallback) const;
  std::string text(size_t position, std::string_view name, std::string fallback) const;
  /// Empty where absent.
  std::vector<int64_t> integers(size_t position, std::string_view name = "") const;
  /// The arguments from a position on: a list there, or the integers themselves.
  std::vector<int64_t> rest_of_integers(size_t position, std::string_view name = "") const;
  std::optional<int64_t> optional_integer(size_t position, std::string_view name = "") const;
  std::optional<double> optional_number(size_t position, std::string_view name = "") const;
  /// From the arguments named dtype and requires_grad, and the device that the case runs on.
  TensorOptions options() const;
  std::optional<DType> dtype(size_t position = kNamed) const;

  /// What was not looked at; empty if all was.
  std::string forgotten() const;

 private:
  const List& args_;
  const Map& kwargs_;
  Device device_;
  mutable std::vector<bool> used_args_ = std::vector<bool>(args_.size());
  mutable std::vector<bool> used_kwargs_ = std::vector<bool>(kwargs_.size());
};

struct OpEntry {
  std::function<Value(const Call&)> function;
  Tolerance tolerance{};
};

class OpTable {
 public:
  void add(const std::string& name, std::function<Value(const Call&)> function) {
    entries_[name] = {std::move(function), {}};
  }
  void unary(const std::string& name, Tensor (*f)(const Tensor&)) {
    add(name, [f](const Call& c) { return f(c.tensor(0, "input")); });
  }
  void binary(const std::string& name, Tensor (*f)(const Tensor&, const Tensor&)) {
    add(name, [f](const Call& c) { return f(c.tensor(0, "input"), c.tensor(1, "other")); });
  }
  /// A tolerance other than the usual one; say why where it is called.
  void loosen(const std::string& name, Tolerance tolerance) {
    entries_.at(name).tolerance = tolerance;
  }
  const OpEntry* find(const std::string& name) const {
    auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, OpEntry> entries_;
};

void add_pointwise_ops(OpTable& table);
void add_shape_ops(OpTable& table);
void add_reduce_ops(OpTable& table);
void add_linalg_ops(OpTable& table);
void add_nn_ops(OpTable& table);
const OpTable& op_table();

/// The results of running a case's function: its output, and the gradients of its inputs.
struct OpResult {
  Value output;
  std::vector<Tensor> grad_inputs;
};
/// Throws Unsupported where the function does so, and whatever the operation throws.
OpResult run_op(const OpEntry& entry, const Case& c);
/// The case's tensors that require grad, depth first over args, then kwargs.
std::vector<Tensor> inputs_with_grad(const Case& c);

struct Coverage {
  int cases = 0, found = 0;
  std::set<std::string> ops;
  std::map<std::string, int> lacking;          ///< operations that Farro does not have
  std::map<std::string, std::string> skipped;  ///< by case: why it could not be run
};
/// Calls f for every case whose operation is in the table; f may throw Unsupported.
Coverage for_each_case(const std::function<void(const OpEntry&, const GoldenFile&, size_t i,
                                                const std::string& name)>& f);

}  // namespace farro::test
