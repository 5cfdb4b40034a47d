#pragma once

/// Internal to the pooling kernels.

#include <farro/backends/kernels/pool.hpp>
#include <farro/backends/kernels/runs.hpp>

namespace farro::kernels {

/// The part of a window along one dimension that lies inside the input, and its length with
/// padding.
struct PoolWindow {
  int64_t begin, end, step, padded;
};

FARRO_FUNCTION inline PoolWindow pool_window(const PoolShape& s, int d, int64_t o) {
  int64_t begin = o * s.stride[d] - s.padding[d], step = s.dilation[d];
  int64_t end = begin + (s.kernel[d] - 1) * step + 1;
  int64_t border = s.in[d] + s.padding[d];
  int64_t padded = (end < border ? end : border) - begin;
  if (begin < 0) begin += (-begin + step - 1) / step * step;
  return {begin, end < s.in[d] ? end : s.in[d], step, padded};
}

/// What the sum over a window is divided by.
FARRO_FUNCTION inline int64_t pool_divisor(const PoolShape& s, const PoolWindow& a,
                                           const PoolWindow& b, const PoolWindow& c) {
  if (s.divisor_override != 0) return s.divisor_override;
  if (s.count_include_pad) return a.padded * b.padded * c.padded;
  return (a.end - a.begin) * (b.end - b.begin) * (c.end - c.begin);
}

void max_pool_reference(const ArrayView& out, const ArrayView& indices, const ArrayView& in,
                        const PoolShape& shape);
void max_pool_backward_reference(const ArrayView& grad_in, const ArrayView& grad_out,
                                 const ArrayView& indices, const PoolShape& shape);
void max_pool_gather_reference(const ArrayView& out, const ArrayView& in, const ArrayView& indices,
                               const PoolShape& shape);
void avg_pool_reference(const ArrayView& out, const ArrayView& in, const PoolShape& shape);
void avg_pool_backward_reference(const ArrayView& grad_in, const ArrayView& grad_out,
                                 const PoolShape& shape);

}  // namespace farro::kernels
