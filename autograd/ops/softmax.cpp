#include <farro/autograd/ops/softmax.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/dense.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/softmax.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace {

Tensor fused_gradient(const Tensor& grad, const Tensor& y, int dim, bool log) {
  Tensor g = autograd::dense(grad), out = empty_like_array(y.sizes(), y);
  kernels::softmax_backward(out.array(), g.array(), y.array(), dim, log);
  return out;
}

Tensor recorded_gradient(const Tensor& grad, const Tensor& y, int dim, bool log) {
  if (log) return grad - exp(y) * sum(grad, {dim}, true);
  return y * (grad - sum(grad * y, {dim}, true));
}

Tensor softmax_along(const Tensor& input, int64_t dim, std::optional<DType> dtype, bool log) {
  const char* operation = log ? "log_softmax" : "softmax";
  Tensor x = dtype                       ? to(input, *dtype)
             : input.is_floating_point() ? input
                                         : to(input, default_dtype());
  if (!x.is_floating_point()) {
    fail<TypeError>(operation, "expected a floating-point dtype, got {}", name_of(x.dtype()));
  }
  int d = wrap_dim(dim, x.dim(), operation);
  Tensor in = autograd::dense(x), out = empty_like_array(x.sizes(), x);
  kernels::softmax(out.array(), in.array(), d, log);
  return record(log ? "LogSoftmaxBackward" : "SoftmaxBackward", out, {x}, {out},
                [d, log](const BackwardContext& c) -> Grads {
                  Tensor y = c.saved(0);
                  if (grad_mode_enabled()) return {recorded_gradient(c.grad(), y, d, log)};
                  return {fused_gradient(c.grad(), y, d, log)};
                });
}

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return softmax_along(x, dim, dtype, false);
}
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return softmax_along(x, dim, dtype, true);
}
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return softmax(-x, dim, dtype);
}

Tensor Tensor::softmax(int64_t dim) const { return farro::softmax(*this, dim); }
Tensor Tensor::log_softmax(int64_t dim) const { return farro::log_softmax(*this, dim); }

}  // namespace farro
