#include <farro/nn/utils/parametrize.hpp>

#include <algorithm>

#include <farro/autograd/ops/copy.hpp>
#include <farro/nn/registered.hpp>
#include <farro/nn/utils/computed.hpp>

namespace farro::nn::utils::parametrize {
namespace {

constexpr const char* kChild = "parametrizations";
constexpr const char* kRegister = "register_parametrization";

/// The child that holds the lists of a module, with the id of the pre-hook that computes them.
struct Parametrizations : ModuleDict {
  static constexpr std::string_view kClassName = "ModuleDict";
  uint64_t hook = 0;
  FARRO_MEMBERS(Parametrizations)
};

Parametrizations* lists_of(Module& module) {
  return module.has_attr(kChild) ? dynamic_cast<Parametrizations*>(module.attr(kChild).module)
                                 : nullptr;
}

ParametrizationList* list_of(Module& module, std::string_view name) {
  Parametrizations* lists = lists_of(module);
  if (!lists || !lists->contains(name)) return nullptr;
  return lists->get<ParametrizationList>(name).get();
}

void compute(Module& module) {
  Parametrizations* lists = lists_of(module);
  if (!lists) return;
  for (const auto& [name, list] : lists->items()) {
    Member place = utils::detail::parameter_place("parametrization", module, name);
    utils::detail::put_computed(place, list.as<ParametrizationList>()->forward());
  }
}

void check_like(const Module& parametrization, const char* what, const Tensor& value,
                const Tensor& like) {
  if (!value.defined() || value.sizes() != like.sizes()) {
    fail<ShapeError>(kRegister, "expected {} of {} to have shape {}, got {}", what,
                     parametrization.class_name(), to_string(like.sizes()),
                     value.defined() ? to_string(value.sizes()) : "an undefined tensor");
  }
  if (value.dtype() != like.dtype()) {
    fail<TypeError>(kRegister, "expected {} of {} to be {}, got {}", what,
                    parametrization.class_name(), name_of(like.dtype()), name_of(value.dtype()));
  }
}

/// The tensors that forward is first called with, for a parameter that had none before. The
/// parameter itself where it can stay.
std::vector<Parameter> make_originals(Module& parametrization, const RightInverse& inverse,
                                      const Parameter& parameter) {
  if (!inverse) return {parameter};
  std::vector<Tensor> values;
  {
    NoGrad guard;
    values = inverse(parametrization, parameter);
    if (values.empty())
      fail<ValueError>(kRegister, "right_inverse of {} gave nothing", parametrization.class_name());
  }
  std::vector<Parameter> originals;
  for (const Tensor& value : values) {
    originals.emplace_back(value.detach().clone(),
                           parameter.requires_grad() && value.is_floating_point());
  }
  return originals;
}

Tensor call_with(Module& parametrization, const std::vector<Parameter>& originals) {
  Args args;
  for (const Parameter& original : originals) args.emplace_back(original);
  return parametrization.call(args).tensor();
}

/// Adds one more to a list: its value must be as the one before.
void stack_on(ParametrizationList& list, const Ref<Module>& parametrization, RightInverse inverse,
              const Options& options) {
  if (!options.unsafe) {
    NoGrad guard;
    Tensor before = list.forward(), after = parametrization->call({before}).tensor();
    check_like(*parametrization, "the value", after, before);
    if (inverse) {
      std::vector<Tensor> back = inverse(*parametrization, after);
      if (back.size() != 1) {
        fail<ValueError>(kRegister,
                         "only the first parametrization can have several originals, but {} has {}",
                         parametrization->class_name(), back.size());
      }
      check_like(*parametrization, "right_inverse", back[0], before);
    }
  }
  list.append(parametrization);
  list.inverses.push_back(std::move(inverse));
}

}  // namespace

Tensor ParametrizationList::forward() {
  Args args;
  for (const Tensor& original : originals()) args.emplace_back(original);
  for (Ref<Module> module : *this) args = Args{module->call(args)};
  return args.tensor(0);
}

std::vector<Tensor> ParametrizationList::originals() {
  std::vector<Tensor> tensors;
  for (const auto& entry : registered_parameters()) tensors.push_back(entry.second);
  return tensors;
}

void ParametrizationList::assign(const Tensor& value) {
  NoGrad guard;
  std::vector<Tensor> wanted{value}, own = originals();
  for (size_t i = inverses.size(); i-- > 0;) {
    Ref<Module> module = (*this)[static_cast<int64_t>(i)];
    if (!inverses[i])
      fail<ValueError>("parametrize", "{} has no right_inverse", module->class_name());
    if (wanted.size() == 1) wanted = inverses[i](*module, wanted[0]);
  }
  bool fits = wanted.size() == own.size();
  for (size_t i = 0; fits && i < own.size(); ++i) {
    fits = wanted[i].sizes() == own[i].sizes() && wanted[i].dtype() == own[i].dtype();
  }
  if (!fits) fail<ValueError>("parametrize", "right_inverse gives other originals than there are");
  for (size_t i = 0; i < own.size(); ++i) own[i].copy_(wanted[i]);
}

void detail::register_erased(Module& module, const std::string& name, Ref<Module> parametrization,
                             RightInverse inverse, const Options& options) {
  if (!parametrization) fail<ValueError>(kRegister, "expected a module, got null");
  parametrization->train(module.training());
  if (ParametrizationList* list = list_of(module, name)) {
    stack_on(*list, parametrization, std::move(inverse), options);
    compute(module);
    return;
  }
  Parameter parameter = utils::detail::parameter_in(kRegister, module, name);
  std::vector<Parameter> originals = make_originals(*parametrization, inverse, parameter);
  if (!options.unsafe) {
    NoGrad guard;
    check_like(*parametrization, "the value", call_with(*parametrization, originals), parameter);
  }
  bool stays = originals.size() == 1 && originals[0].sizes() == parameter.sizes() &&
               originals[0].dtype() == parameter.dtype();
  if (stays && !originals[0].is_same(parameter)) {
    NoGrad guard;
    parameter.copy_(originals[0]);
  }
  auto list = make<ParametrizationList>();
  for (size_t i = 0; i < originals.size(); ++i) {
    list->register_parameter(originals.size() == 1 ? "original" : fmt::format("original{}", i),
                             stays ? parameter : originals[i]);
  }
  list->append(parametrization);
  list->inverses.push_back(std::move(inverse));
  if (!lists_of(module)) {
    auto lists = make<Parametrizations>();
    module.register_module(kChild, lists);
    lists->hook =
        module.register_forward_pre_hook([](Module& m) { compute(m); }, {.prepend = true}).id();
  }
  lists_of(module)->set(name, list);
  list->train(module.training());
  compute(module);
}

void remove_parametrizations(Module& module, const std::string& name, bool leave_parametrized) {
  ParametrizationList& list = parametrizations(module, name);
  std::vector<Tensor> originals = list.originals();
  if (!leave_parametrized && originals.size() != 1) {
    fail<ValueError>("remove_parametrizations",
                     "\"{}\" of {} has {} originals: only its value can be left", name,
                     module.class_name(), originals.size());
  }
  Parameter left = Parameter::of(originals[0]);
  if (leave_parametrized) {
    NoGrad guard;
    Tensor value = list.forward();
    if (originals.size() == 1) {
      nn::detail::take_data(left, value.clone());
    } else {
      left = Parameter(
          value, std::ranges::any_of(originals, [](const Tensor& t) { return t.requires_grad(); }));
    }
  }
  utils::detail::parameter_place("remove_parametrizations", module, name).parameter() = left;
  Parametrizations& lists = *lists_of(module);
  lists.erase(name);
  if (!lists.empty()) return;
  module.remove_hook(lists.hook);
  module.del_attr(kChild);
}

bool is_parametrized(Module& module) { return lists_of(module) != nullptr; }

bool is_parametrized(Module& module, std::string_view name) {
  return list_of(module, name) != nullptr;
}

ParametrizationList& parametrizations(Module& module, std::string_view name) {
  ParametrizationList* list = list_of(module, name);
  if (!list)
    fail<ValueError>("parametrize", "\"{}\" of {} is not parametrized", name, module.class_name());
  return *list;
}

Tensor parametrized(Module& module, std::string_view name) {
  return parametrizations(module, name).forward();
}

}  // namespace farro::nn::utils::parametrize
