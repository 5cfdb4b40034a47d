#pragma once

#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <farro/autograd/grad_mode.hpp>
#include <farro/autograd/tensor_impl.hpp>
#include <farro/backends/error.hpp>

namespace farro {

template <class T>
concept Number = std::is_arithmetic_v<T>;

/// What factories take. An absent dtype is the default one (or that of the data), an absent device
/// "cpu".
struct TensorOptions {
  std::optional<DType> dtype{};
  std::optional<Device> device{};
  bool requires_grad = false;
};

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};

/// start:stop:step, as in Python; absent ends reach to the border.
struct Slice {
  std::optional<int64_t> start{}, stop{};
  int64_t step = 1;
};

struct Index;

/// A handle to an n-dimensional array on some device, perhaps with a place on the tape. Copying it
/// shares the array. A default-made one is undefined: no array at all.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A 0-d tensor of a C++ number, which takes part in promotion as PyTorch's wrapped numbers do.
  template <Number T>
  Tensor(T value) : Tensor(wrap_number(value)) {}

  FARRO_INLINE bool defined() const { return impl_ != nullptr; }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  TensorImpl* impl() const { return impl_.get(); }
  const IntrusivePtr<TensorImpl>& impl_ptr() const& { return impl_; }
  IntrusivePtr<TensorImpl> impl_ptr() && { return std::move(impl_); }

  // Geometry. All throw ValueError for an undefined or uninitialized tensor.
  const Dims& sizes() const { return checked()->array.sizes; }
  const Dims& shape() const { return sizes(); }
  const Dims& strides() const { return checked()->array.strides; }
  int64_t size(int64_t dim) const { return sizes()[wrap_dim(dim, this->dim(), "size")]; }
  int64_t stride(int64_t dim) const { return strides()[wrap_dim(dim, this->dim(), "stride")]; }
  int dim() const { return sizes().size(); }
  int64_t numel() const { return checked()->numel; }
  DType dtype() const { return defined_impl()->array.dtype; }
  Device device() const { return defined_impl()->array.device; }
  bool is_contiguous() const { return checked()->contiguous; }
  bool is_floating_point() const { return farro::is_floating_point(dtype()); }
  /// In elements, from the start of the storage.
  int64_t storage_offset() const;
  const IntrusivePtr<Storage>& storage() const { return defined_impl()->storage; }
  uint32_t version() const { return defined_impl()->storage->version(); }
  const ArrayView& array() const { return checked()->array; }
  /// The first element. TypeError if T is not the dtype.
  template <class T>
  T* data() const {
    if (dtype_of<std::remove_const_t<T>> != dtype())
      wrong_data_type(dtype_of<std::remove_const_t<T>>);
    return static_cast<T*>(checked()->array.data);
  }
  void* data_ptr() const { return checked()->array.data; }
  /// A Kokkos view of the elements, e.g. t.view_as<const double**, backends::OpenMP>(): unmanaged,
  /// strided, no copy. Defined in view_bridge.hpp. TypeError, ShapeError or BackendError if dtype,
  /// rank or backend differ.
  template <class DataType, class Backend>
  auto view_as() const;

  // Values, copied to the host.
  /// The only element; ValueError if there is not exactly one.
  template <Number T = double>
  T item() const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(item_double());
    } else {
      return static_cast<T>(item_int());
    }
  }
  double item_double() const;
  int64_t item_int() const;
  /// All elements in row-major order.
  std::vector<double> to_vector() const;

  // The tape.
  bool requires_grad() const { return defined_impl()->requires_grad || impl_->grad_fn; }
  const Tensor& requires_grad_(bool flag = true) const;
  bool is_leaf() const { return !defined_impl()->grad_fn; }
  /// Null for leaves.
  const IntrusivePtr<autograd::Node>& grad_fn() const { return defined_impl()->grad_fn; }
  /// Undefined until a backward reached this leaf (or a tensor that retains its gradient).
  Tensor grad() const;
  /// Checks shape, dtype and device; undefined drops the gradient.
  void set_grad(const Tensor& grad) const;
  /// Differentiates this tensor; a non-scalar needs `gradient` of its shape. Gradients are added
  /// into the leaves' grad().
  void backward(const Tensor& gradient = {}, BackwardOptions options = {}) const;
  void backward(BackwardOptions options) const { backward({}, options); }
  /// Shares memory and version, not history.
  Tensor detach() const;
  const Tensor& detach_() const;
  /// The hook sees this tensor's gradient; it may return another of the same shape and dtype, or
  /// nothing.
  template <class F>
  RemovableHandle register_hook(F hook) const {
    return add_hook([hook = std::move(hook)](const Tensor& g) -> Tensor {
      if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Tensor&>>) {
        hook(g);
        return {};
      } else {
        return hook(g);
      }
    });
  }
  /// Runs after a leaf's gradient was accumulated, with the leaf.
  RemovableHandle register_post_accumulate_grad_hook(std::function<void(const Tensor&)> hook) const;
  /// Makes a non-leaf keep its gradient.
  void retain_grad() const;
  bool retains_grad() const;

  // Conversion. See ops/copy.hpp.
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;
  Tensor to(Device device, DType dtype) const;
  Tensor contiguous() const;
  Tensor clone() const;
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& fill_(const Tensor& value) const;
  const Tensor& zero_() const;

  // Views. See ops/shape.hpp.
  Tensor view(IntList sizes) const;
  Tensor reshape(IntList sizes) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor unflatten(int64_t dim, IntList sizes) const;
  Tensor permute(IntList dims) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor t() const;
  Tensor expand(IntList sizes) const;
  Tensor expand_as(const Tensor& other) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {},
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor as_strided(IntList sizes, IntList strides, int64_t storage_offset) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;

  // Indexing. See ops/index.hpp.
  Tensor operator[](int64_t index) const { return select(0, index); }
  /// a[{Slice(), 0}], a[{mask}], …
  Tensor operator[](std::initializer_list<Index> indices) const;
  Tensor operator[](const Tensor& index) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor gather(int64_t dim, const Tensor& index) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  void index_put_(std::initializer_list<Index> indices, const Tensor& value) const;

  // Reductions. See ops/reduce.hpp. An empty list of dimensions means all.
  Tensor sum(IntList dims = {}, bool keepdim = false) const;
  Tensor mean(IntList dims = {}, bool keepdim = false) const;
  Tensor prod() const;
  Tensor prod(int64_t dim, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  std::pair<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  std::pair<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor amax(IntList dims = {}, bool keepdim = false) const;
  Tensor amin(IntList dims = {}, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any() const;
  Tensor all() const;
  Tensor var(IntList dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor std(IntList dims = {}, double correction = 1, bool keepdim = false) const;
  Tensor norm(double p = 2) const;
  Tensor logsumexp(IntList dims, bool keepdim = false) const;
  Tensor cumsum(int64_t dim) const;
  Tensor softmax(int64_t dim) const;
  Tensor log_softmax(int64_t dim) const;

  // Algebra. See ops/matmul.hpp.
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  Tensor mv(const Tensor& other) const;
  Tensor dot(const Tensor& other) const;

  // Pointwise. See ops/pointwise/.
  Tensor abs() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor neg() const;
  Tensor pow(const Tensor& exponent) const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor clamp(std::optional<double> min, std::optional<double> max = {}) const;
  const Tensor& add_(const Tensor& other, double alpha = 1) const;
  const Tensor& sub_(const Tensor& other, double alpha = 1) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& operator+=(const Tensor& other) const { return add_(other); }
  const Tensor& operator-=(const Tensor& other) const { return sub_(other); }
  const Tensor& operator*=(const Tensor& other) const { return mul_(other); }
  const Tensor& operator/=(const Tensor& other) const { return div_(other); }

  // In-place random fills. See ops/random_fill.hpp.
  const Tensor& uniform_(double from = 0, double to = 1) const;
  const Tensor& normal_(double mean = 0, double std = 1) const;
  const Tensor& bernoulli_(double p = 0.5) const;

  /// As PyTorch prints it: `tensor([[1., 2.], [3., 4.]], dtype=float64, grad_fn=<AddBackward>)`.
  std::string str() const;

 private:
  template <Number T>
  static Tensor wrap_number(T value) {
    if constexpr (std::is_same_v<T, bool>) return wrap_bool(value);
    if constexpr (std::is_floating_point_v<T>) return wrap_double(static_cast<double>(value));
    return wrap_int(static_cast<int64_t>(value));
  }
  static Tensor wrap_double(double value);
  static Tensor wrap_int(int64_t value);
  static Tensor wrap_bool(bool value);
  RemovableHandle add_hook(autograd::TensorHook hook) const;

  TensorImpl* defined_impl() const {
    if (FARRO_UNLIKELY(!impl_)) undefined_access();
    return impl_.get();
  }
  TensorImpl* checked() const {
    if (FARRO_UNLIKELY(!impl_ || impl_->uninitialized)) undefined_access();
    return impl_.get();
  }
  [[noreturn]] FARRO_COLD void undefined_access() const;
  [[noreturn]] FARRO_COLD void wrong_data_type(DType wanted) const;

  IntrusivePtr<TensorImpl> impl_;
};

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// One part of an index: an integer, a slice, a tensor of integers or a mask, a new axis or the
/// rest.
struct Index {
  enum class Kind { Integer, Slice, Tensor, NewAxis, Ellipsis };
  struct NewAxisTag {};
  struct EllipsisTag {};
  template <std::integral T>
  Index(T value) : kind(Kind::Integer), integer(static_cast<int64_t>(value)) {}
  Index(farro::Slice value) : kind(Kind::Slice), slice(value) {}
  Index(farro::Tensor value) : kind(Kind::Tensor), tensor(std::move(value)) {}
  Index(NewAxisTag) : kind(Kind::NewAxis) {}
  Index(EllipsisTag) : kind(Kind::Ellipsis) {}

  Kind kind;
  int64_t integer = 0;
  farro::Slice slice{};
  farro::Tensor tensor{};
};
inline constexpr Index::NewAxisTag newaxis{};
inline constexpr Index::EllipsisTag ellipsis{};

/// The dtype of factories that were given none: float32 unless set. Only floating-point dtypes can
/// be set (TypeError).
DType default_dtype();
void set_default_dtype(DType dtype);

namespace autograd {

/// Gradients, one per input or output; undefined ones are null gradients.
class Grads : public SmallVector<Tensor, 3> {
 public:
  using SmallVector::SmallVector;
};

/// What belongs to one of a node's outputs. Tensor hooks run first, in order; then retained
/// gradients are captured; then the node's pre-hooks see all outputs.
struct NodeExtras : farro::detail::PoolAllocated {
  struct OutputHook {
    uint32_t output_nr;
    TensorHook hook;
  };
  HookList<OutputHook> tensor_hooks;
  struct Retained {
    uint32_t output_nr;
    TensorImpl* tensor;  // removes itself when it goes or is changed in place
  };
  std::vector<Retained> retained;
  std::string place;  ///< where the operation was called (anomaly mode)
};

}  // namespace autograd

/// What few tensors have beyond geometry and storage.
struct AutogradMeta {
  Tensor grad;
  autograd::Node* accumulator =
      nullptr;  ///< not owned: the node that adds into grad, while some graph holds it
  HookList<autograd::TensorHook> hooks;  ///< of a leaf
  HookList<std::function<void(const Tensor&)>> post_accumulate_hooks;
  bool retains_grad = false;

  /// How a view came to be, which decides whether the tape can follow changes in place.
  enum class View : uint8_t { None, Recorded, NoGrad, MultiOutput };
  View view = View::None;
  Tensor base;  ///< of a view: the tensor whose memory it shares, itself no view
  std::string
      no_inplace;  ///< what it is that forbids in-place changes; empty where they are allowed
  /// Views of one base are linked, so that a change in place of any can renew the history of all.
  TensorImpl* first_view = nullptr;
  TensorImpl* previous_view = nullptr;
  TensorImpl* next_view = nullptr;
};

/// Makes a tensor without initialising its elements. Throws ShapeError for a negative size,
/// MemoryError, BackendError.
Tensor empty(const Dims& sizes, DType dtype, Device device);
/// As empty, of the shape, dtype and device of a contiguous tensor, which need no check then.
Tensor empty_like_contiguous(const Tensor& like);
inline Tensor empty_like_array(const Dims& sizes, const Tensor& like) {
  return empty(sizes, like.dtype(), like.device());
}
/// A tensor over the same memory with another geometry; `data` is its first element. No history.
Tensor alias(const Tensor& base, const Dims& sizes, const Dims& strides, void* data);

}  // namespace farro
