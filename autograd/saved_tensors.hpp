#pragma once

/// How the tensors that operations keep for backward are kept.
///
///     SavedTensors pack([](const Tensor& t) { return write_to_disk(t); },
///                       [](const Path& p) { return read(p); });
///     SavedTensorsAs half(kBFloat16);        // at half the memory
///     SavedTensorsOn host(Device("cpu"));    // for tensors of a device

#include <any>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <farro/autograd/tensor.hpp>

namespace farro {

namespace autograd {

struct SavedTensorHooks {
  std::function<std::any(const Tensor&)> pack;
  std::function<Tensor(const std::any&)> unpack;
};

}  // namespace autograd

/// While it lives, each tensor that this thread's operations save goes through pack once, when it
/// is saved, and what that returns through unpack at each use. unpack must return a tensor of the
/// same shape, dtype and device (GradError otherwise); the two run without recording and with no
/// such scope. The innermost scope counts.
class SavedTensors {
 public:
  template <class Pack, class Unpack>
  SavedTensors(Pack pack, Unpack unpack) {
    using Packed = std::remove_cvref_t<std::invoke_result_t<Pack&, const Tensor&>>;
    enter({[pack = std::move(pack)](const Tensor& t) mutable { return std::any(pack(t)); },
           [unpack = std::move(unpack)](const std::any& value) mutable -> Tensor {
             return unpack(*std::any_cast<Packed>(&value));
           }});
  }
  ~SavedTensors();
  SavedTensors(const SavedTensors&) = delete;
  SavedTensors& operator=(const SavedTensors&) = delete;

 private:
  void enter(autograd::SavedTensorHooks hooks);
  std::shared_ptr<const autograd::SavedTensorHooks> outer_;
  bool active_outside_ = false;
};

/// Keeps floating-point tensors in another dtype, e.g. half the memory for less precise gradients.
class SavedTensorsAs : public SavedTensors {
 public:
  explicit SavedTensorsAs(DType dtype);
};

/// Keeps tensors on another device.
class SavedTensorsOn : public SavedTensors {
 public:
  explicit SavedTensorsOn(Device device);
};

}  // namespace farro
