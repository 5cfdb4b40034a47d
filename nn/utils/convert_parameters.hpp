#pragma once

#include <vector>

#include <farro/autograd/tensor.hpp>

namespace farro::nn::utils {

/// All elements of the parameters, in order, as one 1-d tensor; recorded. ValueError without
/// parameters, BackendError if they are on several devices.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
/// Sets the parameters' elements from such a vector, in place and unrecorded. ShapeError, with
/// nothing changed, unless it is 1-d and has as many elements as they have together.
void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters);

}  // namespace farro::nn::utils
