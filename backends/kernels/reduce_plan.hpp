#pragma once

/// Internal to the reduction kernels: how a reduction walks its operands, and what it combines
/// with.

#include <farro/backends/kernels/reduce.hpp>
#include <farro/backends/kernels/runs.hpp>

#include <limits>

namespace farro::kernels {

/// Elements of a block, whose sum is one leaf of the tree.
inline constexpr int64_t kReduceBlock = 4096;

/// A reduction of K outputs over R elements each.
struct ReducePlan {
  Walk kept;     ///< of the input, one entry per output
  Walk reduced;  ///< of the input, from an output's first element
  Walk result;   ///< of the output
  int64_t outputs = 0;
  int64_t length = 0;

  ReducePlan() = default;
  ReducePlan(const ArrayView& out, const ArrayView& in) {
    Dims kept_sizes, kept_strides, reduced_sizes, reduced_strides;
    int missing = in.ndim() - out.ndim();
    for (int d = 0; d < in.ndim(); ++d) {
      bool keep = d >= missing && out.sizes[d - missing] == in.sizes[d];
      (keep ? kept_sizes : reduced_sizes).push_back(in.sizes[d]);
      (keep ? kept_strides : reduced_strides).push_back(in.strides[d]);
    }
    kept = Walk(kept_sizes, kept_strides);
    reduced = Walk(reduced_sizes, reduced_strides);
    result = Walk(out.sizes, out.strides);
    outputs = out.numel();
    length = reduced_sizes.product();
  }
  int64_t blocks() const {
    return length <= kReduceBlock ? 1 : (length + kReduceBlock - 1) / kReduceBlock;
  }
};

/// The reductions as scalars; identity combined with x gives x with its bits.
template <class T>
struct SumOf {
  FARRO_FUNCTION static T identity() { return T(-T(0)); }
  FARRO_FUNCTION static T combine(T a, T b) { return a + b; }
};
template <class T>
struct ProdOf {
  FARRO_FUNCTION static T identity() { return T(1); }
  FARRO_FUNCTION static T combine(T a, T b) { return a * b; }
};
template <class T>
struct MaxOf {
  FARRO_FUNCTION static T identity() {
    constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                              : std::numeric_limits<T>::lowest();
    return lowest;
  }
  FARRO_FUNCTION static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct MinOf {
  FARRO_FUNCTION static T identity() {
    constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                               : std::numeric_limits<T>::max();
    return highest;
  }
  FARRO_FUNCTION static T combine(T a, T b) { return a < b || a != a ? a : b; }
};

/// What happens to an element before it is combined.
template <class T>
struct AsIs {
  static constexpr bool identity = true;
  FARRO_FUNCTION T operator()(T x, T) const { return x; }
};
template <class T>
struct IsNonZero {
  static constexpr bool identity = false;
  FARRO_FUNCTION T operator()(T x, T) const { return x != T(0) ? T(1) : T(0); }
};
template <class T>
struct SquaredDeviation {
  static constexpr bool identity = false;
  FARRO_FUNCTION T operator()(T x, T mean) const { return (x - mean) * (x - mean); }
};

/// One reduction of compute type T, without the operands' dtypes.
template <class T>
struct ReduceJob {
  ReducePlan plan;
  const void* in = nullptr;
  DType in_dtype = kFloat32;
  void* out = nullptr;
  DType out_dtype = kFloat32;
  Device device = Device::of(0);
  const T* centre = nullptr;  ///< the second argument of the transform, one per output, or null
  T divisor = T(1);           ///< of the result
  T empty = T(0);             ///< the result over no elements, before it is divided
};

/// The plain Kokkos kernel: one work item per output and block.
template <class T, template <class> class Op, template <class> class Transform>
void reduce_reference(const char* label, const ReduceJob<T>& job);
void arg_reduce_reference(const ArrayView& indices, const ArrayView* values, const ArrayView& in,
                          bool largest);

}  // namespace farro::kernels
