#pragma once

/// The pointwise machine below the tape. An operation's formula is compiled for float, double and
/// int64 (see compute_dtype) into functions over contiguous runs; everything else — broadcasting,
/// strides, other dtypes, launching — is here once: a run whose operand is strided, broadcast or of
/// another dtype is first gathered into a small buffer that stays in the first-level cache, and
/// results are scattered back the same way.

#include <array>
#include <cstdint>
#include <span>

#include <farro/backends/array_view.hpp>
#include <farro/backends/kernels/runs.hpp>
#include <farro/backends/launch.hpp>

namespace farro {

inline constexpr int kMaxPointwiseInputs = 3;
inline constexpr size_t kMaxParameters = 32;
/// Where a backward finds y and dy, after the inputs.
inline constexpr int kOutputOperand = 3, kGradOperand = 4;
inline constexpr size_t kMaxBackwardOperands = 5;

/// Bits for what a gradient reads.
inline constexpr unsigned kInput0 = 1, kInput1 = 2, kInput2 = 4, kOutput = 8, kNothing = 0;

struct Uses {
  unsigned mask[kMaxPointwiseInputs] = {};
  constexpr Uses(unsigned a = 0, unsigned b = 0, unsigned c = 0) : mask{a, b, c} {}
};

/// Interval from which tests and benchmarks draw the inputs of an operation; avoids its poles and
/// kinks.
struct Domain {
  double lo = -3, hi = 3;
};

/// Which inputs of dtype bool an operation takes; the others are a TypeError, as in PyTorch.
enum class Bools : uint8_t { Any, NotAlone, None };

/// Base of an operation struct: defaults for what it does not say.
template <int Arity>
struct Pointwise {
  static constexpr int arity = Arity;
  static constexpr bool differentiable = true;
  static constexpr bool integers_to_float = false;
  static constexpr bool returns_bool = false;
  static constexpr bool floats_only = false;
  static constexpr bool integers_only = false;
  static constexpr bool first_is_condition =
      false;  ///< input 0 is a mask that takes no part in promotion
  static constexpr bool divides_integers = false;  ///< a 0 in input 1 is a ValueError for integers
  static constexpr Bools bools = Bools::Any;
  static constexpr Uses uses = {};
  static constexpr unsigned passes_gradient =
      0;                                ///< mask of the inputs whose gradient is dy itself
  static constexpr Domain domain = {};  ///< of input 0
  static constexpr Domain domain1 = {};
  static constexpr Domain domain2 = {};
  static constexpr double cost = 1;  ///< of one element, in streamed elements (see LaunchShape)
};

/// y[i] = forward(x0[i], x1[i], …) over n contiguous elements of the compute type. y may be one of
/// the x's.
using ForwardRun = void (*)(const void* op, void* y, const void* const* x, int64_t n);
/// dx[i] = `backward<I>(dy[i], x0[i], …, y[i])` likewise, with y and dy at kOutputOperand and
/// kGradOperand of `in`; entries that uses does not name may be null. dx may be dy.
using BackwardRun = void (*)(const void* op, int input, void* dx, const void* const* in, int64_t n);
/// The same for one element on the host; x and `in` are consecutive numbers.
using ForwardOne = void (*)(const void* op, void* y, const void* x);
using BackwardOne = void (*)(const void* op, int input, void* dx, const void* in);

/// One operand of a run, broadcast to the run's shape.
struct PointwiseOperand {
  void* data = nullptr;  ///< null: not used
  DType dtype = kFloat32;
  bool one = false;     ///< a single element, held in `real` and `integer`
  bool direct = false;  ///< contiguous and of the compute type
  double real = 0;
  int64_t integer = 0;
  kernels::Walk walk;

