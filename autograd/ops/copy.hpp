#pragma once

#include <farro/autograd/tensor.hpp>

namespace farro {

/// x with another dtype and device; x itself where nothing changes. Floating-point values are
/// truncated to integers.
Tensor to(const Tensor& x, Device device, DType dtype);
inline Tensor to(const Tensor& x, DType dtype) { return to(x, x.device(), dtype); }
inline Tensor to(const Tensor& x, Device device) { return to(x, device, x.dtype()); }

/// x itself if its elements lie in row-major order without gaps, else a copy of which that is true.
Tensor contiguous(const Tensor& x);
/// A contiguous copy.
Tensor clone(const Tensor& x);

/// Writes `source`, broadcast to self's shape and converted to its dtype, over self. ShapeError if
/// it does not broadcast.
const Tensor& copy_(const Tensor& self, const Tensor& source);
/// Writes a 0-d tensor, or a number, into every element.
const Tensor& fill_(const Tensor& self, const Tensor& value);
const Tensor& zero_(const Tensor& self);

namespace autograd {

/// ShapeError unless `from` broadcasts to exactly `to`.
void check_broadcasts_to(const Dims& from, const Dims& to, const char* operation);
/// Sums `grad` over the dimensions in which a tensor of these sizes was broadcast to grad's shape.
/// Differentiable.
Tensor sum_to_sizes(const Tensor& grad, const Dims& sizes);

}  // namespace autograd

}  // namespace farro
