#include <farro/autograd/pointwise_plan.hpp>

namespace farro::autograd {
namespace {

[[noreturn]] FARRO_COLD void wrong_devices(const PointwiseEntry& entry, Device a, Device b) {
  fail<BackendError>(entry.kernels.name, "expected all inputs on one device, got {} and {}",
                     a.str(), b.str());
}

/// The rank of an input in promotion: a tensor with dimensions over one without over a number.
enum Rank { kDimensioned, kZeroDim, kNumber };

Rank rank_of(const TensorImpl& t) {
  if (t.array.sizes.size() > 0) return kDimensioned;
  return t.wrapped_number ? kNumber : kZeroDim;
}

/// The dtype of a higher rank together with that of a lower one: the lower one counts only where it
/// is of a higher category.
DType combine(DType higher, DType lower) {
  if (is_floating_point(higher)) return higher;
  if (higher == kBool || is_floating_point(lower)) return promote(higher, lower);
  return higher;
}

DType common_dtype(const PointwiseEntry& entry, const Tensor* const* inputs, bool all_numbers) {
  bool seen[3] = {};
  DType dtypes[3] = {};
  for (int i = entry.first_is_condition ? 1 : 0; i < entry.kernels.arity; ++i) {
    const TensorImpl& t = *inputs[i]->impl();
    Rank rank = rank_of(t);
    DType dtype = t.array.dtype;
    if (rank == kNumber && is_floating_point(dtype) && !all_numbers) dtype = default_dtype();
    dtypes[rank] = seen[rank] ? promote(dtypes[rank], dtype) : dtype;
    seen[rank] = true;
  }
  DType result = dtypes[kNumber];
  bool any = seen[kNumber];
  for (Rank rank : {kZeroDim, kDimensioned}) {
    if (!seen[rank]) continue;
    result = any ? combine(dtypes[rank], result) : dtypes[rank];
    any = true;
  }
  return result;
}

/// An input, or the common dtype, is a bool that the operation does not take.
bool refuses_bool(const PointwiseEntry& entry, const Tensor* const* inputs, DType common) {
  if (entry.bools == Bools::NotAlone) return common == kBool;
  for (int i = 0; i < entry.kernels.arity; ++i) {
    if (inputs[i]->dtype() == kBool) return true;
  }
  return false;
}

void check_dtypes(const PointwiseEntry& entry, const Tensor* const* inputs, DType common) {
  if (entry.floats_only && !is_floating_point(common)) {
    fail<TypeError>(entry.kernels.name, "expected a floating-point dtype, got {}", name_of(common));
  }
  if (entry.integers_only && is_floating_point(common)) {
    fail<TypeError>(entry.kernels.name, "expected integers or bool, got {}", name_of(common));
  }
  if (entry.bools != Bools::Any && refuses_bool(entry, inputs, common)) {
    fail<TypeError>(entry.kernels.name,
                    "expected numbers, got bool; operations on masks are &, |, ^ and ~");
  }
  if (entry.first_is_condition && inputs[0]->dtype() != kBool) {
    fail<TypeError>(entry.kernels.name, "expected a condition of bool, got {}",
                    name_of(inputs[0]->dtype()));
  }
}

}  // namespace

PointwisePlan plan_pointwise(const PointwiseEntry& entry, const Tensor* const* inputs) {
  PointwisePlan plan;
  int arity = entry.kernels.arity;
  bool placed = false;
  for (int i = 0; i < arity; ++i) {
    const Tensor& t = *inputs[i];
    const Dims& sizes = t.sizes();
    plan.sizes = i == 0                ? sizes
                 : sizes == plan.sizes ? sizes
                                       : broadcast_shapes(plan.sizes, sizes, entry.kernels.name);
    if (rank_of(*t.impl()) == kNumber) continue;
    plan.number = false;
    if (placed && t.device() != plan.device) wrong_devices(entry, plan.device, t.device());
    plan.device = t.device();
    placed = true;
  }
  if (!placed) plan.device = inputs[0]->device();
  plan.common = common_dtype(entry, inputs, plan.number);
  check_dtypes(entry, inputs, plan.common);
  if (entry.integers_to_float && !is_floating_point(plan.common)) plan.common = default_dtype();
  plan.output = entry.returns_bool ? kBool : plan.common;
  plan.compute = compute_dtype(plan.common);
  for (int i = 0; i < arity; ++i) {
    plan.alike =
        plan.alike && inputs[i]->dtype() == plan.output && inputs[i]->sizes() == plan.sizes;
  }
  return plan;
}

}  // namespace farro::autograd
