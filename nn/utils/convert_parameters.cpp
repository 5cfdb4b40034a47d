#include <farro/nn/utils/convert_parameters.hpp>

#include <farro/autograd/ops/copy.hpp>
#include <farro/autograd/ops/index.hpp>
#include <farro/autograd/ops/shape.hpp>

namespace farro::nn::utils {

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  if (parameters.empty())
    fail<ValueError>("parameters_to_vector", "expected at least one parameter");
  std::vector<Tensor> parts;
  for (const Tensor& parameter : parameters) parts.push_back(parameter.reshape({-1}));
  return cat(parts);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  int64_t count = 0;
  for (const Tensor& parameter : parameters) count += parameter.numel();
  if (vector.dim() != 1 || vector.numel() != count) {
    fail<ShapeError>("vector_to_parameters", "expected shape [{}], got {}", count,
                     to_string(vector.sizes()));
  }
  NoGrad guard;
  int64_t start = 0;
  for (const Tensor& parameter : parameters) {
    parameter.copy_(vector.narrow(0, start, parameter.numel()).reshape(parameter.sizes()));
    start += parameter.numel();
  }
}

}  // namespace farro::nn::utils
