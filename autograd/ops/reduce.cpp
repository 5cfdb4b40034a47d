#include <farro/autograd/ops/reduce.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/reduce.hpp>

#include <cmath>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using autograd::Reduced;
using kernels::ReduceOp;

namespace autograd {

Reduced::Reduced(const Tensor& x, IntList dims, bool keepdim, const char* operation)
    : input(x.sizes()), kept(x.sizes()) {
  for (int64_t dim : dims) {
    int d = wrap_dim(dim, x.dim(), operation);
    if (removes(d)) fail<ValueError>(operation, "dimension {} comes twice", d);
    mask |= 1u << d;
  }
  if (dims.empty()) mask = (1u << x.dim()) - 1;
  for (int d = 0; d < x.dim(); ++d) {
    if (removes(d)) {
      count *= input[d];
      kept[d] = 1;
    }
    if (keepdim || !removes(d)) result.push_back(kept[d]);
  }
}

ArrayView Reduced::view(const Tensor& out) const {
  ArrayView view = out.array();
  view.sizes = kept;
  view.strides = contiguous_strides(kept);
  return view;
}

Tensor Reduced::restore(const Tensor& result) const {
  return result.sizes() == kept ? result : reshape(result, kept);
}
Tensor Reduced::spread(const Tensor& result) const { return expand(restore(result), input); }

}  // namespace autograd

namespace {

Tensor as_dtype(const Tensor& x, std::optional<DType> dtype) { return dtype ? to(x, *dtype) : x; }

void check_floating(const Tensor& x, const char* operation) {
  if (!x.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point tensor, got {}", name_of(x.dtype()));
  }
}

Tensor reduced(const Tensor& x, const Reduced& r, ReduceOp op, DType dtype) {
  Tensor out = r.make(x, dtype);
  kernels::reduce(r.view(out), x.array(), op);
  return out;
}

}  // namespace

Tensor sum(const Tensor& input, IntList dims, bool keepdim, std::optional<DType> dtype) {
  Tensor x = as_dtype(input, dtype);
  Reduced r(x, dims, keepdim, "sum");
  DType result = x.is_floating_point() ? x.dtype() : dtype.value_or(kInt64);
  return record("SumBackward", reduced(x, r, ReduceOp::Sum, result), {x}, {},
                [r](const BackwardContext& c) -> Grads { return {r.spread(c.grad())}; });
}

Tensor mean(const Tensor& input, IntList dims, bool keepdim, std::optional<DType> dtype) {
  Tensor x = as_dtype(input, dtype);
  check_floating(x, "mean");
  Reduced r(x, dims, keepdim, "mean");
  return record("MeanBackward", reduced(x, r, ReduceOp::Mean, x.dtype()), {x}, {},
                [r](const BackwardContext& c) -> Grads { return {r.spread(c.grad() / r.count)}; });
}

Tensor nansum(const Tensor& x, IntList dims, bool keepdim) {
  return sum(x.is_floating_point() ? where(isnan(x), 0, x) : x, dims, keepdim);
}

Tensor nanmean(const Tensor& x, IntList dims, bool keepdim) {
  check_floating(x, "nanmean");
  Tensor count = sum(!isnan(x), dims, keepdim);
  return nansum(x, dims, keepdim) / to(count, x.dtype());
}

Tensor count_nonzero(const Tensor& x, IntList dims) { return sum(ne(x.detach(), 0), dims); }

Tensor any(const Tensor& x, IntList dims, bool keepdim) {
  return reduced(x, Reduced(x, dims, keepdim, "any"), ReduceOp::Any, kBool);
}

Tensor all(const Tensor& x, IntList dims, bool keepdim) {
  return reduced(x, Reduced(x, dims, keepdim, "all"), ReduceOp::All, kBool);
}

