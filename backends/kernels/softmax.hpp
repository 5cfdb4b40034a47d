#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// out = softmax(in) along `dim`, or its logarithm. Both are contiguous and of one shape and
/// floating-point dtype; a 0-d array counts as one element. The largest element is subtracted
/// first, so that no finite input overflows.
void softmax(const ArrayView& out, const ArrayView& in, int dim, bool log);

/// The gradient of the input from that of the output and the output: y·(g - Σ g·y), or g - exp(y)·Σ
/// g for the logarithm.
void softmax_backward(const ArrayView& grad_in, const ArrayView& grad_out, const ArrayView& out,
                      int dim, bool log);

}  // namespace farro::kernels
