#pragma once

#include <utility>

#include <farro/autograd/ops/conv.hpp>
#include <farro/autograd/tensor.hpp>

/// Pooling of [N, C, …] or [C, …] over the last one, two or three dimensions. One number stands for
/// all dimensions; an empty stride is the kernel size. ValueError for numbers out of range,
/// ShapeError for wrong shapes and windows that do not fit.
namespace farro {

/// The largest element of each window, whose elements are `dilation` apart; with ceil_mode also of
/// windows that reach beyond the end. Padding never wins.
Tensor max_pool1d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  const SpatialSizes& dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  const SpatialSizes& dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  const SpatialSizes& dilation = 1, bool ceil_mode = false);
/// Also where in the flattened spatial dimensions it was.
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride = IntList(),
                                                  const SpatialSizes& padding = 0,
                                                  const SpatialSizes& dilation = 1,
                                                  bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride = IntList(),
                                                  const SpatialSizes& padding = 0,
                                                  const SpatialSizes& dilation = 1,
                                                  bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, const SpatialSizes& kernel_size,
                                                  const SpatialSizes& stride = IntList(),
                                                  const SpatialSizes& padding = 0,
                                                  const SpatialSizes& dilation = 1,
                                                  bool ceil_mode = false);

/// The mean of each window, in which zeros of the padding count unless count_include_pad is false;
/// the sum by divisor_override, where that is not 0.
Tensor avg_pool1d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true,
                  int64_t divisor_override = 0);
Tensor avg_pool3d(const Tensor& x, const SpatialSizes& kernel_size,
                  const SpatialSizes& stride = IntList(), const SpatialSizes& padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true,
                  int64_t divisor_override = 0);

}  // namespace farro
