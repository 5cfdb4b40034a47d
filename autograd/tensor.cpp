#include <farro/autograd/tensor.hpp>

#include <atomic>
#include <cstring>
#include <memory>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/inplace.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/backends/kernels/copy.hpp>

namespace farro {

namespace autograd {

FARRO_FAST_TLS constinit thread_local ThreadModes thread_modes;

FARRO_FAST_TLS constinit thread_local HookIds hook_ids;

uint64_t HookIds::refill() {
  static std::atomic<uint64_t> taken{1};  // 0 is the id of a handle of no hook
  constexpr uint64_t kRange = 1024;
  next = taken.fetch_add(kRange, std::memory_order_relaxed);
  end = next + kRange;
  return next++;
}

}  // namespace autograd

namespace {

std::atomic<DType> current_default_dtype{kFloat32};

}  // namespace

TensorImpl::TensorImpl() = default;

void TensorImpl::destroy(TensorImpl* tensor) { delete tensor; }

void TensorImpl::unlink() {
  if (meta->retains_grad && grad_fn) autograd::forget_retained(this);
  if (meta->base.defined()) autograd::forget_view(this);
}

void AutogradMetaPtr::drop(AutogradMeta* meta) {
  meta->~AutogradMeta();
  detail::pool_free(meta, sizeof(AutogradMeta));
}

AutogradMeta& AutogradMetaPtr::make() {
  AutogradMeta* meta = operator->();
  if (FARRO_LIKELY(meta)) return *meta;
  auto* fresh = new (detail::pool_allocate(sizeof(AutogradMeta))) AutogradMeta;
  if (meta_.compare_exchange_strong(meta, fresh, std::memory_order_acq_rel)) return *fresh;
  drop(fresh);
  return *meta;
}

void TensorImpl::set_geometry(const Dims& sizes, const Dims& strides) {
  array.sizes = sizes;
  array.strides = strides;
  numel = sizes.product();
  contiguous = is_contiguous(sizes, strides);
}

void TensorImpl::set_contiguous(const Dims& sizes) {
  array.sizes = sizes;
  array.strides = sizes;
  int64_t stride = 1;
  bool empty = false;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    array.strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
    empty = empty || sizes[i] == 0;
  }
  numel = empty ? 0 : stride;
  contiguous = true;
}

namespace {

[[noreturn]] FARRO_COLD void bad_sizes(const Dims& sizes) {
  fail<ShapeError>("empty",
                   "expected sizes that are not negative and a number of bytes below 2^62, got {}",
                   to_string(sizes));
}

int64_t checked_numel(const Dims& sizes, DType dtype) {
  int64_t n = 1;
  bool empty = false;
  for (int i = 0; i < sizes.size(); ++i) {
    if (FARRO_UNLIKELY(sizes[i] < 0)) bad_sizes(sizes);
    empty = empty || sizes[i] == 0;
    if (FARRO_UNLIKELY(sizes[i] > 0 && __builtin_mul_overflow(n, sizes[i], &n))) bad_sizes(sizes);
  }
  if (FARRO_UNLIKELY(n > (int64_t{1} << 62) / static_cast<int64_t>(size_of(dtype))))
    bad_sizes(sizes);
  return empty ? 0 : n;
}

}  // namespace

Tensor empty(const Dims& sizes, DType dtype, Device device) {
  int64_t numel = checked_numel(sizes, dtype);
  IntrusivePtr<Storage> storage =
      Storage::allocate(static_cast<size_t>(numel) * size_of(dtype), device);
  auto impl = IntrusivePtr<TensorImpl>::fresh(new TensorImpl);
  impl->array.data = storage->data();
  impl->array.dtype = dtype;
  impl->array.device = device;
  impl->set_contiguous(sizes);
  impl->storage = std::move(storage);
  impl->inference = inference_mode_enabled();
  return Tensor(std::move(impl));
}

Tensor empty_like_contiguous(const Tensor& like) {
  const TensorImpl& from = *like.impl();
  IntrusivePtr<Storage> storage = Storage::allocate(
      static_cast<size_t>(from.numel) * size_of(from.array.dtype), from.array.device);
  auto impl = IntrusivePtr<TensorImpl>::fresh(new TensorImpl(from.array, from.numel));
  ArrayView& array = impl->array;
  array.data = storage->data();
  int64_t stride = 1;  // those of dimensions of size 1 may be any in `like`
  for (int i = array.sizes.size() - 1; i >= 0; --i) {
    array.strides[i] = stride;
    stride *= array.sizes[i] > 1 ? array.sizes[i] : 1;
  }
  impl->storage = std::move(storage);
  impl->inference = inference_mode_enabled();
  return Tensor(std::move(impl));
}

Tensor alias(const Tensor& base, const Dims& sizes, const Dims& strides, void* data) {
  auto impl = IntrusivePtr<TensorImpl>::fresh(new TensorImpl);
  impl->array.data = data;
  impl->array.dtype = base.dtype();
  impl->array.device = base.device();
  impl->set_geometry(sizes, strides);
  impl->storage = base.storage();
  impl->inference = base.impl()->inference;
  impl->wrapped_number = base.impl()->wrapped_number;
  return Tensor(std::move(impl));
}

namespace {

template <class T>
Tensor make_number(T value) {
  Tensor t = empty({}, dtype_of<T>, Device());
  std::memcpy(t.data_ptr(), &value, sizeof(T));
  t.impl()->wrapped_number = true;
  return t;
}

}  // namespace

Tensor Tensor::wrap_double(double value) { return make_number(value); }
Tensor Tensor::wrap_int(int64_t value) { return make_number(value); }
Tensor Tensor::wrap_bool(bool value) { return make_number(value); }

