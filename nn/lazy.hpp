#pragma once

/// Lazy modules: layers that take sizes which they were not told from the first input.

#include <concepts>
#include <string_view>
#include <utility>

#include <farro/nn/call.hpp>

namespace farro::nn {

/// Base of the lazy form of a layer, or of a layer of one's own without another form. Self lists
/// its members and gives
///
///     void initialize_parameters(const Args& inputs);  // takes sizes from the inputs
///     void reset_parameters();                         // fills what was materialized
///     void sizes_from_parameters();                    // from loaded ones, if it has sizes
///
///     struct LazyScale : nn::LazyModule<LazyScale> {
///       nn::Parameter scale = nn::UninitializedParameter();
///       FARRO_MEMBERS(LazyScale, scale)
///       void initialize_parameters(const nn::Args& in) {
///         scale.materialize({in.tensor(0).size(-1)});
///       }
///       void reset_parameters() { init::ones_(scale); }
///       Tensor forward(const Tensor& x) { return x * scale; }
///     };
///
/// A pre-hook does this before the first call, once, and goes. From then on, or once a state
/// without gaps was loaded, the module has the name of the plain layer. forward called directly
/// before that is a ValueError. Optimizers keep their hold on the parameters: these stay the same
/// ones.
template <class Self, std::derived_from<Module> Layer = Module>
class LazyModule : public Layer {
 public:
  /// True while there is a parameter or buffer, of this module itself, without a shape.
  bool has_uninitialized_params() {
    bool any = false;
    this->visit_members([&](const Member& member) {
      any = any || (member.kind != Member::Kind::Child && is_uninitialized(member.tensor()));
    });
    return any;
  }

  /// The plain layer's name once it is one.
  std::string_view current_class_name(std::string_view written) const {
    if constexpr (std::same_as<Layer, Module>) {
      return written;
    } else {
      return lazy_ ? written : Layer::class_name();
    }
  }

  void state_loaded() override {
    if (!lazy_ || has_uninitialized_params()) return;
    if constexpr (requires { self().sizes_from_parameters(); }) self().sizes_from_parameters();
    become_plain();
  }

 protected:
  template <class... A>
  requires(sizeof...(A) != 1 || !(std::derived_from<std::remove_cvref_t<A>, LazyModule> ||
                                  ...)) explicit LazyModule(A&&... arguments)
      : Layer(std::forward<A>(arguments)...) {
    hook_ = this->register_forward_pre_hook([](Module& module, const Args& inputs) {
                  dynamic_cast<Self&>(module).initialize(inputs);
                })
                .id();
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  void initialize(const Args& inputs) {
    // One without parameters and buffers, too, has sizes to learn.
    bool bare = this->parameters(false).empty() && this->buffers(false).empty();
    if (bare || has_uninitialized_params()) {
      NoGrad guard;
      // What a state that was loaded in part has set is not reset.
      std::vector<std::pair<Tensor, Tensor>> loaded;
      this->visit_members([&](const Member& member) {
        if (member.kind == Member::Kind::Child || !member.tensor().defined()) return;
        const Tensor& tensor = member.tensor();
        if (!is_uninitialized(tensor)) loaded.emplace_back(tensor, tensor.clone());
      });
      self().initialize_parameters(inputs);
      self().reset_parameters();
      for (const auto& [tensor, values] : loaded) tensor.copy_(values);
      if (has_uninitialized_params()) still_uninitialized(this->class_name());
    }
    become_plain();
  }
  [[noreturn]] static void still_uninitialized(std::string_view name) {
    fail<ValueError>(name, "initialize_parameters left a parameter or buffer without a shape");
  }

  void become_plain() {
    lazy_ = false;
    this->remove_hook(hook_);
  }

  uint64_t hook_ = 0;
  bool lazy_ = true;
};

namespace detail {

/// Materializes what has no shape yet; other tensors stay.
inline void materialize_missing(const Tensor& tensor, const Dims& sizes) {
  if (is_uninitialized(tensor)) materialize(tensor, sizes);
}

}  // namespace detail
}  // namespace farro::nn
