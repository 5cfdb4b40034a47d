#pragma once

#include <nlohmann/json.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/nn/layers/activation.hpp>
#include <farro/nn/layers/linear.hpp>
#include <farro/nn/sequential.hpp>

#include <support/compare.hpp>

/// What tests of modules and hooks write down as it happens, in the form of
/// golden/hooks/scenarios.json.
namespace farro::test {

using Json = nlohmann::json;

inline Json json(const Tensor& tensor) {
  return tensor.defined() ? Json(tensor.to_vector()) : Json();
}

inline Json json(const hooks::Value& value) {
  if (value.is_null()) return {};
  if (value.is_tensor()) return json(value.tensor());
  if (value.is<bool>()) return value.boolean();
  if (value.is<int64_t>()) return value.integer();
  if (value.is<double>()) return value.number();
  if (value.is<std::string>()) return value.text();
  Json result = value.is_list() ? Json::array() : Json::object();
  if (value.is_list()) {
    for (const hooks::Value& entry : value.list()) result.push_back(json(entry));
  } else {
    for (const auto& [name, entry] : value.map()) result[name] = json(entry);
  }
  return result;
}
inline Json json(const hooks::List& list) { return json(hooks::Value(list)); }
inline Json json(const hooks::Map& map) { return json(hooks::Value(map)); }

/// Numbers up to 1e-11.
inline bool same(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return std::abs(a.get<double>() - b.get<double>()) < 1e-11;
  if (a.is_array() && b.is_array()) return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  return a == b;
}

inline nn::Linear linear_layer(Device device, int64_t in, int64_t out,
                               const std::vector<double>& weight) {
  nn::Linear layer(
      {.in_features = in, .out_features = out, .bias = false, .device = device, .dtype = kFloat64});
  NoGrad guard;
  layer.weight.copy_(from_values(weight, {out, in}, {.dtype = kFloat64, .device = device}));
  return layer;
}

/// A leaf that requires grad unless told otherwise.
inline Tensor leaf(Device device, const std::vector<double>& values, const Dims& sizes,
                   bool requires_grad = true) {
  return from_values(values, sizes,
                     {.dtype = kFloat64, .device = device, .requires_grad = requires_grad});
}

}  // namespace farro::test
