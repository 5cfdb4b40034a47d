#pragma once

#include <optional>

#include <farro/autograd/tensor.hpp>

namespace farro {

/// exp(x) / Σ exp(x) along a dimension; integers (and x, where `dtype` is given) are converted
/// first.
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Its logarithm, which stays finite where softmax rounds to 0.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// softmax(-x)
Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

}  // namespace farro
