#pragma once

/// The pointwise machine below the tape. An operation's formula is compiled for float, double and int64 (see
/// compute_dtype) into functions over contiguous runs; everything else — broadcasting, strides, other dtypes, launching —
/// is here once: a run whose operand is strided, broadcast or of another dtype is first gathered into a small buffer
/// that stays in the first-level cache, and results are scattered back the same way.

#include <array>
#include <cstdint>
#include <span>

#include <farro/backends/array_view.hpp>
#include <farro/backends/dispatch_dtype.hpp>

namespace farro {

inline constexpr int kMaxPointwiseInputs = 3;
inline constexpr size_t kMaxParameters = 32;

/// Bits for what a gradient reads.
inline constexpr unsigned kInput0 = 1, kInput1 = 2, kInput2 = 4, kOutput = 8, kNothing = 0;

struct Uses {
  unsigned mask[kMaxPointwiseInputs] = {};
  constexpr Uses(unsigned a = 0, unsigned b = 0, unsigned c = 0) : mask{a, b, c} {}
};

/// Interval from which tests and benchmarks draw the inputs of an operation; avoids its poles and kinks.
struct Domain {
  double lo = -3, hi = 3;
};

/// Base of an operation struct: defaults for what it does not say.
template <int Arity>
struct Pointwise {
  static constexpr int arity = Arity;
  static constexpr bool differentiable = true;
  static constexpr bool integers_to_float = false;
  static constexpr bool returns_bool = false;
  static constexpr bool floats_only = false;
  static constexpr Uses uses = {};
  static constexpr Domain domain = {};
};

/// y[i] = forward(x0[i], x1[i], …) over contiguous runs of the compute type.
using ForwardRun = void (*)(const void* op, void* y, const void* const* x, int64_t n);
/// dx[i] = backward<I>(dy[i], x0[i], …, y[i]); x and y entries that uses do not name may be null.
using BackwardRun = void (*)(const void* op, int input, void* dx, const void* dy, const void* const* x, const void* y,
                             int64_t n);

/// The computing functions of an operation. Null where a compute type is not supported (int64 of a float-only one).
struct PointwiseKernels {
  const char* name = "";   ///< "tanh"
  const char* label = "";  ///< "farro::tanh"
  int arity = 1;
  std::array<ForwardRun, 3> forward{};    ///< by index of compute_dtype in kComputeScalars
  std::array<BackwardRun, 2> backward{};  ///< float, double
  /// Launches on a device backend, where one was built.
  void (*forward_on_device)(const void* op, const ArrayView& y, std::span<const ArrayView> x) = nullptr;
  void (*backward_on_device)(const void* op, int input, const ArrayView& dx, const ArrayView& dy,
                             std::span<const ArrayView> x, const ArrayView& y) = nullptr;
  double cost = 1;  ///< of one element, in streamed elements
};

/// y = op(x…), each x broadcast to y's sizes; computed in `compute`. y may be one of the x's exactly (in place).
/// An x on the host with one element may stand among device arrays (a wrapped number).
void run_pointwise(const PointwiseKernels& kernels, const void* op, DType compute, const ArrayView& y,
                   std::span<const ArrayView* const> x);
/// dx = gradient of input `input`, in the full (broadcast) shape; x and y entries may be null where not used.
void run_pointwise_backward(const PointwiseKernels& kernels, const void* op, int input, DType compute,
                            const ArrayView& dx, const ArrayView& dy, std::span<const ArrayView* const> x,
                            const ArrayView* y);

}  // namespace farro
