#pragma once

#include <farro/backends/array_view.hpp>
#include <farro/backends/kernels/conv_shape.hpp>

namespace farro::kernels {

/// The passes as one plain loop nest per element of the result, on any backend and for every dtype
/// but bool.
void plain_conv_forward(const ConvShape& s, const ArrayView& out, const ArrayView& input,
                        const ArrayView& weight, const ArrayView* bias);
void plain_conv_backward_input(const ConvShape& s, const ArrayView& grad_input,
                               const ArrayView& grad_output, const ArrayView& weight);
void plain_conv_backward_weight(const ConvShape& s, const ArrayView& grad_weight,
                                const ArrayView& grad_output, const ArrayView& input);

}  // namespace farro::kernels
