#pragma once

/// oneDNN behind Farro's own table of primitives, keyed by shapes. Every primitive runs on one
/// thread: convolutions are cut into blocks of images that the shape alone fixes, and the blocks
/// run in parallel_blocks.

#include <string>

#include <farro/backends/blas.hpp>
#include <farro/backends/device.hpp>
#include <farro/backends/kernels/conv_shape.hpp>

namespace farro::onednn {

/// True if Farro was built with oneDNN.
bool available();
/// Library, version and the instruction set in use, e.g. "oneDNN 2.6.3, AVX-512 kernels".
std::string info();

/// As blas::gemm. Only where available() is true.
void gemm(const blas::Gemm<float>& g);

/// The passes of a convolution on contiguous float32 arrays; false if oneDNN has no kernel for the
/// shape or was not built, and then nothing was written. bias may be null.
bool conv_forward(Device device, const ConvShape& shape, float* out, const float* input,
                  const float* weight, const float* bias);
bool conv_backward_input(Device device, const ConvShape& shape, float* grad_input,
                         const float* grad_output, const float* weight);
bool conv_backward_weight(Device device, const ConvShape& shape, float* grad_weight,
                          const float* grad_output, const float* input);

}  // namespace farro::onednn
