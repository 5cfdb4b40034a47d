#pragma once

#include <farro/backends/device.hpp>
#include <farro/backends/kernels/conv_shape.hpp>

namespace farro::kernels {

/// The passes as matrix products of unfolded images (each column holds what one output point sees),
/// for float and double on the host. bias may be null.
template <class T>
void unfold_conv_forward(Device device, const ConvShape& s, T* out, const T* input, const T* weight,
                         const T* bias);
template <class T>
void unfold_conv_backward_input(Device device, const ConvShape& s, T* grad_input,
                                const T* grad_output, const T* weight);
template <class T>
void unfold_conv_backward_weight(Device device, const ConvShape& s, T* grad_weight,
                                 const T* grad_output, const T* input);

}  // namespace farro::kernels
