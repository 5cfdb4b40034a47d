#include <farro/autograd/map_reduce.hpp>

#include <algorithm>

#include <farro/autograd/inplace.hpp>
#include <farro/autograd/map_node.hpp>
#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/backends/kernels/operands.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro::autograd {
namespace {

/// Elements of a block of the plain kernel.
constexpr int64_t kBlock = 4096;

/// A call, and what it reduces.
struct ReduceCall {
  MapCall map;
  Reduce op;
  Reduced reduced;
};

/// The shape of the iteration: the dimensions that stay and those that are reduced, in the order in
/// which elements are numbered.
class Order {
 public:
  Order(const Reduced& r, bool outputs_inside) {
    for (bool reduces : {outputs_inside, !outputs_inside}) {
      for (int d = 0; d < r.input.size(); ++d) {
        if (r.removes(d) == reduces) dims_.push_back(d);
      }
    }
    for (int64_t d : dims_) sizes_.push_back(r.input[static_cast<int>(d)]);
  }
  const Dims& sizes() const { return sizes_; }
  /// An input, which broadcasts to the unordered shape.
  ArrayView view(const ArrayView& x) const {
    ArrayView result = x;
    result.sizes = sizes_;
    result.strides = Dims(dims_.size(), 0);
    int lead = dims_.size() - x.ndim();
    for (int i = 0; i < dims_.size(); ++i) {
      int d = static_cast<int>(dims_[i]) - lead;
      if (d >= 0 && x.sizes[d] != 1) result.strides[i] = x.strides[d];
    }
    return result;
  }

 private:
  Dims dims_, sizes_;
};

MapOperands operands_in(const Order& order, const MapCall& call, const Tensor* const* inputs) {
  MapOperands a;
  for (size_t k = 0; k < static_cast<size_t>(call.kernels.entry.kernels.arity); ++k) {
    ArrayView x = inputs[k]->array();
    a.in[k] = operand(x.numel() == 1 ? x : order.view(x), order.sizes(), call.compute, true);
  }
  return a;
}

/// Fills y, and for the largest the places among the reduced elements.
void run_host(const ReduceCall& call, const Tensor* const* inputs, const Tensor& y,
              const Tensor& places) {
  const Reduced& r = call.reduced;
  bool inside = !r.input.empty() && !r.removes(r.input.size() - 1) && y.numel() >= 4;
  Order order(r, inside);
  MapOperands a = operands_in(order, call.map, inputs);
  MapForward forward(call.map);
  ComputedOperand computed{{a.in.data(), static_cast<size_t>(call.map.kernels.entry.kernels.arity)},
                           MapForward::apply,
                           &forward,
                           2};
  kernels::ComputedElements elements{computed, call.map.compute, r.count, inside};
  if (call.op == Reduce::Max) {
    ArrayView values = y.array();
    kernels::arg_reduce(places.array(), &values, elements, true);
  } else {
    kernels::reduce(y.array(), elements,
                    call.op == Reduce::Sum ? kernels::ReduceOp::Sum : kernels::ReduceOp::Mean);
  }
}

/// The same by the plain kernel, whose blocks are then reduced as arrays.
void run_portable(const ReduceCall& call, const MapReduceKernels& kernels,
                  const Tensor* const* inputs, const Tensor& y, const Tensor& places) {
  const Reduced& r = call.reduced;
  MapOperands a = operands_in(Order(r, false), call.map, inputs);
  int64_t blocks = std::max<int64_t>((r.count + kBlock - 1) / kBlock, 1);
  bool largest = call.op == Reduce::Max;
  Tensor values = empty({y.numel(), blocks}, call.map.compute, call.map.device);
  Tensor block_places = largest ? empty({y.numel(), blocks}, kInt64, call.map.device) : Tensor();
  kernels.portable(call.map.f.get(), call.map.device, call.map.compute, a,
                   {y.numel(), r.count, blocks, values.array().data,
                    largest ? block_places.array().as<int64_t>() : nullptr});
  if (largest) {
    auto [best, block] = max(values, 1);
    y.copy_(reshape(best, y.sizes()));
    places.copy_(reshape(gather(block_places, 1, unsqueeze(block, 1)), y.sizes()));
  } else {
    Tensor total = sum(values, {1});
    y.copy_(
        reshape(call.op == Reduce::Mean ? total / static_cast<double>(r.count) : total, y.sizes()));
  }
}

/// Where the chosen elements lie along each dimension of the inputs' common shape: tensors that
/// broadcast to the result's.
std::vector<Index> coordinates(const Reduced& r, const Tensor& places) {
  std::vector<Index> result;
  int64_t inner = r.count;
  int kept = 0;
  for (int d = 0; d < r.input.size(); ++d) {
    if (r.removes(d)) {
      inner /= r.input[d];
      result.emplace_back(remainder(floor_divide(places, inner), r.input[d]));
    } else {
      Dims shape(places.dim(), 1);
      shape[kept++] = r.input[d];
      result.emplace_back(
          reshape(arange(r.input[d], {.dtype = kInt64, .device = places.device()}), shape));
    }
  }
  return result;
}

class MapReduceNode final : public MapNodeBase {
 public:
  MapReduceNode(ReduceCall call, const Tensor* const* inputs, Tensor places)
      : MapNodeBase(std::move(call.map), inputs),
        op_(call.op),
        reduced_(std::move(call.reduced)),
        places_(std::move(places)) {}
  std::string name() const override { return "MapReduceBackward"; }

