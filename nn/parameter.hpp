#pragma once

#include <utility>

#include <farro/autograd/tensor.hpp>

namespace farro::nn {

/// A tensor that a module learns: a leaf that requires grad. A default-made one is null: it keeps its place among a
/// module's members and is absent from every iteration. Copying shares it, which is how parameters are tied.
class Parameter : public Tensor {
 public:
  Parameter() = default;
  /// Shares data's memory. ValueError if data has a history, TypeError if it is no floating-point tensor and
  /// `requires_grad` is set; an undefined tensor gives null.
  explicit Parameter(const Tensor& data, bool requires_grad = true);
  /// The parameter that a tensor from parameters() is, not a new one. TypeError if it is none.
  static Parameter of(const Tensor& tensor);
};

/// A tensor that belongs to a module's state and is not learned. Converted and moved with the module; saved by
/// state_dict unless it is not persistent.
class Buffer : public Tensor {
 public:
  Buffer() = default;
  explicit Buffer(Tensor data, bool persistent = true) : Tensor(std::move(data)), persistent_(persistent) {}
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

 private:
  bool persistent_ = true;
};

}  // namespace farro::nn
