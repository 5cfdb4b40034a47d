#include <farro/nn/module.hpp>

#include <farro/hooks/run.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {

using Kind = Member::Kind;

Module::Module() = default;

Module::Module(const Module& other)
    : hooks_(other.hooks_ ? std::make_unique<hooks::ModuleHooks>(other.hooks_->clone()) : nullptr),
      registered_(other.registered_ ? std::make_unique<Registered>(*other.registered_) : nullptr),
      training_(other.training_) {}

Module::Module(Module&& other) noexcept
    : hooks_(std::move(other.hooks_)),
      registered_(std::move(other.registered_)),
      life_token_(std::move(other.life_token_)),
      training_(other.training_) {
  if (life_token_) *life_token_ = this;
}

Module& Module::operator=(const Module& other) {
  if (this != &other) *this = Module(other);
  return *this;
}

Module& Module::operator=(Module&& other) noexcept {
  hooks_ = std::move(other.hooks_);
  registered_ = std::move(other.registered_);
  training_ = other.training_;
  return *this;
}

Module::~Module() {
  if (life_token_) *life_token_ = nullptr;
}

std::shared_ptr<Module> Module::copy() const { detail::no_copy(class_name()); }

Value Module::call(const Args&, const Kwargs&) {
  fail<TypeError>(class_name(), "this module has no forward");
}

void Module::set_extra_state(const Tensor&) {
  fail<TypeError>(class_name(), "get_extra_state gives a state, but set_extra_state is missing");
}

Module::Registered& Module::registered() {
  if (!registered_) registered_ = std::make_unique<Registered>();
  return *registered_;
}

Module::Children& Module::registered_children() { return registered().children; }

Named<Parameter>& Module::registered_parameters() { return registered().parameters; }

void Module::append_child(std::string name, std::shared_ptr<Module> module) {
  module = detail::registered_module(*this, name, std::move(module));
  registered().children.emplace_back(std::move(name), std::move(module));
}

// Hooks.

hooks::ModuleHooks& Module::own_hooks() {
  if (!hooks_) hooks_ = std::make_unique<hooks::ModuleHooks>();
  return *hooks_;
}

void Module::remove_hook(uint64_t id) {
  if (!hooks_) return;
  hooks_->forward_pre.remove(id);
  hooks_->forward.remove(id);
  hooks_->full_backward_pre.remove(id);
  hooks_->full_backward.remove(id);
  hooks_->backward.remove(id);
  hooks_->state_dict_pre.remove(id);
  hooks_->state_dict.remove(id);
  hooks_->load_pre.remove(id);
  hooks_->load.remove(id);
}

const std::shared_ptr<Module*>& Module::life_token() {
  if (!life_token_) life_token_ = std::make_shared<Module*>(this);
  return life_token_;
}

bool Module::has_call_hooks() const {
  return (hooks_ && hooks_->hook_calls()) || hooks::global_hooks().hook_calls();
}

Value Module::call_with_hooks(Args args, Kwargs kwargs,
                              const std::function<Value(const Args&, const Kwargs&)>& forward) {
  hooks::HookedModule hooked{*this, hooks_.get(), class_name(), life_token()};
  return hooks::run_hooked(hooked, std::move(args), std::move(kwargs), forward);
}

void Module::check_backward_kind(bool full) const {
  if (!hooks_) return;
  if (full ? !hooks_->backward.empty() : !hooks_->full_backward.empty()) {
    fail<GradError>(
        class_name(),
        "a module can't have both {} backward hooks; the {} ones have to be removed first",
        "full and legacy", full ? "legacy" : "full");
  }
}

// Registration.

namespace detail {

void check_spelling(const char* operation, std::string_view name) {
  if (name.empty()) fail<KeyError>(operation, "a name must not be empty");
  if (name.find('.') != name.npos)
    fail<KeyError>(operation, "name \"{}\" must not contain \".\"", name);
}

}  // namespace detail

using detail::check_spelling;

namespace {

void check_leaf(const char* operation, const std::string& name, const Tensor& parameter) {
  if (parameter.defined() && parameter.grad_fn()) {
    fail<ValueError>(
        operation,
        "expected parameter \"{}\" to be a leaf, got a tensor with grad_fn {}: detach() it, or "
        "compute it in forward",
        name, parameter.grad_fn()->name());
  }
}

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Parameter:
      return "a parameter";
    case Kind::Buffer:
      return "a buffer";
    case Kind::Child:
      return "a module";
    case Kind::Tensor:
      return "a tensor";
  }
  return "";
}

}  // namespace

