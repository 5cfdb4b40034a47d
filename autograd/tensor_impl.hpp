#pragma once

#include <atomic>

#include <farro/autograd/node.hpp>
#include <farro/backends/array_view.hpp>
#include <farro/backends/memory.hpp>

namespace farro {

struct AutogradMeta;

/// A tensor's AutogradMeta, once something needs one. Threads that share a tensor may make it at
/// the same time.
class AutogradMetaPtr {
 public:
  AutogradMetaPtr() = default;
  AutogradMetaPtr(const AutogradMetaPtr&) = delete;
  AutogradMetaPtr& operator=(const AutogradMetaPtr&) = delete;
  ~AutogradMetaPtr() {
    if (AutogradMeta* meta = operator->(); FARRO_UNLIKELY(meta)) drop(meta);
  }

  AutogradMeta& make();
  AutogradMeta* operator->() const { return meta_.load(std::memory_order_acquire); }
  AutogradMeta& operator*() const { return *operator->(); }
  explicit operator bool() const { return operator->() != nullptr; }

 private:
  static void drop(AutogradMeta* meta);

  std::atomic<AutogradMeta*> meta_{nullptr};
};

/// What a Tensor points to: geometry, storage and place on the tape. Its address is the tensor's
/// identity.
class TensorImpl final : public RefCounted, public detail::PoolAllocated {
 public:
  TensorImpl();
  TensorImpl(const ArrayView& array, int64_t numel) : array(array), numel(numel) {}
  ~TensorImpl() {
    if (FARRO_UNLIKELY(meta)) unlink();
  }
  /// Out of line, which keeps the many places small where a reference ends.
  static void destroy(TensorImpl* tensor);

  ArrayView array;  ///< data already includes the offset into the storage
  int64_t numel = 0;
  IntrusivePtr<Storage> storage;
  IntrusivePtr<autograd::Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;  ///< of a leaf
  bool contiguous = true;
  bool wrapped_number =
      false;               ///< made from a C++ number: does not raise the dtype within its category
  bool inference = false;  ///< made in inference mode
  bool is_parameter = false;   ///< an nn::Parameter
  bool uninitialized = false;  ///< a lazy parameter or buffer without a shape yet
  AutogradMetaPtr meta;

  AutogradMeta& make_meta() { return meta.make(); }
  /// Sets sizes, strides and what follows from them.
  void set_geometry(const Dims& sizes, const Dims& strides);
  void set_contiguous(const Dims& sizes);

  /// Takes the tensor off the lists that it is on.
  void unlink();
};

}  // namespace farro
