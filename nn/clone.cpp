#include <unordered_map>

#include <farro/autograd/ops/copy.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {
namespace {

class Cloner {
 public:
  std::shared_ptr<Module> module(const Module& original) {
    auto it = modules_.find(&original);
    if (it != modules_.end()) return it->second;
    std::shared_ptr<Module> copy = original.copy();
    modules_.emplace(&original, copy);  // before its members: a module may stand in itself
    separate(*copy);
    return copy;
  }

 private:
  /// Gives a copy, which still shares everything with the original, members of its own.
  void separate(Module& copy) {
    copy.visit_members([&](const Member& member) {
      if (member.kind == Member::Kind::Parameter) {
        member.parameter() = parameter(member.parameter());
      } else if (member.kind == Member::Kind::Child) {
        std::shared_ptr<Module> child = member.shared_child();
        if (child) {
          member.set_child(module(*child));
        } else if (member.child()) {
          separate(*member.child());
        }
      } else {
        Tensor& slot = member.tensor();
        // What was computed of the original's parameters is computed anew of the copy's at its next
        // call.
        slot = member.is_computed() ? fresh(slot) : tensor(slot, member.name);
      }
    });
  }

  Parameter parameter(const Parameter& original) {
    if (!original.defined()) return {};
    auto [it, added] = tensors_.try_emplace(original.impl());
    if (added) it->second = Parameter(fresh(original), original.requires_grad());
    return Parameter::of(it->second);
  }

  Tensor tensor(const Tensor& original, std::string_view name) {
    if (!original.defined()) return {};
    if (original.grad_fn()) {
      fail<GradError>(
          "clone",
          "the tensor \"{}\" has a history (grad_fn {}); only leaves can be cloned with a module",
          name, original.grad_fn()->name());
    }
    auto [it, added] = tensors_.try_emplace(original.impl());
    if (added) {
      it->second = fresh(original);
      if (original.requires_grad()) it->second.requires_grad_();
    }
    return it->second;
  }

  static Tensor fresh(const Tensor& original) {
    if (is_uninitialized(original))
      return detail::uninitialized(original.device(), original.dtype());
    NoGrad guard;
    return original.detach().clone();
  }

  std::unordered_map<const Module*, std::shared_ptr<Module>> modules_;
  std::unordered_map<TensorImpl*, Tensor> tensors_;
};

}  // namespace

std::shared_ptr<Module> clone_module(const Module& module) { return Cloner().module(module); }

}  // namespace farro::nn
