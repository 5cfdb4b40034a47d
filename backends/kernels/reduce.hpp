#pragma once

#include <farro/backends/array_view.hpp>

namespace farro::kernels {

enum class ReduceOp { Sum, Mean, Prod, Max, Min, Any, All };

/// Reduces `in` into `out`, whose shape says over which dimensions: out is aligned to the last
/// dimensions of in, and every dimension of in that out lacks or has as 1 is reduced. Computes in
/// compute_dtype(in.dtype) in fixed blocks of 4,096 elements of the row-major order, added in a
/// pairwise tree, so that the bits depend on shapes and values alone: not on threads, strides or
/// the host backend. Max and Min propagate NaN. Over no elements Sum is 0, Prod 1, Mean NaN, Max
/// and Min the lowest and highest value.
void reduce(const ArrayView& out, const ArrayView& in, ReduceOp op);

/// Sums `in` into the shape that it was broadcast from.
inline void sum_to(const ArrayView& out, const ArrayView& in) { reduce(out, in, ReduceOp::Sum); }

/// Variance over the dimensions that `out` says (as reduce does), in two passes: the sum of squared
/// deviations from the mean by (n - correction), where n - correction below 0 counts as 0. `mean`,
/// where not null, has the shape of out and receives the means. Floating-point dtypes.
void variance(const ArrayView& out, const ArrayView* mean, const ArrayView& in, double correction);

/// The index (int64, within the row-major order of the reduced dimensions) of the largest or
/// smallest element, and its value where `values` is not null. The first one wins; a NaN wins over
/// all numbers. At least one element is reduced.
void arg_reduce(const ArrayView& indices, const ArrayView* values, const ArrayView& in,
                bool largest);

}  // namespace farro::kernels