DType default_dtype() { return current_default_dtype; }

void set_default_dtype(DType dtype) {
  if (!is_floating_point(dtype)) {
    fail<TypeError>("set_default_dtype", "expected a floating-point dtype, got {}", name_of(dtype));
  }
  current_default_dtype = dtype;
}

void Tensor::undefined_access() const {
  if (!impl_) fail<ValueError>("tensor", "expected a tensor, got an undefined one");
  fail<ValueError>(
      "tensor",
      "expected a tensor with a shape, got an uninitialized parameter or buffer; materialize it, "
      "or call its lazy module once");
}

void Tensor::wrong_data_type(DType wanted) const {
  fail<TypeError>("data", "expected a tensor of {}, got {}", name_of(wanted), name_of(dtype()));
}

int64_t Tensor::storage_offset() const {
  auto bytes = static_cast<const char*>(array().data) - static_cast<const char*>(storage()->data());
  return bytes / static_cast<int64_t>(size_of(dtype()));
}

namespace {

template <class T>
T read_item(const Tensor& tensor) {
  if (tensor.numel() != 1) {
    fail<ValueError>("item", "expected a tensor of one element, got shape {}",
                     to_string(tensor.sizes()));
  }
  T value{};
  ArrayView to{&value, dtype_of<T>, Device::of(0), tensor.sizes(),
               contiguous_strides(tensor.sizes())};
  kernels::copy(to, tensor.array());
  return value;
}

}  // namespace

double Tensor::item_double() const { return read_item<double>(*this); }
int64_t Tensor::item_int() const { return read_item<int64_t>(*this); }

std::vector<double> Tensor::to_vector() const {
  std::vector<double> values(static_cast<size_t>(numel()));
  ArrayView to{values.data(), kFloat64, Device::of(0), sizes(), contiguous_strides(sizes())};
  kernels::copy(to, array());
  return values;
}

const Tensor& Tensor::requires_grad_(bool flag) const {
  if (flag == requires_grad()) return *this;
  if (!is_leaf()) {
    fail<GradError>(
        "requires_grad_",
        "expected a leaf, got the output of {}; use detach() for a tensor without history",
        grad_fn()->name());
  }
  if (flag && !is_floating_point()) {
    fail<GradError>("requires_grad_", "only floating-point tensors can require grad, got {}",
                    name_of(dtype()));
  }
  if (flag && impl_->inference && !inference_mode_enabled()) {
    fail<GradError>("requires_grad_",
                    "a tensor made in inference mode can't require grad outside of it");
  }
  impl_->requires_grad = flag;
  return *this;
}

Tensor Tensor::grad() const {
  const auto& meta = defined_impl()->meta;
  return meta ? meta->grad : Tensor();
}

void Tensor::set_grad(const Tensor& grad) const {
  if (!grad.defined()) {
    if (defined_impl()->meta) impl_->meta->grad = {};
    return;
  }
  if (grad.is_same(*this)) fail<GradError>("set_grad", "a tensor can't be its own gradient");
  bool lazy = impl_ && impl_->uninitialized;
  if (!lazy && (grad.sizes() != sizes() || grad.dtype() != dtype() || grad.device() != device())) {
    fail<GradError>("set_grad", "expected a gradient of shape {}, {} on {}, got {}, {} on {}",
                    to_string(sizes()), name_of(dtype()), device().str(), to_string(grad.sizes()),
                    name_of(grad.dtype()), grad.device().str());
  }
  impl_->make_meta().grad = grad;
}

void Tensor::backward(const Tensor& gradient, BackwardOptions options) const {
  farro::backward({*this}, {gradient}, options);
}

Tensor Tensor::detach() const {
  if (defined_impl()->uninitialized) {
    IntrusivePtr<TensorImpl> impl(new TensorImpl);
    impl->array = impl_->array;
    impl->storage = impl_->storage;
    impl->uninitialized = true;
    return Tensor(std::move(impl));
  }
  return alias(*this, sizes(), strides(), data_ptr());
}

const Tensor& Tensor::detach_() const {
  if (defined_impl()->meta && impl_->meta->base.defined()) {
    fail<GradError>("detach_", "a view can't be detached in place; use detach()");
  }
  if (impl_->meta && impl_->meta->retains_grad) {
    if (impl_->grad_fn) autograd::forget_retained(impl_.get());
    impl_->meta->retains_grad = false;
  }
  impl_->grad_fn.reset();
  impl_->output_nr = 0;
  impl_->requires_grad = false;
  return *this;
}

RemovableHandle Tensor::add_hook(autograd::TensorHook hook) const {
  if (!requires_grad()) fail<GradError>("register_hook", "expected a tensor that requires grad");
  if (is_leaf()) return impl_->make_meta().hooks.add(std::move(hook));
  return impl_->grad_fn->make_extras().tensor_hooks.add({impl_->output_nr, std::move(hook)});
}

RemovableHandle Tensor::register_post_accumulate_grad_hook(
    std::function<void(const Tensor&)> hook) const {
  if (!is_leaf() || !requires_grad()) {
    fail<GradError>("register_post_accumulate_grad_hook", "expected a leaf that requires grad");
  }
  return impl_->make_meta().post_accumulate_hooks.add(std::move(hook));
}

void Tensor::retain_grad() const {
  if (!requires_grad()) fail<GradError>("retain_grad", "expected a tensor that requires grad");
  if (is_leaf() || retains_grad()) return;
  impl_->make_meta().retains_grad = true;
  impl_->grad_fn->make_extras().retained.push_back({impl_->output_nr, impl_.get()});
}

bool Tensor::retains_grad() const { return defined_impl()->meta && impl_->meta->retains_grad; }

}  // namespace farro