std::optional<Member> Module::find_declared(std::string_view name) {
  std::optional<Member> found;
  visit_declared([&](const Member& member) {
    if (member.name == name) found = member;
  });
  return found;
}

std::optional<Member> Module::find_member(std::string_view name) {
  std::optional<Member> found;
  visit_members([&](const Member& member) {
    if (member.name == name) found = member;
  });
  return found;
}

void Module::check_new_name(const char* operation, std::string_view name, Kind kind) {
  check_spelling(operation, name);
  if (find_declared(name))
    fail<KeyError>(operation, "\"{}\" is a declared member of {}", name, class_name());
  auto member = find_member(name);
  if (member && member->kind != kind) {
    fail<KeyError>(operation, "\"{}\" is already {} of {}", name, kind_name(member->kind),
                   class_name());
  }
}

void Module::put_parameter(const std::string& name, Parameter parameter) {
  detail::put_entry(registered().parameters, name,
                    detail::registered_parameter(*this, name, std::move(parameter)));
}

void Module::put_module(const std::string& name, std::shared_ptr<Module> module) {
  detail::put_entry(registered().children, name,
                    detail::registered_module(*this, name, std::move(module)));
}

void Module::register_parameter(const std::string& name, Parameter parameter) {
  check_new_name("register_parameter", name, Kind::Parameter);
  check_leaf("register_parameter", name, parameter);
  put_parameter(name, std::move(parameter));
}

void Module::register_buffer(const std::string& name, Tensor buffer, bool persistent) {
  check_new_name("register_buffer", name, Kind::Buffer);
  buffer = detail::registered_buffer(*this, name, std::move(buffer));
  detail::put_entry(registered().buffers, name, Buffer(std::move(buffer), persistent));
}

void Module::register_module(const std::string& name, Ref<Module> module) {
  check_new_name("register_module", name, Kind::Child);
  put_module(name, module.shared());
}

void Module::add_module(const std::string& name, Ref<Module> module) {
  register_module(name, std::move(module));
}

// Attributes.

void Module::set_attr(const std::string& name, const Parameter& parameter) {
  check_leaf("set_attr", name, parameter);
  if (auto declared = find_declared(name)) {
    if (declared->kind != Kind::Parameter) {
      fail<TypeError>("set_attr",
                      "expected {} for the declared member \"{}\" of {}, got a parameter",
                      kind_name(declared->kind), name, class_name());
    }
    declared->parameter() = detail::registered_parameter(*this, name, parameter);
    return;
  }
  check_spelling("set_attr", name);
  auto member = find_member(name);
  if (member && member->kind != Kind::Parameter) remove_registered(name);
  put_parameter(name, parameter);
}

void Module::set_attr(const std::string& name, const Tensor& tensor) {
  if (!tensor.defined()) return set_attr(name, nullptr);
  if (tensor.impl()->is_parameter) return set_attr(name, Parameter::of(tensor));
  auto member = find_member(name);
  if (!member) {
    check_spelling("set_attr", name);
    registered().tensors.emplace_back(name, tensor);
  } else if (member->kind == Kind::Buffer) {
    member->buffer() = detail::registered_buffer(*this, name, tensor);
  } else if (member->kind == Kind::Tensor) {
    member->tensor() = tensor;
  } else {
    fail<TypeError>("set_attr", "expected {} or null for \"{}\" of {}, got a plain tensor",
                    kind_name(member->kind), name, class_name());
  }
}

void Module::set_attr(const std::string& name, std::nullptr_t) {
  auto member = find_member(name);
  if (!member) {
    check_spelling("set_attr", name);
    registered().tensors.emplace_back(name, Tensor());
  } else if (member->kind != Kind::Child) {
    member->tensor() = Tensor();
  } else if (!member->set_child(nullptr)) {
    fail<TypeError>("set_attr", "\"{}\" of {} is a module that can't be null", name, class_name());
  }
}

