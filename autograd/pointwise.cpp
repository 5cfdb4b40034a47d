/// How a pointwise operation runs and is recorded. The common case (operands of one floating-point
/// dtype and shape, contiguous) is decided first and costs a few tests; plan_pointwise works out
/// promotion and broadcasting for the others.

#include <farro/autograd/pointwise.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

#include <farro/autograd/accumulate.hpp>
#include <farro/autograd/forward_tape.hpp>
#include <farro/autograd/inplace.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/pointwise/arithmetic.hpp>
#include <farro/autograd/pointwise_plan.hpp>
#include <farro/autograd/record.hpp>
#include <farro/autograd/spare.hpp>
#include <farro/backends/kernels/reduce.hpp>
#include <farro/backends/launch.hpp>

namespace farro::autograd {
namespace {

/// Calls `f.operator()<Arity>()`: loops over inputs then have a fixed length, which matters to
/// small tensors.
template <class F>
decltype(auto) with_arity(const PointwiseEntry& entry, const F& f) {
  switch (entry.kernels.arity) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    default:
      return f.template operator()<3>();
  }
}

/// What the inputs were, where they were not all like the output.
struct InputForms {
  Dims sizes[kMaxPointwiseInputs];
  DType dtypes[kMaxPointwiseInputs];
  DType compute;
};

class PointwiseNode final : public Node, public ForwardFormula {
 public:
  PointwiseNode(const PointwiseEntry& entry, const void* op, size_t op_bytes) : entry_(entry) {
    op_[0] = *static_cast<const std::byte*>(op);
    if (op_bytes > 1) std::memcpy(op_, op, op_bytes);  // most operations have no parameters
  }

  std::string name() const override { return entry_.node_name; }
  void release_saved() override {
    for (SavedTensor& s : saved_) s.reset();
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& s : saved_) {
      if (s.defined()) visit(s.peek());
    }
  }
  void apply(Grads& grad_outputs, Grads& grad_inputs) override {
    with_arity(entry_, [&]<int Arity>() { apply_of<Arity>(grad_outputs, grad_inputs); });
  }
  Grads forward(const Grads& tangents, std::span<const OutputForm> outputs) override;

  /// Adds the inputs' edges, keeps what their gradients read of the inputs, and takes a number.
  template <int Arity>
  void connect(const Tensor* const* inputs, const Tensor* overwritten);
  /// Keeps the output where a gradient reads it.
  void save_output(const Tensor& y) {
    if (reads_ & kOutput) saved_.emplace_back(y, -1, 0);
  }
  void keep_forms(const Tensor* const* inputs, DType compute);

 private:
  void unpack(Tensor* x, Tensor& y) const;
  /// `saved` has the inputs that are read, and the output in place kOutputOperand; null for the
  /// others.
  template <int Arity>
  Tensor gradient(int input, Tensor& dy, bool takes, const TensorImpl* const* saved) const;
  Tensor general_gradient(int input, const Tensor& dy, const TensorImpl* const* saved) const;
  template <int Arity>
  void gradients(Tensor& dy, const TensorImpl* const* saved, Grads& grad_inputs) const;
  template <int Arity>
  void apply_unpacked(Tensor& dy, Grads& grad_inputs) const;
  template <int Arity>
  FARRO_NOINLINE void apply_of(Grads& grad_outputs, Grads& grad_inputs);
  void apply_recorded(const Tensor& dy, Grads& grad_inputs) const;
  Tensor recorded_gradient(int input, const Tensor& dy, const Tensor* x, const Tensor& y) const;

  const PointwiseEntry& entry_;
  unsigned reads_ = 0;
  std::unique_ptr<InputForms> forms_;
  SmallVector<SavedTensor, 2> saved_;  // those whose bits are in reads_, in order
  alignas(8) std::byte op_[kMaxParameters];
};

