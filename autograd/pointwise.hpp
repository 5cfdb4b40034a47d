#pragma once

/// Pointwise operations: one formula, one place.
///
/// An operation is a struct in ops/pointwise/ with its forward, and the gradient of each input, as
/// templates over T. T is a SIMD pack or a number in kernels, and Tensor where the backward itself
/// is recorded:
///
///     struct Tanh : Pointwise<1> {
///       static constexpr const char* name = "tanh";
///       static constexpr Uses uses = {kOutput};    // what input 0's gradient reads besides dy
///       static constexpr Domain domain = {-3, 3};  // where tests sample each input
///       template <class T>
///       FARRO_FORMULA T forward(T x) const { return math::tanh(x); }
///       template <int I, class T>
///       FARRO_FORMULA T backward(T dy, T x, T y) const { return dy * (T(1) - y * y); }
///     };
///     inline Tensor tanh(const Tensor& x) { return pointwise(Tanh{}, x); }
///
/// Its line in a list of pointwise_list.hpp gives it kernels for every backend and dtype, its node,
/// promotion, broadcasting, gradient checks, Serial-against-OpenMP tests and benchmarks. Parameters
/// (a slope, bounds) are data members of the struct, at most kMaxParameters bytes, trivially
/// copyable. Conditions are written select(condition, a, b); constants T(0.5); functions
/// math::exp(x).

#include <array>
#include <type_traits>

#include <farro/autograd/tensor.hpp>
#include <farro/backends/kernels/pointwise.hpp>
#include <farro/backends/math.hpp>

namespace farro {

namespace autograd {

/// What an operation is to the tape, apart from its kernels. One for each operation in a list.
struct PointwiseEntry {
  PointwiseKernels kernels;    ///< name, arity, computing functions
  const char* node_name = "";  ///< "TanhBackward"
  std::array<unsigned, kMaxPointwiseInputs>
      uses{};  ///< per input: mask of what its gradient reads (kInput0.., kOutput)
  unsigned passes_gradient = 0;  ///< mask of the inputs whose gradient is dy itself
  bool differentiable = true;
  bool integers_to_float =
      false;  ///< integer inputs are computed, and returned, in the default dtype (exp, div)
  bool returns_bool = false;        ///< comparisons and logic
  bool floats_only = false;         ///< integer inputs are a TypeError
  bool integers_only = false;       ///< floating-point inputs are a TypeError
  bool first_is_condition = false;  ///< input 0 is a bool mask
  bool divides_integers = false;    ///< a 0 in input 1 is a ValueError for integers
  Bools bools = Bools::Any;         ///< which bool inputs are not a TypeError
  /// Gradient of input I by recorded operations; inputs and output may be undefined where uses[I]
  /// does not name them.
  Tensor (*backward)(const void* op, int input, const Tensor& dy, const Tensor* inputs,
                     const Tensor& y) = nullptr;
  std::array<Domain, kMaxPointwiseInputs> domain{};
  const void* example = nullptr;  ///< the operation with its default parameters
  size_t bytes = 0;               ///< of the operation
};

/// The entry of an operation in the lists of pointwise_list.hpp.
template <class Op>
[[gnu::used, gnu::noinline]] const PointwiseEntry& pointwise_entry();

/// For an operation with this number of inputs, 1 to kMaxPointwiseInputs.
template <int Arity>
Tensor pointwise_of(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                    const Tensor* const* inputs);
Tensor pointwise(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                 const Tensor* const* inputs);
const Tensor& pointwise_inplace(const PointwiseEntry& entry, const void* op, size_t op_bytes,
                                const Tensor* const* inputs);

}  // namespace autograd

/// Runs and records an operation. Inputs broadcast; dtypes promote as PyTorch's; all must be on one
/// device, except for 0-d wrapped numbers. Comparisons and integer operations first convert each
/// input to the common dtype, as PyTorch does: a number out of an integer dtype's range wraps, and
/// 0.1 equals a float16 made of 0.1. Throws ShapeError, TypeError, BackendError; ValueError for an
/// integer division by 0 on the host.
template <class Op, class... Inputs>
Tensor pointwise(const Op& op, const Inputs&... inputs) {
  static_assert(sizeof...(Inputs) == Op::arity);
  static_assert(sizeof(Op) <= kMaxParameters && std::is_trivially_copyable_v<Op>);
  const Tensor* list[] = {&inputs...};
  return autograd::pointwise_of<Op::arity>(autograd::pointwise_entry<Op>(), &op, sizeof(Op), list);
}

/// As pointwise, writing the result over the first input, whose shape and dtype must be those of
/// the result.
template <class Op, class... Inputs>
const Tensor& pointwise_inplace(const Op& op, const Tensor& self, const Inputs&... others) {
  static_assert(1 + sizeof...(Inputs) == Op::arity);
  const Tensor* list[] = {&self, &others...};
  return autograd::pointwise_inplace(autograd::pointwise_entry<Op>(), &op, sizeof(Op), list);
}

}  // namespace farro