  /// Element i of the run as T. May run inside a kernel.
  template <class T>
  FARRO_FUNCTION T load(int64_t i) const {
    if (one) return T(-1) / 2 == T(0) ? static_cast<T>(integer) : static_cast<T>(real);
    return kernels::load_as<T>(data, dtype, walk.offset(i));
  }
};

/// A run of an operation over n elements of out's row-major order. In a backward, out is dx, and
/// in[3] and in[4] are y and dy.
struct PointwiseArrays {
  Device device;
  DType compute = kFloat32;
  int64_t n = 0;
  PointwiseOperand out;
  std::array<PointwiseOperand, kMaxBackwardOperands> in;
};

/// The computing functions of an operation. Null where a compute type is not supported (int64 of a
/// float-only one).
struct PointwiseKernels {
  const char* name = "";   ///< "tanh"
  const char* label = "";  ///< "farro::tanh"
  int arity = 1;
  double cost = 1;                        ///< of one element, in streamed elements
  std::array<ForwardRun, 3> forward{};    ///< by index of the compute type: float, double, int64
  std::array<BackwardRun, 2> backward{};  ///< float, double
  std::array<ForwardOne, 2> forward_one{};
  std::array<BackwardOne, 2> backward_one{};
  /// The plain Kokkos kernels, one element at a time. Null where no device backend is built: on the
  /// host, forward_one and backward_one are the reference.
  void (*forward_portable)(const void* op, const char* label,
                           const PointwiseArrays& arrays) = nullptr;
  void (*backward_portable)(const void* op, int input, const char* label,
                            const PointwiseArrays& arrays) = nullptr;
};

/// The place of a compute type in PointwiseKernels.
constexpr size_t compute_index(DType compute) {
  return compute == kFloat32 ? 0 : compute == kFloat64 ? 1 : 2;
}

/// Elements of a block.
inline constexpr int64_t kPointwiseGrain = 8192;

namespace detail {

void run_pointwise_blocks(const PointwiseKernels& kernels, const void* op, const ArrayView& y,
                          int64_t n, const void* const* x);
void run_pointwise_backward_blocks(const PointwiseKernels& kernels, const void* op, int input,
                                   const ArrayView& dx, int64_t n, const void* const* operands);

}  // namespace detail

/// y = op(x…) on n contiguous host elements of the compute type each. y may be one of the x's.
inline void run_pointwise_contiguous(const PointwiseKernels& kernels, const void* op,
                                     const ArrayView& y, int64_t n, const void* const* x) {
  if (!detail::is_one_block(n, kPointwiseGrain))
    return detail::run_pointwise_blocks(kernels, op, y, n, x);
  kernels.forward[compute_index(y.dtype)](op, y.data, x, n);
}
/// The gradient of input `input`, likewise. `operands` are kMaxBackwardOperands: the x's, y and dy
/// in their places; those that are not used may be null. dx may be dy.
inline void run_pointwise_backward_contiguous(const PointwiseKernels& kernels, const void* op,
                                              int input, const ArrayView& dx, int64_t n,
                                              const void* const* operands) {
  if (!detail::is_one_block(n, kPointwiseGrain)) {
    return detail::run_pointwise_backward_blocks(kernels, op, input, dx, n, operands);
  }
  kernels.backward[compute_index(dx.dtype)](op, input, dx.data, operands, n);
}

/// The first element, in row-major order, of an integer array on the host that is 0; -1 without
/// one.
int64_t first_zero(const ArrayView& array);

/// y = op(x…), each x broadcast to y's sizes; computed in `compute`. y may be one of the x's
/// exactly (in place). An x on the host with one element may stand among device arrays (a wrapped
/// number).
void run_pointwise(const PointwiseKernels& kernels, const void* op, DType compute,
                   const ArrayView& y, std::span<const ArrayView* const> x);
/// dx = gradient of input `input`, in the full (broadcast) shape; x and y entries may be null where
/// not used.
void run_pointwise_backward(const PointwiseKernels& kernels, const void* op, int input,
                            DType compute, const ArrayView& dx, const ArrayView& dy,
                            std::span<const ArrayView* const> x, const ArrayView* y);

}  // namespace farro
