#include <farro/autograd/map.hpp>

#include <algorithm>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/forward_tape.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/pointwise_plan.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro::autograd {
namespace {

using Tensors = SmallVector<Tensor, 4>;

bool portable(Device device) { return !device.is_host() || use_reference_kernels(); }

void run_forward(const MapKernels& kernels, const void* f, DType compute, const Tensor* const* x,
                 Tensor* y) {
  auto arity = static_cast<size_t>(kernels.entry.kernels.arity),
       outputs = static_cast<size_t>(kernels.outputs);
  Device device = y[0].device();
  int64_t n = y[0].numel();
  if (n == 0) return;
  MapOperands a;
  for (size_t k = 0; k < arity; ++k) a.in[k] = operand(x[k]->array(), y[0].sizes(), compute, true);
  for (size_t m = 0; m < outputs; ++m)
    a.out[m] = operand(y[m].array(), y[0].sizes(), compute, false);
  if (portable(device)) return kernels.forward_portable(f, device, compute, n, a);
  struct Context {
    MapKernels::Forward run;
    const void* f;
  } context{kernels.forward[compute_index(compute)], f};
  run_operands(
      {.device = device, .label = "farro::map", .compute = compute, .n = n, .cost = 2},
      {a.out.data(), outputs}, {a.in.data(), arity},
      [](const void* c, void* const* out, const void* const* in, int64_t count) {
        const auto& [run, functor] = *static_cast<const Context*>(c);
        run(functor, out, in, count);
      },
      &context);
}

/// Fills a.out from a.in along some directions.
void run_backward(const MapKernels& kernels, const void* f, const MapDirections& along,
                  Device device, DType compute, int64_t n, const MapOperands& a) {
  if (portable(device)) return kernels.backward_portable(f, along, device, compute, n, a);
  struct Context {
    MapKernels::Backward run;
    const void* f;
    const MapDirections& along;
  } context{kernels.backward[compute_index(compute)], f, along};
  size_t inputs = static_cast<size_t>(kernels.entry.kernels.arity + kernels.outputs);
  run_operands(
      {.device = device, .label = "farro::map_backward", .compute = compute, .n = n, .cost = 4},
      {a.out.data(), static_cast<size_t>(along.count)}, {a.in.data(), inputs},
      [](const void* c, void* const* out, const void* const* in, int64_t count) {
        const auto& [run, functor, directions] = *static_cast<const Context*>(c);
        run(functor, directions, out, in, count);
      },
      &context);
}

/// An operand that reads 0 everywhere.
PointwiseOperand no_gradient() {
  static const double zero = 0;
  PointwiseOperand result;
  result.data = const_cast<double*>(&zero);
  result.dtype = kFloat64;
  result.one = true;
  return result;
}

class MapNode final : public Node {
 public:
  MapNode(const MapKernels& kernels, std::shared_ptr<const void> f, const PointwisePlan& plan,
          const Tensor* const* inputs)
      : Node(static_cast<uint32_t>(kernels.outputs)),
        kernels_(kernels),
        f_(std::move(f)),
        sizes_(plan.sizes),
        compute_(plan.compute) {
    for (int i = 0; i < kernels.entry.kernels.arity; ++i) {
      add_edge(gradient_edge(*inputs[i]));
      saved_.emplace_back(*inputs[i], i, -1);
    }
    number();
  }

  std::string name() const override { return "MapBackward"; }
  void release_saved() override {
    for (SavedTensor& s : saved_) s.reset();
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& s : saved_) visit(s.peek());
  }

  void apply(Grads& grad_outputs, Grads& grad_inputs) override {
    grad_inputs.resize(saved_.size());
    if (std::ranges::none_of(grad_outputs, [](const Tensor& g) { return g.defined(); })) return;
    Tensors x;
    for (const SavedTensor& s : saved_) x.push_back(s.unpack(*this));
    grad_mode_enabled() ? apply_recorded(x, grad_outputs, grad_inputs)
                        : apply_fused(x, grad_outputs, grad_inputs);
  }

 private:
  void apply_fused(const Tensors& x, const Grads& dy, Grads& dx) const;
  void apply_recorded(const Tensors& x, const Grads& dy, Grads& dx) const;

  const MapKernels& kernels_;
  std::shared_ptr<const void> f_;
  Dims sizes_;
  DType compute_;
  SmallVector<SavedTensor, 4> saved_;
};

