#include <farro/autograd/function.hpp>

#include <algorithm>

#include <farro/autograd/inplace.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>

namespace farro::autograd {
namespace {

/// What a tensor's gradient must look like.
struct Form {
  Dims sizes;
  DType dtype = kFloat32;
  Device device;
  bool defined = false;

  Form() = default;
  explicit Form(const Tensor& t) : defined(t.defined()) {
    if (!defined) return;
    sizes = t.sizes();
    dtype = t.dtype();
    device = t.device();
  }
};

bool holds(const std::vector<Tensor>& list, const Tensor& tensor) {
  return tensor.defined() &&
         std::ranges::any_of(list, [&](const Tensor& t) { return t.is_same(tensor); });
}

bool broadcasts_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  int lead = to.size() - from.size();
  for (int d = 0; d < from.size(); ++d) {
    if (from[d] != to[lead + d] && from[d] != 1) return false;
  }
  return true;
}

/// A tensor whose differentiation is an error.
Tensor guarded(const std::string& name, const Tensor& grad, const std::vector<Tensor>& sources) {
  Tensor result = grad.detach();
  for (const Tensor& source : sources) {
    if (!source.defined() || !source.requires_grad()) continue;
    return record(
        "OnceDifferentiable", result, {source}, {}, [name](const BackwardContext&) -> Grads {
          fail<GradError>(
              name,
              "this custom function is once differentiable, a second derivative was asked for");
        });
  }
  return result;
}

}  // namespace

class FunctionNode final : public Node {
 public:
  FunctionNode(const detail::FunctionInfo& info, const std::vector<Tensor>& arguments)
      : info_(info) {
    context_.node_ = this;
    for (const Tensor& argument : arguments) {
      context_.needs_.push_back(argument.defined() && argument.requires_grad());
      inputs_.emplace_back(argument);
    }
  }

  std::string name() const override { return std::string(info_.name) + "Backward"; }
  Context& context() { return context_; }
  const Context& context() const { return context_; }
  void apply(Grads& grad_outputs, Grads& grad_inputs) override;
  void release_saved() override {
    for (SavedTensor& s : context_.saved_) s.reset();
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& s : context_.saved_) {
      if (s.defined()) visit(s.peek());
    }
  }

  const std::vector<Tensor>& dirty() const { return context_.dirty_; }
  void check_dirty(const std::vector<Tensor>& arguments, const std::vector<Tensor>& results) const;
  /// The results as they are handed out, before they are recorded.
  void take_results(const std::vector<Tensor>& arguments, std::vector<Tensor>& results);
  void connect(const IntrusivePtr<Node>& self, const std::vector<Tensor>& arguments,
               const std::vector<Tensor>& results);

 private:
  Tensor fitting(size_t argument, Tensor grad) const;

  detail::FunctionInfo info_;
  Context context_;
  std::vector<Form> inputs_, outputs_;
};

void FunctionNode::check_dirty(const std::vector<Tensor>& arguments,
                               const std::vector<Tensor>& results) const {
  for (const Tensor& dirty : context_.dirty_) {
    if (!holds(arguments, dirty))
      fail<GradError>(info_.name, "mark_dirty takes arguments of forward, got another tensor");
    if (!holds(results, dirty))
      fail<GradError>(info_.name, "forward must return an argument that it marks as dirty");
    check_inplace(dirty, std::string(info_.name).c_str(),
                  std::ranges::find(context_.needs_, true) != context_.needs_.end());
  }
}

void FunctionNode::take_results(const std::vector<Tensor>& arguments,
                                std::vector<Tensor>& results) {
  for (Tensor& result : results) {
    // An argument that comes back unchanged is a result of its own, over the same memory.
    if (holds(arguments, result) && !holds(context_.dirty_, result)) result = result.detach();
    outputs_.emplace_back(result);
  }
  output_count_ = static_cast<uint32_t>(results.size());
}