template <int Arity>
void PointwiseNode::connect(const Tensor* const* inputs, const Tensor* overwritten) {
#pragma GCC unroll 3
  for (int i = 0; i < Arity; ++i) {
    if (inputs[i]->requires_grad()) {
      add_edge(gradient_edge(*inputs[i]));
      reads_ |= entry_.uses[static_cast<size_t>(i)];
    } else {
      add_edge({});
    }
  }
#pragma GCC unroll 3
  for (int i = 0; i < Arity; ++i) {
    if (!((reads_ >> i) & 1u)) continue;
    bool copied = overwritten && inputs[i]->is_same(*overwritten);
    if (FARRO_UNLIKELY(copied)) {
      saved_.emplace_back(overwritten->detach().clone(), i);
    } else {
      saved_.emplace_back(*inputs[i], i);
    }
  }
  number();
}

void PointwiseNode::keep_forms(const Tensor* const* inputs, DType compute) {
  forms_ = std::make_unique<InputForms>();
  for (int i = 0; i < entry_.kernels.arity; ++i) {
    forms_->sizes[i] = inputs[i]->sizes();
    forms_->dtypes[i] = inputs[i]->dtype();
  }
  forms_->compute = compute;
}

template <int Arity>
FARRO_INLINE Tensor PointwiseNode::gradient(int input, Tensor& dy, bool takes,
                                            const TensorImpl* const* saved) const {
  const TensorImpl* g = dy.impl();
  bool plain = !forms_ && g->array.dtype <= kFloat64 && g->contiguous &&
               g->array.device.is_host() && !use_reference_kernels();
  const void* operands[kMaxBackwardOperands] = {};
  operands[kGradOperand] = g->array.data;
#pragma GCC unroll 4
  for (int i = 0; i <= kOutputOperand; ++i) {
    if ((i >= Arity && i != kOutputOperand) || !saved[i]) continue;
    operands[i] = saved[i]->array.data;
    plain = plain && saved[i]->contiguous;
  }
  if (FARRO_UNLIKELY(!plain)) return general_gradient(input, dy, saved);
  Tensor dx = takes && is_exclusive(dy) ? std::move(dy) : spare_or_empty(dy);
  run_pointwise_backward_contiguous(entry_.kernels, op_, input, dx.impl()->array, g->numel,
                                    operands);
  return dx;
}

FARRO_NOINLINE Tensor PointwiseNode::general_gradient(int input, const Tensor& dy,
                                                      const TensorImpl* const* saved) const {
  const ArrayView* views[kMaxPointwiseInputs] = {};
  for (int i = 0; i < entry_.kernels.arity; ++i) {
    if (saved[i]) views[i] = &saved[i]->array;
  }
  DType compute = forms_ ? forms_->compute : compute_dtype(dy.dtype());
  bool sums = forms_ && forms_->sizes[input] != dy.sizes();
  DType target = forms_ ? forms_->dtypes[input] : dy.dtype();
  Tensor dx = empty(dy.sizes(), sums ? compute : target, dy.device());
  run_pointwise_backward(entry_.kernels, op_, input, compute, dx.array(), dy.array(),
                         {views, static_cast<size_t>(entry_.kernels.arity)},
                         saved[kOutputOperand] ? &saved[kOutputOperand]->array : nullptr);
  if (!sums) return dx;
  Tensor total = empty(forms_->sizes[input], target, dy.device());
  kernels::sum_to(total.array(), dx.array());
  return total;
}

Tensor PointwiseNode::recorded_gradient(int input, const Tensor& dy, const Tensor* x,
                                        const Tensor& y) const {
  Tensor dx = entry_.backward(op_, input, dy, x, y);
  DType target = forms_ ? forms_->dtypes[input] : dy.dtype();
  if (dx.dtype() != target) dx = dx.to(target);
  if (dx.device() != dy.device()) dx = dx.to(dy.device());
  if (dx.sizes() != dy.sizes()) dx = dx.expand(dy.sizes());  // a constant
  if (forms_ && forms_->sizes[input] != dy.sizes()) dx = sum_to_sizes(dx, forms_->sizes[input]);
  return dx;
}

