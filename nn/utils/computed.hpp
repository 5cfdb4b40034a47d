#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <farro/nn/module.hpp>

/// Parameters' places that hold computed tensors. For the sources of nn/utils.
namespace farro::nn::utils::detail {

/// The place of a parameter, declared or registered, whatever it holds. ValueError, in the name of
/// the operation, if the module has none.
Member parameter_place(const char* operation, Module& module, std::string_view name);
/// The parameter in a place. ValueError if it is null or a computed tensor.
Parameter parameter_in(const char* operation, Module& module, std::string_view name);
/// Puts a computed tensor in a parameter's place.
void put_computed(const Member& place, const Tensor& value);

/// The pre-hook that computes a parameter, and the dimension that it does it along, -1 for none.
/// Kept in an attribute of the module, which a clone has as well.
struct ComputingHook {
  uint64_t id = 0;
  int64_t dim = -1;
};
void keep_hook(Module& module, const std::string& attribute, const ComputingHook& hook);
/// Nothing if the module has no such attribute.
std::optional<ComputingHook> kept_hook(Module& module, const std::string& attribute);

}  // namespace farro::nn::utils::detail
