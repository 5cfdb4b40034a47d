#pragma once

/// Modules: structs whose members are parameters, buffers and other modules.
///
///     struct Net : nn::Module {
///       nn::Ref<nn::Linear> fc{{.in_features = 784, .out_features = 10}};
///       nn::Parameter scale{ones({1})};
///       FARRO_MEMBERS(Net, fc, scale)
///       Tensor forward(const Tensor& x) { return fc(x) * scale; }
///     };
///
/// FARRO_MEMBERS names the members once more, after their declarations, in a struct at namespace
/// scope. It makes the struct a Hana Struct, and from that come Module's few virtual functions:
/// visiting members (member.hpp), copying, and calling without types. Everything else here is
/// written on top of these: a member is found, assigned, converted, saved, cloned and printed the
/// same way whether it was declared or registered by name. Declared members come first.
///
/// net(x) calls forward inside the hooks (call.hpp); without any hook it is one test and a direct
/// call. net.forward(x) passes hooks by.
///
/// Where things are: module.cpp registration and attributes; traverse.cpp iteration; convert.cpp
/// conversion; state.cpp state_dict; clone.cpp; print.cpp.

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farro/hooks/module_hooks.hpp>
#include <farro/nn/member.hpp>
#include <farro/nn/parameter.hpp>
#include <farro/nn/ref.hpp>

namespace farro::nn {

using hooks::Args;
using hooks::Grads;
using hooks::HookOptions;
using hooks::Kwargs;
using hooks::LoadResult;
using hooks::StateDict;
using hooks::Value;

struct TraverseOptions {
  std::string prefix{};  ///< put before every name, with a "." between
  bool recurse = true;   ///< into children
  bool remove_duplicate =
      true;  ///< what stands in several places is given once, under its first name
};

struct StateDictOptions {
  std::string prefix{};    ///< put before every key, as it is: "model."
  bool keep_vars = false;  ///< the tensors themselves, not detached ones that share their memory
};

struct LoadOptions {
  bool strict = true;   ///< missing and unexpected keys are errors
  bool assign = false;  ///< adopt the given tensors, not copy from them
};

/// What stands under a name in a module: a tensor of any kind, a child, or null.
struct Attribute {
  Tensor tensor;
  Module* module = nullptr;
  bool is_null() const { return !tensor.defined() && !module; }
};

/// What a class' forward takes and returns, as far as it is written there.
struct ForwardTraits {
  size_t positional = 0;     ///< arguments without the named options; 0 if it is not known
  bool maps_tensor = false;  ///< takes a tensor and returns one
};

template <class T>
using Named = std::vector<std::pair<std::string, T>>;

class Module {
 public:
  Module();
  /// Shares parameters, buffers and children, has the same hooks. See clone() for an independent
  /// copy.
  Module(const Module& other);
  Module(Module&& other) noexcept;
  Module& operator=(const Module& other);
  Module& operator=(Module&& other) noexcept;
  virtual ~Module();

  // What FARRO_MEMBERS writes for a class.
  /// "Linear".
  virtual std::string_view class_name() const { return "Module"; }
  /// Visits the declared members in order.
  virtual void visit_declared(const MemberVisitor&) {}
  /// A copy of the same class, as its copy constructor makes it. TypeError for a class that can't
  /// be copied.
  virtual std::shared_ptr<Module> copy() const;
  /// Calls the module with values. TypeError if forward can't take them, or is missing.
  virtual Value call(const Args& args, const Kwargs& kwargs = {});
  /// Calls the module with one tensor for one tensor.
  virtual Tensor call_tensor(const Tensor& x) { return call({x}).tensor(); }
  Tensor operator()(const Tensor& x) { return call_tensor(x); }
  virtual ForwardTraits forward_traits() { return {}; }

  // What a class may say of itself.
  /// What stands between the parentheses when it is printed.
  virtual std::string extra_repr() const { return {}; }
  /// How it is printed.
  virtual std::string repr() const;
  /// The version of what it saves.
  virtual int64_t state_version() const { return 1; }
  /// More state than parameters and buffers, saved under "_extra_state". Nothing for none.
  virtual std::optional<Tensor> get_extra_state() const { return {}; }
  virtual void set_extra_state(const Tensor& state);
  /// Changes the entries under the prefix before they are loaded, if an older version of the class
  /// saved them.
  virtual void upgrade_state(StateDict&, const std::string& /*prefix*/,
                             std::optional<int64_t> /*version*/) {}
  /// Told once load_state_dict has set what is in this module and below.
  virtual void state_loaded() {}

