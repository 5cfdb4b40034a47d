#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <farro/nn/module.hpp>

namespace farro::nn::utils {

struct CaptureOptions {
  bool gradients = true;  ///< of what the submodules returned, once a backward reaches it
  /// Copies what was returned, for networks that change it in place afterwards; otherwise its
  /// memory is shared.
  bool copy = false;
};

/// What one call of a submodule returned: the tensors in it, depth first, without history.
struct CapturedCall {
  std::vector<Tensor> outputs;
  std::vector<Tensor> gradients;  ///< of each output; undefined where no backward came by
};

/// Keeps what the submodules with matching names return, and its gradients, until the end of its
/// scope:
///
///     auto seen = nn::utils::capture(net, "layers.*");
///     net(x).sum().backward();
///     seen.activation("layers.0");  seen.gradient("layers.0");
///
/// Its hooks go with it; tensors that were taken out of it stay. Moving it moves the hooks along.
class Capture {
 public:
  /// `pattern` is matched with the whole name: "*" is any text, "?" any one character. ValueError,
  /// with the names that there are, if it matches none.
  Capture(Module& module, std::string_view pattern, const CaptureOptions& options = {});
  Capture(Capture&& other) noexcept;
  Capture& operator=(Capture&& other) noexcept;
  ~Capture();

  /// The names that match, in the order of named_modules.
  const std::vector<std::string>& names() const;
  /// All calls of a submodule, in order. KeyError for a name that does not match.
  const std::vector<CapturedCall>& calls(std::string_view name) const;
  /// What the last call returned, its first tensor. KeyError for a name that does not match,
  /// ValueError if there was no call or no tensor.
  Tensor activation(std::string_view name) const;
  /// Its gradient; undefined before a backward.
  Tensor gradient(std::string_view name) const;
  /// Forgets the calls.
  void clear();
  /// Takes the hooks off before the end of the scope. What was captured stays.
  void remove();

 private:
  struct State;
  const CapturedCall& last_call(std::string_view name) const;

  std::shared_ptr<State> state_;
};

inline Capture capture(Module& module, std::string_view pattern = "*",
                       const CaptureOptions& options = {}) {
  return Capture(module, pattern, options);
}
template <class M>
Capture capture(const Ref<M>& module, std::string_view pattern = "*",
                const CaptureOptions& options = {}) {
  return Capture(*module, pattern, options);
}

/// True if a name is what a pattern with "*" and "?" says.
bool matches(std::string_view name, std::string_view pattern);

}  // namespace farro::nn::utils
