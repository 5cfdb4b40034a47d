#pragma once

#include <farro/backends/array_view.hpp>
#include <farro/backends/kernels/conv_shape.hpp>

namespace farro::kernels {

/// The three passes of a convolution (cross-correlation, as every deep-learning library has it).
/// All arrays are contiguous, on one device and of one floating-point or integral dtype; out is
/// overwritten. float32 runs in oneDNN, float64 by products of unfolded blocks in OpenBLAS,
/// bfloat16 and float16 through float32. The same bits on Serial and OpenMP at every thread count:
/// work is cut into blocks of images by the shape alone, and sums over blocks are pairwise trees.

/// bias [channels_out] may be null.
void conv_forward(const ConvShape& shape, const ArrayView& out, const ArrayView& input,
                  const ArrayView& weight, const ArrayView* bias);
/// The gradient by the input; also the forward pass of a transposed convolution.
void conv_backward_input(const ConvShape& shape, const ArrayView& grad_input,
                         const ArrayView& grad_output, const ArrayView& weight);
/// The gradient by the weight.
void conv_backward_weight(const ConvShape& shape, const ArrayView& grad_weight,
                          const ArrayView& grad_output, const ArrayView& input);

}  // namespace farro::kernels