  // Registration by name. KeyError for an empty name, one with a ".", or one that is taken by
  // another kind of member or by a declared one.
  /// ValueError for a parameter with a history. Null is allowed.
  void register_parameter(const std::string& name, Parameter parameter);
  void register_buffer(const std::string& name, Tensor buffer, bool persistent = true);
  void register_module(const std::string& name, Ref<Module> module);
  void add_module(const std::string& name, Ref<Module> module);

  // Attributes by name, declared or registered. A parameter takes the name over from a registered
  // buffer or child; a plain tensor keeps a buffer's persistence, and is an attribute of no
  // registry where there is none. TypeError for a plain tensor over a parameter, what is no module
  // over a child, a module of another type over a declared child.
  void set_attr(const std::string& name, const Parameter& parameter);
  void set_attr(const std::string& name, const Tensor& tensor);
  void set_attr(const std::string& name, std::nullptr_t);
  void set_attr(const std::string& name, const Ref<Module>& module);
  /// AttributeError, naming the class, if there is none.
  Attribute attr(std::string_view name);
  bool has_attr(std::string_view name);
  /// A declared member becomes null; a registered one goes. AttributeError if there is none.
  void del_attr(std::string_view name);

  // By path: "layers.0.weight". AttributeError naming the step that is missing or of the wrong
  // kind.
  Module& get_submodule(std::string_view path);
  Tensor get_parameter(std::string_view path);
  Tensor get_buffer(std::string_view path);
  template <class M>
  M& get_submodule(std::string_view path) {
    if (M* module = dynamic_cast<M*>(&get_submodule(path))) return *module;
    wrong_submodule(path);
  }

  // Iteration in order: own members, then children's. Nulls are absent.
  std::vector<Tensor> parameters(bool recurse = true);
  std::vector<Tensor> buffers(bool recurse = true);
  /// Itself first.
  std::vector<Module*> modules();
  std::vector<Module*> children();
  Named<Tensor> named_parameters(const TraverseOptions& options = {});
  Named<Tensor> named_buffers(const TraverseOptions& options = {});
  Named<Module*> named_modules(const TraverseOptions& options = {});
  Named<Module*> named_children();
  /// Every member of this module alone: declared ones in order, then registered parameters,
  /// buffers, children, tensors.
  void visit_members(const MemberVisitor& visit);

  bool training() const { return training_; }
  Module& train(bool mode = true);
  Module& eval() { return train(false); }
  /// Calls f for every child, then for this module.
  Module& apply(const std::function<void(Module&)>& f);
  Module& requires_grad_(bool flag = true);
  void zero_grad(bool set_to_none = true);

  // Conversion. Parameters keep their identity, and their gradients; what is tied stays tied. If it
  // fails, nothing was changed. to(dtype), float_, double_, half and bfloat16 leave integer and
  // bool tensors alone.
  /// The one path of all conversions: f is called once for each distinct tensor, children first.
  Module& _apply(const std::function<Tensor(const Tensor&)>& f);
  Module& to(Device device);
  /// TypeError for a dtype that is no floating-point one.
  Module& to(DType dtype);
  Module& to(Device device, DType dtype);
  /// Device and dtype of a tensor.
  Module& to(const Tensor& like) { return to(like.device(), like.dtype()); }
  Module& cpu();
  Module& cuda(int index = 0);
  Module& xpu(int index = 0);
  Module& float_() { return to(kFloat32); }
  Module& double_() { return to(kFloat64); }
  Module& half() { return to(kFloat16); }
  Module& bfloat16() { return to(kBFloat16); }
  /// Every tensor, integer ones as well.
  Module& type(DType dtype);

  /// Parameters, persistent buffers, extra state, then children's; null ones are absent.
  StateDict state_dict(const StateDictOptions& options = {});
  /// Sets parameters and buffers from a state. All or nothing. Throws once, at the end: ShapeError
  /// where sizes are wrong, else KeyError, with the lists of missing keys, unexpected keys and
  /// wrong sizes. Not strict, only wrong sizes are errors.
  LoadResult load_state_dict(const StateDict& state, const LoadOptions& options = {});

