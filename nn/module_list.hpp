#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/nn/call.hpp>
#include <farro/nn/module_sequence.hpp>

namespace farro::nn {

/// Modules in order, for a forward that goes over them:
///
///     nn::ModuleList layers(nn::Linear({4, 4}), nn::Linear({4, 4}));
///     for (nn::Ref<nn::Module> layer : layers) x = layer(x);
///
/// Null is allowed. Calling the list itself is a TypeError. Equal neighbours are printed as one:
/// `(0-1): 2 x ReLU()`.
struct ModuleList : ModuleSequence {
  FARRO_MEMBERS(ModuleList)

  ModuleList() = default;
  template <std::convertible_to<Ref<Module>>... M>
  requires(sizeof...(M) > 0) &&
      (sizeof...(M) > 1 || !(std::same_as<std::remove_cvref_t<M>, ModuleList> ||
                             ...)) explicit ModuleList(M&&... modules) {
    (append(std::forward<M>(modules)), ...);
  }
  explicit ModuleList(std::vector<Ref<Module>> modules) { extend(std::move(modules)); }

  ModuleList& append(Ref<Module> module);
  ModuleList& extend(ModuleSequence& other);
  ModuleList& extend(std::vector<Ref<Module>> modules);
  /// Those behind are renumbered.
  ModuleList& insert(int64_t position, Ref<Module> module);
  ModuleList& operator+=(ModuleSequence& other) { return extend(other); }
  /// Those of start:stop:step, renumbered; shares them.
  ModuleList slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
                   int64_t step = 1);

  std::string repr() const override;
};

/// Both, one after the other; shares their modules.
ModuleList operator+(ModuleList& a, ModuleList& b);

}  // namespace farro::nn
