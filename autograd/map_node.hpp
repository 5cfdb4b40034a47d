#pragma once

/// Internal to map and map_reduce: what their nodes have in common.

#include <functional>
#include <memory>

#include <farro/autograd/map.hpp>
#include <farro/autograd/pointwise_plan.hpp>
#include <farro/autograd/record.hpp>

namespace farro::autograd {

using Tensors = SmallVector<Tensor, 4>;

/// A functor and how it is applied.
struct MapCall {
  const MapKernels& kernels;
  std::shared_ptr<const void> f;
  Dims sizes;  ///< to which the inputs broadcast
  DType compute;
  Device device;

  /// Whether the plain Kokkos kernels are to run.
  bool portable() const { return !device.is_host() || use_reference_kernels(); }
};

/// The forward of a call in its compute type, as kernels run it: a RunFn and its context.
struct MapForward {
  explicit MapForward(const MapCall& call)
      : run(call.kernels.forward[compute_index(call.compute)]), f(call.f.get()) {}
  static void apply(const void* self, void* const* out, const void* const* in, int64_t n) {
    const auto& [run, f] = *static_cast<const MapForward*>(self);
    run(f, out, in, n);
  }
  MapKernels::Forward run;
  const void* f;
};

/// Plans a map. Throws as map does.
PointwisePlan plan_map(const MapKernels& kernels, const Tensor* const* inputs);
/// True if a map of these inputs is to be recorded.
bool records_map(const MapKernels& kernels, const Tensor* const* inputs);
/// Fills dx for the inputs that `node` needs from the outputs' gradients, which broadcast to the
/// call's sizes: one kernel for each kMapDuals of them.
void fused_gradients(const MapCall& call, const Node& node, const Tensors& x, const Grads& dy,
                     Grads& dx);
/// The same by recorded operations: `forward` computes outputs from the inputs as it is given them.
/// Recorded itself in grad mode.
void recorded_gradients(
    const Node& node, const Tensors& x, const Grads& dy, Grads& dx,
    const std::function<void(const Tensors& x, std::vector<Tensor>& y)>& forward);
/// The functor by recorded operations, in the compute type; an output of `call.sizes` each.
std::vector<Tensor> recorded_map(const MapCall& call, const Tensors& x);

/// Keeps the inputs of a call.
class MapNodeBase : public Node {
 public:
  MapNodeBase(MapCall call, const Tensor* const* inputs);
  void release_saved() override {
    for (SavedTensor& s : saved_) s.reset();
  }
  void visit_saved(const std::function<void(const Tensor&)>& visit) const override {
    for (const SavedTensor& s : saved_) visit(s.peek());
  }
  void apply(Grads& grad_outputs, Grads& grad_inputs) override;

 protected:
  virtual void differentiate(const Tensors& x, const Grads& dy, Grads& dx) = 0;
  MapCall call_;

 private:
  SmallVector<SavedTensor, 4> saved_;
};

}  // namespace farro::autograd
