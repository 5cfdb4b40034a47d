#pragma once

#include <farro/backends/kernels/conv_shape.hpp>
#include <farro/benchmarks/compare.hpp>

namespace farro::benchmarks {

/// The passes of a convolution by oneDNN alone, on one thread, with all arrays in the layouts that
/// it asks for. Empty jobs where oneDNN is not built in.
struct RawConv {
  Job forward, backward_input, backward_weight;
};
RawConv raw_conv(const ConvShape& shape);

}  // namespace farro::benchmarks
