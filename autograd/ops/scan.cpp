#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/ops/shape.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/scan.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace {

Tensor prepared(const Tensor& x, std::optional<DType> dtype) {
  if (dtype) return to(x, *dtype);
  return x.is_floating_point() ? x : to(x, kInt64);
}

Tensor running_sum(const Tensor& x, int dim, bool reverse) {
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::cumsum(out.array(), x.array(), dim, reverse);
  return record("CumsumBackward", out, {x}, {}, [dim, reverse](const BackwardContext& c) -> Grads {
    return {running_sum(c.grad(), dim, !reverse)};
  });
}

/// Where x has zeros: sums, for each place i, over the products that end at k >= i with x[i] left
/// out.
Tensor cumprod_gradient_by_leaving_out(const Tensor& grad, const Tensor& x, int dim) {
  std::vector<Tensor> parts;
  int64_t n = x.sizes()[dim];
  for (int64_t i = 0; i < n; ++i) {
    Tensor tail = ones_like(narrow(x, dim, i, 1));
    if (i + 1 < n) tail = cat({tail, cumprod(narrow(x, dim, i + 1, n - i - 1), dim)}, dim);
    Tensor head = i > 0 ? prod(narrow(x, dim, 0, i), dim, true) : ones_like(narrow(x, dim, 0, 1));
    parts.push_back(sum(narrow(grad, dim, i, n - i) * tail * head, {dim}, true));
  }
  return cat(parts, dim);
}

std::pair<Tensor, Tensor> running_extremum(const Tensor& x, int64_t dim, bool largest) {
  int d = wrap_dim(dim, x.dim(), largest ? "cummax" : "cummin");
  Tensor outputs[] = {empty_like_array(x.sizes(), x), empty(x.sizes(), kInt64, x.device())};
  kernels::cumextremum(outputs[0].array(), outputs[1].array(), x.array(), d, largest);
  record(largest ? "CummaxBackward" : "CumminBackward", outputs, {x}, {outputs[1]},
         [d](const BackwardContext& c) -> Grads {
           if (!c.grad().defined()) return {Tensor()};
           if (c.grad().dim() == 0) return {c.grad()};
           return {scatter_add(zeros_like(c.grad()), d, c.saved(0), c.grad())};
         });
  return {outputs[0], outputs[1]};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  int d = wrap_dim(dim, x.dim(), "cumsum");
  return running_sum(prepared(x, dtype), d, false);
}

Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype) {
  Tensor x = prepared(input, dtype);
  int d = wrap_dim(dim, x.dim(), "cumprod");
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::cumprod(out.array(), x.array(), d);
  return record("CumprodBackward", out, {x}, {x, out}, [d](const BackwardContext& c) -> Grads {
    Tensor x = c.saved(0);
    if (x.dim() == 0 || x.numel() == 0) return {c.grad()};
    if (all(x.detach()).item<bool>()) return {running_sum(c.grad() * c.saved(1), d, true) / x};
    return {cumprod_gradient_by_leaving_out(c.grad(), x, d)};
  });
}

std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  return running_extremum(x, dim, true);
}
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  return running_extremum(x, dim, false);
}

Tensor Tensor::cumsum(int64_t dim) const { return farro::cumsum(*this, dim); }

}  // namespace farro
