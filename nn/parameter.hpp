#pragma once

#include <optional>
#include <utility>

#include <farro/autograd/tensor.hpp>

namespace farro::nn {

/// True of a parameter or buffer whose shape is not known yet. Reading its shape or elements, or
/// computing with it, is a ValueError; it can be converted, moved, saved and listed.
inline bool is_uninitialized(const Tensor& tensor) {
  return tensor.defined() && tensor.impl()->uninitialized;
}
/// Gives an uninitialized parameter or buffer a shape and memory, with its own device and dtype
/// unless told otherwise; the elements are not set. It is the same tensor afterwards: every handle
/// sees it. ValueError if it has a shape.
void materialize(const Tensor& tensor, const Dims& sizes, std::optional<Device> device = {},
                 std::optional<DType> dtype = {});

/// A tensor that a module learns: a leaf that requires grad. A default-made one is null: it keeps
/// its place among a module's members and is absent from every iteration. Copying shares it, which
/// is how parameters are tied.
class Parameter : public Tensor {
 public:
  Parameter() = default;
  /// Shares data's memory. ValueError if data has a history, TypeError if it is no floating-point
  /// tensor and `requires_grad` is set; an undefined tensor gives null.
  explicit Parameter(const Tensor& data, bool requires_grad = true);
  /// The parameter that a tensor from parameters() is, not a new one. TypeError if it is none.
  static Parameter of(const Tensor& tensor);

  bool is_uninitialized() const { return nn::is_uninitialized(*this); }
  /// See nn::materialize.
  void materialize(const Dims& sizes, std::optional<Device> device = {},
                   std::optional<DType> dtype = {}) const {
    nn::materialize(*this, sizes, device, dtype);
  }
};

/// A parameter whose shape is found out later:
///
///     nn::Parameter weight = nn::UninitializedParameter();
///     weight.materialize({2, 3});
class UninitializedParameter : public Parameter {
 public:
  struct Options {
    bool requires_grad = true;
    std::optional<Device> device{};
    std::optional<DType> dtype{};
  };
  UninitializedParameter();
  /// TypeError if it requires grad and the dtype is no floating-point one.
  explicit UninitializedParameter(const Options& options);
};

/// A tensor that belongs to a module's state and is not learned. Converted and moved with the
/// module; saved by state_dict unless it is not persistent.
class Buffer : public Tensor {
 public:
  Buffer() = default;
  explicit Buffer(Tensor data, bool persistent = true)
      : Tensor(std::move(data)), persistent_(persistent) {}
  /// Another tensor, as persistent as before.
  Buffer& operator=(Tensor data) {
    Tensor::operator=(std::move(data));
    return *this;
  }
  Buffer(const Buffer&) = default;
  Buffer(Buffer&&) = default;
  Buffer& operator=(const Buffer&) = default;
  Buffer& operator=(Buffer&&) = default;
  bool persistent() const { return persistent_; }

  bool is_uninitialized() const { return nn::is_uninitialized(*this); }
  /// See nn::materialize.
  void materialize(const Dims& sizes, std::optional<Device> device = {},
                   std::optional<DType> dtype = {}) const {
    nn::materialize(*this, sizes, device, dtype);
  }

 private:
  bool persistent_ = true;
};

/// A buffer whose shape is found out later.
class UninitializedBuffer : public Buffer {
 public:
  struct Options {
    std::optional<Device> device{};
    std::optional<DType> dtype{};
    bool persistent = true;
  };
  UninitializedBuffer();
  explicit UninitializedBuffer(const Options& options);
};

}  // namespace farro::nn
