#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using autograd::Reduced;
using kernels::ReduceOp;

namespace {

void check_elements(const Reduced& r, const char* operation) {
  if (r.count == 0 && r.result.product() > 0) {
    fail<ValueError>(operation, "expected at least one element to choose from, got shape {}",
                     to_string(r.input));
  }
}

/// The largest or smallest element; equal ones share the gradient.
Tensor extremum(const Tensor& x, const Reduced& r, bool largest, const char* node) {
  Tensor out = r.make(x, x.dtype());
  kernels::reduce(r.view(out), x.array(), largest ? ReduceOp::Max : ReduceOp::Min);
  return record(node, out, {x}, {x, out}, [r](const BackwardContext& c) -> Grads {
    Tensor chosen = to(eq(c.saved(0).detach(), r.restore(c.saved(1).detach())), c.grad().dtype());
    Tensor shares = r.make(chosen, chosen.dtype());
    kernels::reduce(r.view(shares), chosen.array(), ReduceOp::Sum);
    return {r.restore(c.grad() / shares) * chosen};
  });
}

Tensor extremum_over(const Tensor& x, IntList dims, bool keepdim, bool largest,
                     const char* operation, const char* node) {
  Reduced r(x, dims, keepdim, operation);
  check_elements(r, operation);
  return extremum(x, r, largest, node);
}

/// Spreads a gradient of values over zeros, to where their indices along `dim` say.
Grads place_gradient(const Tensor& grad, const Tensor& indices, const Reduced& r, int dim) {
  Tensor zero = zeros(r.input, {.dtype = grad.dtype(), .device = grad.device()});
  if (r.input.empty()) return {grad};
  return {scatter_add(zero, dim, r.restore(indices), r.restore(grad))};
}

std::pair<Tensor, Tensor> extremum_with_indices(const Tensor& x, int64_t dim, bool keepdim,
                                                bool largest) {
  const char* operation = largest ? "max" : "min";
  int d = wrap_dim(dim, x.dim(), operation);
  Reduced r(x, {d}, keepdim, operation);
  check_elements(r, operation);
  Tensor outputs[] = {r.make(x, x.dtype()), r.make(x, kInt64)};
  ArrayView values = r.view(outputs[0]);
  kernels::arg_reduce(r.view(outputs[1]), &values, x.array(), largest);
  autograd::record(largest ? "MaxBackward" : "MinBackward", outputs, {x}, {outputs[1]},
                   [r, d](const BackwardContext& c) -> Grads {
                     if (!c.grad().defined()) return {Tensor()};
                     return place_gradient(c.grad(), c.saved(0), r, d);
                   });
  return {outputs[0], outputs[1]};
}

Tensor arg_extremum(const Tensor& x, std::optional<int64_t> dim, bool keepdim, bool largest) {
  const char* operation = largest ? "argmax" : "argmin";
  IntList dims = dim ? IntList(&*dim, 1) : IntList();
  Reduced r(x, dims, keepdim, operation);
  check_elements(r, operation);
  Tensor out = r.make(x, kInt64);
  kernels::arg_reduce(r.view(out), nullptr, x.array(), largest);
  return out;
}

}  // namespace

Tensor amax(const Tensor& x, IntList dims, bool keepdim) {
  return extremum_over(x, dims, keepdim, true, "amax", "AmaxBackward");
}
Tensor amin(const Tensor& x, IntList dims, bool keepdim) {
  return extremum_over(x, dims, keepdim, false, "amin", "AminBackward");
}
Tensor max(const Tensor& x) { return extremum_over(x, {}, false, true, "max", "MaxBackward"); }
Tensor min(const Tensor& x) { return extremum_over(x, {}, false, false, "min", "MinBackward"); }

std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  IntList dims = dim ? IntList(&*dim, 1) : IntList();
  return {amin(x, dims, keepdim), amax(x, dims, keepdim)};
}

std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return extremum_with_indices(x, dim, keepdim, true);
}
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return extremum_with_indices(x, dim, keepdim, false);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(x, dim, keepdim, true);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_extremum(x, dim, keepdim, false);
}

Tensor Tensor::max() const { return farro::max(*this); }
Tensor Tensor::min() const { return farro::min(*this); }
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const {
  return farro::max(*this, dim, keepdim);
}
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const {
  return farro::min(*this, dim, keepdim);
}
Tensor Tensor::amax(IntList dims, bool keepdim) const { return farro::amax(*this, dims, keepdim); }
Tensor Tensor::amin(IntList dims, bool keepdim) const { return farro::amin(*this, dims, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const {
  return farro::argmax(*this, dim, keepdim);
}
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const {
  return farro::argmin(*this, dim, keepdim);
}

}  // namespace farro
