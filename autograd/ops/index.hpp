#pragma once

#include <optional>
#include <span>
#include <utility>

#include <farro/autograd/tensor.hpp>

/// Reading and writing by tensors of positions. Positions are integers, negative ones count from
/// the end; all are checked before anything is written (IndexError). Where several write to one
/// place, sums are added in the order of the index, so that the bits do not depend on threads.
namespace farro {

/// x[i0, i1, …] with integers, slices, new axes, the ellipsis, tensors of integers and masks, as
/// Python's.
Tensor index(const Tensor& x, std::span<const Index> indices);
/// x[…] = value, or += with accumulate; value broadcasts.
void index_put_(const Tensor& x, std::span<const Index> indices, const Tensor& value,
                bool accumulate = false);

/// Entries of one dimension, in the order of a 1-d (or 0-d) index.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// x with source's entries added to the entries of `dim` that a 1-d index names.
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 double alpha = 1);
/// out[i][j] = x[index[i][j]][j] for dim 0, and so on; the shape is that of the index, which is
/// nowhere larger than x except along dim.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// x with source's elements written to the places from which gather would read them. Where several
/// meet, the last wins.
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
/// gather with x and index broadcast to each other except along dim; of the flattened tensor
/// without one.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim = {});

/// The elements where the mask holds, as a 1-d tensor; both broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask);
/// x with a 0-d value where the mask holds; both broadcast.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
/// Positions of what is not 0: an int64 matrix with a row for each, in row-major order.
Tensor nonzero(const Tensor& x);

/// Rows of a matrix: the result has index's shape and one more dimension.
Tensor embedding(const Tensor& weight, const Tensor& index);

}  // namespace farro