void PointwiseNode::unpack(Tensor* x, Tensor& y) const {
  const SavedTensor* next = saved_.begin();
  for (int i = 0; i < entry_.kernels.arity; ++i) {
    if ((reads_ >> i) & 1u) x[i] = (next++)->unpack(*this);
  }
  if (reads_ & kOutput) y = next->unpack(*this);
}

Grads PointwiseNode::forward(const Grads& tangents, std::span<const OutputForm> outputs) {
  Tensor x[kMaxPointwiseInputs], y, sum;
  unpack(x, y);
  const OutputForm& form = outputs[0];
  for (int i = 0; i < entry_.kernels.arity; ++i) {
    Tensor tangent = tangents[static_cast<size_t>(i)];
    if (!tangent.defined()) continue;
    if (tangent.dtype() != form.dtype) tangent = tangent.to(form.dtype);
    // The derivative of an element is a number, which serves forward as it does backward.
    Tensor term = entry_.backward(op_, i, tangent, x, y);
    if (term.dtype() != form.dtype) term = term.to(form.dtype);
    if (term.device() != form.device) term = term.to(form.device);
    if (term.sizes() != form.sizes) term = term.expand(form.sizes);
    sum = sum.defined() ? sum + term : term;
  }
  return {sum};
}

FARRO_NOINLINE void PointwiseNode::apply_recorded(const Tensor& dy, Grads& grad_inputs) const {
  int arity = entry_.kernels.arity;
  Tensor x[kMaxPointwiseInputs], y;
  unpack(x, y);
  for (int i = 0; i < arity; ++i) {
    auto k = static_cast<size_t>(i);
    if (needs_input_grad(k)) grad_inputs[k] = recorded_gradient(i, dy, x, y);
  }
}

template <int Arity>
FARRO_INLINE void PointwiseNode::gradients(Tensor& dy, const TensorImpl* const* saved,
                                           Grads& grad_inputs) const {
  int last = Arity - 1;
  while (last > 0 && !needs_input_grad(static_cast<size_t>(last))) --last;
  bool may_take = may_take_gradients();
  for (int i = 0; i <= last; ++i) {
    auto k = static_cast<size_t>(i);
    if (!needs_input_grad(k)) continue;
    bool takes = i == last && may_take;
    if (!forms_ && (entry_.passes_gradient >> i) & 1u) {
      grad_inputs[k] = takes ? std::move(dy) : dy;
    } else {
      grad_inputs[k] = gradient<Arity>(i, dy, takes, saved);
    }
  }
}

template <int Arity>
void PointwiseNode::apply_of(Grads& grad_outputs, Grads& grad_inputs) {
  grad_inputs.grow_empty_to<Arity>();
  Tensor& dy = grad_outputs[0];
  if (!dy.defined()) return;
  if (FARRO_UNLIKELY(grad_mode_enabled())) return apply_recorded(dy, grad_inputs);
  const TensorImpl* saved[kOutputOperand + 1] = {};
  const SavedTensor* next = saved_.begin();
#pragma GCC unroll 4
  for (int i = 0; i <= kOutputOperand; ++i) {
    if ((i >= Arity && i != kOutputOperand) || !((reads_ >> i) & 1u)) continue;
    saved[i] = (next++)->kept(*this);
    if (FARRO_UNLIKELY(!saved[i])) return apply_unpacked<Arity>(dy, grad_inputs);
  }
  gradients<Arity>(dy, saved, grad_inputs);
}

template <int Arity>
FARRO_NOINLINE void PointwiseNode::apply_unpacked(Tensor& dy, Grads& grad_inputs) const {
  Tensor x[kMaxPointwiseInputs], y;
  unpack(x, y);
  const TensorImpl* saved[kOutputOperand + 1] = {x[0].impl(), x[1].impl(), x[2].impl(), y.impl()};
  gradients<Arity>(dy, saved, grad_inputs);
}

void run(const PointwiseEntry& entry, const void* op, DType compute, const Tensor& y,
         const Tensor* const* inputs) {
  const ArrayView* views[kMaxPointwiseInputs];
  int arity = entry.kernels.arity;
  for (int i = 0; i < arity; ++i) views[i] = &inputs[i]->array();
  run_pointwise(entry.kernels, op, compute, y.array(), {views, static_cast<size_t>(arity)});
}

