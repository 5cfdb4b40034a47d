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

/// One member of a module, declared or registered by name, seen without its type.
class Member {
 public:
  enum class Kind { Parameter, Buffer, Child, Tensor };

  Member(std::string_view name, nn::Parameter& member) : name(name), kind(Kind::Parameter), object_(&member) {}
  Member(std::string_view name, nn::Buffer& member) : name(name), kind(Kind::Buffer), object_(&member) {}
  Member(std::string_view name, farro::Tensor& member) : name(name), kind(Kind::Tensor), object_(&member) {}
  Member(std::string_view name, void* member, const ChildAccess& access)
      : name(name), kind(Kind::Child), object_(member), access_(&access) {}

  nn::Parameter& parameter() const { return *static_cast<nn::Parameter*>(object_); }
  nn::Buffer& buffer() const { return *static_cast<nn::Buffer*>(object_); }
  /// Of a parameter, buffer or plain tensor.
  farro::Tensor& tensor() const {
    if (kind == Kind::Parameter) return parameter();
    if (kind == Kind::Buffer) return buffer();
    return *static_cast<farro::Tensor*>(object_);
  }
  Module* child() const { return access_->get(object_); }
  std::shared_ptr<Module> shared_child() const { return access_->share(object_); }
  bool set_child(const std::shared_ptr<Module>& module) const { return access_->set(object_, module); }

  std::string_view name;
  Kind kind;

 private:
  void* object_;
  const ChildAccess* access_ = nullptr;
};

using MemberVisitor = std::function<void(const Member&)>;

}  // namespace farro::nn