void Module::set_attr(const std::string& name, const Ref<Module>& module) {
  if (!module) return set_attr(name, nullptr);
  if (auto declared = find_declared(name)) {
    std::shared_ptr<Module> registered = detail::registered_module(*this, name, module.shared());
    if (declared->kind != Kind::Child || !declared->set_child(registered)) {
      fail<TypeError>("set_attr",
                      "a module of class {} can't stand in the declared member \"{}\" of {}",
                      registered->class_name(), name, class_name());
    }
    return;
  }
  check_spelling("set_attr", name);
  auto member = find_member(name);
  if (member && member->kind != Kind::Child) remove_registered(name);
  put_module(name, module.shared());
}

Attribute Module::attr(std::string_view name) {
  auto member = find_member(name);
  if (!member) no_attribute("attr", name);
  if (member->kind == Kind::Child) return {{}, member->child()};
  return {member->tensor()};
}

bool Module::has_attr(std::string_view name) { return find_member(name).has_value(); }

void Module::del_attr(std::string_view name) {
  if (!find_member(name)) no_attribute("del_attr", name);
  if (find_declared(name)) return set_attr(std::string(name), nullptr);
  remove_registered(name);
}

void Module::remove_registered(std::string_view name) {
  Registered& r = registered();
  detail::erase_entry(r.parameters, name) || detail::erase_entry(r.buffers, name) ||
      detail::erase_entry(r.children, name) || detail::erase_entry(r.tensors, name);
}

void Module::no_attribute(const char* operation, std::string_view name) const {
  fail<AttributeError>(operation, "{} has no attribute \"{}\"", class_name(), name);
}

void Module::wrong_submodule(std::string_view path) const {
  fail<AttributeError>("get_submodule",
                       "the module \"{}\" of {} is of another class than the one asked for", path,
                       class_name());
}

// Registration hooks.

namespace detail {

Parameter registered_parameter(Module& owner, const std::string& name, Parameter parameter) {
  if (FARRO_LIKELY(!hooks::detail::global_registration_hooks_used) || !parameter.defined())
    return parameter;
  for (const auto& hook : hooks::global_hooks().parameter_registration.snapshot()) {
    if (Tensor replaced = hook(owner, name, parameter); replaced.defined())
      parameter = Parameter::of(replaced);
  }
  return parameter;
}

Tensor registered_buffer(Module& owner, const std::string& name, Tensor buffer) {
  if (FARRO_LIKELY(!hooks::detail::global_registration_hooks_used)) return buffer;
  for (const auto& hook : hooks::global_hooks().buffer_registration.snapshot()) {
    if (Tensor replaced = hook(owner, name, buffer); replaced.defined()) buffer = replaced;
  }
  return buffer;
}

std::shared_ptr<Module> registered_module(Module& owner, const std::string& name,
                                          std::shared_ptr<Module> module) {
  if (FARRO_LIKELY(!hooks::detail::global_registration_hooks_used)) return module;
  for (const auto& hook : hooks::global_hooks().module_registration.snapshot()) {
    if (auto replaced = hook(owner, name, module)) module = std::move(replaced);
  }
  return module;
}

void run_registration_hooks(Module& owner, const Member& member) {
  std::string name(member.name);
  if (member.kind == Kind::Parameter) {
    member.parameter() = registered_parameter(owner, name, member.parameter());
  } else if (member.kind == Kind::Buffer) {
    member.buffer() = registered_buffer(owner, name, member.buffer());
  } else if (member.kind == Kind::Child) {
    std::shared_ptr<Module> child = member.shared_child();
    if (!child && member.child())
      child = {std::shared_ptr<Module>(), member.child()};  // a member itself: not owned
    std::shared_ptr<Module> registered = registered_module(owner, name, child);
    if (registered != child && !member.set_child(registered)) {
      fail<TypeError>("register_module",
                      "a module of class {} can't stand in the declared member \"{}\" of {}",
                      registered->class_name(), name, owner.class_name());
    }
  }
}

void null_module() { fail<ValueError>("Ref", "expected a module, got a null Ref"); }

void no_copy(std::string_view module) { fail<TypeError>(module, "this module can't be copied"); }

void wrong_arguments(std::string_view module, size_t args, size_t kwargs) {
  fail<TypeError>(module, "forward can't be called with {} positional and {} named arguments", args,
                  kwargs);
}

}  // namespace detail
}  // namespace farro::nn
