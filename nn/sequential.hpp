#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

#include <farro/nn/call.hpp>

namespace farro::nn {

/// Modules called one after the other, each with what the one before returned; none returns the input.
///
///     nn::Sequential net(nn::Linear({784, 32}), nn::ReLU(), nn::Linear({32, 10}));
///     nn::Sequential net({{"fc", nn::Linear({784, 10})}, {"act", nn::Tanh()}});
///
/// Positions may be negative, counting from the end (IndexError outside).
struct Sequential : Module {
  using NamedModule = std::pair<std::string, Ref<Module>>;
  FARRO_MEMBERS(Sequential)

  Sequential() = default;
  /// Names them "0", "1", ….
  template <std::convertible_to<Ref<Module>>... M>
    requires(sizeof...(M) > 0) && (sizeof...(M) > 1 || !(std::same_as<std::remove_cvref_t<M>, Sequential> || ...))
  explicit Sequential(M&&... modules) {
    (append(std::forward<M>(modules)), ...);
  }
  Sequential(std::initializer_list<NamedModule> modules);

  Tensor forward(const Tensor& x);

  size_t size();
  bool empty() { return size() == 0; }
  Ref<Module> operator[](int64_t position);
  Ref<Module> operator[](int position) { return (*this)[int64_t{position}]; }
  /// Those from start up to stop, under their names here; shares them.
  Sequential slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1);
  /// Under the lowest number, at or above size(), that is no name yet.
  Sequential& append(Ref<Module> module);
  Sequential& extend(Sequential& other);
  /// Those behind are renumbered.
  Sequential& insert(int64_t position, Ref<Module> module);
  /// Takes one out; those behind are renumbered.
  Ref<Module> pop(int64_t position = -1);
  void set(int64_t position, Ref<Module> module);
  /// Calls f(Ref<Module>) for each in order.
  template <class F>
  void for_each(F&& f) {
    for (auto& entry : registered_children()) f(Ref<Module>(entry.second));
  }

 private:
  size_t wrapped(const char* operation, int64_t position, size_t count);
  void renumber();
};

/// Both, one after the other; shares their modules.
Sequential operator+(Sequential& a, Sequential& b);

}  // namespace farro::nn
