#pragma once

/// Bodies of OptimizerOf, included by the source of each optimizer.

#include <farro/optim/optimizer.hpp>

namespace farro::optim {

namespace detail {

// Options as tensors and back; TypeError or ShapeError, naming the option, where a tensor does not
// fit.
Tensor option_tensor(double value);
Tensor option_tensor(bool value);
Tensor option_tensor(const std::array<double, 2>& value);
void read_option(const std::string& name, const Tensor& tensor, double& value);
void read_option(const std::string& name, const Tensor& tensor, bool& value);
void read_option(const std::string& name, const Tensor& tensor, std::array<double, 2>& value);

}  // namespace detail

template <class O>
void OptimizerOf<O>::step() {
  NoGrad guard;
  // All that can throw comes first.
  for (Group& group : groups_) {
    for (Entry& entry : group) {
      if (prepare(entry)) {
        for (size_t i = 0; i < slot_names_.size(); ++i) {
          if (entry.state.slots[i].defined()) slot(entry, i);
        }
      }
    }
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    for (Entry& entry : groups_[g]) {
      if (!entry.grad.defined()) continue;
      ++entry.state.step;
      update(entry, options_[g]);
      finish(entry);
    }
  }
}

template <class O>
Optimizer::Options OptimizerOf<O>::group_options(size_t group) const {
  Options list;
  for_each_field(options_[group], [&](std::string_view name, const auto& value) {
    list.emplace_back(name, detail::option_tensor(value));
  });
  return list;
}

template <class O>
void OptimizerOf<O>::set_group_options(const std::vector<Options>& options, bool commit) {
  std::vector<O> read = options_;
  for (size_t g = 0; g < options.size(); ++g) {
    size_t known = 0;
    for_each_field(read[g], [&](std::string_view name, auto& value) {
      for (const auto& [key, tensor] : options[g]) {
        if (key != name) continue;
        detail::read_option(key, tensor, value);
        ++known;
        return;
      }
      fail<KeyError>(name_, "expected the option 'param_groups.{}.{}', got none", g, name);
    });
    if (known != options[g].size()) {
      fail<KeyError>(name_, "expected {} options in group {}, got {}", known, g, options[g].size());
    }
    check(read[g]);
  }
  if (commit) options_ = std::move(read);
}

}  // namespace farro::optim
