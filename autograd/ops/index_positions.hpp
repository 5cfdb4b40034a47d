#pragma once

#include <span>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/kernels/index.hpp>

/// What the indexing operations share: positions (see kernels/index.hpp) and differentiable reading
/// and writing by them.
namespace farro::autograd {

/// An index tensor that may be read where x lives. TypeError unless it holds integers.
Tensor usable_index(const Tensor& index, const Tensor& x, const char* operation);
/// Positions for dimensions of these sizes from one index tensor for each, broadcast to each other.
/// IndexError.
Tensor combine_positions(std::span<const Tensor> indices, const Dims& sizes, const char* operation);
/// Positions in x, of any dimensions, that gather reads. IndexError.
Tensor gather_positions(const Tensor& index, const Tensor& x, int dim, const char* operation);
/// Positions of what is not 0, 1-d.
Tensor nonzero_positions(const Tensor& x);

/// The sizes of what a selection reads from x.
Dims selected_sizes(const Dims& x, const Dims& positions, const kernels::Selection& selection);

/// x at the positions. The node is called `name`.
Tensor take(const char* name, const Tensor& x, const Tensor& positions,
            const kernels::Selection& selection);
/// Zeros of `sizes` with grad added at the positions: the transpose of take.
Tensor spread(const Tensor& grad, const Dims& sizes, const Tensor& positions,
              const kernels::Selection& selection);
/// A copy of x with `values` written to the positions, or alpha times them added.
Tensor written(const char* name, const Tensor& x, const Tensor& positions,
               const kernels::Selection& selection, const Tensor& values, bool accumulate,
               double alpha);

}  // namespace farro::autograd
