#include <algorithm>
#include <unordered_set>

#include <farro/nn/registered.hpp>

namespace farro::nn {
namespace {

using Kind = Member::Kind;

std::string joined(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
}

/// Walks a module and those below it, before its children. A module that stands in itself ends the
/// walk there.
class Walk {
 public:
  Walk(const TraverseOptions& options, Named<Module*>& found) : options_(options), found_(found) {}

  void visit(Module& module, const std::string& path) {
    if (options_.remove_duplicate ? !seen_.insert(&module).second
                                  : std::ranges::count(above_, &module) > 0)
      return;
    found_.emplace_back(path, &module);
    if (!options_.recurse) return;
    above_.push_back(&module);
    module.visit_members([&](const Member& member) {
      if (member.kind == Kind::Child && member.child())
        visit(*member.child(), joined(path, member.name));
    });
    above_.pop_back();
  }

 private:
  const TraverseOptions& options_;
  Named<Module*>& found_;
  std::unordered_set<Module*> seen_;
  std::vector<Module*> above_;
};

Named<Tensor> named_tensors(Module& module, Kind kind, const TraverseOptions& options) {
  Named<Tensor> tensors;
  std::unordered_set<TensorImpl*> seen;
  for (const auto& [path, owner] : module.named_modules(options)) {
    owner->visit_members([&, &path = path](const Member& member) {
      if (member.kind != kind || !member.tensor().defined()) return;
      if (options.remove_duplicate && !seen.insert(member.tensor().impl()).second) return;
      tensors.emplace_back(joined(path, member.name), member.tensor());
    });
  }
  return tensors;
}

template <class T>
std::vector<T> without_names(Named<T> named) {
  std::vector<T> values;
  values.reserve(named.size());
  for (auto& entry : named) values.push_back(std::move(entry.second));
  return values;
}

void apply_below(Module& module, const std::function<void(Module&)>& f,
                 std::vector<Module*>& above) {
  if (std::ranges::count(above, &module) > 0) return;
  above.push_back(&module);
  for (Module* child : module.children()) apply_below(*child, f, above);
  above.pop_back();
  f(module);
}

}  // namespace

void Module::visit_members(const MemberVisitor& visit) {
  visit_declared(visit);
  if (!registered_) return;
  static constexpr ChildAccess access = {
      [](void* member) { return static_cast<std::shared_ptr<Module>*>(member)->get(); },
      [](void* member) { return *static_cast<std::shared_ptr<Module>*>(member); },
      [](void* member, const std::shared_ptr<Module>& module) {
        *static_cast<std::shared_ptr<Module>*>(member) = module;
        return true;
      }};
  for (auto& [name, parameter] : registered_->parameters) visit(Member(name, parameter));
  for (auto& [name, buffer] : registered_->buffers) visit(Member(name, buffer));
  for (auto& [name, child] : registered_->children) visit(Member(name, &child, access));
  for (auto& [name, tensor] : registered_->tensors) visit(Member(name, tensor));
}

Named<Module*> Module::named_modules(const TraverseOptions& options) {
  Named<Module*> found;
  Walk(options, found).visit(*this, options.prefix);
  return found;
}

Named<Tensor> Module::named_parameters(const TraverseOptions& options) {
  return named_tensors(*this, Kind::Parameter, options);
}

Named<Tensor> Module::named_buffers(const TraverseOptions& options) {
  return named_tensors(*this, Kind::Buffer, options);
}

Named<Module*> Module::named_children() {
  Named<Module*> found;
  visit_members([&](const Member& member) {
    if (member.kind != Kind::Child || !member.child()) return;
    if (std::ranges::count(found, member.child(), &Named<Module*>::value_type::second) > 0) return;
    found.emplace_back(member.name, member.child());
  });
  return found;
}

std::vector<Tensor> Module::parameters(bool recurse) {
  return without_names(named_parameters({.recurse = recurse}));
}

std::vector<Tensor> Module::buffers(bool recurse) {
  return without_names(named_buffers({.recurse = recurse}));
}

std::vector<Module*> Module::modules() { return without_names(named_modules()); }

std::vector<Module*> Module::children() { return without_names(named_children()); }

Module& Module::train(bool mode) {
  for (Module* module : modules()) module->training_ = mode;
  return *this;
}

Module& Module::apply(const std::function<void(Module&)>& f) {
  std::vector<Module*> above;
  apply_below(*this, f, above);
  return *this;
}

Module& Module::requires_grad_(bool flag) {
  for (const Tensor& parameter : parameters()) parameter.requires_grad_(flag);
  return *this;
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) {
    Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    if (set_to_none) {
      parameter.set_grad({});
      continue;
    }
    NoGrad guard;
    if (grad.grad_fn()) {
      grad.detach_();
    } else {
      grad.requires_grad_(false);
    }
    grad.zero_();
  }
}

Module& Module::get_submodule(std::string_view path) {
  Module* module = this;
  while (!path.empty()) {
    std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    auto member = module->find_member(step);
    if (!member) module->no_attribute("get_submodule", step);
    if (member->kind != Kind::Child || !member->child()) {
      fail<AttributeError>("get_submodule", "\"{}\" of {} is not a module", step,
                           module->class_name());
    }
    module = member->child();
  }
  return *module;
}

namespace {

/// The owner's path and the member's own name.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
  size_t dot = path.rfind('.');
  if (dot == path.npos) return {{}, path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

Tensor Module::get_parameter(std::string_view path) {
  auto [owner_path, name] = split_path(path);
  Module& owner = get_submodule(owner_path);
  auto member = owner.find_member(name);
  if (!member) owner.no_attribute("get_parameter", name);
  if (member->kind != Kind::Parameter) {
    fail<AttributeError>("get_parameter", "\"{}\" of {} is not a parameter", name,
                         owner.class_name());
  }
  return member->tensor();
}

Tensor Module::get_buffer(std::string_view path) {
  auto [owner_path, name] = split_path(path);
  Module& owner = get_submodule(owner_path);
  auto member = owner.find_member(name);
  if (!member) owner.no_attribute("get_buffer", name);
  if (member->kind != Kind::Buffer) {
    fail<AttributeError>("get_buffer", "\"{}\" of {} is not a buffer", name, owner.class_name());
  }
  return member->tensor();
}

}  // namespace farro::nn
