#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

/// Running sums along `dim`, from the end where `reverse`: out[i] = in[0] + … + in[i]. Any strides;
/// sums are kept in double or int64. A 0-d array counts as one element.
void cumsum(const ArrayView& out, const ArrayView& in, int dim, bool reverse);
/// Running products.
void cumprod(const ArrayView& out, const ArrayView& in, int dim);
/// Running maxima or minima and where the last of them stands (int64). NaN stays.
void cumextremum(const ArrayView& out, const ArrayView& indices, const ArrayView& in, int dim,
                 bool largest);

}  // namespace farro::kernels
