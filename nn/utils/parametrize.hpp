#pragma once

/// Parametrizations: a parameter's place holds what modules compute of other parameters.
///
///     struct Symmetric : nn::Module {
///       FARRO_MEMBERS(Symmetric)
///       Tensor forward(const Tensor& x) { return x.triu() + x.triu(1).t(); }
///     };
///     nn::Linear layer({3, 3});
///     nn::utils::parametrize::register_parametrization(layer, "weight", Symmetric());
///
/// The layer has a child "parametrizations" then, with a list for each such parameter: what was the
/// parameter is its "original", and its children are applied to that, one after the other.
/// state_dict, parameters() and optimizers see the originals. A pre-hook computes the value anew
/// before each call and puts it in the parameter's place, where forward reads it; in between, and
/// for forward called directly, it is the value of the last call (see parametrized()).

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/nn/module_dict.hpp>
#include <farro/nn/module_list.hpp>

namespace farro::nn::utils::parametrize {

/// The originals of a value: undefined or empty for a module that has no right_inverse.
using RightInverse = std::function<std::vector<Tensor>(Module&, const Tensor&)>;

/// The originals of one parameter, "original" or "original0", "original1", …, and the modules that
/// are applied to them.
struct ParametrizationList : ModuleList {
  FARRO_MEMBERS(ParametrizationList)

  /// The value: the last module's of … of the first one's of the originals.
  Tensor forward();
  /// Sets the originals such that forward gives a value. ValueError if a module has no
  /// right_inverse, or if the originals that come out are others than these in number, shape or
  /// dtype; nothing is changed then.
  void assign(const Tensor& value);
  std::vector<Tensor> originals();

  std::vector<RightInverse> inverses;  ///< of each module; empty functions for those that have none
};

struct Options {
  /// Trusts that a module keeps shape and dtype, and that right_inverse fits to forward.
  bool unsafe = false;
};

namespace detail {

void register_erased(Module& module, const std::string& name, Ref<Module> parametrization,
                     RightInverse inverse, const Options& options);

template <class P>
RightInverse right_inverse_of() {
  if constexpr (requires(P & p, const Tensor& value) { p.right_inverse(value); }) {
    return [](Module& module, const Tensor& value) -> std::vector<Tensor> {
      hooks::Value originals = hooks::to_value(dynamic_cast<P&>(module).right_inverse(value));
      if (originals.is_tensor()) return {originals.tensor()};
      return hooks::from_value<std::vector<Tensor>>(originals);
    };
  } else {
    return {};
  }
}

}  // namespace detail

/// Lets a module compute a parameter. It is called with one tensor, the parameter or what the
/// parametrization before gives. If it has a right_inverse and is the first, it is called with the
/// originals which that returns for the parameter's value: a tensor, or several. The parameter
/// itself stays the original where there is one of the same shape and dtype.
///
/// ValueError if the module has no parameter of this name, ShapeError or TypeError if the value has
/// another shape or dtype than the parameter. Nothing is changed then.
template <std::derived_from<Module> P>
void register_parametrization(Module& module, const std::string& name, Ref<P> parametrization,
                              const Options& options = {}) {
  detail::register_erased(module, name, parametrization, detail::right_inverse_of<P>(), options);
}
template <std::derived_from<Module> P>
void register_parametrization(Module& module, const std::string& name, P&& parametrization,
                              const Options& options = {}) {
  register_parametrization(module, name, Ref<P>(std::move(parametrization)), options);
}

/// Makes an ordinary parameter of the value (leave_parametrized), or of the original: ValueError if
/// there are several. The original is the parameter again where there is one. ValueError if the
/// parameter is not parametrized.
void remove_parametrizations(Module& module, const std::string& name,
                             bool leave_parametrized = true);
/// True if any parameter of this module itself is, or the one with this name.
bool is_parametrized(Module& module);
bool is_parametrized(Module& module, std::string_view name);
/// The list of a parameter. ValueError if it is not parametrized.
ParametrizationList& parametrizations(Module& module, std::string_view name);
/// The value, computed now. ValueError if the parameter is not parametrized.
Tensor parametrized(Module& module, std::string_view name);

}  // namespace farro::nn::utils::parametrize
