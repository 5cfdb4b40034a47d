#include <farro/autograd/map_node.hpp>

#include <algorithm>

#include <farro/autograd/engine.hpp>
#include <farro/autograd/inplace.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro::autograd {
namespace {

void run_forward(const MapCall& call, const Tensor* const* x, Tensor* y) {
  const MapKernels& kernels = call.kernels;
  auto arity = static_cast<size_t>(kernels.entry.kernels.arity),
       outputs = static_cast<size_t>(kernels.outputs);
  int64_t n = y[0].numel();
  if (n == 0) return;
  MapOperands a;
  for (size_t k = 0; k < arity; ++k)
    a.in[k] = operand(x[k]->array(), call.sizes, call.compute, true);
  for (size_t m = 0; m < outputs; ++m)
    a.out[m] = operand(y[m].array(), call.sizes, call.compute, false);
  if (call.portable())
    return kernels.forward_portable(call.f.get(), call.device, call.compute, n, a);
  MapForward forward(call);
  run_operands(
      {.device = call.device, .label = "farro::map", .compute = call.compute, .n = n, .cost = 2},
      {a.out.data(), outputs}, {a.in.data(), arity}, MapForward::apply, &forward);
}

/// Fills a.out from a.in along some directions.
void run_backward(const MapCall& call, const MapDirections& along, int64_t n,
                  const MapOperands& a) {
  const MapKernels& kernels = call.kernels;
  if (call.portable())
    return kernels.backward_portable(call.f.get(), along, call.device, call.compute, n, a);
  struct Context {
    MapKernels::Backward run;
    const void* f;
    const MapDirections& along;
  } context{kernels.backward[compute_index(call.compute)], call.f.get(), along};
  size_t inputs = static_cast<size_t>(kernels.entry.kernels.arity + kernels.outputs);
  run_operands(
      {.device = call.device,
       .label = "farro::map_backward",
       .compute = call.compute,
       .n = n,
       .cost = 4},
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

class MapNode final : public MapNodeBase {
 public:
  using MapNodeBase::MapNodeBase;
  std::string name() const override { return "MapBackward"; }

 private:
  void differentiate(const Tensors& x, const Grads& dy, Grads& dx) override {
    if (!grad_mode_enabled()) return fused_gradients(call_, *this, x, dy, dx);
    recorded_gradients(*this, x, dy, dx, [this](const Tensors& operands, std::vector<Tensor>& y) {
      y = recorded_map(call_, operands);
    });
  }
};

}  // namespace

MapNodeBase::MapNodeBase(MapCall call, const Tensor* const* inputs)
    : Node(static_cast<uint32_t>(call.kernels.outputs)), call_(std::move(call)) {
  for (int i = 0; i < call_.kernels.entry.kernels.arity; ++i) {
    add_edge(gradient_edge(*inputs[i]));
    saved_.emplace_back(*inputs[i], i, -1);
  }
  number();
}

void MapNodeBase::apply(Grads& grad_outputs, Grads& grad_inputs) {
  grad_inputs.resize(saved_.size());
  if (std::ranges::none_of(grad_outputs, [](const Tensor& g) { return g.defined(); })) return;
  Tensors x;
  for (const SavedTensor& s : saved_) x.push_back(s.unpack(*this));
  differentiate(x, grad_outputs, grad_inputs);
}

void fused_gradients(const MapCall& call, const Node& node, const Tensors& x, const Grads& dy,
                     Grads& dx) {
  MapOperands a;
  for (size_t k = 0; k < x.size(); ++k)
    a.in[k] = operand(x[k].array(), call.sizes, call.compute, true);
  for (size_t m = 0; m < dy.size(); ++m) {
    a.in[x.size() + m] =
        dy[m].defined() ? operand(dy[m].array(), call.sizes, call.compute, true) : no_gradient();
  }
  int64_t n = call.sizes.product();
  MapDirections along;
  auto run = [&] {
    if (n > 0) run_backward(call, along, n, a);
    along.count = 0;
  };
  for (size_t k = 0; k < x.size(); ++k) {
    if (!node.needs_input_grad(k)) continue;
    bool sums = x[k].sizes() != call.sizes;
    dx[k] = empty(call.sizes, sums ? call.compute : x[k].dtype(), call.device);
    along.input[along.count] = static_cast<int>(k);
    a.out[static_cast<size_t>(along.count++)] =
        operand(dx[k].array(), call.sizes, call.compute, false);
    if (along.count == kMapDuals) run();
  }
  if (along.count > 0) run();
  for (size_t k = 0; k < x.size(); ++k) {
    if (!dx[k].defined() || x[k].sizes() == call.sizes) continue;
    Tensor total = empty(x[k].sizes(), x[k].dtype(), call.device);
    kernels::sum_to(total.array(), dx[k].array());
    dx[k] = std::move(total);
  }
}

void recorded_gradients(
    const Node& node, const Tensors& x, const Grads& dy, Grads& dx,
    const std::function<void(const Tensors& x, std::vector<Tensor>& y)>& forward) {
  // Of aliases, so that the gradient stops at this node's inputs while its own history goes on from
  // them.
  bool create_graph = grad_mode_enabled();
  EnableGrad recording;
  Tensors operands;
  std::vector<Tensor> wanted, y, outputs, gradients;
  for (size_t k = 0; k < x.size(); ++k) {
    bool wants = node.needs_input_grad(k);
    operands.push_back(wants && create_graph ? x[k].view(x[k].sizes()) : x[k].detach());
    if (wants && !create_graph) operands.back().requires_grad_();
    if (wants) wanted.push_back(operands.back());
  }
  forward(operands, y);
  for (size_t m = 0; m < dy.size(); ++m) {
    if (!dy[m].defined() || !y[m].requires_grad()) continue;
    outputs.push_back(y[m].dtype() == dy[m].dtype() ? y[m] : y[m].to(dy[m].dtype()));
    gradients.push_back(dy[m]);
  }
  std::vector<Tensor> result(wanted.size());
  if (!outputs.empty()) {
    result = grad(outputs, wanted, {.create_graph = create_graph, .allow_unused = true}, gradients);
  }
  auto next = result.begin();
  for (size_t k = 0; k < x.size(); ++k) {
    if (node.needs_input_grad(k)) dx[k] = *next++;
  }
}

std::vector<Tensor> recorded_map(const MapCall& call, const Tensors& x) {
  Tensors operands;
  for (const Tensor& input : x)
    operands.push_back(input.dtype() == call.compute ? input : input.to(call.compute));
  std::vector<Tensor> y(static_cast<size_t>(call.kernels.outputs));
  call.kernels.recorded(call.f.get(), operands.begin(), y.data());
  for (Tensor& output : y) {
    if (output.sizes() != call.sizes) output = output.expand(call.sizes);
  }
  return y;
}

PointwisePlan plan_map(const MapKernels& kernels, const Tensor* const* inputs) {
  PointwisePlan plan = plan_pointwise(kernels.entry, inputs);
  if (!plan.device.is_host() && !kernels.on_devices) {
    fail<BackendError>(kernels.entry.kernels.name,
                       "expected a functor struct at namespace scope for {}, got a lambda",
                       plan.device.str());
  }
  return plan;
}

bool records_map(const MapKernels& kernels, const Tensor* const* inputs) {
  return grad_mode_enabled() &&
         std::any_of(inputs, inputs + kernels.entry.kernels.arity,
                     [](const Tensor* input) { return input->requires_grad(); });
}

void map(const MapKernels& kernels, std::shared_ptr<const void> f, const Tensor* const* inputs,
         Tensor* outputs) {
  PointwisePlan plan = plan_map(kernels, inputs);
  MapCall call{kernels, std::move(f), plan.sizes, plan.compute, plan.device};
  for (int m = 0; m < kernels.outputs; ++m)
    outputs[m] = empty(plan.sizes, plan.output, plan.device);
  run_forward(call, inputs, outputs);
  IntrusivePtr<Node> node;
  if (records_map(kernels, inputs)) node = IntrusivePtr<Node>(new MapNode(std::move(call), inputs));
  for (int m = 0; m < kernels.outputs; ++m) {
    outputs[m].impl()->wrapped_number = plan.number;
    if (node) set_history(outputs[m], node, static_cast<uint32_t>(m));
  }
}

}  // namespace farro::autograd