namespace {

/// The gradient of a product over the reduced dimensions, as long as no element is 0.
Tensor prod_gradient_by_division(const Reduced& r, const Tensor& grad, const Tensor& x,
                                 const Tensor& y) {
  return r.restore(grad * y) / x;
}

/// First order only: where one element is 0, its gradient is the product of the others.
Tensor prod_gradient_with_zeros(const Reduced& r, const Tensor& grad, const Tensor& x) {
  Tensor zero = eq(x, 0), filled = where(zero, 1, x);
  Tensor others = r.make(x, x.dtype()), zeros = r.make(x, kInt64);
  kernels::reduce(r.view(others), filled.array(), ReduceOp::Prod);
  kernels::reduce(r.view(zeros), zero.array(), ReduceOp::Sum);
  zeros = r.restore(zeros);
  Tensor at_zero = where(eq(zeros, 1), r.restore(grad * others), 0);
  Tensor elsewhere = where(eq(zeros, 0), r.restore(grad * others) / filled, 0);
  return where(zero, at_zero, elsewhere);
}

/// Any order: multiplies, for each element, the others, by recorded operations.
Tensor prod_gradient_by_leaving_out(const Reduced& r, const Tensor& grad, const Tensor& x) {
  // Reduced dimensions last, flattened: [outputs, n].
  std::vector<int64_t> order, last;
  for (int d = 0; d < x.dim(); ++d) (r.removes(d) ? last : order).push_back(d);
  order.insert(order.end(), last.begin(), last.end());
  Tensor permuted = permute(x, order);
  int64_t n = r.count, outputs = x.numel() / n;
  Tensor rows = expand(reshape(permuted, {outputs, 1, n}), {outputs, n, n});
  Tensor diagonal = eq(eye(n, TensorOptions{.dtype = kInt64, .device = x.device()}), 1);
  Tensor others = prod(masked_fill(rows, diagonal, Tensor(1)), 2);
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return r.restore(grad) * permute(reshape(others, permuted.sizes()), inverse);
}

Tensor prod_over(const Tensor& input, IntList dims, bool keepdim, std::optional<DType> dtype) {
  Tensor x = as_dtype(input, dtype);
  Reduced r(x, dims, keepdim, "prod");
  DType result = x.is_floating_point() ? x.dtype() : dtype.value_or(kInt64);
  Tensor out = reduced(x, r, ReduceOp::Prod, result);
  return record("ProdBackward", out, {x}, {x, out}, [r](const BackwardContext& c) -> Grads {
    Tensor x = c.saved(0), y = c.saved(1);
    if (x.numel() == 0) return {zeros_like(x)};
    bool has_zero = !all(x.detach()).item<bool>();
    if (!has_zero) return {prod_gradient_by_division(r, c.grad(), x, y)};
    if (grad_mode_enabled()) return {prod_gradient_by_leaving_out(r, c.grad(), x)};
    return {prod_gradient_with_zeros(r, c.grad(), x)};
  });
}

}  // namespace

Tensor prod(const Tensor& x, std::optional<DType> dtype) { return prod_over(x, {}, false, dtype); }
Tensor prod(const Tensor& x, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return prod_over(x, {dim}, keepdim, dtype);
}

namespace {

/// Variance and, where wanted, the mean, without history.
Tensor variance_of(const Tensor& x, const Reduced& r, double correction, Tensor* mean) {
  Tensor out = r.make(x, x.dtype());
  ArrayView mean_view;
  if (mean) {
    *mean = r.make(x, x.dtype());
    mean_view = r.view(*mean);
  }
  kernels::variance(r.view(out), mean ? &mean_view : nullptr, x.array(), correction);
  return out;
}

/// 2/(n - correction) · grad · (x - mean)
Tensor var_gradient(const Reduced& r, double correction, const Tensor& grad, const Tensor& x) {
  std::vector<int64_t> dims;
  for (int d = 0; d < x.dim(); ++d) {
    if (r.removes(d)) dims.push_back(d);
  }
  double scale = 2 / std::max(0.0, static_cast<double>(r.count) - correction);
  return r.restore(grad * scale) * (x.dim() == 0 ? x - x : x - mean(x, dims, true));
}

Tensor std_of_var_gradient(const Tensor& grad, const Tensor& y) {
  // No division by zero: it would come back as NaN in a second derivative.
  Tensor zero = eq(y.detach(), 0);
  return masked_fill(grad / (masked_fill(y, zero, Tensor(1)) * 2), zero, Tensor(0));
}

}  // namespace