 private:
  void differentiate(const Tensors& x, const Grads& dy, Grads& dx) override {
    if (op_ == Reduce::Max) return differentiate_largest(x, dy, dx);
    if (!grad_mode_enabled()) {
      Tensor spread = reduced_.restore(dy[0]);
      if (op_ == Reduce::Mean) spread = spread / static_cast<double>(reduced_.count);
      return fused_gradients(call_, *this, x, {spread}, dx);
    }
    recorded_gradients(*this, x, dy, dx, [this](const Tensors& operands, std::vector<Tensor>& y) {
      Tensor values = recorded_map(call_, operands)[0];
      SmallVector<int64_t, 8> dims;
      for (int d = 0; d < reduced_.input.size(); ++d) {
        if (reduced_.removes(d)) dims.push_back(d);
      }
      IntList list(dims.begin(), dims.size());
      if (!dims.empty()) values = op_ == Reduce::Sum ? sum(values, list) : mean(values, list);
      y.push_back(values);
    });
  }

  /// The gradient goes through the chosen elements alone.
  void differentiate_largest(const Tensors& x, const Grads& dy, Grads& dx) {
    std::vector<Index> at = coordinates(reduced_, places_);
    recorded_gradients(*this, x, dy, dx, [&](const Tensors& operands, std::vector<Tensor>& y) {
      Tensors chosen;
      const Tensor* list[kMaxMapInputs];
      for (const Tensor& operand : operands) {
        Tensor whole = operand.expand(reduced_.input);
        chosen.push_back(at.empty() ? whole : index(whole, at));
      }
      for (size_t k = 0; k < chosen.size(); ++k) list[k] = &chosen[k];
      map(call_.kernels, call_.f, list, &y.emplace_back());
    });
  }

  Reduce op_;
  Reduced reduced_;
  Tensor places_;
};

}  // namespace

Tensor map_reduce(const MapReduceKernels& kernels, std::shared_ptr<const void> f, Reduce op,
                  IntList dims, const Tensor* const* inputs) {
  PointwisePlan plan = plan_map(*kernels.map, inputs);
  Tensor y, places;
  ReduceCall call{{*kernels.map, std::move(f), plan.sizes, plan.compute, plan.device},
                  op,
                  Reduced(plan.sizes, dims, false, "map_reduce")};
  const Reduced& r = call.reduced;
  {
    NoGrad quiet;
    y = empty(r.result, plan.output, plan.device);
    if (op == Reduce::Max && r.count == 0 && y.numel() > 0) {
      fail<ValueError>("map_reduce", "expected at least one element to choose from, got shape {}",
                       to_string(r.input));
    }
    if (op == Reduce::Max) places = empty(r.result, kInt64, plan.device);
    if (y.numel() > 0) {
      call.map.portable() ? run_portable(call, kernels, inputs, y, places)
                          : run_host(call, inputs, y, places);
    }
  }
  if (records_map(*kernels.map, inputs)) {
    IntrusivePtr<Node> node(new MapReduceNode(std::move(call), inputs, std::move(places)));
    set_history(y, node, 0);
  }
  return y;
}

}  // namespace farro::autograd
