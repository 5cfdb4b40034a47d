#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <farro/nn/parameter.hpp>

namespace farro::nn {

class Module;

/// Reading and assigning a member that holds a module, whatever its type.
struct ChildAccess {
  /// Null if there is none.
  Module* (*get)(void* member);
  /// Shares what get gives; null for a module that is a member itself, not behind a Ref.
  std::shared_ptr<Module> (*share)(void* member);
  /// False if a module of this type can't stand there.
  bool (*set)(void* member, const std::shared_ptr<Module>& module);
};

/// One member of a module, declared or registered by name, seen without its type. A parameter's
/// place may hold what was computed of other parameters (see utils/parametrize.hpp): it is a plain
/// tensor then.
class Member {
 public:
  enum class Kind { Parameter, Buffer, Child, Tensor };

  Member(std::string_view name, nn::Parameter& member)
      : name(name),
        kind(member.defined() && !member.impl()->is_parameter ? Kind::Tensor : Kind::Parameter),
        object_(&member),
        in_parameter_(true) {}
  Member(std::string_view name, nn::Buffer& member)
      : name(name), kind(Kind::Buffer), object_(&member) {}
  Member(std::string_view name, farro::Tensor& member)
      : name(name), kind(Kind::Tensor), object_(&member) {}
  Member(std::string_view name, void* member, const ChildAccess& access)
      : name(name), kind(Kind::Child), object_(member), access_(&access) {}

  nn::Parameter& parameter() const { return *static_cast<nn::Parameter*>(object_); }
  nn::Buffer& buffer() const { return *static_cast<nn::Buffer*>(object_); }
  /// Of a parameter, buffer or plain tensor.
  farro::Tensor& tensor() const {
    if (in_parameter_) return parameter();
    if (kind == Kind::Buffer) return buffer();
    return *static_cast<farro::Tensor*>(object_);
  }
  Module* child() const { return access_->get(object_); }
  std::shared_ptr<Module> shared_child() const { return access_->share(object_); }
  bool set_child(const std::shared_ptr<Module>& module) const {
    return access_->set(object_, module);
  }

  /// A parameter's place that holds a computed tensor.
  bool is_computed() const { return in_parameter_ && kind == Kind::Tensor; }
  /// A parameter's place, whatever it holds.
  bool is_parameter_place() const { return in_parameter_; }

  std::string_view name;
  Kind kind;

 private:
  void* object_;
  bool in_parameter_ = false;
  const ChildAccess* access_ = nullptr;
};

using MemberVisitor = std::function<void(const Member&)>;

}  // namespace farro::nn