void FunctionNode::connect(const IntrusivePtr<Node>& self, const std::vector<Tensor>& arguments,
                           const std::vector<Tensor>& results) {
  std::vector<Tensor> differentiable = results;
  for (Tensor& result : differentiable) {
    if (holds(context_.non_differentiable_, result)) result = {};
  }
  detail::attach(self, arguments, differentiable);
  context_.saved_ = detail::save(arguments, context_.to_save_, differentiable);
  context_.to_save_.clear();
  context_.dirty_.clear();
  context_.non_differentiable_.clear();
}

Tensor FunctionNode::fitting(size_t argument, Tensor grad) const {
  const Form& form = inputs_[argument];
  if (!grad.defined() || !form.defined || !needs_input_grad(argument)) return {};
  if (grad.device() != form.device) {
    fail<GradError>(name(), "expected the gradient of argument {} on {}, got one on {}", argument,
                    form.device.str(), grad.device().str());
  }
  if (grad.sizes() != form.sizes) {
    if (!broadcasts_to(form.sizes, grad.sizes())) {
      fail<GradError>(name(), "expected a gradient of shape {} for argument {}, got {}",
                      to_string(form.sizes), argument, to_string(grad.sizes()));
    }
    grad = sum_to_sizes(grad, form.sizes);
  }
  return grad.dtype() == form.dtype ? grad : grad.to(form.dtype);
}

void FunctionNode::apply(Grads& grad_outputs, Grads& grad_inputs) {
  Grads given = may_take_gradients() ? std::move(grad_outputs) : grad_outputs;
  if (context_.materialize_) {
    for (size_t i = 0; i < given.size(); ++i) {
      const Form& form = outputs_[i];
      if (!given[i].defined() && form.defined && is_floating_point(form.dtype))
        given[i] = zeros(form.sizes, {.dtype = form.dtype, .device = form.device});
    }
  }
  Grads grads;
  if (info_.once_differentiable && grad_mode_enabled()) {
    std::vector<Tensor> sources(given.begin(), given.end());
    for (size_t i = 0; i < context_.saved_.size(); ++i) sources.push_back(context_.saved(i));
    {
      NoGrad guard;
      grads = info_.backward(context_, given);
    }
    for (Tensor& grad : grads) {
      if (grad.defined()) grad = guarded(name(), grad, sources);
    }
  } else {
    grads = info_.backward(context_, given);
  }
  if (grads.size() < inputs_.size()) {
    fail<GradError>(name(), "expected {} gradients, one for each argument, got {}", inputs_.size(),
                    grads.size());
  }
  for (size_t i = inputs_.size(); i < grads.size(); ++i) {
    if (grads[i].defined())
      fail<GradError>(name(), "expected {} gradients, got {}", inputs_.size(), grads.size());
  }
  grad_inputs.resize(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) grad_inputs[i] = fitting(i, std::move(grads[i]));
}

Tensor Context::saved(size_t i) const {
  if (i >= saved_.size())
    fail<IndexError>("saved", "expected a place below {}, got {}", saved_.size(), i);
  return saved_[i].unpack(*node_);
}

std::vector<Tensor> Context::saved_tensors() const {
  std::vector<Tensor> result;
  for (size_t i = 0; i < saved_.size(); ++i) result.push_back(saved(i));
  return result;
}

const std::any& Context::find_kept(const std::string& name) const {
  auto entry = kept_.find(name);
  if (entry == kept_.end()) fail<KeyError>("kept", "nothing was kept as '{}'", name);
  return entry->second;
}

namespace detail {

std::vector<Tensor> apply_function(const FunctionInfo& info, std::vector<Tensor> arguments,
                                   const std::function<std::vector<Tensor>(Context&)>& forward) {
  IntrusivePtr<FunctionNode> node(new FunctionNode(info, arguments));
  std::vector<Tensor> results;
  {
    NoGrad guard;
    results = forward(node->context());
  }
  bool records = grad_mode_enabled() && std::ranges::any_of(arguments, [](const Tensor& t) {
                   return t.defined() && t.requires_grad();
                 });
  node->check_dirty(arguments, results);
  InplaceChange change(node->dirty(), records);
  node->take_results(arguments, results);
  if (records) node->connect(node, arguments, results);
  return results;
}

}  // namespace detail
}  // namespace farro::autograd
