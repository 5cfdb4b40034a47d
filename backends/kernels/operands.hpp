#pragma once

/// Runs a formula over operands of any dtype, stride and broadcast: a run whose operand is not
/// contiguous or of another dtype than the formula computes in is gathered into a small buffer that
/// stays in the first-level cache, and results are scattered back the same way.

#include <span>

#include <farro/backends/kernels/pointwise.hpp>

namespace farro {

/// The most operands of one run, inputs and outputs.
inline constexpr size_t kMaxOperands = 32;

/// How an array is read, or written, at a shape to which it broadcasts. With `may_be_one`, an array
/// of one element on the host is read now and counts as a number.
PointwiseOperand operand(const ArrayView& array, const Dims& sizes, DType compute, bool may_be_one);

/// What a run computes in, how much it is, and what it is called.
struct OperandsRun {
  Device device;
  const char* label = "";  ///< "farro::tanh"
  DType compute = kFloat32;
  int64_t n = 0;
  double cost = 1;  ///< of one element, in streamed elements
};

/// Computes n contiguous elements of the compute type; entries of operands without data are null.
using RunFn = void (*)(const void* context, void* const* out, const void* const* in, int64_t n);

/// Calls `run` over [0, n) of the operands' common row-major order. Host devices only. An output
/// may be one of the inputs exactly.
void run_operands(const OperandsRun& what, std::span<const PointwiseOperand> out,
                  std::span<const PointwiseOperand> in, RunFn run, const void* context);

}  // namespace farro