void MapNode::apply_fused(const Tensors& x, const Grads& dy, Grads& dx) const {
  const Tensor& any = *std::ranges::find_if(dy, [](const Tensor& g) { return g.defined(); });
  Device device = any.device();
  MapOperands a;
  for (size_t k = 0; k < x.size(); ++k) a.in[k] = operand(x[k].array(), sizes_, compute_, true);
  for (size_t m = 0; m < dy.size(); ++m) {
    a.in[x.size() + m] =
        dy[m].defined() ? operand(dy[m].array(), sizes_, compute_, true) : no_gradient();
  }
  MapDirections along;
  auto run = [&] {
    if (any.numel() > 0) run_backward(kernels_, f_.get(), along, device, compute_, any.numel(), a);
    along.count = 0;
  };
  for (size_t k = 0; k < x.size(); ++k) {
    if (!needs_input_grad(k)) continue;
    bool sums = x[k].sizes() != sizes_;
    dx[k] = empty(sizes_, sums ? compute_ : x[k].dtype(), device);
    along.input[along.count] = static_cast<int>(k);
    a.out[static_cast<size_t>(along.count++)] = operand(dx[k].array(), sizes_, compute_, false);
    if (along.count == kMapDuals) run();
  }
  if (along.count > 0) run();
  for (size_t k = 0; k < x.size(); ++k) {
    if (!dx[k].defined() || x[k].sizes() == sizes_) continue;
    Tensor total = empty(x[k].sizes(), x[k].dtype(), device);
    kernels::sum_to(total.array(), dx[k].array());
    dx[k] = std::move(total);
  }
}

void MapNode::apply_recorded(const Tensors& x, const Grads& dy, Grads& dx) const {
  // Of aliases, so that the gradient stops at this node's inputs while its own history goes on from
  // them.
  Tensors operands;
  std::vector<Tensor> wanted, outputs, gradients;
  for (size_t k = 0; k < x.size(); ++k) {
    bool wants = needs_input_grad(k);
    Tensor alias = wants ? x[k].view(x[k].sizes()) : x[k].detach();
    if (wants) wanted.push_back(alias);
    operands.push_back(alias.dtype() == compute_ ? alias : alias.to(compute_));
  }
  Tensor y[kMaxMapOutputs];
  kernels_.recorded(f_.get(), operands.begin(), y);
  for (size_t m = 0; m < dy.size(); ++m) {
    if (!dy[m].defined() || !y[m].requires_grad()) continue;
    Tensor whole = y[m].sizes() == sizes_ ? y[m] : y[m].expand(sizes_);
    outputs.push_back(whole.dtype() == dy[m].dtype() ? whole : whole.to(dy[m].dtype()));
    gradients.push_back(dy[m]);
  }
  std::vector<Tensor> result(wanted.size());
  if (!outputs.empty())
    result = grad(outputs, wanted, {.create_graph = true, .allow_unused = true}, gradients);
  auto next = result.begin();
  for (size_t k = 0; k < x.size(); ++k) {
    if (needs_input_grad(k)) dx[k] = *next++;
  }
}

}  // namespace

void map(const MapKernels& kernels, std::shared_ptr<const void> f, const Tensor* const* inputs,
         Tensor* outputs) {
  PointwisePlan plan = plan_pointwise(kernels.entry, inputs);
  if (!plan.device.is_host() && !kernels.on_devices) {
    fail<BackendError>("map", "expected a functor struct at namespace scope for {}, got a lambda",
                       plan.device.str());
  }
  for (int m = 0; m < kernels.outputs; ++m)
    outputs[m] = empty(plan.sizes, plan.output, plan.device);
  run_forward(kernels, f.get(), plan.compute, inputs, outputs);
  bool wants = false;
  for (int i = 0; i < kernels.entry.kernels.arity; ++i) wants = wants || inputs[i]->requires_grad();
  IntrusivePtr<Node> node;
  if (wants && grad_mode_enabled())
    node = IntrusivePtr<Node>(new MapNode(kernels, std::move(f), plan, inputs));
  for (int m = 0; m < kernels.outputs; ++m) {
    TensorImpl* y = outputs[m].impl();
    y->wrapped_number = plan.number;
    y->grad_fn = node;
    y->output_nr = static_cast<uint32_t>(m);
    if (node) ForwardTape::note(*node, y->output_nr, *y);
  }
}

}  // namespace farro::autograd
