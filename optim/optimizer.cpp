#include <farro/optim/optimizer.hpp>

#include <charconv>
#include <optional>
#include <string_view>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>
#include <farro/optim/optimizer_of.hpp>

namespace farro::optim {

void Optimizer::zero_grad(bool set_to_none) {
  for (Group& group : groups_) {
    for (Entry& entry : group) {
      if (set_to_none) {
        entry.param.set_grad({});
      } else if (Tensor grad = entry.param.grad(); grad.defined()) {
        NoGrad guard;
        if (grad.grad_fn()) entry.param.set_grad(grad = grad.detach());
        grad.zero_();
      }
    }
  }
}

Parameters Optimizer::parameters() const {
  Parameters list;
  for (const Group& group : groups_) {
    for (const Entry& entry : group) list.push_back(entry.param);
  }
  return list;
}

void Optimizer::add_group(const Parameters& params) {
  if (params.empty()) fail<ValueError>(name_, "expected parameters, got an empty list");
  Group group;
  Parameters known = parameters();
  for (const Tensor& param : params) {
    if (!param.defined())
      fail<ValueError>(name_, "expected tensors as parameters, got an undefined one");
    if (!param.is_floating_point()) {
      fail<TypeError>(name_, "expected floating-point parameters, got {}", name_of(param.dtype()));
    }
    if (!param.is_leaf()) {
      fail<ValueError>(name_, "expected leaves as parameters, got a tensor that an operation made");
    }
    for (const Tensor& other : known) {
      if (other.is_same(param))
        fail<ValueError>(name_, "expected each parameter once, got one twice");
    }
    known.push_back(param);
    group.push_back({param, {}});
  }
  groups_.push_back(std::move(group));
}

bool Optimizer::prepare(Entry& entry) const {
  entry.grad = entry.param.grad();
  if (!entry.grad.defined()) return false;
  if (entry.grad.sizes() != entry.param.sizes() || entry.grad.dtype() != entry.param.dtype() ||
      entry.grad.device() != entry.param.device()) {
    Tensor grad = std::exchange(entry.grad, {});
    fail<ShapeError>(name_, "expected a gradient of {} {} on {}, got {} {} on {}",
                     to_string(entry.param.sizes()), name_of(entry.param.dtype()),
                     entry.param.device().str(), to_string(grad.sizes()), name_of(grad.dtype()),
                     grad.device().str());
  }
  entry.grad = entry.grad.contiguous();
  entry.contiguous_param = entry.param.is_contiguous() ? entry.param : entry.param.contiguous();
  return true;
}

const ArrayView& Optimizer::slot(Entry& entry, size_t index) const {
  Tensor& tensor = entry.state.slots[index];
  DType dtype = compute_dtype(entry.param.dtype());
  if (FARRO_UNLIKELY(!tensor.defined())) {
    tensor = empty(entry.param.sizes(), dtype, entry.param.device());
    tensor.zero_();
  } else if (FARRO_UNLIKELY(tensor.dtype() != dtype || tensor.device() != entry.param.device())) {
    tensor = tensor.to(entry.param.device(), dtype);
  }
  if (FARRO_UNLIKELY(tensor.sizes() != entry.param.sizes())) {
    fail<ShapeError>(name_, "expected a parameter of shape {} (as its {} has), got {}",
                     to_string(tensor.sizes()), slot_names_[index], to_string(entry.param.sizes()));
  }
  return tensor.array();
}

void Optimizer::finish(Entry& entry) const {
  if (!entry.contiguous_param.is_same(entry.param))
    entry.param.detach().copy_(entry.contiguous_param);
  autograd::bump_version(entry.param);
  entry.grad = {};
  entry.contiguous_param = {};
}

StateDict Optimizer::state_dict() const {
  StateDict dict;
  int64_t number = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    std::vector<int64_t> numbers;
    for (const Entry& entry : groups_[g]) {
      std::string prefix = fmt::format("state.{}.", number);
      if (entry.state.step > 0) dict.emplace_back(prefix + "step", scalar_tensor(entry.state.step));
      for (size_t i = 0; i < slot_names_.size(); ++i) {
        if (entry.state.slots[i].defined())
          dict.emplace_back(prefix + slot_names_[i], entry.state.slots[i]);
      }
      numbers.push_back(number++);
    }
    std::string prefix = fmt::format("param_groups.{}.", g);
    for (auto& [name, tensor] : group_options(g)) dict.emplace_back(prefix + name, tensor);
    dict.emplace_back(prefix + "params",
                      from_vector(numbers, {static_cast<int64_t>(numbers.size())}));
  }
  return dict;
}

