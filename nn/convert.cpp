#include <unordered_map>

#include <farro/autograd/ops/copy.hpp>
#include <farro/nn/registered.hpp>

namespace farro::nn {
namespace {

using Kind = Member::Kind;

/// Puts other's elements behind the same tensor: its identity, hooks and gradient stay.
void take_data(const Tensor& tensor, const Tensor& other) {
  TensorImpl& to = *tensor.impl();
  TensorImpl& from = *other.impl();
  // What was saved for a backward must be seen to have changed.
  if (to.storage && from.storage) {
    while (from.storage->version() <= to.storage->version()) from.storage->bump_version();
  }
  to.array = from.array;
  to.numel = from.numel;
  to.contiguous = from.contiguous;
  to.storage = from.storage;
  to.uninitialized = from.uninitialized;
}

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
      if (!converted.is_same(tensor)) take_data(tensor, converted);
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
    if (!converted.defined()) fail<ValueError>("_apply", "expected the function to return a tensor, got an undefined one");
    return converted;
  }

  const std::function<Tensor(const Tensor&)>& f_;
  std::unordered_map<Module*, bool> seen_;
  std::vector<Module*> modules_;  // children first
  std::unordered_map<TensorImpl*, Tensor> converted_;
  std::vector<std::pair<Tensor, Tensor>> parameters_;
  std::vector<std::pair<Tensor, Tensor>> gradients_;
};

Tensor converted(const Tensor& tensor, Device device, DType dtype) {
  if (!tensor.impl()->uninitialized) return tensor.to(device, dtype);
  if (tensor.device() == device && tensor.dtype() == dtype) return tensor;
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->array = tensor.impl()->array;
  impl->array.device = device;
  impl->array.dtype = dtype;
  impl->uninitialized = true;
  return Tensor(std::move(impl));
}

void check_floating(DType dtype) {
  if (!is_floating_point(dtype)) {
    fail<TypeError>("to", "expected a floating-point dtype, got {}; type() converts to any", name_of(dtype));
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
  return _apply([=](const Tensor& t) { return converted(t, device, t.dtype()); });
}

Module& Module::to(DType dtype) {
  check_floating(dtype);
  return _apply([=](const Tensor& t) { return converted(t, t.device(), t.is_floating_point() ? dtype : t.dtype()); });
}

Module& Module::to(Device device, DType dtype) {
  check_floating(dtype);
  return _apply([=](const Tensor& t) { return converted(t, device, t.is_floating_point() ? dtype : t.dtype()); });
}

Module& Module::cpu() { return to(Device()); }
Module& Module::cuda(int index) { return to(Device(fmt::format("cuda:{}", index))); }
Module& Module::xpu(int index) { return to(Device(fmt::format("xpu:{}", index))); }

Module& Module::type(DType dtype) {
  return _apply([=](const Tensor& t) { return converted(t, t.device(), dtype); });
}

}  // namespace farro::nn
