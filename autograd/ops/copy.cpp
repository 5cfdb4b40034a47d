#include <farro/autograd/ops/copy.hpp>

#include <farro/autograd/ops/factory.hpp>
#include <farro/autograd/record.hpp>
#include <farro/backends/kernels/copy.hpp>
#include <farro/backends/kernels/reduce.hpp>

namespace farro {

using autograd::BackwardContext;
using autograd::Grads;
using autograd::record;

namespace autograd {

void check_broadcasts_to(const Dims& from, const Dims& to, const char* operation) {
  int lead = to.size() - from.size();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < from.size(); ++d) fits = from[d] == to[d + lead] || from[d] == 1;
  if (!fits) {
    fail<ShapeError>(operation, "expected a shape that broadcasts to {}, got {}", to_string(to),
                     to_string(from));
  }
}

Tensor sum_to_sizes(const Tensor& grad, const Dims& sizes) {
  if (grad.sizes() == sizes) return grad;
  Tensor out = empty_like_array(sizes, grad);
  kernels::sum_to(out.array(), grad.array());
  return record(
      "SumToSizeBackward", out, {grad}, {},
      [full = grad.sizes()](const BackwardContext& c) -> Grads { return {c.grad().expand(full)}; });
}

namespace {

/// True if the two share memory without being the same elements in the same places.
bool overlaps_shifted(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || a.numel() == 0 || b.numel() == 0) return false;
  if (a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() && a.strides() == b.strides())
    return false;
  auto range = [](const Tensor& t) {
    int64_t low = 0, high = 0, width = static_cast<int64_t>(size_of(t.dtype()));
    for (int d = 0; d < t.dim(); ++d) {
      int64_t reach = (t.sizes()[d] - 1) * t.strides()[d];
      (reach < 0 ? low : high) += reach;
    }
    const char* p = static_cast<const char*>(t.data_ptr());
    return std::pair(p + low * width, p + (high + 1) * width);
  };
  auto [a_low, a_high] = range(a);
  auto [b_low, b_high] = range(b);
  return a_low < b_high && b_low < a_high;
}

}  // namespace
}  // namespace autograd

Tensor to(const Tensor& x, Device device, DType dtype) {
  if (x.device() == device && x.dtype() == dtype) return x;
  if (x.impl()->uninitialized) {
    Tensor out = empty({0}, dtype, device);
    out.impl()->uninitialized = true;
    return out;
  }
  Tensor out = empty(x.sizes(), dtype, device);
  kernels::copy(out.array(), x.array());
  return record("ToCopyBackward", out, {x}, {},
                [device = x.device(), dtype = x.dtype()](const BackwardContext& c) -> Grads {
                  return {to(c.grad(), device, dtype)};
                });
}

Tensor clone(const Tensor& x) {
  Tensor out = empty_like_array(x.sizes(), x);
  kernels::copy(out.array(), x.array());
  return record("CloneBackward", out, {x}, {},
                [](const BackwardContext& c) -> Grads { return {c.grad()}; });
}

Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : clone(x); }

const Tensor& copy_(const Tensor& self, const Tensor& source) {
  autograd::check_broadcasts_to(source.sizes(), self.sizes(), "copy_");
  autograd::check_inplace(self, "copy_", source.requires_grad());
  bool aliased = autograd::overlaps_shifted(self, source);
  kernels::copy(self.array(), aliased ? clone(source.detach()).array() : source.array());
  autograd::InplaceChange change(self, source.requires_grad());
  record("CopyBackward", self, {self, source}, {},
         [sizes = source.sizes(), device = source.device(),
          dtype = source.dtype()](const BackwardContext& c) -> Grads {
           Grads grads(2);
           if (c.needs(0)) grads[0] = zeros_like(c.grad());
           if (c.needs(1)) grads[1] = to(autograd::sum_to_sizes(c.grad(), sizes), device, dtype);
           return grads;
         });
  return self;
}

const Tensor& fill_(const Tensor& self, const Tensor& value) {
  if (value.dim() != 0)
    fail<ShapeError>("fill_", "expected a 0-d value, got shape {}", to_string(value.sizes()));
  return copy_(self, value);
}

const Tensor& zero_(const Tensor& self) {
  autograd::check_inplace(self, "zero_");
  kernels::zero(self.array());
  autograd::InplaceChange change(self);
  record("ZeroBackward", self, {self}, {},
         [](const BackwardContext& c) -> Grads { return {zeros_like(c.grad())}; });
  return self;
}

}  // namespace farro
