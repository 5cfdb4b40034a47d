#pragma once

/// Internal to gradcheck: Jacobians by differences and by backward, whole or along one direction.

#include <string>
#include <vector>

#include <farro/autograd/gradcheck.hpp>

namespace farro::detail {

/// d output[c] / d input[r], row by row.
struct Jacobian {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  Jacobian(const Tensor& input, const Tensor& output)
      : rows(static_cast<size_t>(input.numel())),
        columns(static_cast<size_t>(output.numel())),
        values(rows * columns, 0.0) {}
  double& at(size_t row, size_t column) { return values[row * columns + column]; }
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

/// Of every output with respect to one input, by central differences.
std::vector<Jacobian> numerical_jacobians(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs, const Tensor& input,
                                          const std::vector<Tensor>& outputs, double eps);
/// Of one output with respect to every input, a backward for each element of the output.
std::vector<Jacobian> analytical_jacobians(const Tensor& output, const std::vector<Tensor>& inputs);

/// The change of every output, element by element, as the input's elements move along `direction`,
/// by central differences.
std::vector<std::vector<double>> numerical_directional(
    const TensorFunction& f, const std::vector<Tensor>& inputs, const Tensor& input,
    const std::vector<double>& direction, const std::vector<Tensor>& outputs, double eps);

/// GradcheckError unless a gradient has its input's shape, dtype and device.
void check_gradient(const Tensor& gradient, const Tensor& input, size_t input_number);

/// A matrix with aligned columns; the middle of large ones is left out.
std::string matrix_text(const Jacobian& jacobian);

}  // namespace farro::detail
