#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

struct MatmulOptions {
  double alpha = 1;         ///< factor of the product
  bool accumulate = false;  ///< add to what is in out, instead of overwriting it
  const ArrayView* bias =
      nullptr;  ///< n contiguous elements, added to every row; not together with accumulate
};

/// out [..., m, n] = alpha a [..., m, k] b [..., k, n], any strides; leading dimensions of a and b
/// broadcast to those of out. One dtype, floating-point or integral, and one device. float32 and
/// float64 run in OpenBLAS or oneDNN, or in a loop of our own where that is faster; bfloat16 and
/// float16 are computed in float32 and rounded once; integers wrap around. The same bits on Serial
/// and OpenMP at every thread count: out is cut into tiles by the shape alone. out must not overlap
/// a or b.
void matmul(const ArrayView& out, const ArrayView& a, const ArrayView& b,
            const MatmulOptions& options = {});

}  // namespace farro::kernels
