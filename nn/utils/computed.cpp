#include <farro/nn/utils/computed.hpp>

#include <farro/autograd/ops/factory.hpp>

namespace farro::nn::utils::detail {

Member parameter_place(const char* operation, Module& module, std::string_view name) {
  std::optional<Member> place;
  module.visit_members([&](const Member& member) {
    if (member.name == name && member.is_parameter_place()) place = member;
  });
  if (!place) fail<ValueError>(operation, "{} has no parameter \"{}\"", module.class_name(), name);
  return *place;
}

Parameter parameter_in(const char* operation, Module& module, std::string_view name) {
  Member place = parameter_place(operation, module, name);
  if (place.is_computed()) {
    fail<ValueError>(operation, "\"{}\" of {} is computed of other parameters already", name,
                     module.class_name());
  }
  if (!place.tensor().defined()) {
    fail<ValueError>(operation, "\"{}\" of {} is null", name, module.class_name());
  }
  return place.parameter();
}

void put_computed(const Member& place, const Tensor& value) { place.tensor() = value; }

void keep_hook(Module& module, const std::string& attribute, const ComputingHook& hook) {
  module.set_attr(attribute, tensor(std::vector<int64_t>{static_cast<int64_t>(hook.id), hook.dim}));
}

std::optional<ComputingHook> kept_hook(Module& module, const std::string& attribute) {
  if (!module.has_attr(attribute)) return {};
  Tensor kept = module.attr(attribute).tensor;
  return ComputingHook{static_cast<uint64_t>(kept[0].item_int()), kept[1].item_int()};
}

}  // namespace farro::nn::utils::detail
