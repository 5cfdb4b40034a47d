#pragma once

#include <optional>
#include <utility>

#include <farro/autograd/tensor.hpp>

/// Reductions. An empty list of dimensions means all; dimensions may be negative (IndexError
/// outside), none may come twice (ValueError). keepdim leaves reduced dimensions with size 1. Sums
/// have bits that depend on shapes and values alone.
namespace farro {

/// Integers and bool are summed in int64; with a dtype, in that one.
Tensor sum(const Tensor& x, IntList dims = {}, bool keepdim = false,
           std::optional<DType> dtype = {});
/// TypeError unless floating-point (or made so by `dtype`).
Tensor mean(const Tensor& x, IntList dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, int64_t dim, bool keepdim = false, std::optional<DType> dtype = {});
/// As sum and mean, with NaN counted as absent.
Tensor nansum(const Tensor& x, IntList dims = {}, bool keepdim = false);
Tensor nanmean(const Tensor& x, IntList dims = {}, bool keepdim = false);
Tensor count_nonzero(const Tensor& x, IntList dims = {});

/// The largest (smallest) element; equal ones share the gradient evenly. ValueError over no
/// elements. NaN wins.
Tensor amax(const Tensor& x, IntList dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, IntList dims = {}, bool keepdim = false);
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
std::pair<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {},
                                  bool keepdim = false);
/// Values and indices along one dimension; the first of equal elements takes the gradient.
std::pair<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::pair<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
/// The index of the first largest (smallest) element, of the flattened tensor without a dimension.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

/// bool: whether any (all) elements are not 0.
Tensor any(const Tensor& x, IntList dims = {}, bool keepdim = false);
Tensor all(const Tensor& x, IntList dims = {}, bool keepdim = false);

/// Σ (x - mean)² / max(0, n - correction), by two passes. std's gradient is 0 where it is 0.
Tensor var(const Tensor& x, IntList dims = {}, double correction = 1, bool keepdim = false);
Tensor std(const Tensor& x, IntList dims = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> var_mean(const Tensor& x, IntList dims = {}, double correction = 1,
                                   bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, IntList dims = {}, double correction = 1,
                                   bool keepdim = false);

/// (Σ |x|^p)^(1/p); p may be 0 (the count of what is not 0), infinity or minus infinity. The
/// gradient at 0 is 0.
Tensor norm(const Tensor& x, double p = 2, IntList dims = {}, bool keepdim = false);
/// log Σ exp(x), without overflow.
Tensor logsumexp(const Tensor& x, IntList dims, bool keepdim = false);

/// Sums over the dimensions in which a tensor of `sizes` was broadcast to x's shape (ShapeError if
/// it does not broadcast).
Tensor sum_to_size(const Tensor& x, IntList sizes);

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Running maxima (minima) and their places.
std::pair<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
std::pair<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);

namespace autograd {

/// The dimensions that a reduction removes, and the shapes of its result.
struct Reduced {
  /// ValueError for a dimension that comes twice, IndexError for one outside.
  Reduced(const Tensor& x, IntList dims, bool keepdim, const char* operation);

  bool removes(int d) const { return (mask >> d & 1u) != 0; }
  /// An uninitialised result.
  Tensor make(const Tensor& like, DType dtype) const { return empty(result, dtype, like.device()); }
  /// The result as kernels want it: with the reduced dimensions of size 1.
  ArrayView view(const Tensor& out) const;
  /// A result, or its gradient, in a shape that broadcasts to the input's.
  Tensor restore(const Tensor& result) const;
  /// … and broadcast to it.
  Tensor spread(const Tensor& result) const;

  Dims input;         ///< sizes of the input
  Dims kept;          ///< with 1 for each reduced dimension
  Dims result;        ///< of the result
  int64_t count = 1;  ///< elements for each result
  unsigned mask = 0;
};

}  // namespace autograd

}  // namespace farro
