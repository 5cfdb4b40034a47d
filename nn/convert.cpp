#include <unordered_map>

#include <farro/autograd/ops/copy.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {
namespace {

using Kind = Member::Kind;

/// All distinct tensors of a module with what f makes of them, before anything is changed.
class Conversion {
 public:
  explicit Conversion(const std::function<Tensor(const Tensor&)>& f) : f_(f) {}

  void collect(Module& module) {
    if (!seen_.insert({&module, true}).second) return;
    for (Module* child : module.children()) collect(*child);
    module.visit_members([&](const Member& member) {
      if (member.kind == Kind::Parameter) add(member.tensor(), true);
      if (member.kind == Kind::Buffer) add(member.tensor(), false);
    });
    modules_.push_back(&module);
  }

  /// Throws nothing that could leave a part undone.
  void commit() {
    for (auto& [tensor, converted] : parameters_) {
      if (!converted.is_same(tensor)) detail::take_data(tensor, converted);
    }
    for (auto& [owner, converted] : gradients_) owner.impl()->make_meta().grad = converted;
    for (Module* module : modules_) {
      module->visit_members([&](const Member& member) {
        if (member.kind != Kind::Buffer || !member.tensor().defined()) return;
        member.buffer() = converted_.at(member.tensor().impl());
      });
    }
  }

 private:
  void add(const Tensor& tensor, bool parameter) {
    if (!tensor.defined() || converted_.contains(tensor.impl())) return;
    Tensor converted = checked(tensor);
    converted_.emplace(tensor.impl(), converted);
    if (!parameter) return;
    parameters_.emplace_back(tensor, converted);
    Tensor grad = tensor.grad();
    if (!grad.defined()) return;
    Tensor converted_grad = checked(grad);
    if (!converted_grad.is_same(grad)) gradients_.emplace_back(tensor, converted_grad);
  }
  Tensor checked(const Tensor& tensor) {
    Tensor converted = f_(tensor);
    if (!converted.defined())
      fail<ValueError>("_apply", "expected the function to return a tensor, got an undefined one");
    return converted;
  }

  const std::function<Tensor(const Tensor&)>& f_;
  std::unordered_map<Module*, bool> seen_;
  std::vector<Module*> modules_;  // children first
  std::unordered_map<TensorImpl*, Tensor> converted_;
  std::vector<std::pair<Tensor, Tensor>> parameters_;
  std::vector<std::pair<Tensor, Tensor>> gradients_;
};

void check_floating(DType dtype) {
  if (!is_floating_point(dtype)) {
    fail<TypeError>("to", "expected a floating-point dtype, got {}; type() converts to any",
                    name_of(dtype));
  }
}

}  // namespace

Module& Module::_apply(const std::function<Tensor(const Tensor&)>& f) {
  NoGrad guard;
  Conversion conversion(f);
  conversion.collect(*this);
  conversion.commit();
  return *this;
}

Module& Module::to(Device device) {
  return _apply([=](const Tensor& t) { return t.to(device); });
}

Module& Module::to(DType dtype) {
  check_floating(dtype);
  return _apply([=](const Tensor& t) { return t.is_floating_point() ? t.to(dtype) : t; });
}

Module& Module::to(Device device, DType dtype) {
  check_floating(dtype);
  return _apply(
      [=](const Tensor& t) { return t.to(device, t.is_floating_point() ? dtype : t.dtype()); });
}

Module& Module::cpu() { return to(Device()); }
Module& Module::cuda(int index) { return to(Device(fmt::format("cuda:{}", index))); }
Module& Module::xpu(int index) { return to(Device(fmt::format("xpu:{}", index))); }

Module& Module::type(DType dtype) {
  return _apply([=](const Tensor& t) { return t.to(dtype); });
}

}  // namespace farro::nn
