#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Pooling over up to three spatial dimensions, always written as three: missing leading ones have
/// size, kernel and stride 1. Arrays are contiguous, [planes, in…] and [planes, out…].
struct PoolShape {
  int64_t planes = 0;
  int64_t in[3]{1, 1, 1}, out[3]{1, 1, 1}, kernel[3]{1, 1, 1}, stride[3]{1, 1, 1}, padding[3]{},
      dilation[3]{1, 1, 1};
  bool count_include_pad = true;
  int64_t divisor_override = 0;  ///< of averages; 0 for none

  FARRO_FUNCTION int64_t in_size() const { return in[0] * in[1] * in[2]; }
  FARRO_FUNCTION int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

/// The number of windows that fit along one dimension; with ceil_mode also one that begins inside
/// the input or its left padding and ends beyond it.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode);

/// The largest element of each window, and its place in its plane (int64). NaN wins; of equal
/// elements the first.
void max_pool(const ArrayView& out, const ArrayView& indices, const ArrayView& in,
              const PoolShape& shape);
/// grad_in[plane, indices[plane, o]] += grad_out[plane, o], from zero.
void max_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out,
                       const ArrayView& indices, const PoolShape& shape);
/// out[plane, o] = in[plane, indices[plane, o]], the adjoint of max_pool_backward.
void max_pool_gather(const ArrayView& out, const ArrayView& in, const ArrayView& indices,
                     const PoolShape& shape);

/// The mean of each window; the divisor counts padding where count_include_pad says so, and is
/// divisor_override if set.
void avg_pool(const ArrayView& out, const ArrayView& in, const PoolShape& shape);
void avg_pool_backward(const ArrayView& grad_in, const ArrayView& grad_out, const PoolShape& shape);

}  // namespace farro::kernels