/// The inputs, those of a wider dtype than a narrow common one converted to it where that can
/// change the result.
struct ConvertedInputs {
  const Tensor* read[kMaxPointwiseInputs];
  Tensor copies[kMaxPointwiseInputs];

  ConvertedInputs(const PointwiseEntry& entry, const PointwisePlan& plan,
                  const Tensor* const* inputs) {
    bool narrow = size_of(plan.common) < size_of(plan.compute);
    bool converts = narrow && (entry.returns_bool || !is_floating_point(plan.common));
    for (int i = 0; i < entry.kernels.arity; ++i) {
      read[i] = inputs[i];
      if (!converts || size_of(inputs[i]->dtype()) <= size_of(plan.common)) continue;
      copies[i] = inputs[i]->detach().to(plan.common);
      read[i] = &copies[i];
    }
  }
};

/// For integers on the host; a device's kernel gives 0, since looking would wait for it.
void check_divisor(const PointwiseEntry& entry, const PointwisePlan& plan, const Tensor& divisor) {
  if (is_floating_point(plan.compute) || plan.sizes.product() == 0 || !divisor.device().is_host())
    return;
  if (int64_t place = first_zero(divisor.array()); place >= 0) {
    fail<ValueError>(entry.kernels.name,
                     "expected integers to be divided by numbers other than 0, got 0 at element {}",
                     place);
  }
}

template <int Arity>
FARRO_INLINE bool wants_gradient(const PointwiseEntry& entry, const Tensor* const* inputs) {
  if (!grad_mode_enabled() || !entry.differentiable) return false;
#pragma GCC unroll 3
  for (int i = 0; i < Arity; ++i) {
    if (inputs[i]->requires_grad()) return true;
  }
  return false;
}

template <int Arity>
FARRO_NOINLINE Tensor pointwise_general(const PointwiseEntry& entry, const void* op,
                                        size_t op_bytes, const Tensor* const* inputs) {
  PointwisePlan plan = plan_pointwise(entry, inputs);
  ConvertedInputs converted(entry, plan, inputs);
  if (entry.divides_integers) check_divisor(entry, plan, *converted.read[1]);
  Tensor y = empty(plan.sizes, plan.output, plan.device);
  run(entry, op, plan.compute, y, converted.read);
  if (plan.number) y.impl()->wrapped_number = true;
  if (!is_floating_point(plan.output) || !wants_gradient<Arity>(entry, inputs)) return y;
  auto node = IntrusivePtr<PointwiseNode>::fresh(new PointwiseNode(entry, op, op_bytes));
  node->connect<Arity>(inputs, nullptr);
  if (!plan.alike) node->keep_forms(inputs, plan.compute);
  node->save_output(y);
  ForwardTape::note(*node, 0, *y.impl());
  y.impl()->grad_fn = std::move(node);
  return y;
}

/// True for operands of one float32 or float64 dtype, shape and host device, contiguous.
template <int Arity>
bool is_plain(const PointwiseEntry& entry, const Tensor* const* inputs) {
  if (entry.returns_bool || entry.first_is_condition || entry.integers_only) return false;
  const TensorImpl* first = inputs[0]->impl();
  if (!first || first->uninitialized || first->array.dtype > kFloat64 || !first->contiguous)
    return false;
  if (!first->array.device.is_host() || use_reference_kernels() || first->wrapped_number)
    return false;
  for (int i = 1; i < Arity; ++i) {
    const TensorImpl* t = inputs[i]->impl();
    if (t == first) continue;
    if (!t || t->uninitialized || t->array.dtype != first->array.dtype || !t->contiguous ||
        t->wrapped_number || t->array.device != first->array.device ||
        t->array.sizes != first->array.sizes) {
      return false;
    }
  }
  return true;
}

