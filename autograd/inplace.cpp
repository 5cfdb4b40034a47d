#include <farro/autograd/inplace.hpp>

#include <algorithm>
#include <mutex>

#include <farro/autograd/forward_tape.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/autograd/striped_locks.hpp>

namespace farro::autograd {
namespace {

using View = AutogradMeta::View;

StripedLocks views_locks;  // guard the list of views of a base

struct Geometry {
  explicit Geometry(const Tensor& t)
      : sizes(t.sizes()), strides(t.strides()), offset(t.storage_offset()) {}
  /// One past the last element, counted from the start of the storage.
  int64_t end() const {
    int64_t last = offset;
    for (int i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0) return offset;
      last += (sizes[i] - 1) * strides[i];
    }
    return last + 1;
  }
  Tensor of(const Tensor& flat, int64_t origin) const {
    return as_strided(flat, sizes, strides, offset - origin);
  }

  Dims sizes, strides;
  int64_t offset;
};

/// The history of a base after an operation changed a view of it: the part of the gradient that
/// lies in the view goes through the operation, the rest passes by.
class CopySlices final : public Node {
 public:
  CopySlices(IntrusivePtr<Node> inner, size_t input_nr, const Tensor& base, const Tensor& view)
      : inner_(std::move(inner)), input_nr_(input_nr), base_(base), view_(view) {
    for (size_t i = 0; i < inner_->next_edges().size(); ++i) {
      add_edge(i == input_nr ? gradient_edge(base) : inner_->next_edges()[i]);
    }
    number();
  }

  std::string name() const override { return "CopySlices"; }

  void apply(Grads& grad_outputs, Grads& grad_inputs) override {
    grad_inputs.resize(next_edges().size());
    if (!grad_outputs[0].defined()) return;
    const Tensor& grad = grad_outputs[0];
    int64_t origin = std::min(base_.offset, view_.offset);
    int64_t extent = std::max(base_.end(), view_.end()) - origin;
    Tensor flat = zeros({extent}, {.dtype = grad.dtype(), .device = grad.device()});
    Tensor result = base_.of(flat, origin);
    copy_(result, grad);
    Tensor part = view_.of(flat, origin);
    Grads inner_grads{clone(part)}, inner_results;
    inner_->apply(inner_grads, inner_results);
    inner_results.resize(next_edges().size());
    if (inner_results[input_nr_].defined()) {
      copy_(part, inner_results[input_nr_]);
    } else {
      zero_(part);
    }
    for (size_t i = 0; i < grad_inputs.size(); ++i) {
      if (next_edges()[i]) grad_inputs[i] = i == input_nr_ ? result : std::move(inner_results[i]);
    }
  }
  void release_saved() override { inner_->release_saved(); }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    inner_->visit_saved(visit);
  }

 private:
  IntrusivePtr<Node> inner_;
  size_t input_nr_;
  Geometry base_, view_;
};

/// The history of tensors whose last change in place an exception kept out of it.
class LostHistory final : public Node {
 public:
  std::string name() const override { return "LostHistory"; }
  void apply(Grads&, Grads&) override {
    fail<GradError>(name(),
                    "a tensor on the way was changed in place, but an exception kept the change "
                    "out of its history");
  }
  /// One for all, made beforehand: what loses a history may be the lack of memory.
  static const IntrusivePtr<Node> shared;
};
const IntrusivePtr<Node> LostHistory::shared(new LostHistory);

std::vector<Tensor> live_views(const Tensor& base) {
  std::vector<Tensor> views;
  const auto& meta = base.impl()->meta;
  if (!meta) return views;
  std::lock_guard lock(views_locks.of(base.impl()));
  for (TensorImpl* view = meta->first_view; view; view = view->meta->next_view) {
    if (view->try_retain()) views.emplace_back(IntrusivePtr<TensorImpl>::adopt(view));
  }
  return views;
}

void lose_history(TensorImpl* tensor) {
  if (tensor->meta && tensor->meta->retains_grad && tensor->grad_fn) forget_retained(tensor);
  tensor->grad_fn = LostHistory::shared;
  tensor->output_nr = 0;
  tensor->requires_grad = false;
}

/// A view of the base whose history was recorded and is not lost; null if there is none.
IntrusivePtr<TensorImpl> told_view_of(const Tensor& base) {
  const auto& meta = base.impl()->meta;
  if (!meta) return {};
  std::lock_guard lock(views_locks.of(base.impl()));
  for (TensorImpl* view = meta->first_view; view; view = view->meta->next_view) {
    if (view->meta->view == View::Recorded && view->grad_fn != LostHistory::shared &&
        view->try_retain())
      return IntrusivePtr<TensorImpl>::adopt(view);
  }
  return {};
}

void check_permitted(const AutogradMeta& meta, const char* operation) {
  if (FARRO_UNLIKELY(!meta.no_inplace.empty())) {
    fail<GradError>(operation, "{} can't be changed in place; clone it first", meta.no_inplace);
  }
}