Tensor var(const Tensor& x, IntList dims, double correction, bool keepdim) {
  check_floating(x, "var");
  Reduced r(x, dims, keepdim, "var");
  return record("VarBackward", variance_of(x, r, correction, nullptr), {x}, {x},
                [r, correction](const BackwardContext& c) -> Grads {
                  return {var_gradient(r, correction, c.grad(), c.saved(0))};
                });
}

Tensor std(const Tensor& x, IntList dims, double correction, bool keepdim) {
  check_floating(x, "std");
  Reduced r(x, dims, keepdim, "std");
  Tensor y;
  {
    NoGrad guard;
    y = sqrt(variance_of(x, r, correction, nullptr));
  }
  return record("StdBackward", y, {x}, {x, y}, [r, correction](const BackwardContext& c) -> Grads {
    return {var_gradient(r, correction, std_of_var_gradient(c.grad(), c.saved(1)), c.saved(0))};
  });
}

std::pair<Tensor, Tensor> var_mean(const Tensor& x, IntList dims, double correction, bool keepdim) {
  return {var(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}

std::pair<Tensor, Tensor> std_mean(const Tensor& x, IntList dims, double correction, bool keepdim) {
  return {farro::std(x, dims, correction, keepdim), mean(x, dims, keepdim)};
}

Tensor logsumexp(const Tensor& input, IntList dims, bool keepdim) {
  Tensor x = input.is_floating_point() ? input : to(input, default_dtype());
  Reduced r(x, dims, keepdim, "logsumexp");
  Tensor y;
  {
    NoGrad guard;
    if (r.count == 0) {
      y = full(r.result, -INFINITY, {.dtype = x.dtype(), .device = x.device()});
    } else {
      Tensor top = r.make(x, x.dtype());
      kernels::reduce(r.view(top), x.array(), ReduceOp::Max);
      top = where(isfinite(top), top, 0);
      y = log(reduced(exp(x - r.restore(top)), r, ReduceOp::Sum, x.dtype())) + top;
    }
  }
  return record("LogsumexpBackward", y, {x}, {x, y}, [r](const BackwardContext& c) -> Grads {
    return {r.restore(c.grad()) * exp(c.saved(0) - r.restore(c.saved(1)))};
  });
}

Tensor sum_to_size(const Tensor& x, IntList sizes) {
  Dims wanted(sizes);
  autograd::check_broadcasts_to(wanted, x.sizes(), "sum_to_size");
  return autograd::sum_to_sizes(x, wanted);
}

Tensor Tensor::sum(IntList dims, bool keepdim) const { return farro::sum(*this, dims, keepdim); }
Tensor Tensor::mean(IntList dims, bool keepdim) const { return farro::mean(*this, dims, keepdim); }
Tensor Tensor::prod() const { return farro::prod(*this); }
Tensor Tensor::prod(int64_t dim, bool keepdim) const { return farro::prod(*this, dim, keepdim); }
Tensor Tensor::any() const { return farro::any(*this); }
Tensor Tensor::all() const { return farro::all(*this); }
Tensor Tensor::var(IntList dims, double correction, bool keepdim) const {
  return farro::var(*this, dims, correction, keepdim);
}
Tensor Tensor::std(IntList dims, double correction, bool keepdim) const {
  return farro::std(*this, dims, correction, keepdim);
}
Tensor Tensor::logsumexp(IntList dims, bool keepdim) const {
  return farro::logsumexp(*this, dims, keepdim);
}

}  // namespace farro