/// True if x reads memory that writing self changes, except for reading each element just where it
/// is written.
bool reads_elsewhere(const Tensor& self, const Tensor& x) {
  if (x.is_same(self) || x.storage() != self.storage()) return false;
  return x.data_ptr() != self.data_ptr() || x.sizes() != self.sizes() ||
         x.strides() != self.strides();
}

void check_inplace_result(const PointwiseEntry& entry, const PointwisePlan& plan,
                          const Tensor& self) {
  if (plan.sizes != self.sizes()) {
    fail<ShapeError>(entry.kernels.name,
                     "expected the result of an in-place operation to have self's shape {}, got {}",
                     to_string(self.sizes()), to_string(plan.sizes));
  }
  bool loses = is_floating_point(plan.output) ? !is_floating_point(self.dtype())
                                              : self.dtype() == kBool && plan.output != kBool;
  if (loses) {
    fail<TypeError>(entry.kernels.name,
                    "the result of dtype {} can't be written over a tensor of {}",
                    name_of(plan.output), name_of(self.dtype()));
  }
}

}  // namespace

template <int Arity>
Tensor pointwise_of(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                    const Tensor* const* inputs) {
  if (FARRO_UNLIKELY(!is_plain<Arity>(entry, inputs)))
    return pointwise_general<Arity>(entry, op, op_bytes, inputs);
  Tensor y = empty_like_contiguous(*inputs[0]);
  const void* pointers[Arity];
  for (int i = 0; i < Arity; ++i) pointers[i] = inputs[i]->impl()->array.data;
  TensorImpl* impl = y.impl();
  run_pointwise_contiguous(entry.kernels, op, impl->array, impl->numel, pointers);
  if (!wants_gradient<Arity>(entry, inputs)) return y;
  auto node = IntrusivePtr<PointwiseNode>::fresh(new PointwiseNode(entry, op, op_bytes));
  node->connect<Arity>(inputs, nullptr);
  node->save_output(y);
  ForwardTape::note(*node, 0, *impl);
  impl->grad_fn = std::move(node);
  return y;
}

template Tensor pointwise_of<1>(const PointwiseEntry&, const void*, size_t, const Tensor* const*);
template Tensor pointwise_of<2>(const PointwiseEntry&, const void*, size_t, const Tensor* const*);
template Tensor pointwise_of<3>(const PointwiseEntry&, const void*, size_t, const Tensor* const*);

Tensor pointwise(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                 const Tensor* const* inputs) {
  return with_arity(entry,
                    [&]<int Arity>() { return pointwise_of<Arity>(entry, op, op_bytes, inputs); });
}

const Tensor& pointwise_inplace(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                                const Tensor* const* inputs) {
  const Tensor& self = *inputs[0];
  PointwisePlan plan = plan_pointwise(entry, inputs);
  check_inplace_result(entry, plan, self);
  bool records = is_floating_point(self.dtype()) && with_arity(entry, [&]<int Arity>() {
                   return wants_gradient<Arity>(entry, inputs);
                 });
  bool others = false;
  for (int i = 1; i < entry.kernels.arity; ++i) others = others || inputs[i]->requires_grad();
  check_inplace(self, entry.kernels.name, others);
  ConvertedInputs converted(entry, plan, inputs);
  const Tensor** read = converted.read;
  if (entry.divides_integers) check_divisor(entry, plan, *read[1]);
  for (int i = 0; i < entry.kernels.arity; ++i) {
    if (!reads_elsewhere(self, *read[i])) continue;
    converted.copies[i] = read[i]->clone();
    read[i] = &converted.copies[i];
  }
  IntrusivePtr<PointwiseNode> node;
  if (records) {
    node = IntrusivePtr<PointwiseNode>::fresh(new PointwiseNode(entry, op, op_bytes));
    with_arity(entry, [&]<int Arity>() { node->connect<Arity>(read, &self); });
    if (!plan.alike || self.dtype() != plan.output) node->keep_forms(read, plan.compute);
  }
  run(entry, op, plan.compute, self, read);
  InplaceChange change(self, others);
  if (records) {
    rewrite_history(self, node, 0, 0);
    node->save_output(self);
  }
  return self;
}

}  // namespace farro::autograd