/// Views see the base's new history as strided reads of it.
void renew_views(const Tensor& base) {
  for (const Tensor& view : live_views(base)) {
    if (view.impl()->meta->view != View::Recorded) continue;
    Tensor fresh = as_strided(base, view.sizes(), view.strides(), view.storage_offset());
    set_history(view, fresh.grad_fn(), fresh.impl()->output_nr);
  }
}

}  // namespace

void forget_retained(TensorImpl* tensor) {
  if (auto* extras = tensor->grad_fn->extras()) {
    std::erase_if(extras->retained, [&](const auto& r) { return r.tensor == tensor; });
  }
}

void set_history(const Tensor& tensor, const IntrusivePtr<Node>& node, uint32_t output_nr) {
  TensorImpl* impl = tensor.impl();
  if (FARRO_UNLIKELY(impl->meta && impl->meta->retains_grad && impl->grad_fn)) {
    forget_retained(impl);
    node->make_extras().retained.push_back({output_nr, impl});
  }
  impl->grad_fn = node;
  impl->output_nr = output_nr;
  impl->requires_grad = false;
  ForwardTape::note(*node, output_nr, *impl);
}

void rewrite_history(const Tensor& tensor, const IntrusivePtr<Node>& node, uint32_t output_nr,
                     size_t input_nr) {
  const auto& meta = tensor.impl()->meta;
  if (!meta || !meta->base.defined()) {
    set_history(tensor, node, output_nr);
    if (meta && meta->first_view) renew_views(tensor);
    return;
  }
  Tensor base = meta->base;
  IntrusivePtr<Node> slices(new CopySlices(node, input_nr, base, tensor));
  set_history(base, slices, 0);
  renew_views(base);
}

void InplaceChange::lose_histories() const noexcept {
  for (const Tensor& tensor : changed_) {
    const auto& meta = tensor.impl()->meta;
    Tensor base = meta && meta->base.defined() ? meta->base : tensor;
    lose_history(base.impl());
    while (auto view = told_view_of(base)) lose_history(view.get());
  }
}

void mark_view(const Tensor& view, const Tensor& base, bool of_several) {
  AutogradMeta& meta = view.impl()->make_meta();
  const auto& base_meta = base.impl()->meta;
  bool view_of_view = base_meta && base_meta->base.defined();
  const Tensor root_tensor = view_of_view ? base_meta->base : base;
  AutogradMeta& root =
      root_tensor.impl()->make_meta();  // may throw, so before the view counts as one
  meta.base = root_tensor;
  meta.view = of_several ? View::MultiOutput : grad_mode_enabled() ? View::Recorded : View::NoGrad;
  if (view_of_view && base_meta->view != View::Recorded) meta.view = base_meta->view;
  std::lock_guard lock(views_locks.of(meta.base.impl()));
  meta.next_view = root.first_view;
  if (root.first_view) root.first_view->meta->previous_view = view.impl();
  root.first_view = view.impl();
}

void forget_view(TensorImpl* view) {
  AutogradMeta& meta = *view->meta;
  AutogradMeta& root = *meta.base.impl()->meta;
  std::lock_guard lock(views_locks.of(meta.base.impl()));
  (meta.previous_view ? meta.previous_view->meta->next_view : root.first_view) = meta.next_view;
  if (meta.next_view) meta.next_view->meta->previous_view = meta.previous_view;
}

void check_inplace(const Tensor& self, const char* operation, bool others_require_grad) {
  if (self.impl()->inference && !inference_mode_enabled()) {
    fail<GradError>(operation,
                    "a tensor made in inference mode can't be changed in place outside of it");
  }
  const Dims& sizes = self.sizes();
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 1 && self.strides()[i] == 0) {
      fail<GradError>(
          operation,
          "several elements of the tensor of shape {} and strides {} share one place in memory; "
          "clone it before changing it in place",
          to_string(sizes), to_string(self.strides()));
    }
  }
  if (!grad_mode_enabled()) return;
  if (self.is_leaf() && self.requires_grad()) {
    fail<GradError>(operation, "a leaf that requires grad can't be changed in place; use NoGrad");
  }
  const auto& meta = self.impl()->meta;
  if (!meta) return;
  check_permitted(*meta, operation);
  if (!meta->base.defined()) return;
  const Tensor& base = meta->base;
  check_permitted(*base.impl()->meta, operation);
  if (base.is_leaf() && base.requires_grad()) {
    fail<GradError>(operation,
                    "a view of a leaf that requires grad can't be changed in place; use NoGrad");
  }
  if (meta->view == View::Recorded ||
      !(base.requires_grad() || self.requires_grad() || others_require_grad))
    return;
  fail<GradError>(operation,
                  "{} can't be changed in place by an operation that is to be recorded; build the "
                  "new value out "
                  "of place",
                  meta->view == View::NoGrad ? "a view that was made in NoGrad"
                                             : "one of several views that one operation returned");
}

}  // namespace farro::autograd
