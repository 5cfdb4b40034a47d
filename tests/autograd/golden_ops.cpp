#include <autograd/golden_ops.hpp>

#include <fmt/format.h>

#include <farro/autograd/engine.hpp>

namespace farro::test {

const Value& Call::value(size_t position, std::string_view name) const {
  static const Value null;
  if (position < args_.size()) {
    used_args_[position] = true;
    return args_[position];
  }
  for (size_t i = 0; i < kwargs_.size() && !name.empty(); ++i) {
    if (kwargs_[i].first != name) continue;
    used_kwargs_[i] = true;
    return kwargs_[i].second;
  }
  return null;
}

int64_t Call::integer(size_t position, std::string_view name,
                      std::optional<int64_t> fallback) const {
  const Value& v = value(position, name);
  if (v.is_null() && fallback) return *fallback;
  return v.is<bool>() ? v.boolean() : v.integer();
}

double Call::number(size_t position, std::string_view name, std::optional<double> fallback) const {
  const Value& v = value(position, name);
  return v.is_null() && fallback ? *fallback : v.is<Tensor>() ? v.tensor().item() : v.number();
}

bool Call::flag(size_t position, std::string_view name, bool fallback) const {
  const Value& v = value(position, name);
  return v.is_null() ? fallback : v.boolean();
}

std::string Call::text(size_t position, std::string_view name, std::string fallback) const {
  const Value& v = value(position, name);
  return v.is_null() ? fallback : v.text();
}

std::vector<int64_t> Call::integers(size_t position, std::string_view name) const {
  const Value& v = value(position, name);
  return v.is_null() ? std::vector<int64_t>() : v.integers();
}

std::vector<int64_t> Call::rest_of_integers(size_t position, std::string_view name) const {
  if (position < args_.size() && args_[position].is<int64_t>()) {
    std::vector<int64_t> result;
    for (size_t i = position; i < args_.size(); ++i) result.push_back(value(i).integer());
    return result;
  }
  return integers(position, name);
}

std::optional<int64_t> Call::optional_integer(size_t position, std::string_view name) const {
  const Value& v = value(position, name);
  return v.is_null() ? std::optional<int64_t>() : v.integer();
}

std::optional<double> Call::optional_number(size_t position, std::string_view name) const {
  const Value& v = value(position, name);
  return v.is_null() ? std::optional<double>() : v.number();
}

std::optional<DType> Call::dtype(size_t position) const {
  const Value& v = value(position, "dtype");
  return v.is_null() ? std::optional<DType>() : v.as<DType>();
}

TensorOptions Call::options() const {
  value(kNamed, "device");
  return {
      .dtype = dtype(), .device = device_, .requires_grad = flag(kNamed, "requires_grad", false)};
}

std::string Call::forgotten() const {
  std::string result;
  for (size_t i = 0; i < args_.size(); ++i) {
    if (!used_args_[i]) result += fmt::format(" {}", i);
  }
  for (size_t i = 0; i < kwargs_.size(); ++i) {
    if (!used_kwargs_[i]) result += " " + kwargs_[i].first;
  }
  return result;
}

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable t;
    add_pointwise_ops(t);
    add_shape_ops(t);
    add_reduce_ops(t);
    add_linalg_ops(t);
    add_nn_ops(t);
    return t;
  }();
  return table;
}

std::vector<Tensor> inputs_with_grad(const Case& c) {
  std::vector<Tensor> inputs;
  for (const char* part : {"args", "kwargs"}) {
    for (const Tensor& t : flatten(c[part])) {
      if (t.requires_grad()) inputs.push_back(t);
    }
  }
  return inputs;
}

Coverage for_each_case(
    const std::function<void(const OpEntry&, const GoldenFile&, size_t, const std::string&)>& f) {
  Coverage coverage;
  for (const std::string& path : golden_files("ops")) {
    GoldenFile file(path);
    for (size_t i = 0; i < file.size(); ++i) {
      ++coverage.found;
      std::string name = file.case_name(i);
      std::string op = file.text(i, "op");
      const OpEntry* entry = op_table().find(op);
      if (!entry) {
        ++coverage.lacking[op];
        continue;
      }
      try {
        f(*entry, file, i, name);
        ++coverage.cases;
        coverage.ops.insert(op);
      } catch (const Unsupported& reason) {
        coverage.skipped.emplace(name, reason.what());
      }
    }
  }
  return coverage;
}

OpResult run_op(const OpEntry& entry, const Case& c) {
  std::vector<Tensor> inputs = inputs_with_grad(c);
  Call call(c);
  OpResult result{entry.function(call), {}};
  if (std::string text = call.forgotten(); !text.empty())
    throw std::runtime_error("arguments not looked at:" + text);
  if (!c.has("cotangents")) return result;
  std::vector<Tensor> outputs, cotangents, all = flatten(result.output),
                                           given = flatten(c["cotangents"], true);
  for (size_t i = 0; i < all.size() && i < given.size(); ++i) {
    if (!given[i].defined()) continue;
    outputs.push_back(all[i]);
    cotangents.push_back(given[i]);
  }
  if (!inputs.empty())
    result.grad_inputs = grad(outputs, inputs, {.allow_unused = true}, cotangents);
  return result;
}

}  // namespace farro::test
