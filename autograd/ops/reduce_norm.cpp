#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/pointwise.hpp>
#include <farro/autograd/ops/reduce.hpp>
#include <farro/autograd/record.hpp>

#include <cmath>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;
using autograd::Reduced;

namespace {

/// x · scale, but 0 wherever the norm is 0.
Tensor times_unless(const Tensor& zero_norm, const Tensor& x, const Reduced& r,
                    const Tensor& scale) {
  return x * r.restore(masked_fill(scale, zero_norm, Tensor(0)));
}

/// The gradient of the p-norm y of x, for p other than 0, 1 and the infinities.
Tensor norm_gradient(const Reduced& r, double p, const Tensor& grad, const Tensor& x,
                     const Tensor& norm) {
  // Nothing is divided by zero: it would come back as NaN in a second derivative.
  Tensor none = eq(norm.detach(), 0), y = masked_fill(norm, none, Tensor(1));
  if (p == 2) return times_unless(none, x, r, grad / y);
  Tensor size = abs(x), zero = eq(x.detach(), 0);
  if (p < 2) {
    // The power is infinite or steep at 0, where the gradient counts as 0.
    Tensor direction =
        sign(x) * masked_fill(pow(masked_fill(size, zero, Tensor(1)), p - 1), zero, Tensor(0));
    return times_unless(none, direction, r, grad * pow(y, 1 - p));
  }
  return times_unless(none, x * pow(size, p - 2), r, grad / pow(y, p - 1));
}

}  // namespace

Tensor norm(const Tensor& x, double p, IntList dims, bool keepdim) {
  if (!x.is_floating_point()) {
    fail<TypeError>("norm", "expected a floating-point tensor, got {}", name_of(x.dtype()));
  }
  if (p == 0)
    return to(sum(ne(x.detach(), 0), dims, keepdim), x.dtype()) + sum(x, dims, keepdim) * 0;
  if (p == 1) return sum(abs(x), dims, keepdim);
  if (std::isinf(p)) return p > 0 ? amax(abs(x), dims, keepdim) : amin(abs(x), dims, keepdim);
  Reduced r(x, dims, keepdim, "norm");
  Tensor y;
  {
    NoGrad guard;
    y = p == 2 ? sqrt(sum(square(x), dims, keepdim))
               : pow(sum(pow(abs(x), p), dims, keepdim), 1 / p);
  }
  return record("NormBackward", y, {x}, {x, y}, [r, p](const BackwardContext& c) -> Grads {
    return {norm_gradient(r, p, c.grad(), c.saved(0), c.saved(1))};
  });
}

Tensor Tensor::norm(double p) const { return farro::norm(*this, p); }

}  // namespace farro
