#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

#include <farro/nn/call.hpp>
#include <farro/nn/module_sequence.hpp>

namespace farro::nn {

/// Modules called one after the other, each with what the one before returned; none returns the
/// input.
///
///     nn::Sequential net(nn::Linear({784, 32}), nn::ReLU(), nn::Linear({32, 10}));
///     nn::Sequential net({{"fc", nn::Linear({784, 10})}, {"act", nn::Tanh()}});
///
/// net(x) takes a tensor for a tensor. net.call({a, b}) takes what the first module takes and
/// returns what the last returns. Several values that a module returns are the arguments of the
/// next, unless that takes one argument only: then they come as one.
struct Sequential : ModuleSequence {
  using NamedModule = std::pair<std::string, Ref<Module>>;
  FARRO_MEMBERS(Sequential)

  Sequential() = default;
  /// Names them "0", "1", ….
  template <std::convertible_to<Ref<Module>>... M>
  requires(sizeof...(M) > 0) &&
      (sizeof...(M) > 1 || !(std::same_as<std::remove_cvref_t<M>, Sequential> ||
                             ...)) explicit Sequential(M&&... modules) {
    (append(std::forward<M>(modules)), ...);
  }
  /// KeyError for a name that is empty or has a ".". The last of those with one name stays.
  Sequential(std::initializer_list<NamedModule> modules);

  /// ValueError for a null module, TypeError where a value between modules does not fit or the last
  /// is no tensor.
  Tensor forward(const Tensor& x);
  Value forward_values(const Args& args, const Kwargs& kwargs);
  ForwardTraits current_forward_traits();

  /// Those of start:stop:step, under their names here; shares them.
  Sequential slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
                   int64_t step = 1);
  /// Under the lowest number, at or above size(), that is no name yet.
  Sequential& append(Ref<Module> module);
  Sequential& extend(ModuleSequence& other);
  Sequential& extend(std::vector<Ref<Module>> modules);
  /// Those behind are renumbered.
  Sequential& insert(int64_t position, Ref<Module> module);
  Sequential& operator+=(ModuleSequence& other) { return extend(other); }
  /// Itself so many times, one after the other; ValueError for fewer than one.
  Sequential& operator*=(int64_t times);

 private:
  Module& at(size_t position);
  Value from(size_t position, Value value);
};

/// Both, one after the other; shares their modules.
Sequential operator+(Sequential& a, Sequential& b);
Sequential operator*(Sequential& net, int64_t times);
inline Sequential operator*(int64_t times, Sequential& net) { return net * times; }

}  // namespace farro::nn