  // Hooks. See hooks/module_hooks.hpp for what each kind sees and may return.
  template <class F>
  RemovableHandle register_forward_pre_hook(F hook, HookOptions options = {}) {
    return own_hooks().forward_pre.add(hooks::make_forward_pre_hook(std::move(hook), options),
                                       options.prepend);
  }
  template <class F>
  RemovableHandle register_forward_hook(F hook, HookOptions options = {}) {
    return own_hooks().forward.add(hooks::make_forward_hook(std::move(hook), options),
                                   options.prepend);
  }
  /// GradError where legacy backward hooks are registered.
  template <class F>
  RemovableHandle register_full_backward_pre_hook(F hook, HookOptions options = {}) {
    return own_hooks().full_backward_pre.add(hooks::make_backward_pre_hook(std::move(hook)),
                                             options.prepend);
  }
  /// GradError where legacy backward hooks are registered.
  template <class F>
  RemovableHandle register_full_backward_hook(F hook, HookOptions options = {}) {
    check_backward_kind(true);
    return own_hooks().full_backward.add(hooks::make_backward_hook(std::move(hook)),
                                         options.prepend);
  }
  /// The legacy kind: sees the gradients of the operation that made the (first) output. GradError
  /// where full ones are registered.
  template <class F>
  RemovableHandle register_backward_hook(F hook) {
    check_backward_kind(false);
    return own_hooks().backward.add(hooks::make_backward_hook(std::move(hook)));
  }
  template <class F>
  RemovableHandle register_state_dict_pre_hook(F hook) {
    return own_hooks().state_dict_pre.add(
        hooks::make_plain_hook<Module&, const std::string&, bool>(std::move(hook)));
  }
  template <class F>
  RemovableHandle register_state_dict_post_hook(F hook) {
    return own_hooks().state_dict.add(
        hooks::make_plain_hook<Module&, StateDict&, const std::string&, hooks::Versions&>(
            std::move(hook)));
  }
  template <class F>
  RemovableHandle register_load_state_dict_pre_hook(F hook) {
    return own_hooks().load_pre.add(
        hooks::make_plain_hook<Module&, StateDict&, const std::string&, const hooks::Versions&,
                               bool, hooks::Names&, hooks::Names&, hooks::Names&>(std::move(hook)));
  }
  template <class F>
  RemovableHandle register_load_state_dict_post_hook(F hook) {
    return own_hooks().load.add(hooks::make_plain_hook<Module&, LoadResult&>(std::move(hook)));
  }
  /// Removes the hook with a handle's id from this module. A handle removes it from the module that
  /// it was registered in; a clone has the same hooks, with the same ids, in lists of its own.
  void remove_hook(uint64_t id);

  // For call.hpp.
  /// True where a call may have hooks to run.
  bool may_have_hooks() const {
    return FARRO_UNLIKELY(
        (reinterpret_cast<uintptr_t>(hooks_.get()) | hooks::detail::global_call_hooks_used) != 0);
  }
  /// True where it has.
  bool has_call_hooks() const;
  Value call_with_hooks(Args args, Kwargs kwargs,
                        const std::function<Value(const Args&, const Kwargs&)>& forward);

 protected:
  using Children = std::vector<std::pair<std::string, std::shared_ptr<Module>>>;
  /// What was registered by name, for containers.
  Children& registered_children();
  Named<Parameter>& registered_parameters();
  /// As register_module, without looking at the name.
  void append_child(std::string name, std::shared_ptr<Module> module);

 private:
  friend class StateSaver;
  friend class StateLoader;
  struct Registered;

  Registered& registered();
  hooks::ModuleHooks& own_hooks();
  /// Lets backward hooks find out whether the module is still there.
  const std::shared_ptr<Module*>& life_token();
  std::optional<Member> find_declared(std::string_view name);
  std::optional<Member> find_member(std::string_view name);
  void check_new_name(const char* operation, std::string_view name, Member::Kind kind);
  void put_parameter(const std::string& name, Parameter parameter);
  void put_module(const std::string& name, std::shared_ptr<Module> module);
  void remove_registered(std::string_view name);
  void check_backward_kind(bool full) const;
  [[noreturn]] void no_attribute(const char* operation, std::string_view name) const;
  [[noreturn]] void wrong_submodule(std::string_view path) const;

  std::unique_ptr<hooks::ModuleHooks> hooks_;
  std::unique_ptr<Registered> registered_;
  std::shared_ptr<Module*> life_token_;
  bool training_ = true;
};

/// Independent of the original: tied parameters are tied in the copy, hooks of modules are kept,
/// gradients and hooks of tensors are not. GradError where a buffer or tensor attribute has a
/// history.
std::shared_ptr<Module> clone_module(const Module& module);
template <std::derived_from<Module> M>
Ref<M> clone(const M& module) {
  return Ref<M>(std::static_pointer_cast<M>(clone_module(module)));
}
template <class M>
Ref<M> clone(const Ref<M>& module) {
  return clone(*module);
}

/// As PyTorch prints modules.
std::ostream& operator<<(std::ostream& out, const Module& module);
template <class M>
std::ostream& operator<<(std::ostream& out, const Ref<M>& module) {
  return out << static_cast<const Module&>(*module);
}

}  // namespace farro::nn

#include <farro/nn/call.hpp>