struct Optimizer::Loaded {
  std::vector<std::vector<State>> states;
  std::vector<Options> options;
};

namespace {

/// "12.rest" to (12, "rest").
std::optional<std::pair<size_t, std::string_view>> split_number(std::string_view text) {
  size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != '.') return {};
  return std::pair(number, text.substr(static_cast<size_t>(end - text.data()) + 1));
}

}  // namespace

Optimizer::Loaded Optimizer::read(const StateDict& dict) const {
  Loaded loaded;
  loaded.options.resize(groups_.size());
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t g = 0; g < groups_.size(); ++g) {
    loaded.states.emplace_back(groups_[g].size());
    for (size_t i = 0; i < groups_[g].size(); ++i) places.emplace_back(g, i);
  }
  std::vector<bool> sized(groups_.size());
  for (const auto& [name, tensor] : dict) {
    std::string_view rest = name;
    bool is_state = rest.starts_with("state.");
    auto part = is_state                            ? split_number(rest.substr(6))
                : rest.starts_with("param_groups.") ? split_number(rest.substr(13))
                                                    : std::nullopt;
    if (!part)
      fail<KeyError>(name_, "expected entries 'state.N.…' and 'param_groups.N.…', got '{}'", name);
    auto [number, field] = *part;
    if (!is_state) {
      if (number >= groups_.size())
        fail<KeyError>(name_, "expected {} groups, got '{}'", groups_.size(), name);
      if (field != "params") {
        loaded.options[number].emplace_back(field, tensor);
        continue;
      }
      if (tensor.numel() != static_cast<int64_t>(groups_[number].size())) {
        fail<ValueError>(name_, "expected {} parameters in group {}, got {}",
                         groups_[number].size(), number, tensor.numel());
      }
      sized[number] = true;
      continue;
    }
    if (number >= places.size())
      fail<KeyError>(name_, "expected {} parameters, got '{}'", places.size(), name);
    auto [g, i] = places[number];
    if (field == "step") {
      int64_t step = tensor.item<int64_t>();
      if (step < 0) fail<ValueError>(name_, "expected a '{}' of at least 0, got {}", name, step);
      loaded.states[g][i].step = step;
      continue;
    }
    size_t slot = 0;
    while (slot < slot_names_.size() && field != slot_names_[slot]) ++slot;
    if (slot == slot_names_.size()) fail<KeyError>(name_, "expected no entry '{}', got one", name);
    const Tensor& param = groups_[g][i].param;
    if (tensor.sizes() != param.sizes()) {
      fail<ShapeError>(name_, "expected shape {} for '{}', got {}", to_string(param.sizes()), name,
                       to_string(tensor.sizes()));
    }
    // A copy of its own, since the optimizer changes it in place.
    loaded.states[g][i].slots[slot] =
        tensor.detach().to(param.device(), compute_dtype(param.dtype())).clone().contiguous();
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (!sized[g]) fail<KeyError>(name_, "expected an entry 'param_groups.{}.params', got none", g);
  }
  return loaded;
}

void Optimizer::load_state_dict(const StateDict& dict) {
  NoGrad guard;
  Loaded loaded = read(dict);
  set_group_options(loaded.options, true);
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (size_t i = 0; i < groups_[g].size(); ++i)
      groups_[g][i].state = std::move(loaded.states[g][i]);
  }
}

namespace detail {

namespace {

void check_option(const std::string& name, const Tensor& tensor, int64_t count) {
  if (tensor.numel() != count) {
    fail<ShapeError>("load_state_dict", "expected {} numbers as option '{}', got {}", count, name,
                     tensor.numel());
  }
}

}  // namespace

Tensor option_tensor(double value) { return scalar_tensor(value, {.dtype = kFloat64}); }
Tensor option_tensor(bool value) { return scalar_tensor(value, {.dtype = kBool}); }
Tensor option_tensor(const std::array<double, 2>& value) {
  return from_vector(std::vector<double>(value.begin(), value.end()), {2}, {.dtype = kFloat64});
}
void read_option(const std::string& name, const Tensor& tensor, double& value) {
  check_option(name, tensor, 1);
  value = tensor.to_vector()[0];
}
void read_option(const std::string& name, const Tensor& tensor, bool& value) {
  check_option(name, tensor, 1);
  value = tensor.to_vector()[0] != 0;
}
void read_option(const std::string& name, const Tensor& tensor, std::array<double, 2>& value) {
  check_option(name, tensor, 2);
  std::vector<double> numbers = tensor.to_vector();
  value = {numbers[0], numbers[1]};
}

}  // namespace detail

}  // namespace farro::optim
